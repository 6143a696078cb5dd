#!/usr/bin/env python3
"""Fails on a dependency between two crates of the workspace that is not in the table of DESIGN.md.

A crate may use what the table lists for it and what those may use in turn: `cql` uses `model` and, through it, `base`.
Build scripts count too. The tests of a crate may also use what TESTS lists for it: the simulator, which stands above it. Needs no network: cargo reads only the workspace's own manifests.
"""

import json
import subprocess
import sys

# crate: what it may use. Ranks rise downwards; nothing points to its own rank or above.
TABLE = {
    "base": [],
    "io": ["base"],
    "model": ["base"],
    "script": [],
    "vectors": ["base"],
    "io-linux": ["io"],
    "cql": ["model", "script"],
    "aerospike": ["model", "script"],
    "griddb": ["model"],
    "sql": ["model"],
    "griddb-sql": ["griddb", "sql", "tls"],
    "engine": ["io"],
    "replica": ["base"],
    "tls": ["base"],
    "cluster": ["model"],
    "shard": ["engine", "replica", "model", "vectors"],
    "node": ["shard", "cluster", "tls", "cql", "aerospike", "griddb"],
    "node-linux": ["node", "io-linux"],
    "sim-disk": ["io"],
    "sim": ["node", "sim-disk"],
    "admin": ["node"],
    "load": ["cql", "aerospike", "griddb", "tls"],
    # `node`: its in-process figures drive frames through a shard without sockets.
    "bench": ["load", "io-linux", "node"],
    "server": ["admin", "bench", "griddb-sql", "sql", "node-linux", "sim"],
}
# Only for tests, benches and examples.
TESTS = {
    "engine": ["sim-disk"],
    "shard": ["sim-disk"],
    "node": ["sim", "sim-disk"],
}
PREFIX = "tarndb-"


def allowed(crate: str) -> set:
    """The table's entries of a crate and theirs."""
    reached = set()
    waiting = list(TABLE[crate])
    while waiting:
        used = waiting.pop()
        if used not in reached:
            reached.add(used)
            waiting += TABLE[used]
    return reached


def main() -> int:
    metadata = json.loads(
        subprocess.check_output(["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"])
    )
    wrong = []
    for package in metadata["packages"]:
        crate = package["name"].removeprefix(PREFIX)
        if crate not in TABLE:
            wrong.append(f"crate '{crate}' is not in the table of scripts/check-edges.py")
            continue
        for dependency in package["dependencies"]:
            if not dependency["name"].startswith(PREFIX):
                continue
            used = dependency["name"].removeprefix(PREFIX)
            tests_may = dependency["kind"] == "dev" and used in TESTS.get(crate, [])
            if used not in allowed(crate) and not tests_may:
                wrong.append(f"crate '{crate}' must not use '{used}'; it may use: {', '.join(sorted(allowed(crate)))}")
    for line in sorted(set(wrong)):
        print(f"check-edges: {line}", file=sys.stderr)
    if not wrong:
        print(f"check-edges: {len(metadata['packages'])} crates, every edge is in the table")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
