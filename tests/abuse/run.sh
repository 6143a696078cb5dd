#!/usr/bin/env bash
# Hostile bytes, statements and clients against a server with small limits of its own.
set -euo pipefail
. "$(dirname "$0")/../../scripts/steps.sh"
run_pytest "$cache/venv-scylla" "$@"
