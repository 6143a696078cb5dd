#!/usr/bin/env bash
# Applications in Node: express-cassandra, an object mapper.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tap.sh"
run_node_suite applications-node
