#!/usr/bin/env bash
# The Aerospike Node suite: client 6; records, policies, lists and maps, batches, scans, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
log="$TARNDB_SUITE_LOGS/aerospike-node.tap"
# Beside node_modules, where `require` looks for the driver.
cp "$here"/*.js "$cache/aerospike-node/"
cd "$cache/aerospike-node"
status=0
: > "$log"
# A file at a time: a restart would disturb the others.
for file in *.test.js; do
  node --test --test-reporter=tap "$file" >> "$log" 2>&1 || status=$?
done
grep -E '^ *(not )?ok ' "$log" || true
if (( status != 0 )); then cat "$log"; fi
total() { local sum=0 number; for number in $(sed -nE "s/^# $1 ([0-9]+)$/\1/p" "$log"); do sum=$((sum + number)); done; echo "$sum"; }
echo "$(total pass) passed, $(total fail) failed, $(total skipped) skipped"
exit "$status"
