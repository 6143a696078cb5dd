#!/usr/bin/env bash
# Installs the Aerospike Node client as package-lock.json pins it, into .cache/aerospike-node; it comes built for some versions of Node.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
command -v node > /dev/null || skip "Node is missing (Debian: nodejs)"
command -v npm > /dev/null || skip "npm is missing (Debian: npm)"
case $(node -p 'process.versions.node.split(".")[0]') in
  20 | 22 | 24 | 25) ;;
  *) skip "the client does not come built for Node $(node --version): 20, 22, 24 or 25" ;;
esac
modules="$cache/aerospike-node/node_modules"
step_is_done aerospike-node "$here/package.json" "$here/package-lock.json" && [[ -d $modules ]] && exit 0
say "installing the Aerospike Node client with npm"
rm -rf "$cache/aerospike-node"
mkdir -p "$cache/aerospike-node"
cp "$here/package.json" "$here/package-lock.json" "$cache/aerospike-node/"
npm ci --prefix "$cache/aerospike-node" --ignore-scripts --no-audit --no-fund --loglevel=error
# What it brings for other systems is most of its size.
find "$modules/aerospike/lib/binding" -mindepth 1 -maxdepth 1 ! -name '*-linux-*' -exec rm -r {} +
step_done aerospike-node "$here/package.json" "$here/package-lock.json"
