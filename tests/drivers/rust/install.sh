#!/usr/bin/env bash
# Builds the Rust suite into .cache/target-drivers, apart from the server's own build.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
command -v cargo > /dev/null || skip "cargo is missing"
pkg-config --exists openssl 2> /dev/null || skip "OpenSSL's headers are missing (Debian: libssl-dev, pkg-config)"
inputs=("$here/Cargo.toml" "$here/Cargo.lock" "$here/src/"*.rs "$here/src/bin/"*.rs "$here/tests/"*.rs)
step_is_done rust "${inputs[@]}" && exit 0
say "building the Rust suite (the driver's crates take a minute the first time)"
CARGO_TARGET_DIR="$cache/target-drivers" cargo test --quiet --locked --manifest-path "$here/Cargo.toml" --no-run
step_done rust "${inputs[@]}"
