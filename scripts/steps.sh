# Sourced by the scripts here: what a step says, and how it knows that it was done before.
#
# A step is done when .cache/stamps/NAME holds the digest of the files that it depends on; it is compared by content, so
# that a fresh checkout with a kept .cache starts at once.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache="$root/.cache"
# Most of what a JVM computes in a short run is its second compiler's work, and threads that collect garbage.
java_flags=(-XX:TieredStopAtLevel=1 -XX:+UseSerialGC)
compile_java() { javac "${java_flags[@]/#/-J}" --release 17 -encoding UTF-8 -Werror "$@"; }
# All that is written in Go shares its modules and what is compiled, the standard library first; without DWARF, which links in half the time.
go_environment() { export GOMODCACHE="$cache/go/mod" GOCACHE="$cache/go/build" GOFLAGS="-mod=readonly -modcacherw -ldflags=-w" GOTOOLCHAIN=local; }
mkdir -p "$cache/stamps" "$cache/log" "$cache/run"

say() { printf '%s\n' "==> $*"; }

# A tool that a suite cannot do without is missing: say so and end with 77, which the runner counts as skipped.
skip() {
  printf '%s\n' "SKIPPED: $*"
  exit 77
}

# step_is_done NAME FILE...: the step ran before with exactly these files.
step_is_done() {
  [[ -f "$cache/stamps/$1" && "$(cat "$cache/stamps/$1")" == "$(digest "${@:2}")" ]]
}

# step_done NAME FILE...: remember that it ran.
step_done() {
  digest "${@:2}" > "$cache/stamps/$1"
}

digest() { cat -- "$@" | sha256sum | cut -d' ' -f1; }

# fetch_jars DIRECTORY OUT [copy]: copies the dependencies that DIRECTORY/pom.xml names into OUT, with Maven; with `copy` its artifact items,
# which may be several versions of one artifact.
fetch_jars() {
  local log="$cache/log/maven.log"
  rm -rf "$2"
  mkdir -p "$2"
  (cd "$1" && MAVEN_OPTS="${java_flags[*]}" mvn -B -q -Dmaven.repo.local="$cache/m2" "dependency:${3:-copy-dependencies}" -DoutputDirectory="$2") > "$log" 2>&1 && return
  cat "$log"
  say "Maven could not fetch what $1/pom.xml names"
  return 1
}

# What Python compiles is kept, also where it is told to keep nothing; beside the sources it writes nothing.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX="$cache/pycache"

# install_python NAME REQUIREMENTS WHAT [OPTION...]: makes .cache/NAME, a virtual environment with what the file names, WHAT in words. One pip, which
# comes compiled, fills all of them and compiles nothing: the tests import a fraction.
install_python() {
  step_is_done "$1" "$2" && [[ -x $cache/$1/bin/python ]] && return
  python3 -c 'import ensurepip, venv' 2> /dev/null || skip "Python's venv module is missing (Debian: python3-venv)"
  say "installing $3 into .cache/$1"
  [[ -x $cache/pip/bin/pip ]] || python3 -m venv "$cache/pip"
  rm -rf "${cache:?}/$1"
  python3 -m venv --without-pip "$cache/$1"
  PYTHONPYCACHEPREFIX='' "$cache/pip/bin/pip" --python "$cache/$1/bin/python" install --quiet --disable-pip-version-check --no-compile "${@:4}" --requirement "$2"
  step_done "$1" "$2"
}

# run_pytest VENV ARGUMENT...: ends with the tests beside the script that calls it, which start servers of their own.
run_pytest() {
  [[ -z ${TARNDB_TEST_PEER:-} ]] || skip "it starts servers of its own"
  cd "$(dirname "${BASH_SOURCE[1]}")"
  exec "$1/bin/python" -m pytest "${@:2}"
}

# build_server_and_load: what benchmarks over sockets run.
build_server_and_load() {
  say "building the server and the load generator"
  cargo build --release --locked --package tarndb-server
  cargo build --release --locked --package tarndb-bench --bin loadgen
}
