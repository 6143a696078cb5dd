#!/usr/bin/env bash
# A virtual environment with a Python client of each protocol.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
install_python venv-aerospike-cql "$here/requirements.txt" "the Python clients of Aerospike and Cassandra"
