#!/usr/bin/env bash
# The benchmark of the straight line: half reads, half upserts for half an hour on a device that has been written over (docs/benchmarks.md).
# Arguments go to bench_steady.py: scripts/bench-steady.sh --help
set -euo pipefail
. "$(dirname "$0")/steps.sh"
cd "$root"
build_server_and_load
exec python3 scripts/bench_steady.py "$@"
