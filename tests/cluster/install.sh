#!/usr/bin/env bash
# The Python drivers, Aerospike's Python client and ScyllaDB's Rust driver, as their own suites install them; the checker of histories (Go) and the application on the Java
# driver, where there are the tools for them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
TARNDB_SUITE=python-cassandra bash "$here/../drivers/python/install.sh"
# What cannot be had is left out, what fails is a failure.
if_it_can() { "$@" || (( $? == 77 )); }
TARNDB_SUITE=python-scylla if_it_can bash "$here/../drivers/python/install.sh"
if_it_can bash "$here/../drivers/rust/install.sh"
if_it_can bash "$here/../drivers/aerospike-cql/install.sh"
mkdir -p "$cache/cluster"

checker=("$here"/checker/{go.mod,go.sum,main.go})
if ! command -v go > /dev/null; then
  say "Go is missing (Debian: golang-go): histories are not checked"
elif ! step_is_done cluster-checker "${checker[@]}" || [[ ! -x $cache/cluster/checker ]]; then
  say "fetching porcupine and building the checker of histories"
  (cd "$here/checker" && GOMODCACHE="$cache/go/mod" GOCACHE="$cache/go/build" GOFLAGS="-mod=readonly -modcacherw" GOTOOLCHAIN=local \
    go build -o "$cache/cluster/checker" .)
  step_done cluster-checker "${checker[@]}"
fi

status=0
bash "$here/../drivers/java/install.sh" || status=$?
(( status == 0 || status == 77 )) || exit "$status"
application=("$here"/java/tarndb/*.java)
if (( status == 0 )) && ! step_is_done cluster-java "${application[@]}"; then
  rm -rf "$cache/cluster/java"
  javac --release 17 -encoding UTF-8 -Xlint:all,-processing,-serial,-try -Werror -cp "$cache/java/lib/*" -d "$cache/cluster/java" "${application[@]}"
  step_done cluster-java "${application[@]}"
fi
