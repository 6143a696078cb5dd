#!/usr/bin/env bash
# Applications in Go: the schemas of Temporal and Jaeger, their own statements, and work as they do it, through gocql.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../gotest.sh"
export TARNDB_TEST_MODULES="$cache/go/mod"
run_go_suite applications-go "$@"
