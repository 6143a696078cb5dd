#!/usr/bin/env bash
# kill -9, full devices and data larger than memory, against servers of its own; TARNDB_CRASH_ROUNDS=1000 for more kills.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
[[ -z ${TARNDB_TEST_PEER:-} ]] || skip "it starts servers of its own"
cd "$here"
export PYTHONDONTWRITEBYTECODE=1
exec "$cache/venv-scylla/bin/python" -m pytest "$@"
