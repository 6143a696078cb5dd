# Sourced by the run.sh of suites in Go, after `here` is set: runs what install.sh has built, and ends with what it counted.
. "$here/../../../scripts/steps.sh"

run_go_suite() { # run_go_suite NAME [ARGUMENTS]: the program is .cache/NAME/suite.test
  local name=$1 log="$TARNDB_SUITE_LOGS/$1.test" status=0
  "$cache/$name/suite.test" -test.v -test.timeout=300s "${@:2}" > "$log" 2>&1 || status=$?
  grep -E '^(--- |\s+--- )' "$log" || true
  if (( status != 0 )); then cat "$log"; fi
  count() { grep -c -- "^--- $1:" "$log" || true; }
  echo "$(count PASS) passed, $(count FAIL) failed, $(count SKIP) skipped"
  return "$status"
}
