#!/usr/bin/env bash
# moto's server, boto3 and the Python driver, pinned. Without the dependencies that moto has for other services than S3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
requirements="$here/requirements.txt"
step_is_done venv-backup "$requirements" && [[ -x $cache/venv-backup/bin/python ]] && exit 0
python3 -c 'import ensurepip, venv' 2> /dev/null || skip "Python's venv module is missing (Debian: python3-venv)"
say "installing moto and the Python driver into .cache/venv-backup"
rm -rf "$cache/venv-backup"
python3 -m venv "$cache/venv-backup"
"$cache/venv-backup/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$requirements"
step_done venv-backup "$requirements"
