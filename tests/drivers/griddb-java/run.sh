#!/usr/bin/env bash
# GridDB's Java suite: client 5.6; connections, containers, types, row keys, TQL, time series, many containers at once, limits, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
[[ -z ${TARNDB_TEST_PEER:-} ]] || skip "the server that is tried does not speak GridDB's protocol"
log="$TARNDB_SUITE_LOGS/griddb-java.junit"
status=0
java -Xmx512m -cp "$cache/griddb-java/classes:$cache/griddb-java/lib/*" org.junit.platform.console.ConsoleLauncher execute \
  --scan-classpath "$cache/griddb-java/classes" --details=tree --disable-banner --disable-ansi-colors "$@" > "$log" 2>&1 || status=$?
cat "$log"
# A parameterized test that is left out counts as one container.
count() { sed -nE "s/^\[ *([0-9]+) $1 .*/\1/p" "$log"; }
skipped=$(($(count 'tests skipped') + $(count 'containers skipped')))
echo "$(count 'tests successful') passed, $(count 'tests failed') failed, $skipped skipped"
exit "$status"
