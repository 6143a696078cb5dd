#!/usr/bin/env bash
# The load generator's distributions, keys and histogram logs against YCSB's own generators and HdrHistogram's own reader.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
work=$(mktemp -d "$cache/run/generators-XXXXXX")
trap 'rm -rf "$work"' EXIT
# The profile and the features of `cargo test --workspace`, which has built it.
generators() { (cd "$root" && cargo run --quiet --locked --profile quick --example generators -- "$@"); }
generators log "$work/latencies.hlog"
java "${java_flags[@]}" -cp "$cache/ycsb-generators/classes:$cache/ycsb-generators/lib/*" site.ycsb.generator.Facts "$work/latencies.hlog" > "$work/facts"
generators compare "$work/facts"
