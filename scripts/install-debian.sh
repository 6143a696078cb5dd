#!/usr/bin/env bash
# Installs the Debian packages that the driver suites need and that are missing: a JDK and Maven (Java driver, YCSB), Go,
# Node with npm, Chromium (reports, console), iproute2 (partitions), nftables (lost packets), OpenSSL's headers (latte) and Python's venv. Needs root or sudo without a
# password; else it says what to install and the suites that lack their tool are skipped. TARNDB_INSTALL=0 leaves the machine alone.
set -euo pipefail
. "$(dirname "$0")/steps.sh"

wanted=()
want() { # want PACKAGE COMMAND...: the package, unless the commands work
  local package=$1
  shift
  "$@" > /dev/null 2>&1 || wanted+=("$package")
}
want python3-venv python3 -c 'import ensurepip, venv'
want iproute2 ip -V
want nftables nft --version
want openjdk-17-jdk-headless javac -version
want maven mvn -v
want golang-go go version
want nodejs node --version
want npm npm --version
want chromium chromium --version
want pkg-config pkg-config --version
want libssl-dev pkg-config --exists openssl

if (( ${#wanted[@]} == 0 )); then exit 0; fi
if [[ ${TARNDB_INSTALL:-1} == 0 ]]; then
  say "not installed, as TARNDB_INSTALL=0 asks: ${wanted[*]}"
  exit 0
fi
if ! command -v apt-get > /dev/null; then
  say "this is not Debian: install ${wanted[*]} by hand; suites without their tool are skipped"
  exit 0
fi
as_root=()
if (( $(id -u) != 0 )); then
  if ! sudo -n true 2> /dev/null; then
    say "to run every suite: sudo apt-get install ${wanted[*]}; suites without their tool are skipped"
    exit 0
  fi
  as_root=(sudo -n)
fi
say "installing Debian packages: ${wanted[*]} (log: .cache/log/apt.log)"
export DEBIAN_FRONTEND=noninteractive
install() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; }
"${as_root[@]}" apt-get update > "$cache/log/apt.log" 2>&1 || true
if ! install "${wanted[@]}" >> "$cache/log/apt.log" 2>&1; then
  # One package that cannot be had must not keep the others away.
  for package in "${wanted[@]}"; do
    install "$package" >> "$cache/log/apt.log" 2>&1 || say "$package could not be installed; its suites are skipped"
  done
fi
