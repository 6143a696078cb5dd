#!/usr/bin/env bash
# `tarndb backup` to S3 and `tarndb restore` from there: moto's server, and one that lies, stalls and refuses.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
[[ -z ${TARNDB_TEST_PEER:-} ]] || skip "it starts servers of its own"
cd "$here"
export PYTHONDONTWRITEBYTECODE=1
exec "$cache/venv-backup/bin/python" -m pytest "$@"
