#!/usr/bin/env bash
# Applications in Python: cqlengine, cassio and LangChain's vector store, cqlsh's COPY at size.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
cd "$here"
export CQLENG_ALLOW_SCHEMA_MANAGEMENT=1 TARNDB_CQLSH="$cache/venv-applications/bin/cqlsh"
exec "$cache/venv-applications/bin/python" -m pytest "$@"
