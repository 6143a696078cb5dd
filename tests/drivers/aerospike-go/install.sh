#!/usr/bin/env bash
# Fetches the Aerospike Go client and builds the Go suite.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
command -v go > /dev/null || skip "Go is missing (Debian: golang-go)"
[[ $(printf '%s\n' go1.23 "$(go env GOVERSION)" | sort -V | head -1) == go1.23 ]] || skip "$(go env GOVERSION) is too old: the client needs 1.23"
inputs=("$here/go.mod" "$here/go.sum" "$here/"*_test.go)
step_is_done aerospike-go "${inputs[@]}" && [[ -x $cache/aerospike-go/suite.test ]] && exit 0
say "fetching the Aerospike client and building the Go suite"
go_environment
mkdir -p "$cache/aerospike-go"
cd "$here"
go test -c -o "$cache/aerospike-go/suite.test" .
step_done aerospike-go "${inputs[@]}"
