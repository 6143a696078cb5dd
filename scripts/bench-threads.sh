#!/usr/bin/env bash
# What it costs to run where io_uring is forbidden: threads for the disk beside io_uring, in memory and beyond (docs/benchmarks.md).
# Arguments go to bench_threads.py: scripts/bench-threads.sh --help
set -euo pipefail
. "$(dirname "$0")/steps.sh"
cd "$root"
build_server_and_load
exec python3 scripts/bench_threads.py "$@"
