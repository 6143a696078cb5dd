#!/usr/bin/env bash
# Clusters of processes: kills, stops, maintenance, partitions, growth, unauthenticated peers, TLS, histories, both protocols; nodes on 127.x.y.z and in network namespaces.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
[[ -z ${TARNDB_TEST_PEER:-} ]] || skip "it starts nodes of its own"
cd "$here"
export PYTHONDONTWRITEBYTECODE=1
# Clients of both protocols are in the one, Cassandra's alone in the other.
python="$cache/venv-aerospike-cql/bin/python"
[[ -x $python ]] || python="$cache/venv-cassandra/bin/python"
exec "$python" -m pytest "$@"
