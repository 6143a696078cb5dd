#!/usr/bin/env bash
# GridDB's Java suite: client 5.6, and what 4.0 to 5.3 can; connections, containers, types, row keys, TQL, time series, many containers at once, row sets in parts, limits, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../junit.sh"
[[ -z ${TARNDB_TEST_PEER:-} ]] || skip "the server that is tried does not speak GridDB's protocol"
run_junit_suite griddb-java "$@"
