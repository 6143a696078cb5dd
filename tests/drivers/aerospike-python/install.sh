#!/usr/bin/env bash
# A virtual environment for the Aerospike Python client, with pinned wheels.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
install_python venv-aerospike "$here/requirements.txt" "the Aerospike Python client"
