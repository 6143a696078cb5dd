#!/usr/bin/env bash
# The Aerospike Python client: records, policies, operations, batches, scans, restarts, and imports from its protocol.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
cd "$here"
exec "$cache/venv-aerospike/bin/python" -m pytest "$@"
