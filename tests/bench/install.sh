#!/usr/bin/env bash
# pytest, as the suite of the Python driver installs it, and for `make test-long` Cassandra.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [[ ${TARNDB_TEST_LONG:-} == 1 ]] && command -v java > /dev/null && command -v mvn > /dev/null; then
  "$here/../../peers/cassandra/cassandra.sh" install
fi
TARNDB_SUITE=python-scylla exec bash "$here/../drivers/python/install.sh"
