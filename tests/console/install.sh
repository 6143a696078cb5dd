#!/usr/bin/env bash
# What the report suite's browser and the Node suite's driver need.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bash "$here/../report/install.sh"
bash "$here/../drivers/node/install.sh"
