# Sourced by the install.sh and run.sh of suites in Java, after `here` is set: jars of pom.xml and classes of tarndb/ are in .cache/NAME.
. "$here/../../../scripts/steps.sh"

install_junit_suite() { # install_junit_suite NAME WHAT: WHAT is what Maven fetches
  local name=$1 what=$2 sources=("$here/pom.xml" "$here"/tarndb/*.java)
  command -v javac > /dev/null || skip "a JDK is missing (Debian: openjdk-17-jdk-headless)"
  command -v mvn > /dev/null || skip "Maven is missing (Debian: maven)"
  if ! step_is_done "$name-jars" "$here/pom.xml"; then
    say "fetching $what with Maven"
    fetch_jars "$here" "$cache/$name/lib"
    step_done "$name-jars" "$here/pom.xml"
  fi
  step_is_done "$name-classes" "${sources[@]}" && return
  rm -rf "$cache/$name/classes"
  compile_java -Xlint:all,-processing,-serial,-try -cp "$cache/$name/lib/*" -d "$cache/$name/classes" "${sources[@]:1}"
  step_done "$name-classes" "${sources[@]}"
}

run_junit_suite() { # run_junit_suite NAME [ARGUMENTS]: runs all tests, and ends with what it counted
  local name=$1 log="$TARNDB_SUITE_LOGS/$1.junit" status=0 skipped
  java "${java_flags[@]}" -Xmx512m -cp "$cache/$name/classes:$cache/$name/lib/*" org.junit.platform.console.ConsoleLauncher execute \
    --scan-classpath "$cache/$name/classes" --details=tree --disable-banner --disable-ansi-colors "${@:2}" > "$log" 2>&1 || status=$?
  cat "$log"
  # A parameterized test that is left out counts as one container.
  count() { sed -nE "s/^\[ *([0-9]+) $1 .*/\1/p" "$log"; }
  skipped=$(($(count 'tests skipped') + $(count 'containers skipped')))
  echo "$(count 'tests successful') passed, $(count 'tests failed') failed, $skipped skipped"
  return "$status"
}
