#!/usr/bin/env bash
# The Python driver, as its own suite installs it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
TARNDB_SUITE=python-scylla exec bash "$here/../drivers/python/install.sh"
