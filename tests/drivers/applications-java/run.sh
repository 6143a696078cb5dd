#!/usr/bin/env bash
# Applications in Java: Spring Data, Zipkin's storage, Pekko Persistence, JanusGraph, dsbulk.
#
# With names of parts in TARNDB_TEST_PARTS, only those.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
read -ra parts <<< "${TARNDB_TEST_PARTS:-spring zipkin pekko dsbulk janusgraph}"
passed=0 failed=0 skipped=0 ended=0
for part in "${parts[@]}"; do
  at="$cache/applications-java/$part"
  log="$TARNDB_SUITE_LOGS/applications-java-$part.junit"
  began=$SECONDS status=0
  java "${java_flags[@]}" -Xmx768m -cp "$at/classes:$at/lib/*" org.junit.platform.console.ConsoleLauncher execute \
    --scan-classpath "$at/classes" --details=tree --disable-banner --disable-ansi-colors > "$log" 2>&1 || status=$?
  # What the applications log counts when they fail.
  if (( status == 0 )); then sed -n "/^╷/,\$p" "$log"; else cat "$log"; fi
  count() { local number; number=$(sed -nE "s/^\[ *([0-9]+) $1 .*/\1/p" "$log"); echo "${number:-0}"; }
  echo "$part: $(count 'tests successful') of $(count 'tests found') in $((SECONDS - began)) s"
  passed=$((passed + $(count 'tests successful')))
  failed=$((failed + $(count 'tests failed')))
  skipped=$((skipped + $(count 'tests skipped') + $(count 'containers skipped')))
  (( status == 0 )) || ended=$status
done
echo "$passed passed, $failed failed, $skipped skipped"
exit "$ended"
