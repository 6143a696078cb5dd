#!/usr/bin/env bash
# Clusters of processes: kills, stops, maintenance, partitions, growth, strangers, TLS, histories; nodes on 127.x.y.z and in network namespaces.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
[[ -z ${TARNDB_TEST_PEER:-} ]] || skip "it starts nodes of its own"
cd "$here"
export PYTHONDONTWRITEBYTECODE=1
exec "$cache/venv-cassandra/bin/python" -m pytest "$@"
