#!/usr/bin/env bash
# A virtual environment for one of the two Python drivers, with pinned wheels; both provide the package `cassandra`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../../scripts/steps.sh"
flavour=cassandra
[[ $TARNDB_SUITE != python-scylla ]] || flavour=scylla
requirements="$here/requirements-$flavour.txt"
step_is_done "venv-$flavour" "$requirements" && [[ -x $cache/venv-$flavour/bin/python ]] && exit 0
python3 -c 'import ensurepip, venv' 2> /dev/null || skip "Python's venv module is missing (Debian: python3-venv)"
say "installing the Python driver ($flavour) into .cache/venv-$flavour"
rm -rf "$cache/venv-$flavour"
python3 -m venv "$cache/venv-$flavour"
"$cache/venv-$flavour/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements"
step_done "venv-$flavour" "$requirements"
