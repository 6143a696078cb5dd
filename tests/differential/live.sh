#!/usr/bin/env bash
# `make differential`: starts Apache Cassandra on 127.0.0.1:9142 and a private TarnDB, compares them, and stops both. The arguments are
# differential.py's.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
# Schema changes without a flush: Cassandra's take seconds on a slow disk, and nothing of it is kept.
export JAVA_TOOL_OPTIONS="${JAVA_TOOL_OPTIONS:-} -Dcassandra.unsafesystem=true"

peer="$cache/cassandra/9142" directory=$(mktemp -d "$cache/run/differential-XXXXXX")
theirs=127.0.0.1:9142 started=""
finish() {
  [[ -z $started ]] || "$root/peers/cassandra/cassandra.sh" stop --dir "$peer" > /dev/null || true
  [[ ! -e $directory/state.json ]] || python3 "$root/tests/drivers/server.py" stop "$directory"
}
trap finish EXIT

bash "$here/install.sh"
started=1
"$root/peers/cassandra/cassandra.sh" start --dir "$peer" --port "${theirs#*:}" --memory 2GiB --fresh > /dev/null
ours=$(python3 "$root/tests/drivers/server.py" start "$directory")
"$cache/venv-scylla/bin/python" "$here/differential.py" --ours "$ours" --theirs "$theirs" "$@"
