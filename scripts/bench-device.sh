#!/usr/bin/env bash
# The benchmark with data eight times as large as memory, beside fio on the same file system (docs/benchmarks.md).
# Arguments go to bench_device.py: scripts/bench-device.sh --help
set -euo pipefail
. "$(dirname "$0")/steps.sh"
cd "$root"
build_server_and_load
exec python3 scripts/bench_device.py "$@"
