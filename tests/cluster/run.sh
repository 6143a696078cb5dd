#!/usr/bin/env bash
# Clusters of processes: kills, stops, maintenance, partitions, growth, unauthenticated peers, TLS, histories, all protocols; nodes on 127.x.y.z and in network namespaces.
# Suite `cluster-clients` has the files below, suite `cluster` the others; by itself, without TARNDB_SUITE, this runs what its arguments say.
set -euo pipefail
. "$(dirname "$0")/../../scripts/steps.sh"
# Clients of both protocols are in the one, Cassandra's alone in the other.
venv="$cache/venv-aerospike-cql"
[[ -x $venv/bin/python ]] || venv="$cache/venv-cassandra"
clients=(test_aerospike.py test_backup.py test_batches.py test_changes.py test_griddb.py test_java.py test_operations.py test_roles.py test_routing.py test_tls.py test_views.py)
case ${TARNDB_SUITE:-} in
  cluster-clients) set -- "${clients[@]}" "$@" ;;
  cluster) set -- "${clients[@]/#/--ignore=}" "$@" ;;
esac
run_pytest "$venv" "$@"
