#!/usr/bin/env bash
# A virtual environment for the applications in Python, with pinned wheels.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
step_is_done venv-applications "$here/requirements.txt" && [[ -x $cache/venv-applications/bin/python ]] && exit 0
python3 -c 'import ensurepip, venv' 2> /dev/null || skip "Python's venv module is missing (Debian: python3-venv)"
say "installing applications in Python into .cache/venv-applications"
rm -rf "$cache/venv-applications"
python3 -m venv "$cache/venv-applications"
"$cache/venv-applications/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
step_done venv-applications "$here/requirements.txt"
