# Sourced by the run.sh and install.sh of suites in Go, after `here` is set.
. "$here/../../../scripts/steps.sh"

# with_server_test NAME: the flag by which `go test` takes ../go/server_test.go for one of the suite's own files: no link, which archives and patches lose.
with_server_test() {
  local overlay="$cache/$1/overlay.json"
  mkdir -p "$cache/$1"
  printf '{"Replace": {"%s/server_test.go": "%s/go/server_test.go"}}\n' "$here" "$(dirname "$here")" > "$overlay"
  echo "-overlay=$overlay"
}

run_go_suite() { # run_go_suite NAME [ARGUMENTS]: runs .cache/NAME/suite.test, which install.sh has built, and ends with what it counted
  local name=$1 log="$TARNDB_SUITE_LOGS/$1.test" status=0
  "$cache/$name/suite.test" -test.v -test.timeout=1200s "${@:2}" > "$log" 2>&1 || status=$?
  grep -E '^(--- |\s+--- )' "$log" || true
  if (( status != 0 )); then cat "$log"; fi
  count() { grep -c -- "^--- $1:" "$log" || true; }
  echo "$(count PASS) passed, $(count FAIL) failed, $(count SKIP) skipped"
  return "$status"
}
