#!/usr/bin/env bash
# The Go suite: gocql; types, paging, batches, transactions, events, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../gotest.sh"
run_go_suite go "$@"
