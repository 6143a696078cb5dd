"""Logged batches over many partitions: done whole or not at all, whoever of their nodes dies.

Whether a batch is cut off in the middle is chance here, about every other time; the simulator sees to it that many are.
"""

import itertools
import threading

import pytest
from cassandra import ConsistencyLevel
from cassandra.query import BatchStatement, BatchType, SimpleStatement

from nodes import FAILURES, until

ROWS = 8
# An entry stays for 10 s before its batch is run again, and is looked for every 2 s.
ABANDONED_SECONDS_MAX = 120


@pytest.mark.parametrize("factor, dies", [(3, "coordinator"), pytest.param(1, "primary", marks=pytest.mark.long)])
def test_what_was_begun_is_done(cluster, factor, dies):
    """Clients of one node; it is killed, or another one that alone has a third of the rows and comes back. Each batch writes rows that no other does."""
    asked, dead, _ = cluster.nodes
    if dies == "coordinator":
        dead = asked
    numbers, acknowledged = itertools.count(), []

    def write(session, insert):
        while True:
            number = next(numbers)
            batch = BatchStatement(BatchType.LOGGED, consistency_level=ConsistencyLevel.QUORUM)
            for row in range(ROWS):
                batch.add(insert, (f"{number}-{row}", number))
            try:
                session.execute(batch)
            except FAILURES:
                return
            acknowledged.append(number)

    others = [node for node in cluster.nodes if node is not dead]
    with cluster.session(others, only=True, seconds=20) as session:
        session.execute(f"CREATE KEYSPACE b WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {factor}}}")
        session.execute("CREATE TABLE b.t (a text PRIMARY KEY, b int)")
        with cluster.session([asked], only=True, seconds=20) as its_session:
            insert = its_session.prepare("INSERT INTO b.t (a, b) VALUES (?, ?)")
            writers = [threading.Thread(target=write, args=(its_session, insert)) for _ in range(16)]
            for writer in writers:
                writer.start()
            until("batches are written", lambda: len(acknowledged) > 300, 120)
            dead.kill()
            for writer in writers:
                writer.join()
        dead.start()

        def rows():
            found = {}
            for row in session.execute(SimpleStatement("SELECT a, b FROM b.t", consistency_level=ConsistencyLevel.QUORUM)):
                found[row.b] = found.get(row.b, 0) + 1
            return found

        until("no batch is there in part", lambda: set(rows().values()) == {ROWS}, ABANDONED_SECONDS_MAX, 0.5)
        found = rows()
    assert set(acknowledged) <= set(found), "an acknowledged batch is gone"
