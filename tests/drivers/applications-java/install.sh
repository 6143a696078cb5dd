#!/usr/bin/env bash
# Fetches the applications in Java with Maven, and compiles what tests them: every part has jars of its own.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
command -v javac > /dev/null || skip "a JDK is missing (Debian: openjdk-17-jdk-headless)"
command -v mvn > /dev/null || skip "Maven is missing (Debian: maven)"
for pom in "$here"/*/pom.xml; do
  part=$(dirname "$pom")
  name=$(basename "$part")
  to="$cache/applications-java/$name"
  if ! step_is_done "applications-java-$name-jars" "$pom"; then
    say "fetching $name with Maven"
    fetch_jars "$part" "$to/lib"
    step_done "applications-java-$name-jars" "$pom"
  fi
  sources=("$here"/shared/tarndb/*.java "$part"/tarndb/*.java)
  step_is_done "applications-java-$name-classes" "$pom" "${sources[@]}" && continue
  rm -rf "$to/classes"
  # Spring reads the names of parameters. The applications' jars are compiled with annotations that are not there.
  compile_java -parameters -Xlint:all,-processing,-serial,-try,-classfile,-path,-rawtypes -cp "$to/lib/*" -d "$to/classes" "${sources[@]}"
  step_done "applications-java-$name-classes" "$pom" "${sources[@]}"
done
