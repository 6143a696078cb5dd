#!/usr/bin/env bash
# kill -9, full devices and data larger than memory, against servers of its own; TARNDB_CRASH_ROUNDS=1000 for more kills.
set -euo pipefail
. "$(dirname "$0")/../../scripts/steps.sh"
run_pytest "$cache/venv-scylla" "$@"
