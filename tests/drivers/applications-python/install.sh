#!/usr/bin/env bash
# A virtual environment for the applications in Python, with pinned wheels.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
install_python venv-applications "$here/requirements.txt" "applications in Python"
