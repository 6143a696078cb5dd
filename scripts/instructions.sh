#!/usr/bin/env bash
# Instructions of one request, frame in to frame out, counted by callgrind: the same on a busy machine as on a quiet one.
#   scripts/instructions.sh [shape...]      shapes as of microbench: 1x200 5x40 10x100
#   TARNDB_PROFILE=quick scripts/instructions.sh   of the build that `make run` starts
#   TARNDB_BENCH_FLAGS=--encrypted scripts/instructions.sh   with more flags of microbench; --cdc logs the changes of the table
# Prints instructions per request for reads and writes in deliveries of 1 and 16 frames, and keeps the profiles in target/bench/
# (callgrind_annotate --inclusive=yes FILE shows where they go).
set -euo pipefail
. "$(dirname "$0")/steps.sh"
cd "$root"
if ! command -v valgrind > /dev/null; then
  echo "instructions.sh: valgrind is not installed: sudo apt-get install valgrind" >&2
  exit 3
fi
shapes=("$@")
(( ${#shapes[@]} )) || shapes=(1x200 10x100)
target=${CARGO_TARGET_DIR:-target}
say "building the benchmark"
profile=${TARNDB_PROFILE:-release}
# The binary compiles the node for its reactor itself: as optimized as crate node-linux does.
cargo build --profile "$profile" --config profile.quick.package.tarndb-bench.opt-level=3 --locked --package tarndb-bench --bin microbench
mkdir -p "$target/bench"
printf '%-7s %-7s %5s  %20s\n' shape kind batch instructions/request
for shape in "${shapes[@]}"; do
  for kind in reads writes; do
    for batch in 1 16; do
      output="$target/bench/callgrind.$shape.$kind.$batch"
      # The rows are few, for loading them under valgrind is slow; their number changes nothing but cache misses, which are not counted.
      measured=$(timeout 900 valgrind --tool=callgrind --collect-atstart=no --toggle-collect='*serve_measured*' \
        --callgrind-out-file="$output" "$target/$profile/microbench" --callgrind "$kind" --shape "$shape" --batches "$batch" \
        --rows 20000 --requests 51200 ${TARNDB_BENCH_FLAGS:-} 2> "$output.log" | sed -n 's/^measured=//p') || { tail -5 "$output.log" >&2; exit 1; }
      total=$(sed -n 's/^\(summary\|totals\): *\([0-9]*\).*/\2/p' "$output" | tail -1)
      printf '%-7s %-7s %5s  %20s\n' "$shape" "$kind" "$batch" $((total / measured))
    done
  done
done
