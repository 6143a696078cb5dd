#!/usr/bin/env bash
# Fetches GridDB's Java client and JUnit with Maven and compiles the suite.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../junit.sh"
install_junit_suite griddb-java "GridDB's Java client"
