#!/usr/bin/env bash
# YCSB's core workloads A to F through the clients of Cassandra and GridDB, bounded, with every value that is read compared with what was written.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
exec python3 "$here/workloads.py" "$cache"
