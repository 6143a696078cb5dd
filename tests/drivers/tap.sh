# Sourced by the run.sh of suites in Node, after `here` is set: runs their files, and ends with what they counted.
. "$here/../../../scripts/steps.sh"

run_node_suite() { # run_node_suite NAME: the packages are in .cache/NAME
  local log="$TARNDB_SUITE_LOGS/$1.tap" status=0 file
  # Beside node_modules, where `require` looks for the packages.
  cp "$here"/*.js "$cache/$1/"
  cd "$cache/$1"
  : > "$log"
  # A file at a time: a restart would disturb the others.
  for file in *.test.js; do
    node --test --test-reporter=tap "$file" >> "$log" 2>&1 || status=$?
  done
  grep -E '^ *(not )?ok ' "$log" || true
  if (( status != 0 )); then cat "$log"; fi
  total() { local sum=0 number; for number in $(sed -nE "s/^# $1 ([0-9]+)$/\1/p" "$log"); do sum=$((sum + number)); done; echo "$sum"; }
  echo "$(total pass) passed, $(total fail) failed, $(total skipped) skipped"
  return "$status"
}
