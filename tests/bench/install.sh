#!/usr/bin/env bash
# pytest, as the suite of the Python driver installs it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
TARNDB_SUITE=python-scylla exec bash "$here/../drivers/python/install.sh"
