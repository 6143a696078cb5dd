#!/usr/bin/env bash
# cqlsh comes with the environment of the Python suite.
set -euo pipefail
TARNDB_SUITE=python-cassandra exec bash "$(dirname "$0")/../python/install.sh"
