#!/usr/bin/env bash
# The report suite: pages of tarndb bench in headless Chromium: figures, charts, dark, narrow, print, offline, hostile names.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
log="$TARNDB_SUITE_LOGS/report.tap"
pages="$cache/report/pages"
rm -rf "$pages"
# The profile and the features of `cargo test --workspace`, which has built it.
(cd "$root" && cargo run --quiet --locked --profile quick --example report_fixtures -- "$pages")
# Beside node_modules, where `require` looks for puppeteer.
cp "$here"/*.js "$cache/report/"
cd "$cache/report"
status=0
REPORT_PAGES="$pages" node --test --test-reporter=tap page.test.js > "$log" 2>&1 || status=$?
grep -E '^ *(not )?ok ' "$log" || true
if (( status != 0 )); then cat "$log"; fi
total() { sed -nE "s/^# $1 ([0-9]+)$/\1/p" "$log"; }
echo "$(total pass) passed, $(total fail) failed, $(total skipped) skipped"
exit "$status"
