"""Where GridDB's clients are sent; applications on its Java client and on its JDBC driver while a node dies and comes back: `griddb/tarndb/GridFailover.java`, `griddb-sql/tarndb/SqlFailover.java`."""

import random
import time

import pytest

import server as servers
from application import Application
from cassandra import InvalidRequest
from griddb_frames import GridClient, Refused
from nodes import until
from test_routing import forwarded

CACHE = servers.ROOT / ".cache"
# As many as the application has.
WRITERS = 6


@pytest.fixture
def cluster(start_cluster):
    """Three nodes with ports for GridDB's clients, and keyspace `k` with factor 3."""
    port = random.randrange(10_000, 30_000)
    cluster = start_cluster(flags=["--griddb-port", str(port), "--griddb-sql-port", str(port + 1)])
    cluster.griddb_port, cluster.griddb_sql_port = port, port + 1
    cluster.create()
    return cluster


def application(cluster) -> Application:
    members = [f"{node.address}:{cluster.griddb_port}" for node in cluster.nodes]
    return Application(CACHE / "cluster" / "griddb", CACHE / "griddb-java" / "lib", "tarndb.GridFailover", *members)


def sql_application(cluster, table: str) -> Application:
    members = [f"{node.address}:{cluster.griddb_sql_port}" for node in cluster.nodes]
    return Application(CACHE / "cluster" / "griddb-sql", CACHE / "griddb-jdbc" / "lib", "tarndb.SqlFailover", table, *members)


def progress(running: Application, by: int):
    """Waits until it has so many more acknowledged rows."""

    def acknowledged() -> int:
        return next((int(line.removeprefix("at=")) for line in reversed(running.lines) if line.startswith("at=")), 0)

    def is_alive() -> bool:
        assert running.process.poll() is None and not any(line.startswith("error") for line in running.lines), running.lines[-5:]
        return True

    goal = acknowledged() + by
    until("the application goes on", lambda: is_alive() and acknowledged() >= goal, 120, 0.1)


def kill_and_start(victim, go_on):
    victim.kill()
    go_on()
    victim.start()


def stop_and_go(victim, go_on):
    """It hangs until the others have taken over; what was sent to it is answered when it goes on."""
    victim.pause()
    time.sleep(5)
    victim.resume()


def drain_and_start(victim, go_on):
    victim.terminate()
    go_on()
    victim.start()


def owners(cluster) -> dict[int, tuple[str, int]] | None:
    """Who serves each partition; None while nodes say different things."""
    told = []
    for node in cluster.running():
        client = GridClient(node.address, cluster.griddb_port, "ann", "ann")
        told.append({partition: client.owner(partition) for partition in range(128)})
        client.close()
    return told[0] if all(one == told[0] for one in told) else None


def test_clients_are_told_who_serves_a_partition(cluster):
    """Before there is a container, and after; what they send there is not sent on."""
    before = owners(cluster) or {}
    members = {(node.address, cluster.griddb_port) for node in cluster.nodes}
    assert set(before.values()) == members, before
    with application(cluster) as running:
        running.wait_ready()
        progress(running, 500)
        assert owners(cluster) == before
        sent_on = forwarded(cluster)
        progress(running, 500)
        assert forwarded(cluster) - sent_on < 20
        running.end()
    cluster.nodes[2].kill()
    left = members - {(cluster.nodes[2].address, cluster.griddb_port)}
    until("the others serve what it did", lambda: set((owners(cluster) or {}).values()) == left, 120, 0.1)


@pytest.mark.parametrize(
    ("fault", "number"),
    [(kill_and_start, 2), *(pytest.param(*case, marks=pytest.mark.long) for case in [(kill_and_start, 1), (stop_and_go, 2), (drain_and_start, 2)])],
)
def test_clients_of_griddb_go_on_when_a_node_fails(cluster, fault, number):
    """Nothing that was acknowledged is lost or older than it was, and no client hears of the fault within its failover timeout. Node 1 founded the cluster."""
    victim = cluster.nodes[number - 1]
    with application(cluster) as running:
        running.wait_ready()
        progress(running, 500)
        fault(victim, lambda: progress(running, 500))
        cluster.settle()
        progress(running, 500)
        lines = running.end()
    said = "\n".join(line for line in lines if not line.startswith("at="))
    assert not any(line.startswith("error") for line in lines), said
    counted = running.counted()
    assert counted["lost"] == 0 and counted["stale"] == 0 and counted["unseen"] == 0, said
    assert counted["gap_ms"] < 60_000, said
    assert counted["acknowledged"] <= sum(rows_in_cql(cluster, f"writer{number}") for number in range(WRITERS)), said


@pytest.mark.parametrize("table", [pytest.param("plain", marks=pytest.mark.long), "partitioned"])
def test_sums_are_right_and_clients_of_sql_go_on_when_a_node_fails(cluster, table):
    with sql_application(cluster, table) as running:
        running.wait_ready()
        for victim in cluster.nodes[:2]:
            progress(running, 200)
            victim.kill()
            progress(running, 200)
            victim.start()
            cluster.settle()
        lines = running.end()
    said = "\n".join(line for line in lines if not line.startswith("at="))
    assert not any(line.startswith("error") for line in lines), said
    counted = running.counted()
    assert counted["wrong"] == 0 and counted["queries"] > 3 and counted["gap_ms"] < 60_000, said


def test_a_renamed_column_is_so_at_every_member(cluster):
    """At once, and at a member that was away."""
    first = GridClient(cluster.nodes[0].address, cluster.griddb_port, "ann", "ann")
    container = first.put_container()
    first.put(container, 1)
    assert first.rename("text", "Note") == 1

    def assert_renamed(node, former: str, name: str, version: int):
        client = GridClient(node.address, cluster.griddb_port, "ann", "ann")
        with pytest.raises(Refused) as refused:
            client.has(container, 1, version - 1)
        assert refused.value.args[0] == 10_017
        assert client.has(container, 1, version)
        client.close()
        with cluster.session([node], only=True) as session:
            assert [getattr(row, name) for row in session.execute(f"SELECT {name} FROM public.t")] == ["one"]
            with pytest.raises(InvalidRequest):
                session.execute(f"SELECT {former} FROM public.t")

    for node in cluster.nodes:
        assert_renamed(node, "text", "note", 1)
    away = cluster.nodes[2]
    away.kill()
    assert first.rename("note", "text") == 2
    away.start()
    cluster.settle()
    for node in cluster.nodes:
        assert_renamed(node, "note", "text", 2)
    first.close()


def rows_in_cql(cluster, container: str) -> int:
    """How many rows CQL reads: none is missing before the last."""
    with cluster.session() as session:
        ids = [row.id for row in session.execute(f"SELECT id FROM public.{container}")]
    assert ids == list(range(len(ids))), container
    return len(ids)
