#!/usr/bin/env bash
# A virtual environment for GridDB's Python client, with pinned wheels, and the jars that it runs on.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
command -v java > /dev/null || skip "a JVM is missing (Debian: openjdk-17-jdk-headless)"
command -v mvn > /dev/null || skip "Maven is missing (Debian: maven)"
python3 -c 'import ensurepip, venv' 2> /dev/null || skip "Python's venv module is missing (Debian: python3-venv)"
if ! step_is_done griddb-python-jars "$here/pom.xml"; then
  say "fetching GridDB's Java client and Arrow's with Maven"
  fetch_jars "$here" "$cache/griddb-python/lib"
  step_done griddb-python-jars "$here/pom.xml"
fi
step_is_done venv-griddb "$here/requirements.txt" && [[ -x $cache/venv-griddb/bin/python ]] && exit 0
say "installing GridDB's Python client into .cache/venv-griddb"
rm -rf "$cache/venv-griddb"
python3 -m venv "$cache/venv-griddb"
"$cache/venv-griddb/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
step_done venv-griddb "$here/requirements.txt"
