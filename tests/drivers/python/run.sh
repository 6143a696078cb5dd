#!/usr/bin/env bash
# The Python suites: python-cassandra and python-http under Cassandra's driver, python-scylla under ScyllaDB's.
#
# python-http has what is not the language: SQL and changes over HTTP, metrics, `tarndb follow` and `tarndb import`. python-scylla runs the files in which the driver itself has a
# part.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
cd "$here"
of_driver=(test_{batch,concurrent,connect,errors,events,lwt,paging,prepared,restart,shard_aware,tls,types}.py)
of_http=(test_{changes,changes_avro,follow,http_certificates,import,load,metrics,sql,sql_aggregates,sql_arrow,sql_spill}.py)
if (( $# == 0 )) && [[ -z ${TARNDB_TEST_PEER:-} ]]; then
  case $TARNDB_SUITE in
    python-http) set -- "${of_http[@]}" ;;
    python-scylla) set -- "${of_driver[@]}" ;;
    *) set -- "${of_http[@]/#/--ignore=}" ;;
  esac
fi
driver=cassandra
[[ $TARNDB_SUITE != python-scylla ]] || driver=scylla
exec "$cache/venv-$driver/bin/python" -m pytest "$@"
