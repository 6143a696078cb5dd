"""Where drivers and `tarndb bench` send requests: to the primary, as they are told of tablets or as the tokens say."""

import json
import os
import pathlib
import subprocess
import time

import pytest
from cassandra import InvalidRequest

import server as servers
from nodes import until
from test_operations import get

HERE = pathlib.Path(__file__).parent
CACHE = servers.ROOT / ".cache"
KEYS = 600
# Figures are up to a second old.
FIGURES_SECONDS = 1.5
SECONDS_MAX = 300
ROUNDS = 8
# By chance a driver may have come to a primary each time, and know nothing of it.
STRAYS_MAX = KEYS // 20

PROGRAMS = {
    "python": [CACHE / "venv-cassandra" / "bin" / "python", HERE / "tablets.py"],
    "python-scylla": [CACHE / "venv-scylla" / "bin" / "python", HERE / "tablets.py"],
    "rust": [CACHE / "target-drivers" / "debug" / "tablets"],
}


def forwarded(cluster) -> int:
    """How many requests members have sent on to others."""
    while True:
        began = time.monotonic()
        time.sleep(FIGURES_SECONDS)
        lines = [line for node in cluster.running() for line in get(node, "/metrics").splitlines()]
        # They are older where this machine stalls.
        if time.monotonic() - began < 2 * FIGURES_SECONDS:
            break
    return sum(int(line.split()[-1]) for line in lines if line.startswith("tarndb_cluster_requests_forwarded_total{"))


class Program:
    """A program that writes the same keys over and over, on a driver."""

    def __init__(self, cluster, driver: str):
        command = [*map(str, PROGRAMS[driver]), cluster.nodes[0].address, str(cluster.ports["cql"]), str(KEYS)]
        if not os.path.exists(command[0]):
            pytest.skip(f"{command[0]} is missing: install.sh says why")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def hear(self) -> str:
        said = self.process.stdout.readline().strip()
        return said or self.process.communicate()[1]

    def wait_warm(self):
        assert self.hear() == "warm"

    def write(self) -> int:
        """Writes every key once more. Gives how many of these writes failed."""
        self.process.stdin.write("go on\n")
        self.process.stdin.flush()
        return int(self.hear())


@pytest.fixture
def pairs(start_cluster):
    """Three nodes, and keyspace `k` with factor 2."""
    cluster = start_cluster()
    cluster.create(factor=2)
    return cluster


def strays(cluster, program: Program) -> int:
    """How many of a round's requests come to the wrong member, once the driver has learned: it takes in what it is told beside its requests."""
    fewest = KEYS
    for _ in range(ROUNDS):
        before = forwarded(cluster)
        assert program.write() == 0
        fewest = min(fewest, forwarded(cluster) - before)
        if fewest <= STRAYS_MAX:
            break
    return fewest


@pytest.mark.parametrize("driver", ["python-scylla", pytest.param("rust", marks=pytest.mark.long)])
def test_a_driver_that_knows_tablets_learns_where_primaries_are(pairs, driver):
    """They send requests to any replica that they know of; until they are told better, to those that the tokens seem to say."""
    before = forwarded(pairs)
    with Program(pairs, driver) as program:
        program.wait_warm()
        until("something had to be learned", lambda: forwarded(pairs) - before > STRAYS_MAX, 120)
        assert strays(pairs, program) <= STRAYS_MAX
        pairs.nodes[2].kill()
        # Others take over, and the driver hears that it is gone; writes that were under way may fail.
        until("all is written again", lambda: program.write() == 0, SECONDS_MAX)
        assert strays(pairs, program) <= STRAYS_MAX


def test_a_driver_that_goes_by_the_tokens_in_their_order_comes_to_primaries(pairs):
    with Program(pairs, "python") as program:
        # Until it is connected with all of them it sends to those that it has reached.
        program.wait_warm()
        assert strays(pairs, program) <= STRAYS_MAX


STUDY = """
name = "routes"
title = "t"
description = "d"
replication = 2
consistency = "QUORUM"
routing = "{routing}"
rows = {{ count = {rows}, field_bytes = 20, tables = {tables} }}
clients = {{ threads = 2, connections = 6, in_flight = 4 }}
phases = [{{ kind = "load" }}, {{ kind = "run", seconds = 1, rate = 2000, mix = {mix} }}, {{ kind = "verify" }}]
"""
MIX = '{ operations = { read = 1, update = 1 }, keys = { distribution = "uniform" }, verify = true }'


def bench(cluster, directory, routing: str, tables: int = 1) -> tuple:
    """Runs a study against the first node, which tells of the others. Gives how many requests it sent, and how many came to the wrong member."""
    before = forwarded(cluster)
    study, out = directory / f"{routing}-{tables}.toml", directory / f"{routing}-{tables}"
    study.write_text(STUDY.format(routing=routing, rows=KEYS, tables=tables, mix=MIX))
    target = f"cql://{cluster.nodes[0].address}:{cluster.ports['cql']}"
    done = subprocess.run([servers.binary(), "bench", "run", study, "--target", target, "--out", out], capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode == 0, done.stderr
    phases = json.loads((out / "report.json").read_text())["targets"][0]["phases"]
    operations = [operation for phase in phases for operation in phase["operations"]]
    assert not any(operation["errors"] for operation in operations)
    return sum(operation["replies"] for operation in operations), forwarded(cluster) - before


def test_the_benchmark_asks_primaries_unless_it_is_told_not_to(pairs, tmp_path):
    for tables in (1, 3):
        replies, strayed = bench(pairs, tmp_path, "primary", tables)
        assert strayed <= replies // 50
    replies, strayed = bench(pairs, tmp_path, "any")
    assert strayed > replies // 2, "all went to one of three nodes"


def test_guardrails_are_those_of_the_member_that_is_asked(start_cluster):
    """One member warns of what the other refuses. Each has half of the rows, and sends what is about others on."""
    cluster = start_cluster(0)
    warning, refusing = cluster.add("--page-size-warn-threshold", "5"), cluster.add("--page-size-fail-threshold", "5")
    cluster.create(factor=1)
    expected = ["Guardrail page_size violated: Query for table t with page size 6 exceeds warning threshold of 5."]
    with cluster.session([warning], only=True) as session:
        insert, select = session.prepare("INSERT INTO k.t (a, b) VALUES (?, ?)"), session.prepare("SELECT b FROM k.t WHERE a = ?")
        for key in range(40):
            session.execute(insert, (key, key))
        select.fetch_size = 6
        for key in range(40):
            result = session.execute(select, (key,))
            assert (result.one().b, result.response_future.warnings) == (key, expected)
    with cluster.session([refusing], only=True) as session:
        select = session.prepare("SELECT b FROM k.t WHERE a = ?")
        select.fetch_size = 6
        for key in range(40):
            with pytest.raises(InvalidRequest, match="Aborting query for table t, page size 6 exceeds fail threshold of 5"):
                session.execute(select, (key,))
