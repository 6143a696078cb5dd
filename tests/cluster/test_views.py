"""Materialized views on three nodes: what writers of one node left undone when it was killed reaches the views all the same."""

import itertools
import random
import threading

from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement

from nodes import FAILURES, until

PARTITIONS = 50
# An entry stays for 10 s before it is delivered again, and is looked for every 2 s.
DELIVERED_SECONDS_MAX = 120


def test_views_are_what_their_table_is_when_a_coordinator_has_died(cluster):
    asked, *others = cluster.nodes
    written = itertools.count()

    def write(session, seed):
        rng = random.Random(seed)
        while True:
            p, c, v = rng.randrange(PARTITIONS), rng.randrange(10), rng.randrange(9)
            text = rng.choice([
                f"UPDATE w.t SET v = {v} WHERE p = {p} AND c = {c}",
                f"INSERT INTO w.t (p, c, v, x) VALUES ({p}, {c}, {v}, {seed})",
                f"DELETE FROM w.t WHERE p = {p} AND c = {c}",
                f"DELETE FROM w.t WHERE p = {p} AND c > {c}",
            ])
            try:
                session.execute(SimpleStatement(text, consistency_level=ConsistencyLevel.QUORUM))
            except FAILURES:
                return
            next(written)

    with cluster.session(others, only=True, seconds=20) as session:
        session.execute("CREATE KEYSPACE w WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}")
        session.execute("CREATE TABLE w.t (p int, c int, v int, x int, PRIMARY KEY (p, c))")
        session.execute(
            "CREATE MATERIALIZED VIEW w.by_v AS SELECT * FROM w.t WHERE v IS NOT NULL AND p IS NOT NULL AND c IS NOT NULL PRIMARY KEY (v, p, c)"
        )

        def rows(table):
            text = f"SELECT p, c, v, x FROM {table}"
            found = session.execute(SimpleStatement(text, consistency_level=ConsistencyLevel.QUORUM))
            return sorted(tuple(row) for row in found if row.v is not None)

        with cluster.session([asked], only=True, seconds=20) as its_session:
            writers = [threading.Thread(target=write, args=(its_session, seed)) for seed in range(16)]
            for writer in writers:
                writer.start()
            until("rows are written", lambda: next(written) > 1_000, 120)
            asked.kill()
            for writer in writers:
                writer.join()
        asked.start()
        until("the view is what the table is", lambda: rows("w.t") == rows("w.by_v"), DELIVERED_SECONDS_MAX)
        assert rows("w.by_v")
