#!/usr/bin/env bash
# The Java suite: driver 4.x; versions and compression, types, paging, batches, transactions, events, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../junit.sh"
run_junit_suite java "$@"
