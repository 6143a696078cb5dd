#!/usr/bin/env bash
# One Apache Cassandra node on loopback, with a single-node configuration that follows Cassandra's own production advice: the
# peer that benchmarks compare with and that the driver suites must also pass on (peers/README.md, peers/cassandra/README.md).
#
#   cassandra.sh install                  fetch Cassandra's jars with Maven into .cache/cassandra/lib; at once the second time
#   cassandra.sh start --dir DIR [...]    start and wait until CQL answers; prints {"pid":…, "address":…, "settings":{…}}
#   cassandra.sh stop --dir DIR           drain and stop it
#   cassandra.sh status --dir DIR         whether it runs; if not, why it ended
#   cassandra.sh settings [...]           name=value lines of what `start` would use, or of the node that runs in --dir
#   cassandra.sh settle --dir DIR --timeout S    flush memtables, wait until no compaction is pending or running
#   cassandra.sh drop-caches --dir DIR    forget Cassandra's own caches; the kernel's are left to the caller
#
# Options, each also a variable of the environment: --port (CASSANDRA_PORT, 9142), --cpus LIST (CASSANDRA_CPUS), --memory SIZE
# (CASSANDRA_MEMORY), --durability periodic|group|batch (CASSANDRA_DURABILITY), --readahead KIB, --fresh. `--help` says more.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"

install() {
  step_is_done cassandra-jars "$here/pom.xml" && [[ -d $cache/cassandra/lib ]] && return
  command -v mvn > /dev/null || { echo "cassandra: Maven is missing (Debian: maven)" >&2; exit 1; }
  say "fetching Apache Cassandra and the jars that it needs with Maven" >&2
  fetch_jars "$here" "$cache/cassandra/lib" >&2 || { echo "cassandra: its jars could not be fetched, see .cache/log/maven.log" >&2; exit 1; }
  step_done cassandra-jars "$here/pom.xml"
}

case "${1:-}" in
  install) install && exit ;;
  start) [[ " $* " == *" --help "* ]] || install ;;
esac
exec python3 "$here/node.py" --jars "$cache/cassandra/lib" "$@"
