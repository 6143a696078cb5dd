#!/usr/bin/env bash
# Every file of a data directory, missing, damaged, old or another node's: right refusals, no panic, no row silently gone; TARNDB_TEST_LONG=1 for all of the matrix.
set -euo pipefail
. "$(dirname "$0")/../../scripts/steps.sh"
run_pytest "$cache/venv-scylla" "$@"
