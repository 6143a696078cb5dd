#!/usr/bin/env bash
# Hostile bytes, statements and clients against a server with small limits of its own.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
[[ -z ${TARNDB_TEST_PEER:-} ]] || skip "it starts servers of its own"
cd "$here"
export PYTHONDONTWRITEBYTECODE=1
exec "$cache/venv-scylla/bin/python" -m pytest "$@"
