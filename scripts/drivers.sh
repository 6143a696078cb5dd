#!/usr/bin/env bash
# Runs driver suites, each against a private server on free ports with empty data, unless it starts its own.
#
#   scripts/drivers.sh [suite...]                            all of them, or those named
#   TARNDB_TEST_CQL=127.0.0.1:9142 scripts/drivers.sh python against a server that already runs: Apache Cassandra after
#                                                            `make peer-cassandra`; restart tests are then skipped
#
# A suite is a directory with install.sh (brings its client; at once the second time) and run.sh (runs it; its last line is
# "N passed, N failed[, N skipped]"). Both end with status 77 when a tool that they need cannot be had. To run.sh are given
# TARNDB_TEST_CQL=host:port, TARNDB_TEST_AEROSPIKE=host:port, TARNDB_TEST_RESTART (a command that takes `kill` or `term`; empty when the server is not ours)
# and TARNDB_TEST_PEER (not empty when the server is not TarnDB). Ends with 1 if any suite failed.
set -euo pipefail
. "$(dirname "$0")/steps.sh"

all=(python-cassandra python-scylla cqlsh rust java go node latte aerospike-python aerospike-java aerospike-go aerospike-rust aerospike-node aerospike-cql ycsb ycsb-generators abuse crash cluster report bench)
# These start what they need themselves.
serverless=(ycsb-generators abuse crash cluster report bench)
# These wait more than they compute: the others run meanwhile, if there are any.
waiting=(cluster crash bench)
is_serverless() { [[ " ${serverless[*]} " == *" $1 "* ]]; }
is_waiting() { [[ " ${waiting[*]} " == *" $1 "* ]]; }
directory_of() {
  case $1 in
    python-*) echo "$root/tests/drivers/python" ;;
    ycsb) echo "$root/tests/$1" ;;
    *) is_serverless "$1" && echo "$root/tests/$1" || echo "$root/tests/drivers/$1" ;;
  esac
}

suites=()
for name in "${@:-all}"; do
  case $name in
    all) suites+=("${all[@]}") ;;
    python) suites+=(python-cassandra python-scylla) ;;
    *)
      if [[ " ${all[*]} " != *" $name "* ]]; then
        say "no suite is called '$name'; there are: ${all[*]} (python stands for both)"
        exit 2
      fi
      suites+=("$name") ;;
  esac
done

# Everything that this run writes is in a directory of its own: two runs in one tree must not mix. Suites put their raw logs
# there; when the run ends they are copied to .cache/log.
run_directory=$(mktemp -d "$cache/run/drivers-XXXXXX")
export TARNDB_SUITE_LOGS="$run_directory/log"
mkdir -p "$TARNDB_SUITE_LOGS"
server="" # directory of the private server that runs now
beside="" # process that runs the suites of the other lane
stop_server() {
  [[ -n $server ]] || return 0
  local directory=$server
  server=""
  python3 "$root/tests/drivers/server.py" stop "$directory"
}
finish() {
  stop_server || true
  [[ -z $beside ]] || kill "$beside" 2> /dev/null || true
  [[ -z $beside ]] || wait "$beside" || true
  cp "$TARNDB_SUITE_LOGS"/* "$cache/log/" 2> /dev/null || true
  rm -rf "$run_directory/log"
  # A server that died by itself leaves its log and data here, to be looked at.
  rmdir "$run_directory" 2> /dev/null || say "the server's log is in $run_directory"
}
trap finish EXIT

run_suite() { # run_suite NAME: 0 passed, 77 skipped, else failed; the log is .cache/log/NAME.log
  local name=$1 directory log status=0
  directory=$(directory_of "$name")
  log="$TARNDB_SUITE_LOGS/$name.log"
  say "$name: $(sed -n '2s/^# *//p' "$directory/run.sh")"
  # One at a time: suites share what they install.
  TARNDB_SUITE=$name flock "$cache/install.lock" bash "$directory/install.sh" || return $?
  export TARNDB_SUITE=$name
  if [[ -n ${TARNDB_TEST_CQL:-} ]]; then
    # A server of somebody else's: Cassandra, unless it is said not to be a peer.
    TARNDB_TEST_PEER=${TARNDB_TEST_PEER-1} run_logged "$directory" "$log" || status=$?
  elif is_serverless "$name"; then
    run_logged "$directory" "$log" || status=$?
  else
    local started="$run_directory/$name" cql aerospike
    cql=$(python3 "$root/tests/drivers/server.py" start "$started") || return 1
    server=$started
    aerospike=$(python3 "$root/tests/drivers/server.py" address "$started" aerospike) || return 1
    TARNDB_TEST_CQL=$cql TARNDB_TEST_AEROSPIKE=$aerospike TARNDB_TEST_PEER='' TARNDB_TEST_CORES=${TARNDB_TEST_CORES:-2} \
      TARNDB_TEST_RESTART="python3 $root/tests/drivers/server.py restart $started" \
      run_logged "$directory" "$log" || status=$?
    stop_server || status=1
  fi
  return "$status"
}

run_logged() {
  timeout --kill-after=10 "${TARNDB_SUITE_SECONDS_MAX:-600}" bash "$1/run.sh" 2>&1 | tee "$2"
  local status=${PIPESTATUS[0]}
  (( status != 124 )) || say "gave up after ${TARNDB_SUITE_SECONDS_MAX:-600} s"
  return "$status"
}

# run_lane RESULTS SUITE...: runs them one after the other, and writes a line for each into RESULTS.
run_lane() {
  local results=$1 failed=0 name began status took last
  shift
  : > "$results"
  for name in "$@"; do
    began=$SECONDS
    status=0
    run_suite "$name" || status=$?
    took="$((SECONDS - began)) s"
    last=$(grep -aE '[0-9]+ passed' "$TARNDB_SUITE_LOGS/$name.log" 2> /dev/null | tail -1 || true)
    case $status in
      0) printf '%-17s %s (%s)\n' "$name" "${last:-no closing line}" "$took" >> "$results" ;;
      77) printf '%-17s %s\n' "$name" "skipped: a tool is missing, see above" >> "$results" ;;
      *)
        printf '%-17s %s (%s, status %s)\n' "$name" "FAILED: ${last:-no closing line}" "$took" "$status" >> "$results"
        failed=1 ;;
    esac
  done
  return "$failed"
}

ours=() others=()
for name in "${suites[@]}"; do
  if is_waiting "$name"; then others+=("$name"); else ours+=("$name"); fi
done
results="$run_directory/results"
failed=0
if (( ${#ours[@]} > 0 && ${#others[@]} > 0 )); then
  say "${others[*]}: beside the others; what they say follows at the end"
  (trap 'stop_server || true' EXIT; run_lane "$results.others" "${others[@]}") > "$TARNDB_SUITE_LOGS/beside.log" 2>&1 &
  beside=$!
  run_lane "$results" "${ours[@]}" || failed=1
  wait "$beside" || failed=1
  beside=""
  cat "$TARNDB_SUITE_LOGS/beside.log"
  cat "$results.others" >> "$results"
else
  run_lane "$results" "${suites[@]}" || failed=1
fi
rm -f "$results.others"
mv "$results" "$TARNDB_SUITE_LOGS/drivers.txt"
say "driver suites"
cat "$TARNDB_SUITE_LOGS/drivers.txt"
exit "$failed"
