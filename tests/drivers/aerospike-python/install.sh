#!/usr/bin/env bash
# A virtual environment for the Aerospike Python client, with pinned wheels.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
step_is_done venv-aerospike "$here/requirements.txt" && [[ -x $cache/venv-aerospike/bin/python ]] && exit 0
python3 -c 'import ensurepip, venv' 2> /dev/null || skip "Python's venv module is missing (Debian: python3-venv)"
say "installing the Aerospike Python client into .cache/venv-aerospike"
rm -rf "$cache/venv-aerospike"
python3 -m venv "$cache/venv-aerospike"
"$cache/venv-aerospike/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
step_done venv-aerospike "$here/requirements.txt"
