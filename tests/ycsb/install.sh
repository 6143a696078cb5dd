#!/usr/bin/env bash
# Fetches YCSB's core and the clients of Cassandra and GridDB with Maven and compiles our bindings.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
command -v javac > /dev/null || skip "a JDK is missing (Debian: openjdk-17-jdk-headless)"
command -v mvn > /dev/null || skip "Maven is missing (Debian: maven)"
if ! step_is_done ycsb-jars "$here/pom.xml"; then
  say "fetching YCSB with Maven"
  fetch_jars "$here" "$cache/ycsb/lib"
  step_done ycsb-jars "$here/pom.xml"
fi
step_is_done ycsb-classes "$here/pom.xml" "$here"/tarndb/*.java && exit 0
rm -rf "$cache/ycsb/classes"
compile_java -Xlint:all,-processing,-serial -cp "$cache/ycsb/lib/*" -d "$cache/ycsb/classes" "$here"/tarndb/*.java
step_done ycsb-classes "$here/pom.xml" "$here"/tarndb/*.java
