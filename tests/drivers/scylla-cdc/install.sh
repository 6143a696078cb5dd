#!/usr/bin/env bash
# Fetches ScyllaDB's library for CDC logs with its driver, and builds the suite. They need Go 1.25.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../gotest.sh"
command -v go > /dev/null || skip "Go is missing (Debian: golang-go)"
[[ $(printf '%s\n' go1.25 "$(GOTOOLCHAIN=local go env GOVERSION)" | sort -V | head -1) == go1.25 ]] || skip "Go is older than 1.25"
inputs=("$here/go.mod" "$here/go.sum" "$here/"*_test.go "$here/../go/server_test.go")
step_is_done scylla-cdc "${inputs[@]}" && [[ -x $cache/scylla-cdc/suite.test ]] && exit 0
say "fetching scylla-cdc-go and building its suite"
go_environment
cd "$here"
go test -c "$(with_server_test scylla-cdc)" -o "$cache/scylla-cdc/suite.test" .
step_done scylla-cdc "${inputs[@]}"
