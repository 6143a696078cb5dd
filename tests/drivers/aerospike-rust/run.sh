#!/usr/bin/env bash
# The Aerospike Rust suite: crate `aerospike`; records, policies, lists and maps, batches, queries, TLS, restarts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
left_out=()
[[ -n ${TARNDB_TEST_CA:-} ]] || left_out+=(--skip tls_)
[[ -n ${TARNDB_TEST_RESTART:-} ]] || left_out+=(--skip restart_)
status=0
# One at a time: a restart would disturb the others.
RUST_BACKTRACE=0 CARGO_TARGET_DIR="$cache/target-drivers" cargo test --quiet --locked --manifest-path "$here/Cargo.toml" --tests --no-fail-fast \
  -- --test-threads=1 "${left_out[@]}" 2>&1 | tee "$TARNDB_SUITE_LOGS/aerospike-rust.cargo" || status=$?
python3 - "$TARNDB_SUITE_LOGS/aerospike-rust.cargo" <<'PYTHON'
import re, sys
lines = "".join(line for line in open(sys.argv[1], errors="replace") if line.startswith("test result:"))
count = lambda word: sum(int(number) for number in re.findall(rf"(\d+) {word}", lines))
print(f"{count('passed')} passed, {count('failed')} failed, {count('filtered out')} skipped")
PYTHON
exit "$status"
