#!/usr/bin/env bash
# Installs puppeteer-core as package-lock.json pins it, into .cache/report; the browser is Debian's.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
command -v chromium > /dev/null || skip "Chromium is missing (Debian: chromium)"
command -v node > /dev/null || skip "Node is missing (Debian: nodejs)"
command -v npm > /dev/null || skip "npm is missing (Debian: npm)"
(( $(node -p 'process.versions.node.split(".")[0]') >= 18 )) || skip "Node $(node --version) is too old: 18 or newer"
step_is_done report "$here/package.json" "$here/package-lock.json" && [[ -d $cache/report/node_modules ]] && exit 0
say "installing puppeteer-core with npm"
rm -rf "$cache/report"
mkdir -p "$cache/report"
cp "$here/package.json" "$here/package-lock.json" "$cache/report/"
npm ci --prefix "$cache/report" --ignore-scripts --no-audit --no-fund --loglevel=error
step_done report "$here/package.json" "$here/package-lock.json"
