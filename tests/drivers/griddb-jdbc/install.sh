#!/usr/bin/env bash
# Fetches GridDB's JDBC driver, its Java client and JUnit with Maven and compiles the suite.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
command -v javac > /dev/null || skip "a JDK is missing (Debian: openjdk-17-jdk-headless)"
command -v mvn > /dev/null || skip "Maven is missing (Debian: maven)"
if ! step_is_done griddb-jdbc-jars "$here/pom.xml"; then
  say "fetching GridDB's JDBC driver with Maven"
  fetch_jars "$here" "$cache/griddb-jdbc/lib"
  step_done griddb-jdbc-jars "$here/pom.xml"
fi
step_is_done griddb-jdbc-classes "$here/pom.xml" "$here"/tarndb/*.java && exit 0
rm -rf "$cache/griddb-jdbc/classes"
javac --release 17 -encoding UTF-8 -Xlint:all,-processing,-serial,-try -Werror -cp "$cache/griddb-jdbc/lib/*" -d "$cache/griddb-jdbc/classes" "$here"/tarndb/*.java
step_done griddb-jdbc-classes "$here/pom.xml" "$here"/tarndb/*.java
