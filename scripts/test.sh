#!/usr/bin/env bash
# Every test, in stages: packages, checks, the workspace's own tests, the release build, the driver suites. Stops at the
# first stage that fails and says which and how to run it alone. The closing lines are the runners' own.
set -euo pipefail
. "$(dirname "$0")/steps.sh"
cd "$root"

stage() { # stage NAME COMMAND...: runs it with its output in .cache/log/NAME.log too
  local name=$1 began=$SECONDS
  shift
  say "$name: $*"
  if ! "$@" 2>&1 | tee "$cache/log/stage-$name.log"; then
    echo
    say "FAILED in stage '$name' after $((SECONDS - began)) s. Alone: $*"
    grep -aE '^(FAILED|error|test .* FAILED)|[0-9]+ failed' "$cache/log/stage-$name.log" | tail -20 || true
    exit 1
  fi
  say "$name: done in $((SECONDS - began)) s"
}

stage install scripts/install-debian.sh
stage check make --no-print-directory check
stage cargo-test cargo test --workspace --locked --quiet
stage build cargo build --release --locked --package tarndb-server
stage drivers scripts/drivers.sh

echo
say "summary"
python3 scripts/summary.py "$cache/log/stage-cargo-test.log" "$cache/log/drivers.txt"
