#!/usr/bin/env bash
# Runs driver suites, each against a private server on free ports with empty data, unless it starts its own.
#
#   scripts/drivers.sh [suite...]                            all of them, or those named
#   scripts/drivers.sh --install [suite...]                  only brings what they need
#   TARNDB_TEST_LONG=1 scripts/drivers.sh                    those of `make test-long`
#   TARNDB_TEST_CQL=127.0.0.1:9142 scripts/drivers.sh python against a server that already runs: Apache Cassandra after
#                                                            `make peer-cassandra`; restart tests are then skipped
#
# A suite is a directory with install.sh (brings its client; at once the second time) and run.sh (runs it; its last line is
# "N passed, N failed[, N skipped]"). Both end with status 77 when a tool that they need cannot be had. run.sh gets
# TARNDB_TEST_CQL, TARNDB_TEST_AEROSPIKE and TARNDB_TEST_GRIDDB (host:port each), TARNDB_TEST_RESTART (a command that takes `kill` or `term`; empty when the server is not ours),
# TARNDB_TEST_CA (whom clients trust that speak TLS; missing where they cannot) and TARNDB_TEST_PEER (not empty when the server is not TarnDB). Ends with 1 if any suite failed.
#
# Suites run side by side in TARNDB_TEST_LANES lanes (5), and their output goes to .cache/log/SUITE.log. One lane, or one suite, shows its
# output at once. After a failure no further suite starts; TARNDB_TEST_KEEP_GOING=1 runs them all the same.
set -euo pipefail
. "$(dirname "$0")/steps.sh"

all=(python-cassandra python-http python-scylla cqlsh differential java go node aerospike-python aerospike-java aerospike-go aerospike-node aerospike-cql scylla-cdc griddb-java griddb-jdbc griddb-python ycsb ycsb-generators abuse report console cluster cluster-clients bench crash faults backup package applications-python applications-go applications-node)
# What `make test-long` runs: the larger sizes of some of them, and what runs nowhere else.
long=(latte rust aerospike-rust applications-java cluster cluster-clients crash faults bench abuse package)
# These start what they need themselves.
serverless=(ycsb-generators abuse backup crash faults cluster cluster-clients report console bench package)
# These wait more than they compute, the longest first: two lanes have them, the other lanes the rest.
waiting=(cluster-clients backup cluster bench crash faults)
known=(latte rust aerospike-rust applications-java "${all[@]}")
is_serverless() { [[ " ${serverless[*]} " == *" $1 "* ]]; }
is_waiting() { [[ " ${waiting[*]} " == *" $1 "* ]]; }
directory_of() {
  case $1 in
    python-*) echo "$root/tests/drivers/python" ;;
    cluster-*) echo "$root/tests/cluster" ;;
    ycsb | differential) echo "$root/tests/$1" ;;
    *) is_serverless "$1" && echo "$root/tests/$1" || echo "$root/tests/drivers/$1" ;;
  esac
}

only_installs=""
if [[ ${1:-} == --install ]]; then
  only_installs=1
  shift
fi
suites=()
for name in "${@:-all}"; do
  case $name in
    all) if [[ ${TARNDB_TEST_LONG:-} == 1 ]]; then suites+=("${long[@]}"); else suites+=("${all[@]}"); fi ;;
    python) suites+=(python-cassandra python-http python-scylla) ;;
    *)
      if [[ " ${known[*]} " != *" $name "* ]]; then
        say "no suite is called '$name'; there are: ${known[*]} (python stands for its three)"
        exit 2
      fi
      suites+=("$name") ;;
  esac
done

install_suite() { # install_suite NAME: one at a time, for suites share what they install
  TARNDB_SUITE=$1 flock "$cache/install.lock" bash "$(directory_of "$1")/install.sh"
}

if [[ -n $only_installs ]]; then
  for name in "${suites[@]}"; do
    status=0
    install_suite "$name" || status=$?
    (( status == 0 || status == 77 )) || exit "$status"
  done
  exit 0
fi

# Everything that this run writes is in a directory of its own: two runs in one tree must not mix. Suites put their raw logs
# there; when the run ends they are copied to .cache/log.
run_directory=$(mktemp -d "$cache/run/drivers-XXXXXX")
export TARNDB_SUITE_LOGS="$run_directory/log"
mkdir -p "$TARNDB_SUITE_LOGS" "$run_directory/results"
server="" # directory of the private server that runs in this lane
lanes=()  # processes of the lanes
stop_server() {
  [[ -n $server ]] || return 0
  local directory=$server
  server=""
  python3 "$root/tests/drivers/server.py" stop "$directory"
}
finish() {
  local lane
  for lane in "${lanes[@]}"; do
    # The suite's own process first: it stops its server.
    touch "$run_directory/failed"
    kill $(ps -o pid= --ppid "$lane") "$lane" 2> /dev/null || true
    wait "$lane" || true
  done
  cp "$TARNDB_SUITE_LOGS"/* "$cache/log/" 2> /dev/null || true
  rm -rf "$run_directory"/{log,results,queue*,failed}
  # A server that died by itself leaves its log and data here, to be looked at.
  rmdir "$run_directory" 2> /dev/null || say "the server's log is in $run_directory"
}
trap finish EXIT

run_suite() { # run_suite NAME: 0 passed, 77 skipped, else failed
  local name=$1 directory status=0
  directory=$(directory_of "$name")
  echo "$name: $(sed -n '2s/^# *//p' "$directory/run.sh")"
  install_suite "$name" || return $?
  export TARNDB_SUITE=$name
  if [[ -n ${TARNDB_TEST_CQL:-} ]]; then
    # A server of somebody else's: Cassandra, unless it is said not to be a peer.
    TARNDB_TEST_PEER=${TARNDB_TEST_PEER-1} run_bounded "$directory" || status=$?
  elif is_serverless "$name"; then
    run_bounded "$directory" || status=$?
  else
    local started="$run_directory/$name" cql aerospike griddb sql
    cql=$(python3 "$root/tests/drivers/server.py" start "$started") || return 1
    server=$started
    aerospike=$(python3 "$root/tests/drivers/server.py" address "$started" aerospike) || return 1
    griddb=$(python3 "$root/tests/drivers/server.py" address "$started" griddb) || return 1
    sql=$(python3 "$root/tests/drivers/server.py" address "$started" griddb-sql) || return 1
    [[ ! -e $started/certificates/ca.pem ]] || export TARNDB_TEST_CA=$started/certificates/ca.pem
    TARNDB_TEST_CQL=$cql TARNDB_TEST_AEROSPIKE=$aerospike TARNDB_TEST_GRIDDB=$griddb TARNDB_TEST_GRIDDB_SQL=$sql TARNDB_TEST_PEER='' TARNDB_TEST_CORES=${TARNDB_TEST_CORES:-2} \
      TARNDB_TEST_RESTART="python3 $root/tests/drivers/server.py restart $started" \
      run_bounded "$directory" || status=$?
    stop_server || status=1
  fi
  return "$status"
}

