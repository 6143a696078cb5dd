"""Where drivers send requests: to the primary, be it that they are told of tablets or that they go by the tokens."""

import os
import pathlib
import subprocess
import time

import pytest

import server as servers
from test_operations import get

HERE = pathlib.Path(__file__).parent
CACHE = servers.ROOT / ".cache"
KEYS = 600
# Figures are up to a second old.
FIGURES_SECONDS = 1.5
SECONDS_MAX = 60
# By chance a driver may have come to a primary each time, and know nothing of it.
STRAYS_MAX = KEYS // 20

PROGRAMS = {
    "python": [CACHE / "venv-cassandra" / "bin" / "python", HERE / "tablets.py"],
    "python-scylla": [CACHE / "venv-scylla" / "bin" / "python", HERE / "tablets.py"],
    "rust": [CACHE / "target-drivers" / "debug" / "tablets"],
}


def forwarded(cluster) -> int:
    """How many requests members have sent on to others."""
    time.sleep(FIGURES_SECONDS)
    lines = [line for node in cluster.running() for line in get(node, "/metrics").splitlines()]
    return sum(int(line.split()[-1]) for line in lines if line.startswith("tarndb_cluster_requests_forwarded_total{"))


def strays(cluster, driver: str) -> tuple[int, int]:
    """How many of the requests of a program went to the wrong member: in the rounds before the last one, and in that."""
    command = [*map(str, PROGRAMS[driver]), cluster.nodes[0].address, str(cluster.ports["cql"]), str(KEYS)]
    if not os.path.exists(command[0]):
        pytest.skip(f"{command[0]} is missing: install.sh says why")
    at_first = forwarded(cluster)
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        said = program.stdout.readline()
        assert said == "warm\n", said + program.stderr.read()
        warming = forwarded(cluster) - at_first
        rest, errors = program.communicate("go on\n", timeout=SECONDS_MAX)
        assert (rest, program.returncode) == ("done\n", 0), rest + errors
        return warming, forwarded(cluster) - at_first - warming
    finally:
        program.kill()
        program.wait()


@pytest.fixture
def pairs(start_cluster):
    """Three nodes, and keyspace `k` with factor 2."""
    cluster = start_cluster()
    cluster.create(factor=2)
    return cluster


@pytest.mark.parametrize("driver", ["python-scylla", "rust"])
def test_a_driver_that_knows_tablets_learns_where_primaries_are(pairs, driver):
    """They send requests to any replica that they know of; until they are told better, to those that the tokens seem to say."""
    warming, last = strays(pairs, driver)
    assert warming > STRAYS_MAX, "nothing was learned"
    assert last <= STRAYS_MAX, (warming, last)


def test_a_driver_that_goes_by_the_tokens_in_their_order_comes_to_primaries(pairs):
    assert sum(strays(pairs, "python")) <= STRAYS_MAX
