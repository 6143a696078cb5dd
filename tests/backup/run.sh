#!/usr/bin/env bash
# `tarndb backup` to S3 and `tarndb restore` from there: moto's server, and one that lies, stalls and refuses.
set -euo pipefail
. "$(dirname "$0")/../../scripts/steps.sh"
run_pytest "$cache/venv-backup" "$@"
