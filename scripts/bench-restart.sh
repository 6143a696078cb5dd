#!/usr/bin/env bash
# How fast a shard's log is scanned when there is no checkpoint, beside fio reading the same file in order (docs/benchmarks.md).
# Arguments go to bench_restart.py: scripts/bench-restart.sh --help
set -euo pipefail
. "$(dirname "$0")/steps.sh"
cd "$root"
say "building restart_bench"
cargo build --release --locked --package tarndb-engine --example restart_bench
exec python3 scripts/bench_restart.py "$@"