seconds_max=${TARNDB_SUITE_SECONDS_MAX:-$([[ ${TARNDB_TEST_LONG:-} == 1 ]] && echo 1800 || echo 2700)}
run_bounded() {
  local status=0
  timeout --kill-after=10 "$seconds_max" bash "$1/run.sh" || status=$?
  (( status != 124 )) || say "gave up after $seconds_max s"
  return "$status"
}

# next_suite QUEUE...: prints the first suite that nobody has taken, from the first queue that has one.
next_suite() {
  local queue name
  exec 9> "$run_directory/queue.lock"
  flock 9
  [[ ! -e $run_directory/failed || ${TARNDB_TEST_KEEP_GOING:-} == 1 ]] || return 1
  for queue in "$@"; do
    name=$(head -n 1 "$queue")
    [[ -n $name ]] || continue
    sed -i 1d "$queue"
    echo "$name"
    return 0
  done
  return 1
}

run_lane() { # run_lane QUEUE...: runs suites until the queues are empty, and writes a line for each to results/SUITE
  local name began status took last log line
  while name=$(next_suite "$@"); do
    began=$SECONDS status=0 log="$TARNDB_SUITE_LOGS/$name.log"
    # In a process of its own, which stops its server whatever ends it.
    if (( lane_count == 1 )); then
      (trap 'stop_server || true' EXIT; run_suite "$name") 2>&1 | tee "$log" || status=${PIPESTATUS[0]}
    else
      (trap 'stop_server || true' EXIT; run_suite "$name") > "$log" 2>&1 || status=$?
    fi
    took="$((SECONDS - began)) s"
    last=$(grep -aE '[0-9]+ passed' "$log" | tail -1 || true)
    case $status in
      0) line="${last:-no closing line} ($took)" ;;
      77) line="skipped: a tool is missing: $(grep -a '^SKIPPED' "$log" | tail -1 || true)" ;;
      *) line="FAILED: ${last:-no closing line} ($took, status $status)" ;;
    esac
    printf '%-17s %s\n' "$name" "$line" > "$run_directory/results/$name"
    say "[$(ls "$run_directory/results" | wc -l)/${#suites[@]}] $name: $line"
    if (( status != 0 && status != 77 )); then
      touch "$run_directory/failed"
      (( lane_count == 1 )) || { tail -n 200 "$log"; say "$name failed; its whole output: .cache/log/$name.log. Alone: scripts/drivers.sh $name"; }
    fi
  done
}

: > "$run_directory/queue-busy"
: > "$run_directory/queue-waiting"
for name in "${waiting[@]}"; do
  [[ " ${suites[*]} " != *" $name "* ]] || echo "$name" >> "$run_directory/queue-waiting"
done
for name in "${suites[@]}"; do
  is_waiting "$name" || echo "$name" >> "$run_directory/queue-busy"
done
lane_count=${TARNDB_TEST_LANES:-5}
(( ${#suites[@]} > 1 )) || lane_count=1
queues=("$run_directory/queue-waiting" "$run_directory/queue-busy")
if (( lane_count == 1 )); then
  run_lane "${queues[@]}"
else
  say "${#suites[@]} suites in $lane_count lanes; each one's output: $TARNDB_SUITE_LOGS/SUITE.log"
  for (( lane = 0; lane < lane_count; lane++ )); do
    run_lane "${queues[@]}" &
    lanes+=($!)
    # Only two lanes prefer those that wait.
    (( lane != 1 )) || queues=("$run_directory/queue-busy" "$run_directory/queue-waiting")
  done
  for lane in "${lanes[@]}"; do wait "$lane"; done
  lanes=()
fi
for name in "${suites[@]}"; do
  cat "$run_directory/results/$name" 2> /dev/null || printf '%-17s %s\n' "$name" "not run: another suite failed before"
done > "$TARNDB_SUITE_LOGS/drivers.txt"
say "driver suites"
cat "$TARNDB_SUITE_LOGS/drivers.txt"
for name in "${suites[@]}"; do
  # Names of tests, as pytest, TAP, Go and JUnit tell them.
  grep -qs ' FAILED: ' "$run_directory/results/$name" || continue
  grep -aE '^(FAILED|ERROR) |^ *not ok |^ *--- FAIL|✘|\[X\]' "$TARNDB_SUITE_LOGS/$name.log" | head -n 20 | sed -E "s/^ *(FAILED |ERROR )?/FAILED $name: /" || true
done
[[ ! -e $run_directory/failed ]]
