#!/usr/bin/env bash
# The Python suite: the language, types, paging, events and restarts, under one of the two drivers.
#
# Cassandra's driver runs all of it. ScyllaDB's runs the files in which the driver itself has a part.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
cd "$here"
export PYTHONDONTWRITEBYTECODE=1
of_driver=(test_{batch,concurrent,connect,errors,events,lwt,paging,prepared,restart,shard_aware,tls,types}.py)
if (( $# == 0 )) && [[ $TARNDB_SUITE == python-scylla && -z ${TARNDB_TEST_PEER:-} ]]; then
  set -- "${of_driver[@]}"
fi
exec "$cache/venv-${TARNDB_SUITE#python-}/bin/python" -m pytest "$@"
