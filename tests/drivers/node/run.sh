#!/usr/bin/env bash
# The Node suite: cassandra-driver; types, paging, batches, transactions, events, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tap.sh"
run_node_suite node
