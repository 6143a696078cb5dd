#!/usr/bin/env bash
# Fetches the Go modules and builds the Go suite. Debian 12's Go (1.19) is enough for this release of gocql.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
command -v go > /dev/null || skip "Go is missing (Debian: golang-go)"
inputs=("$here/go.mod" "$here/go.sum" "$here/"*_test.go)
step_is_done go "${inputs[@]}" && [[ -x $cache/go/suite.test ]] && exit 0
say "fetching gocql and building the Go suite"
go_environment
cd "$here"
go test -c -o "$cache/go/suite.test" .
step_done go "${inputs[@]}"
