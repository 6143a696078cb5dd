#!/usr/bin/env bash
# The same rows through two protocols: written by Aerospike's Python client, read at once by Cassandra's; certificates that log in by either.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
cd "$here"
exec "$cache/venv-aerospike-cql/bin/python" -m pytest "$@"
