#!/usr/bin/env bash
# GridDB's JDBC suite: driver 5.6; queries, rows written, tables made, prepared statements, pages, metadata, cancellation, permissions, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../junit.sh"
[[ -z ${TARNDB_TEST_PEER:-} ]] || skip "the server that is tried does not speak GridDB's protocol"
run_junit_suite griddb-jdbc "$@"
