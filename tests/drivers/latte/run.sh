#!/usr/bin/env bash
# latte: bounded loads and runs on single-row and wide partitions; no errors, and exactly the rows that must be found.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
exec python3 "$here/workloads.py" "$cache/latte/bin/latte"
