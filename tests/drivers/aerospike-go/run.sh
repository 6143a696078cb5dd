#!/usr/bin/env bash
# The Aerospike Go suite: client 8; records, policies, lists and maps, batches, scans, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
log="$TARNDB_SUITE_LOGS/aerospike-go.test"
status=0
"$cache/aerospike-go/suite.test" -test.v -test.timeout=300s "$@" > "$log" 2>&1 || status=$?
grep -E '^(--- |\s+--- )' "$log" || true
if (( status != 0 )); then cat "$log"; fi
count() { grep -c -- "^--- $1:" "$log" || true; }
echo "$(count PASS) passed, $(count FAIL) failed, $(count SKIP) skipped"
exit "$status"
