#!/usr/bin/env bash
# The benchmark over loopback: TarnDB beside Redis, one core for the server, the other for the load (docs/benchmarks.md).
# Arguments go to bench_loopback.py: scripts/bench.sh --help
set -euo pipefail
. "$(dirname "$0")/steps.sh"
cd "$root"
build_server_and_load
cargo build --release --locked --package tarndb-io-linux --example socket_io
exec python3 scripts/bench_loopback.py "$@"
