"""system.size_estimates and table_estimates, by which Spark and dsbulk divide a table among readers, and system_views.disk_usage."""

import os
import time

import pytest
from cassandra.concurrent import execute_concurrent_with_args

from waiting import SECONDS_MAX

pytestmark = pytest.mark.skipif(bool(os.environ.get("TARNDB_TEST_PEER")), reason="Cassandra refreshes its estimates every five minutes")

PARTITIONS = 3_000


def estimates(session, table: str, of: str = "size_estimates"):
    return list(session.execute(f"SELECT * FROM system.{of} WHERE keyspace_name = %s AND table_name = %s", table.split(".")))


def settled(session, table: str, partitions: int, least: int, most: int):
    """The estimates once they tell of so many partitions of such a size: a node writes its figures about once a second."""
    deadline = time.monotonic() + SECONDS_MAX
    while True:
        rows = estimates(session, table)
        is_near = all(least <= row.mean_partition_size <= most for row in rows)
        if sum(row.partitions_count for row in rows) == partitions and is_near:
            return rows
        assert time.monotonic() < deadline, f"{rows} are not {partitions} partitions of {least} to {most} bytes"
        time.sleep(0.05)


def test_ranges_cover_the_ring_and_add_up(shared_session, table):
    name = table("k int, c int, v text, PRIMARY KEY (k, c)")
    name = name if "." in name else f"{shared_session.keyspace}.{name}"
    insert = shared_session.prepare(f"INSERT INTO {name} (k, c, v) VALUES (?, ?, ?)")
    keys = [(number % PARTITIONS, number, "v" * 100) for number in range(2 * PARTITIONS)]
    execute_concurrent_with_args(shared_session, insert, keys, concurrency=64, raise_on_first_error=True)
    # Two rows of some 130 bytes each.
    rows = settled(shared_session, name, PARTITIONS, 200, 500)
    ranges = sorted((int(row.range_start), int(row.range_end)) for row in rows)
    assert ranges[0][0] == -(2**63) and ranges[-1][1] == 2**63 - 1
    assert all(before[1] == after[0] for before, after in zip(ranges, ranges[1:])), ranges
    assert {int(row.range_end) for row in rows} == {int(token) for token in shared_session.execute("SELECT tokens FROM system.local").one().tokens}
    by_type = estimates(shared_session, name, "table_estimates")
    assert {row.range_type for row in by_type} == {"primary", "local_primary"}
    assert sum(row.partitions_count for row in by_type) == 2 * PARTITIONS

    usage = "SELECT mebibytes FROM system_views.disk_usage WHERE keyspace_name = %s AND table_name = %s"
    # 3,000 partitions of 200 to 500 bytes each: the second one is begun, at most.
    assert shared_session.execute(usage, name.split(".")).one().mebibytes in (1, 2)

    shared_session.execute(f"TRUNCATE {name}")
    settled(shared_session, name, 0, 0, 0)
    shared_session.execute(f"DROP TABLE {name}")
    deadline = time.monotonic() + SECONDS_MAX
    while estimates(shared_session, name):
        assert time.monotonic() < deadline, "a dropped table still has estimates"
        time.sleep(0.05)
