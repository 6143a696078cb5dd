#!/usr/bin/env bash
# The Python drivers, Aerospike's Python client and ScyllaDB's Rust driver, as their own suites install them; the checker of histories (Go) and the applications on the Java
# driver and on GridDB's clients, where there are the tools for them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
TARNDB_SUITE=python-cassandra bash "$here/../drivers/python/install.sh"
# What cannot be had is left out, what fails is a failure.
if_it_can() { "$@" || (( $? == 77 )); }
TARNDB_SUITE=python-scylla if_it_can bash "$here/../drivers/python/install.sh"
[[ ${TARNDB_TEST_LONG:-} != 1 ]] || if_it_can bash "$here/../drivers/rust/install.sh"
if_it_can bash "$here/../drivers/aerospike-cql/install.sh"
mkdir -p "$cache/cluster"

checker=("$here"/checker/{go.mod,go.sum,main.go})
if ! command -v go > /dev/null; then
  say "Go is missing (Debian: golang-go): histories are not checked"
elif ! step_is_done cluster-checker "${checker[@]}" || [[ ! -x $cache/cluster/checker ]]; then
  say "fetching porcupine and building the checker of histories"
  (go_environment && cd "$here/checker" && go build -o "$cache/cluster/checker" .)
  step_done cluster-checker "${checker[@]}"
fi

# application NAME SUITE DIRECTORY: compiles what uses the jars of a Java suite.
application() {
  local status=0 sources=("$here/$3"/tarndb/*.java)
  bash "$here/../drivers/$2/install.sh" || status=$?
  (( status != 77 )) || return 0
  (( status == 0 )) || exit "$status"
  step_is_done "cluster-$1" "${sources[@]}" && return
  rm -rf "$cache/cluster/$1"
  compile_java -Xlint:all,-processing,-serial,-try -cp "$cache/$2/lib/*" -d "$cache/cluster/$1" "${sources[@]}"
  step_done "cluster-$1" "${sources[@]}"
}
application java java java
application griddb griddb-java griddb
application griddb-sql griddb-jdbc griddb-sql
