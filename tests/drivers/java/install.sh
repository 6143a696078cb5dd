#!/usr/bin/env bash
# Fetches the Java driver and JUnit with Maven and compiles the Java suite.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
command -v javac > /dev/null || skip "a JDK is missing (Debian: openjdk-17-jdk-headless)"
command -v mvn > /dev/null || skip "Maven is missing (Debian: maven)"
if ! step_is_done java-jars "$here/pom.xml"; then
  say "fetching the Java driver with Maven"
  fetch_jars "$here" "$cache/java/lib"
  step_done java-jars "$here/pom.xml"
fi
step_is_done java-classes "$here/pom.xml" "$here"/tarndb/*.java && exit 0
rm -rf "$cache/java/classes"
javac --release 17 -encoding UTF-8 -Xlint:all,-processing,-serial,-try -Werror -cp "$cache/java/lib/*" -d "$cache/java/classes" "$here"/tarndb/*.java
step_done java-classes "$here/pom.xml" "$here"/tarndb/*.java
