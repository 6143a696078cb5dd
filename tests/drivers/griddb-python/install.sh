#!/usr/bin/env bash
# A virtual environment for GridDB's Python client, with pinned wheels, and the jars that it runs on.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
command -v java > /dev/null || skip "a JVM is missing (Debian: openjdk-17-jdk-headless)"
command -v mvn > /dev/null || skip "Maven is missing (Debian: maven)"
if ! step_is_done griddb-python-jars "$here/pom.xml"; then
  say "fetching GridDB's Java client and Arrow's with Maven"
  fetch_jars "$here" "$cache/griddb-python/lib"
  step_done griddb-python-jars "$here/pom.xml"
fi
install_python venv-griddb "$here/requirements.txt" "GridDB's Python client"
