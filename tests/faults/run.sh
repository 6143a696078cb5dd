#!/usr/bin/env bash
# Every file of a data directory, missing, damaged, old or another node's: right refusals, no panic, no row silently gone; TARNDB_TEST_LONG=1 for all of the matrix.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
[[ -z ${TARNDB_TEST_PEER:-} ]] || skip "it starts servers of its own"
cd "$here"
export PYTHONDONTWRITEBYTECODE=1
exec "$cache/venv-scylla/bin/python" -m pytest "$@"
