#!/usr/bin/env bash
# GridDB's Python client: containers, rows of all types, row keys, TQL, time series, several containers at once, transactions, errors, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
[[ -z ${TARNDB_TEST_PEER:-} ]] || skip "the server that is tried does not speak GridDB's protocol"
cd "$here"
export TARNDB_TEST_JARS="$cache/griddb-python/lib"
exec "$cache/venv-griddb/bin/python" -m pytest "$@"
