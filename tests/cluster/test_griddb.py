"""An application on GridDB's Java client while a node dies and comes back: `griddb/tarndb/GridFailover.java`."""

import random

import pytest

import server as servers
from application import Application
from nodes import until

CACHE = servers.ROOT / ".cache"


@pytest.fixture
def cluster(start_cluster):
    """Three nodes with a port for GridDB's clients, and keyspace `k` with factor 3."""
    port = random.randrange(10_000, 30_000)
    cluster = start_cluster(flags=["--griddb-port", str(port)])
    cluster.griddb_port = port
    cluster.create()
    return cluster


def application(cluster) -> Application:
    members = [f"{node.address}:{cluster.griddb_port}" for node in cluster.nodes]
    return Application(CACHE / "cluster" / "griddb", CACHE / "griddb-java" / "lib", "tarndb.GridFailover", *members)


def progress(running: Application, by: int):
    """Waits until it has so many more acknowledged rows."""

    def acknowledged() -> int:
        return next((int(line.removeprefix("at=")) for line in reversed(running.lines) if line.startswith("at=")), 0)

    def is_alive() -> bool:
        assert running.process.poll() is None and not any(line.startswith("error") for line in running.lines), running.lines[-5:]
        return True

    goal = acknowledged() + by
    until("the application goes on", lambda: is_alive() and acknowledged() >= goal, 60, 0.1)


@pytest.mark.parametrize("victim", [1, pytest.param(0, marks=pytest.mark.long)])
def test_clients_of_griddb_go_on_when_a_node_is_killed(cluster, victim):
    """Nothing that was acknowledged is lost or older than it was, and no client hears of the kill within its failover timeout. The first node founded the cluster."""
    victim = cluster.nodes[victim]
    with application(cluster) as running:
        running.wait_ready()
        progress(running, 500)
        victim.kill()
        progress(running, 500)
        victim.start()
        cluster.settle()
        progress(running, 500)
        lines = running.end()
    said = "\n".join(line for line in lines if not line.startswith("at="))
    assert not any(line.startswith("error") for line in lines), said
    counted = running.counted()
    assert counted["lost"] == 0 and counted["stale"] == 0, said
    assert counted["unseen"] == 0, said
    assert counted["gap_ms"] < 30_000, said
