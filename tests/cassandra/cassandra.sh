#!/usr/bin/env bash
# Runs a single Apache Cassandra node on loopback, the peer that every suite here must also pass on.
#
#   tests/cassandra/cassandra.sh start [port]   fetch with Maven, start, wait until CQL answers (default port 9142)
#   tests/cassandra/cassandra.sh stop [port]    stop the node that `start` started, by its process id
#   tests/cassandra/cassandra.sh status [port]  say whether it runs
#
# Data, configuration and logs are in .cache/cassandra/PORT, so that several can run side by side (a node takes its port and
# the two above it); `start` begins with empty data unless KEEP_DATA=1.
# The heap is CASSANDRA_HEAP (default 1500M). Needs a JDK 17 and Maven. Not part of `make test`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
jars="$cache/cassandra/lib"
port=${2:-9142}
home="$cache/cassandra/$port"
pid_file="$home/pid"
running() { [[ -s $pid_file ]] && kill -0 "$(cat "$pid_file")" 2>/dev/null; }

fetch() {
  step_is_done cassandra-jars "$here/pom.xml" && [[ -d $jars ]] && return
  command -v mvn > /dev/null || { say "Maven is missing"; exit 1; }
  say "fetching Apache Cassandra and the jars that it needs with Maven"
  fetch_jars "$here" "$jars"
  step_done cassandra-jars "$here/pom.xml"
}

write_configuration() {
  mkdir -p "$home/conf" "$home/log"
  sed -e "s|@HOME@|$home|g" -e "s|@CQL_PORT@|$port|g" -e "s|@STORAGE_PORT@|$((port + 1))|g" \
    "$here/cassandra.yaml.in" > "$home/conf/cassandra.yaml"
  cp "$here/logback.xml" "$home/conf/logback.xml"
}

start() {
  if running; then say "cassandra: already running, pid $(cat "$pid_file")"; return; fi
  local taken
  for taken in "$port" $((port + 1)) $((port + 2)); do
    # A node of somebody else's would otherwise answer in place of this one.
    if (exec 3<> "/dev/tcp/127.0.0.1/$taken") 2> /dev/null; then
      say "cassandra: port $taken is in use by another process: give another port"
      exit 1
    fi
  done
  fetch
  [[ ${KEEP_DATA:-0} = 1 ]] || rm -rf "${home:?}/data"
  write_configuration
  rm -f "$home/log/"*.log
  local exports=() item
  while read -r item; do
    [[ -z $item || $item = \#* ]] || exports+=("$item")
  done < "$here/jvm17.options"
  local jamm
  jamm=$(ls "$jars"/jamm-*.jar)
  say "cassandra: starting on 127.0.0.1:$port (log: .cache/cassandra/$port/log)"
  # nohup and setsid: the node outlives this script and is stopped by its own id only.
  nohup setsid nice java -Xms"${CASSANDRA_HEAP:-1500M}" -Xmx"${CASSANDRA_HEAP:-1500M}" -Xss512k -XX:+UseG1GC \
    -javaagent:"$jamm" "${exports[@]}" \
    -Dcassandra.config="file://$home/conf/cassandra.yaml" -Dlogback.configurationFile="file://$home/conf/logback.xml" \
    -Dcassandra.storagedir="$home/data" -Dcassandra.logdir="$home/log" \
    -Dcassandra-foreground=yes -Dcassandra.skip_wait_for_gossip_to_settle=0 -Dcassandra.ring_delay_ms=1 \
    -Djava.net.preferIPv4Stack=true -Dcassandra.jmx.local.port=$((port + 2)) \
    -cp "$home/conf:$jars/*" org.apache.cassandra.service.CassandraDaemon \
    > "$home/log/stdout.log" 2>&1 < /dev/null &
  echo $! > "$pid_file"
  local waited=0
  until grep -q 'Starting listening for CQL clients' "$home/log/system.log" 2>/dev/null && running; do
    if ! running || (( waited > 600 )); then
      tail -30 "$home/log/stdout.log"
      say "cassandra: did not start"
      exit 1
    fi
    sleep 0.2
    waited=$((waited + 1))
  done
  say "cassandra: ready, pid $(cat "$pid_file"), cql=127.0.0.1:$port"
}

stop() {
  if ! running; then say "cassandra: not running"; rm -f "$pid_file"; return; fi
  local pid
  pid=$(cat "$pid_file")
  kill "$pid"
  while kill -0 "$pid" 2>/dev/null; do sleep 0.2; done
  rm -f "$pid_file"
  say "cassandra: stopped, pid $pid"
}

case "${1:-}" in
  start) start ;;
  stop) stop ;;
  status) if running; then say "cassandra: running, pid $(cat "$pid_file")"; else say "cassandra: not running"; exit 1; fi ;;
  *) sed -n '2,11p' "$0"; exit 2 ;;
esac
