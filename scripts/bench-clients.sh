#!/usr/bin/env bash
# What load generators cost: client CPU seconds an operation of YCSB, cassandra-stress, plain loops on the Java driver and on
# ScyllaDB's Rust driver, and our own, all against the same TarnDB (docs/benchmarks.md). Arguments go to bench_clients.py: scripts/bench-clients.sh --help
set -euo pipefail
. "$(dirname "$0")/steps.sh"
cd "$root"
if [[ ${TARNDB_BUILD:-1} = 1 && " $* " != *" --help "* ]]; then
  say "building the server"
  cargo build --release --locked --package tarndb-server
fi
bash tests/ycsb/install.sh
if ! step_is_done driver-loop scripts/clients/DriverLoop.java tests/ycsb/pom.xml; then
  javac --release 17 -Xlint:all -Werror -cp "$cache/ycsb/lib/*" -d "$cache/driver-loop" scripts/clients/DriverLoop.java
  step_done driver-loop scripts/clients/DriverLoop.java tests/ycsb/pom.xml
fi
CARGO_TARGET_DIR="$cache/target-drivers" cargo build --quiet --release --locked --manifest-path tests/drivers/rust/Cargo.toml --bin scylla_loop
exec python3 scripts/bench_clients.py "$@"
