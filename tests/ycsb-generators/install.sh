#!/usr/bin/env bash
# Fetches YCSB's core and HdrHistogram with Maven and compiles the program that prints what they say.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
command -v javac > /dev/null || skip "a JDK is missing (Debian: openjdk-17-jdk-headless)"
command -v mvn > /dev/null || skip "Maven is missing (Debian: maven)"
if ! step_is_done ycsb-generators-jars "$here/pom.xml"; then
  say "fetching YCSB's core and HdrHistogram with Maven"
  fetch_jars "$here" "$cache/ycsb-generators/lib"
  step_done ycsb-generators-jars "$here/pom.xml"
fi
source=$here/site/ycsb/generator/Facts.java
step_is_done ycsb-generators-classes "$here/pom.xml" "$source" && exit 0
rm -rf "$cache/ycsb-generators/classes"
compile_java -Xlint:all,-processing,-path,-classfile -cp "$cache/ycsb-generators/lib/*" -d "$cache/ycsb-generators/classes" "$source"
step_done ycsb-generators-classes "$here/pom.xml" "$source"
