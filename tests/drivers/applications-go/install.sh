#!/usr/bin/env bash
# Fetches gocql and the modules whose schemas and statements are read, not compiled, and builds the suite.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../gotest.sh"
command -v go > /dev/null || skip "Go is missing (Debian: golang-go)"
inputs=("$here/go.mod" "$here/go.sum" "$here/modules.txt" "$here/"*_test.go "$here/../go/server_test.go")
step_is_done applications-go "${inputs[@]}" && [[ -x $cache/applications-go/suite.test ]] && exit 0
say "fetching gocql, Temporal and Jaeger, and building the suite of applications in Go"
go_environment
cd "$here"
while read -r module sum; do
  found=$(go mod download -json "$module")
  [[ $found == *"\"$sum\""* ]] || { echo "$module is not what it was: $found"; exit 1; }
done < modules.txt
go test -c "$(with_server_test applications-go)" -o "$cache/applications-go/suite.test" .
step_done applications-go "${inputs[@]}"
