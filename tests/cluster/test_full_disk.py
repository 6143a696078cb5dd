"""A node whose disk is full while the others' are not: what is acknowledged can be read, and the rest is told."""

from cassandra import ConsistencyLevel

from nodes import FAILURES, succeeds, until
from test_operations import tarndb

VALUE = b"\xa5" * (256 << 10)
# A fifth more than the node's disk takes.
ROWS = 1100


def test_a_full_disk_makes_no_answer_wrong(start_cluster):
    cluster = start_cluster(2)
    small = cluster.add(capacity="256MiB")
    cluster.create()
    others = [node for node in cluster.nodes if node is not small]
    acknowledged, refused = set(), 0
    with cluster.session(others, only=True, seconds=15) as session:
        session.execute("CREATE TABLE k.big (a int PRIMARY KEY, b blob)")
        insert = session.prepare("INSERT INTO k.big (a, b) VALUES (?, ?)")
        for first in range(0, ROWS, 8):
            for key, future in [(key, session.execute_async(insert, (key, VALUE))) for key in range(first, first + 8)]:
                try:
                    future.result()
                    acknowledged.add(key)
                except FAILURES:
                    refused += 1
        select = session.prepare("SELECT b FROM k.big WHERE a = ?")
        select.consistency_level = ConsistencyLevel.QUORUM
        for key in sorted(acknowledged):
            until(f"row {key} can be read", lambda key=key: succeeds(lambda: session.execute(select, (key,))), 30, 0.1)
            assert session.execute(select, (key,)).one().b == VALUE, f"row {key} is lost"
    assert len(acknowledged) > 600, f"{len(acknowledged)} rows acknowledged, {refused} refused"
    assert small.is_running, small.log_tail()
    told = tarndb(small, "status")
    assert told.returncode == 1 and "no room" in told.stdout, told.stdout + told.stderr
