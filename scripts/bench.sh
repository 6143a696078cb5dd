#!/usr/bin/env bash
# The first benchmark report over sockets.
set -euo pipefail
echo "bench.sh: there is no benchmark here yet" >&2
exit 2
