#!/usr/bin/env bash
# Builds latte, a load tool on ScyllaDB's Rust driver, as released, into .cache/latte; minutes the first time.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
command -v cargo > /dev/null || skip "cargo is missing"
pkg-config --exists openssl 2> /dev/null || skip "OpenSSL's headers are missing (Debian: libssl-dev, pkg-config)"
step_is_done latte "$here/version" && [[ -x $cache/latte/bin/latte ]] && exit 0
say "building latte $(cat "$here/version") (some minutes, once)"
# Its own release profile optimizes for long; a bounded run does not need that.
export CARGO_PROFILE_RELEASE_LTO=false CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0
CARGO_TARGET_DIR="$cache/target-latte" cargo install latte-cli --version "=$(cat "$here/version")" --locked --quiet --no-track --force --root "$cache/latte"
rm -rf "$cache/target-latte"
step_done latte "$here/version"
