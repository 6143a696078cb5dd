#!/usr/bin/env bash
# A virtual environment for one of the two Python drivers, with pinned wheels; both provide the package `cassandra`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
flavour=cassandra
[[ $TARNDB_SUITE != python-scylla ]] || flavour=scylla
install_python "venv-$flavour" "$here/requirements-$flavour.txt" "the Python driver ($flavour)"
