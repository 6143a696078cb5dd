# The two commands are `make run` and `make test`; each installs what it lacks and says what it is doing.
#   make run           build and start a single node on loopback, data in ./tarndb-data (ARGS="--cores 2" adds flags)
#   make cluster       build and start three nodes, 127.0.0.1 to 127.0.0.3, data in ./tarndb-cluster; Ctrl-C ends them
#   make test          every kind of test, with few seeds, rounds and kills; stops at the first stage that fails
#   make test-long     the rest: thousands of seeds, a hundred kills, long histories; no seed of `make test` again
#   make check         formatting, lints, edges of crates and files, paths in ARCHITECTURE.md, licences and advisories of dependencies; never writes
#   make fix           formatting, what clippy can mend, THIRD-PARTY-NOTICES
#   make release       the slow build that figures are taken from: target/release/tarndb
#   make drivers       the driver suites only; SUITES="python go" chooses
#   make sim           the simulator over SEEDS=20000 seeds from SEED=1; `make test` takes 120, `make test-long` 1,880 more
#   make sim-clusters  the same for clusters: SEEDS=5000 seeds of several nodes each; 20, and 280 more
#   make peer-cassandra   an Apache Cassandra on 127.0.0.1:9142, for TARNDB_TEST_CQL=127.0.0.1:9142 make drivers
#   make differential  CQL compared with a real Cassandra's: all scripts and CASES=200 generated cases from SEED=1; ARGS=--record records again
#   make package       a Debian package, a release archive and its SBOM in target/package; builds the release
#   make install       the release on this machine: DESTDIR, PREFIX=/usr/local
#   make bench         a first report of `tarndb bench` in three minutes; ARGS="ycsb-b --duration 30s" chooses
#   make bench-loopback, make microbench   CPU time beside Redis over sockets, figures in process

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := run
TARGET := $(or $(CARGO_TARGET_DIR),target)
# What `make run` starts and the suites of drivers test.
BINARY := $(TARGET)/quick/tarndb
export TARNDB_TEST_BINARY ?= $(abspath $(BINARY))
QUICK := --profile quick --locked
BENCH := ycsb-a --scale 0.3 --duration 60s
SUITES ?=
SEED ?= 1
SEEDS ?= 20000
CASES ?= 200

.PHONY: run cluster build release package install test test-long check fix drivers sim sim-clusters bench bench-loopback microbench peer-cassandra stop-peer-cassandra differential

run: build
	@exec $(BINARY) start $(ARGS)

cluster: build
	@exec scripts/cluster.py $(ARGS)

build:
	@echo "==> building (the first time takes minutes)"
	@cargo build $(QUICK) --package tarndb-server

release:
	@echo "==> building the release (fat LTO: the first time takes many minutes)"
	@cargo build --release --locked --package tarndb-server

package: release
	@scripts/package.sh deb
	@scripts/package.sh archive

install: release
	@scripts/package.sh tree "$(or $(DESTDIR),/)" --prefix "$(or $(PREFIX),/usr/local)"

test:
	@scripts/test.sh

test-long:
	@scripts/test.sh long

check:
	cargo fmt --all --check
	cargo fmt --manifest-path tests/drivers/rust/Cargo.toml --check
	@links=$$(git ls-files --stage | grep ^120000) || exit 0; echo "symbolic links, which archives and patches lose: $$links"; exit 1
	scripts/check-edges.py
	scripts/check-circles.py
	scripts/check-words.py
	scripts/check-architecture.py
	cargo clippy $(QUICK) --workspace --all-targets -- -D warnings
	scripts/deny.sh
	scripts/notices.py --check

fix:
	cargo fmt --all
	cargo fmt --manifest-path tests/drivers/rust/Cargo.toml
	cargo clippy $(QUICK) --workspace --all-targets --fix --allow-dirty --allow-staged
	scripts/notices.py

drivers: build
	@scripts/drivers.sh $(SUITES)

differential:
	@tests/differential/live.sh --seed $(SEED) --cases $(CASES) $(ARGS)

sim:
	TARNDB_SEED=$(SEED) TARNDB_SEEDS=$(SEEDS) cargo test $(QUICK) --package tarndb-sim --test seeds -- --nocapture every_promise

sim-clusters: SEEDS := 5000
sim-clusters:
	TARNDB_SEED=$(SEED) TARNDB_SEEDS=$(SEEDS) cargo test $(QUICK) --package tarndb-sim --test cluster -- --nocapture every_promise

bench: release
	@$(TARGET)/release/tarndb bench run $(or $(ARGS),$(BENCH))

bench-loopback: release
	@scripts/bench.sh

microbench:
	@cargo run --release --locked --package tarndb-bench

peer-cassandra:
	@peers/cassandra/cassandra.sh start --dir .cache/cassandra/9142 --port 9142 --memory 3GiB --fresh > /dev/null

stop-peer-cassandra:
	@peers/cassandra/cassandra.sh stop --dir .cache/cassandra/9142
