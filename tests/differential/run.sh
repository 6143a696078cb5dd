#!/usr/bin/env bash
# CQL as Apache Cassandra 5.0.9 answers it: scripts and generated cases against its recorded answers.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
cd "$here"
exec "$cache/venv-scylla/bin/python" -m pytest "$@"
