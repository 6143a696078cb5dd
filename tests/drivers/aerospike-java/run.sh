#!/usr/bin/env bash
# The Aerospike Java suite: clients 9 and 3.1.2; records, policies, lists and maps, batches, scans, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
status=0
passed=0 failed=0 skipped=0
for suite in aerospike-java aerospike-java-old; do
  log="$TARNDB_SUITE_LOGS/$suite.junit"
  java "${java_flags[@]}" -Xmx512m -cp "$cache/$suite/classes:$cache/$suite/lib/*" org.junit.platform.console.ConsoleLauncher execute \
    --scan-classpath "$cache/$suite/classes" --details=tree --disable-banner --disable-ansi-colors "$@" > "$log" 2>&1 || status=$?
  cat "$log"
  count() { sed -nE "s/^\[ *([0-9]+) $1 .*/\1/p" "$log"; }
  passed=$((passed + $(count 'tests successful')))
  failed=$((failed + $(count 'tests failed')))
  # A parameterized test that is left out counts as one container.
  skipped=$((skipped + $(count 'tests skipped') + $(count 'containers skipped')))
done
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
