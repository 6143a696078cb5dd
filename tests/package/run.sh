#!/usr/bin/env bash
# The Debian package: installed, started as its unit says, upgraded with data, removed and purged, in a root of its own over this machine's; the release archive and its SBOM.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
[[ -z ${TARNDB_TEST_PEER:-} ]] || skip "it starts a server of its own"
command -v dpkg-deb > /dev/null || skip "dpkg-deb makes Debian packages"
unshare --mount --net true 2> /dev/null || skip "it takes root, who may make namespaces of mounts and networks"
cd "$here"
# Mounts, ports and processes are this run's own, and go with it.
exec unshare --mount --net --pid --fork --kill-child --mount-proc "$cache/venv-scylla/bin/python" -m pytest "$@"
