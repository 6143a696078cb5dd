#!/usr/bin/env bash
# `tarndb bench` as a person uses it: studies on private nodes and on servers that die, wrong input, interrupts.
set -euo pipefail
. "$(dirname "$0")/../../scripts/steps.sh"
run_pytest "$cache/venv-scylla" "$@"
