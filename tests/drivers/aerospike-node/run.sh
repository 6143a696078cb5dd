#!/usr/bin/env bash
# The Aerospike Node suite: client 6; records, policies, lists and maps, batches, scans, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tap.sh"
run_node_suite aerospike-node
