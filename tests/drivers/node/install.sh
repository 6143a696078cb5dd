#!/usr/bin/env bash
# Installs the Node driver as package-lock.json pins it, into .cache/node.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
command -v node > /dev/null || skip "Node is missing (Debian: nodejs)"
command -v npm > /dev/null || skip "npm is missing (Debian: npm)"
(( $(node -p 'process.versions.node.split(".")[0]') >= 18 )) || skip "Node $(node --version) is too old: 18 or newer"
step_is_done node "$here/package.json" "$here/package-lock.json" && [[ -d $cache/node/node_modules ]] && exit 0
say "installing the Node driver with npm"
rm -rf "$cache/node"
mkdir -p "$cache/node"
cp "$here/package.json" "$here/package-lock.json" "$cache/node/"
npm ci --prefix "$cache/node" --ignore-scripts --no-audit --no-fund --loglevel=error
step_done node "$here/package.json" "$here/package-lock.json"
