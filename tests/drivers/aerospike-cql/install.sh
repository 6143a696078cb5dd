#!/usr/bin/env bash
# A virtual environment with a Python client of each protocol.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
step_is_done venv-aerospike-cql "$here/requirements.txt" && [[ -x $cache/venv-aerospike-cql/bin/python ]] && exit 0
python3 -c 'import ensurepip, venv' 2> /dev/null || skip "Python's venv module is missing (Debian: python3-venv)"
say "installing the Python clients of Aerospike and Cassandra into .cache/venv-aerospike-cql"
rm -rf "$cache/venv-aerospike-cql"
python3 -m venv "$cache/venv-aerospike-cql"
"$cache/venv-aerospike-cql/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
step_done venv-aerospike-cql "$here/requirements.txt"
