#!/usr/bin/env bash
# Fetches GridDB's JDBC driver, its Java client and JUnit with Maven and compiles the suite.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../junit.sh"
install_junit_suite griddb-jdbc "GridDB's JDBC driver"
