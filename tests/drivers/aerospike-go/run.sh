#!/usr/bin/env bash
# The Aerospike Go suite: client 8; records, policies, lists and maps, batches, scans, TLS, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../gotest.sh"
run_go_suite aerospike-go "$@"
