#!/usr/bin/env bash
# Installs the applications in Node as package-lock.json pins it, into .cache/applications-node.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
command -v node > /dev/null || skip "Node is missing (Debian: nodejs)"
command -v npm > /dev/null || skip "npm is missing (Debian: npm)"
(( $(node -p 'process.versions.node.split(".")[0]') >= 18 )) || skip "Node $(node --version) is too old: 18 or newer"
step_is_done applications-node "$here/package.json" "$here/package-lock.json" && [[ -d $cache/applications-node/node_modules ]] && exit 0
say "installing applications in Node with npm"
rm -rf "$cache/applications-node"
mkdir -p "$cache/applications-node"
cp "$here/package.json" "$here/package-lock.json" "$cache/applications-node/"
npm ci --prefix "$cache/applications-node" --ignore-scripts --no-audit --no-fund --loglevel=error
step_done applications-node "$here/package.json" "$here/package-lock.json"
