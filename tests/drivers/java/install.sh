#!/usr/bin/env bash
# Fetches the Java driver and JUnit with Maven and compiles the Java suite.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../junit.sh"
install_junit_suite java "the Java driver"
