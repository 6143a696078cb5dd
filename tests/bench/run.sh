#!/usr/bin/env bash
# `tarndb bench` as a person uses it: studies on private nodes and on servers that die, wrong input, interrupts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
[[ -z ${TARNDB_TEST_PEER:-} ]] || skip "it starts servers of its own"
cd "$here"
export PYTHONDONTWRITEBYTECODE=1
exec "$cache/venv-scylla/bin/python" -m pytest "$@"
