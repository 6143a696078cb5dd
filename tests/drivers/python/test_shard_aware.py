"""ScyllaDB's driver: a connection for each core, and each request on its key's core. Skipped with other drivers."""

import os
import time

import pytest

from waiting import SECONDS_MAX

pytest.importorskip("cassandra.shard_info", reason="this driver is not ScyllaDB's")
pytestmark = pytest.mark.skipif(bool(os.environ.get("TARNDB_TEST_PEER")), reason="the server under test has no shards")


@pytest.fixture
def sharded(connect):
    """A session whose connections to all shards are open."""
    with connect() as session:
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            [stats] = session.cluster.shard_aware_stats().values()
            if stats["connected"] == stats["shards_count"]:
                break
            assert time.monotonic() < deadline, f"not all shards are connected: {stats}"
            time.sleep(0.02)
        yield session


def test_driver_connects_to_every_shard(sharded):
    assert sharded.cluster.is_shard_aware()
    [stats] = sharded.cluster.shard_aware_stats().values()
    assert stats["shards_count"] == int(os.environ.get("TARNDB_TEST_CORES", stats["shards_count"]))
    assert stats["connected"] == stats["shards_count"]


def test_each_connection_is_on_the_shard_it_says(sharded):
    [pool] = sharded.cluster.get_all_pools()
    assert {shard: connection.features.shard_id for shard, connection in pool._connections.items()} == {
        shard: shard for shard in range(pool.host.sharding_info.shards_count)
    }


def test_port_of_the_shard_aware_listener_chooses_the_shard(sharded):
    [pool] = sharded.cluster.get_all_pools()
    information = pool.host.sharding_info
    assert information.shard_aware_port
    assert information.sharding_algorithm == "biased-token-round-robin"
    for shard, connection in pool._connections.items():
        host, port = connection._socket.getpeername()
        if port == information.shard_aware_port:
            assert connection._socket.getsockname()[1] % information.shards_count == shard


def test_requests_reach_the_right_rows_through_every_shard(sharded, table):
    name = table("k int PRIMARY KEY, v int")
    insert = sharded.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?)")
    select = sharded.prepare(f"SELECT v FROM {name} WHERE k = ?")
    for key in range(500):
        sharded.execute(insert, (key, key))
    assert [sharded.execute(select, (key,)).one().v for key in range(500)] == list(range(500))
    assert sharded.execute(f"SELECT count(*) FROM {name}").one()[0] == 500


def test_session_without_shard_awareness_works_too(connect, table):
    name = table("k int PRIMARY KEY, v int")
    with connect(shard_aware_options={"disable": True}) as session:
        session.execute(f"INSERT INTO {name} (k, v) VALUES (1, 1)")
        assert session.execute(f"SELECT v FROM {name}").one().v == 1
