#!/usr/bin/env bash
# GridDB's JDBC suite: driver 5.6; queries, rows written, tables made, prepared statements, pages, metadata, cancellation, permissions, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
[[ -z ${TARNDB_TEST_PEER:-} ]] || skip "the server that is tried does not speak GridDB's protocol"
log="$TARNDB_SUITE_LOGS/griddb-jdbc.junit"
status=0
java -Xmx512m -cp "$cache/griddb-jdbc/classes:$cache/griddb-jdbc/lib/*" org.junit.platform.console.ConsoleLauncher execute \
  --scan-classpath "$cache/griddb-jdbc/classes" --details=tree --disable-banner --disable-ansi-colors "$@" > "$log" 2>&1 || status=$?
cat "$log"
# A parameterized test that is left out counts as one container.
count() { sed -nE "s/^\[ *([0-9]+) $1 .*/\1/p" "$log"; }
skipped=$(($(count 'tests skipped') + $(count 'containers skipped')))
echo "$(count 'tests successful') passed, $(count 'tests failed') failed, $skipped skipped"
exit "$status"
