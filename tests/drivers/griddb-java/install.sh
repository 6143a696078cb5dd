#!/usr/bin/env bash
# Fetches GridDB's Java client, older ones and JUnit with Maven and compiles the suite.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../junit.sh"
install_junit_suite griddb-java "GridDB's Java client"
if ! step_is_done griddb-java-older "$here/older/pom.xml"; then
  say "fetching GridDB's older Java clients with Maven"
  fetch_jars "$here/older" "$cache/griddb-java/older" copy
  step_done griddb-java-older "$here/older/pom.xml"
fi
