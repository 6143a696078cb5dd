#!/usr/bin/env bash
# moto's server, boto3 and the Python driver, pinned. Without the dependencies that moto has for other services than S3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/steps.sh"
install_python venv-backup "$here/requirements.txt" "moto and the Python driver" --no-deps
