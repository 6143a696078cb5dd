#!/usr/bin/env bash
# The Go suite: gocql; types, paging, batches, transactions, events, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
log="$TARNDB_SUITE_LOGS/go.test"
status=0
"$cache/go/suite.test" -test.v -test.timeout=300s "$@" > "$log" 2>&1 || status=$?
grep -E '^(--- |\s+--- )' "$log" || true
if (( status != 0 )); then cat "$log"; fi
count() { grep -c -- "^--- $1:" "$log" || true; }
echo "$(count PASS) passed, $(count FAIL) failed, $(count SKIP) skipped"
exit "$status"
