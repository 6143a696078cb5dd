#!/usr/bin/env bash
# ScyllaDB's Go library for CDC logs: a reader that keeps its place in a table, stops and goes on.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../gotest.sh"
run_go_suite scylla-cdc "$@"
