# The two commands are `make run` and `make test`; each installs what it lacks and says what it is doing.
#   make run           build and start a single node on loopback, data in ./tarndb-data (ARGS="--cores 2" adds flags)
#   make cluster       build and start three nodes, 127.0.0.1 to 127.0.0.3, data in ./tarndb-cluster; Ctrl-C ends them
#   make test          everything: check, cargo tests, real drivers; stops at the first stage that fails
#   make check         formatting, lints, edges of crates and files, licences and advisories of dependencies; never writes
#   make fix           formatting, what clippy can mend, THIRD-PARTY-NOTICES
#   make drivers       the driver suites only; SUITES="python go" chooses
#   make sim           the simulator over SEEDS=20000 seeds from SEED=1; `make test` takes 2,000
#   make sim-clusters  the same for clusters: SEEDS=5000 seeds of several nodes each; `make test` takes 1,200
#   make peer-cassandra   an Apache Cassandra on 127.0.0.1:9142, for TARNDB_TEST_CQL=127.0.0.1:9142 make drivers
#   make bench         a first report of `tarndb bench` in three minutes; ARGS="ycsb-b --duration 30s" chooses
#   make bench-loopback, make microbench   CPU time beside Redis over sockets, figures in process

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := run
TARGET := $(or $(CARGO_TARGET_DIR),target)
export TARNDB_TEST_BINARY ?= $(abspath $(TARGET))/release/tarndb
BENCH := ycsb-a --scale 0.3 --duration 60s
SUITES ?=
SEED ?= 1
SEEDS ?= 20000

.PHONY: run cluster build test check fix drivers sim sim-clusters bench bench-loopback microbench peer-cassandra stop-peer-cassandra

run: build
	@exec $(TARGET)/release/tarndb start $(ARGS)

cluster: build
	@exec scripts/cluster.py $(ARGS)

build:
	@echo "==> building the release binary (the first time takes minutes)"
	@cargo build --release --locked --package tarndb-server

test:
	@scripts/test.sh

check:
	cargo fmt --all --check
	cargo fmt --manifest-path tests/drivers/rust/Cargo.toml --check
	scripts/check-edges.py
	scripts/check-circles.py
	cargo clippy --workspace --all-targets --locked -- -D warnings
	scripts/deny.sh
	scripts/notices.py --check

fix:
	cargo fmt --all
	cargo fmt --manifest-path tests/drivers/rust/Cargo.toml
	cargo clippy --workspace --all-targets --fix --allow-dirty --allow-staged
	scripts/notices.py

drivers: build
	@scripts/drivers.sh $(SUITES)

sim:
	TARNDB_SEED=$(SEED) TARNDB_SEEDS=$(SEEDS) cargo test --locked --package tarndb-sim --test seeds -- --nocapture every_promise

sim-clusters: SEEDS := 5000
sim-clusters:
	TARNDB_SEED=$(SEED) TARNDB_SEEDS=$(SEEDS) cargo test --locked --package tarndb-sim --test cluster -- --nocapture every_promise

bench: build
	@$(TARGET)/release/tarndb bench run $(or $(ARGS),$(BENCH))

bench-loopback: build
	@scripts/bench.sh

microbench:
	@cargo run --release --locked --package tarndb-bench

peer-cassandra:
	@peers/cassandra/cassandra.sh start --dir .cache/cassandra/9142 --port 9142 --memory 3GiB --fresh > /dev/null

stop-peer-cassandra:
	@peers/cassandra/cassandra.sh stop --dir .cache/cassandra/9142
