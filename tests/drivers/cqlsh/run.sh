#!/usr/bin/env bash
# cqlsh, not interactive: DESCRIBE, COPY there and back, SOURCE, paging, expanded output, texts of errors.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
cd "$here"
export TARNDB_CQLSH="$cache/venv-cassandra/bin/cqlsh"
exec "$cache/venv-cassandra/bin/python" -m pytest "$@"
