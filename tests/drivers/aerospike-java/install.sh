#!/usr/bin/env bash
# Fetches two Aerospike Java clients, today's and that of 2015, and JUnit with Maven, and compiles the suite of each.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
command -v javac > /dev/null || skip "a JDK is missing (Debian: openjdk-17-jdk-headless)"
command -v mvn > /dev/null || skip "Maven is missing (Debian: maven)"
install_suite() { # install_suite NAME DIRECTORY
  if ! step_is_done "$1-jars" "$2/pom.xml"; then
    say "fetching the client of $1 with Maven"
    fetch_jars "$2" "$cache/$1/lib"
    step_done "$1-jars" "$2/pom.xml"
  fi
  step_is_done "$1-classes" "$2/pom.xml" "$here"/tarndb/Server.java "$2"/tarndb/*.java && return
  rm -rf "$cache/$1/classes"
  compile_java -Xlint:all,-processing,-serial,-try -cp "$cache/$1/lib/*" -d "$cache/$1/classes" \
    -sourcepath "$here" "$2"/tarndb/*.java
  step_done "$1-classes" "$2/pom.xml" "$here"/tarndb/Server.java "$2"/tarndb/*.java
}
install_suite aerospike-java "$here"
install_suite aerospike-java-old "$here/old"
