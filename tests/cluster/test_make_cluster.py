"""`make cluster`, as a person tries it: what it prints is true, it goes on without a node that is killed, and Ctrl-C ends it."""

import os
import random
import re
import signal
import subprocess
import sys

import pytest
from cassandra import ConsistencyLevel
from cassandra.cluster import Cluster, ExecutionProfile

import server as servers
from nodes import END_SECONDS_MAX, START_SECONDS_MAX, in_child, succeeds, until
from patient import patient


@pytest.fixture
def made(tmp_path):
    """The process and what it has said until it was ready."""
    ports = dict(zip(("cql", "cql-shard-aware", "aerospike", "http"), random.sample(range(10_000, 30_000), 4), strict=True))
    flags = [word for name, port in ports.items() for word in (f"--{name}-port", str(port))]
    process = subprocess.Popen(
        [sys.executable, servers.ROOT / "scripts" / "cluster.py", *flags], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "TARNDB_TEST_BINARY": servers.binary()}, preexec_fn=lambda: in_child(None),
    )
    said = []
    for line in process.stdout:
        said.append(line)
        if "Ctrl-C ends" in line:
            break
    yield process, "".join(said)
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(3 * END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def test_three_nodes_to_try(made):
    process, said = made
    assert process.poll() is None, said
    host, port = re.search(r"connect with: +cqlsh (\S+) (\d+)", said).groups()
    profile = ExecutionProfile(consistency_level=ConsistencyLevel.QUORUM, request_timeout=60)
    driver = Cluster([host], int(port), **patient(profile))
    try:
        session = driver.connect()
        session.execute(re.search(r"to begin: +(CREATE .*);", said).group(1))
        session.execute("CREATE TABLE demo.t (a int PRIMARY KEY, b int)")
        session.execute("INSERT INTO demo.t (a, b) VALUES (1, 2)")
        status = subprocess.run(re.search(r"see the state: +(.*)", said).group(1).split(), capture_output=True, text=True, timeout=120, check=False)
        assert "rack3" in status.stdout, status
        os.kill(int(re.search(r"kill one: +kill -9 (\d+)", said).group(1)), signal.SIGKILL)
        until("writes go on", lambda: succeeds(lambda: session.execute("INSERT INTO demo.t (a, b) VALUES (2, 3)")), START_SECONDS_MAX, 0.1)
        assert {(row.a, row.b) for row in session.execute("SELECT a, b FROM demo.t")} == {(1, 2), (2, 3)}
    finally:
        driver.shutdown()
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=3 * END_SECONDS_MAX)[0]
    assert process.returncode == 0 and "ending the nodes" in rest, rest
