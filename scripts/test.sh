#!/usr/bin/env bash
# The tests, in stages; stops at the first stage that fails and says how to run it alone.
#
#   scripts/test.sh         `make test`: every kind of test, with few seeds, rounds and kills
#   scripts/test.sh long    `make test-long`: the rest; seeds go on where those of `make test` end
#
# Driver suites mostly wait, so they run beside the stages that compile and compute, which leave them the CPU when they want it.
# Each stage's output goes to the terminal and to .cache/log/stage-NAME.log. The closing lines are the runners' own.
set -euo pipefail
. "$(dirname "$0")/steps.sh"
cd "$root"

kind=${1:-short}
stages=0 stages_total=0 started=$SECONDS
so_far() { local seconds=$((SECONDS - started)); printf '%d m %02d s' $((seconds / 60)) $((seconds % 60)); }

stage() { # stage NAME COMMAND...; `alone` says how to run it, unless the command does
  local name=$1 began=$SECONDS
  shift
  stages=$((stages + 1))
  say "[$stages/$stages_total] $name: ${alone:-$*} (elapsed $(so_far))"
  if ! "$@" 2>&1 | tee "$cache/log/stage-$name.log"; then
    echo
    say "FAILED in stage '$name' after $((SECONDS - began)) s. Alone: ${alone:-$*}"
    grep -aE '^(FAILED|error|test .* FAILED)|[0-9]+ failed' "$cache/log/stage-$name.log" | tail -20 || true
    exit 1
  fi
  say "[$stages/$stages_total] $name: done in $((SECONDS - began)) s (elapsed $(so_far))"
}

# begin NAME COMMAND...: starts what runs beside the next stages and shows its progress; `stage_end` waits for it as a stage of its own, and shows
# all that it said. A process group of its own, which ends as a whole when a stage fails.
beside=""
trap '[[ -z $beside ]] || kill -- "-$beside" 2> /dev/null || true' EXIT
begin() {
  beside_name=$1 beside_command=("${@:2}")
  setsid "${beside_command[@]}" > "$cache/log/$beside_name.log" 2>&1 &
  beside=$!
  tail -n +1 -f --pid="$beside" "$cache/log/$beside_name.log" | { grep --line-buffered '^==> \[' || true; } &
}
ended() { cat "$cache/log/$beside_name.log"; return "$1"; }
stage_end() {
  local status=0
  wait "$beside" || status=$?
  beside=""
  alone="${beside_command[*]}" stage "$beside_name" ended "$status"
}

if [[ $kind == short ]]; then
  stages_total=4
  begin packages scripts/install-debian.sh
  stage build cargo build --profile quick --locked --package tarndb-server
  stage_end
  begin drivers scripts/drivers.sh
  stage cargo-test nice cargo test --profile quick --workspace --locked --quiet --lib --bins --tests
  stage_end
  logs=("$cache/log/stage-cargo-test.log")
else
  # How many seeds `make test` takes stands in the tests.
  export TARNDB_TEST_LONG=1
  stages_total=14
  begin packages scripts/install-debian.sh
  stage build cargo build --profile quick --locked --package tarndb-server
  stage_end
  begin drivers scripts/drivers.sh
  stage seeds nice env TARNDB_SEED=121 TARNDB_SEEDS=1880 cargo test --profile quick --workspace --locked --test seeds -- every_promise
  stage seeds-clusters nice env TARNDB_SEED=13 TARNDB_SEEDS=288 cargo test --profile quick --workspace --locked --test cluster -- every_promise
  stage seeds-upgrades nice env TARNDB_SEED=3 TARNDB_SEEDS=20 cargo test --profile quick --workspace --locked --test cluster -- a_cluster_is_upgraded
  stage seeds-rot nice env TARNDB_SEED=4 TARNDB_SEEDS=27 cargo test --profile quick --workspace --locked --test cluster -- a_device_that_rots
  stage seeds-repairs nice env TARNDB_SEED=2 TARNDB_SEEDS=2 cargo test --profile quick --workspace --locked --test repair
  stage seeds-indexes nice cargo test --profile quick --workspace --locked --test indexes --test cdc_logs --test containers
  stage seeds-engine nice env TARNDB_SEED=40 TARNDB_SEEDS=200 cargo test --profile quick --workspace --locked --lib -- acknowledged_writes a_walk_over_a_tail
  stage seeds-metadata nice env TARNDB_SEED=4 TARNDB_SEEDS=8 cargo test --profile quick --workspace --locked --lib -- a_member_that_lies
  stage kills nice cargo test --profile quick --workspace --locked --test binary -- killed_anywhere
  stage geometry nice cargo test --profile quick --workspace --locked --lib -- entries_are_in_the_ranges tangled_rings
  stage fuzz nice env TARNDB_FUZZ_SEED=20001 TARNDB_FUZZ_ITERATIONS=100000 cargo test --profile quick --workspace --locked --test wire_fuzz --test language_fuzz --test operate_fuzz
  stage_end
  logs=("$cache"/log/stage-{seeds,seeds-clusters,seeds-upgrades,seeds-rot,seeds-repairs,seeds-indexes,seeds-engine,seeds-metadata,kills,geometry,fuzz}.log)
fi

echo
say "summary of make test${TARNDB_TEST_LONG:+-long} after $(so_far)"
python3 scripts/summary.py "make test${TARNDB_TEST_LONG:+-long}" "$cache/log/drivers.txt" "${logs[@]}"
