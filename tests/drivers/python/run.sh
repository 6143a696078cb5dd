#!/usr/bin/env bash
# The Python suite: the language, types, paging, events and restarts, under one of the two drivers.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
cd "$here"
export PYTHONDONTWRITEBYTECODE=1
exec "$cache/venv-${TARNDB_SUITE#python-}/bin/python" -m pytest "$@"
