#!/usr/bin/env bash
# The Java suite: driver 4.x; versions and compression, types, paging, batches, transactions, events, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
log="$TARNDB_SUITE_LOGS/java.junit"
status=0
java -Xmx512m -cp "$cache/java/classes:$cache/java/lib/*" org.junit.platform.console.ConsoleLauncher execute \
  --scan-classpath "$cache/java/classes" --details=tree --disable-banner --disable-ansi-colors "$@" > "$log" 2>&1 || status=$?
cat "$log"
# A parameterized test that is left out counts as one container.
count() { sed -nE "s/^\[ *([0-9]+) $1 .*/\1/p" "$log"; }
skipped=$(($(count 'tests skipped') + $(count 'containers skipped')))
echo "$(count 'tests successful') passed, $(count 'tests failed') failed, $skipped skipped"
exit "$status"
