#!/usr/bin/env bash
# The console suite: the page of two private nodes in headless Chromium, with and without log-ins: figures, schema, queries, refusals, hostile names.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
log="$TARNDB_SUITE_LOGS/console.tap"
servers=$(mktemp -d "$cache/run/console-XXXXXX")
server() { python3 "$here/../drivers/server.py" "$@"; }
stop() {
  local name
  for name in open login; do [[ ! -e $servers/$name/state.json ]] || server stop "$servers/$name"; done
  rmdir "$servers" 2> /dev/null || true
}
trap stop EXIT
export TARNDB_TEST_CORES=2
CONSOLE_OPEN_CQL=$(server start "$servers/open") CONSOLE_LOGIN_CQL=$(server start "$servers/login" login)
CONSOLE_OPEN=http://$(server address "$servers/open" http) CONSOLE_LOGIN=http://$(server address "$servers/login" http)
export CONSOLE_OPEN CONSOLE_LOGIN CONSOLE_OPEN_CQL CONSOLE_LOGIN_CQL
mkdir -p "$cache/console"
cp "$here"/*.js "$here/../report/browser.js" "$cache/console/"
cd "$cache/console"
status=0
NODE_PATH="$cache/report/node_modules:$cache/node/node_modules" node --test --test-reporter=tap console.test.js > "$log" 2>&1 || status=$?
grep -E '^ *(not )?ok ' "$log" || true
if (( status != 0 )); then cat "$log"; fi
total() { sed -nE "s/^# $1 ([0-9]+)$/\1/p" "$log"; }
echo "$(total pass) passed, $(total fail) failed, $(total skipped) skipped"
exit "$status"
