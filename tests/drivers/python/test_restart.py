"""Restarts: whatever was acknowledged is there after `kill -9` and after SIGTERM; sessions come back by themselves."""

import threading

import pytest
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import SimpleStatement

from conftest import GONE, metadata, when_back
from waiting import SECONDS_MAX

pytestmark = pytest.mark.restart


@pytest.mark.parametrize("how", ["kill", "term"])
def test_acknowledged_writes_survive(connect, table, restart, how):
    name = table("k int, c int, v text, PRIMARY KEY (k, c)")
    rows = [(n % 97, n, f"row {n} " + "x" * (n % 800)) for n in range(5_000)]
    with connect() as session:
        insert = session.prepare(f"INSERT INTO {name} (k, c, v) VALUES (?, ?, ?)")
        results = execute_concurrent_with_args(session, insert, rows, concurrency=200)
        assert all(success for success, _ in results)
        restart(how)
        when_back(session, f"SELECT v FROM {name} WHERE k = 0 AND c = 0")
        assert sorted(tuple(row) for row in session.execute(f"SELECT k, c, v FROM {name}")) == sorted(rows)


@pytest.mark.parametrize("how", ["kill", "term"])
def test_writes_acknowledged_in_the_middle_of_traffic_survive(connect, table, restart, how):
    """Four writers raise their own keys' versions until the server goes away beneath them."""
    name = table("k int PRIMARY KEY, version bigint, filler text")
    acknowledged = [dict() for _ in range(4)]
    attempted = [dict() for _ in range(4)]
    enough = threading.Event()

    def write(writer):
        with connect() as session:
            update = session.prepare(f"UPDATE {name} SET version = ?, filler = ? WHERE k = ?")
            for version in range(1, 1_000_000):
                futures = []
                for key in range(writer * 100, writer * 100 + 20):
                    attempted[writer][key] = version
                    futures.append((key, session.execute_async(update, (version, "f" * (version % 300), key), timeout=SECONDS_MAX)))
                for key, future in futures:
                    try:
                        future.result()
                    except GONE:
                        return
                    acknowledged[writer][key] = version
                if version == 30 and writer == 0:
                    enough.set()

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    assert enough.wait(SECONDS_MAX)
    restart(how)
    for thread in threads:
        thread.join(2 * SECONDS_MAX)
        assert not thread.is_alive()
    with connect() as session:
        stored = {row.k: row.version for row in session.execute(f"SELECT k, version FROM {name}")}
    for writer in range(4):
        for key, version in acknowledged[writer].items():
            assert version <= stored.get(key, 0) <= attempted[writer][key], f"key {key}"


@pytest.mark.parametrize("how", ["kill", "term"])
def test_every_kind_of_state_survives(connect, table, restart, how, keyspace):
    plain = table("k int, c int, s text static, v int, l list<int>, m map<text, int>, PRIMARY KEY (k, c)",
                  "CLUSTERING ORDER BY (c DESC) AND comment = 'kept'")
    counters = table("k int PRIMARY KEY, n counter")
    with connect() as session:
        for c in range(6):
            session.execute(f"INSERT INTO {plain} (k, c, s, v) VALUES (1, {c}, 'static', {c}) USING TIMESTAMP 100")
        session.execute(f"DELETE FROM {plain} USING TIMESTAMP 200 WHERE k = 1 AND c = 0")
        session.execute(f"DELETE v FROM {plain} USING TIMESTAMP 200 WHERE k = 1 AND c = 1")
        session.execute(f"DELETE FROM {plain} USING TIMESTAMP 200 WHERE k = 1 AND c > 3")
        session.execute(f"DELETE FROM {plain} USING TIMESTAMP 200 WHERE k = 2")
        session.execute(f"UPDATE {plain} USING TTL 5000 AND TIMESTAMP 300 SET v = 22 WHERE k = 1 AND c = 2")
        session.execute(f"UPDATE {plain} SET l = [1, 2], m = {{'a': 1}} WHERE k = 1 AND c = 3")
        session.execute(f"UPDATE {plain} SET l = l + [3], m['b'] = 2 WHERE k = 1 AND c = 3")
        assert session.execute(f"INSERT INTO {plain} (k, c, v) VALUES (9, 9, 9) IF NOT EXISTS").was_applied
        for amount in (5, 6):
            session.execute(f"UPDATE {counters} SET n = n + {amount} WHERE k = 1")
        session.execute(f"ALTER TABLE {plain} ADD later text")
        dropped = f"{keyspace}.dropped_{how}"
        session.execute(f"CREATE TABLE {dropped} (k int PRIMARY KEY)")
        session.execute(f"DROP TABLE {dropped}")
        restart(how)

        when_back(session, "SELECT key FROM system.local")
        rows = [tuple(row) for row in session.execute(f"SELECT c, s, v, l, m, later FROM {plain} WHERE k = 1")]
        assert [(c, s, v) for c, s, v, *_ in rows] == [
            (3, "static", 3), (2, "static", 22), (1, "static", None),
        ]
        assert rows[0][3] == [1, 2, 3] and dict(rows[0][4]) == {"a": 1, "b": 2}
        [(left, written)] = session.execute(f"SELECT ttl(v), writetime(v) FROM {plain} WHERE k = 1 AND c = 2")
        assert 4_000 < left <= 5_000 and written == 300
        # The tombstones too: older writes stay shadowed.
        for key, clustering in [(1, 0), (1, 1), (1, 4), (1, 5), (2, 1)]:
            session.execute(f"UPDATE {plain} USING TIMESTAMP 150 SET v = 66 WHERE k = {key} AND c = {clustering}")
        assert session.execute(f"SELECT k FROM {plain} WHERE v = 66 ALLOW FILTERING").all() == []
        assert not session.execute(f"INSERT INTO {plain} (k, c, v) VALUES (9, 9, 0) IF NOT EXISTS").was_applied
        session.execute(f"UPDATE {counters} SET n = n + 1 WHERE k = 1")
        assert session.execute(f"SELECT n FROM {counters} WHERE k = 1").one().n == 12
        tables = metadata(session, keyspace).tables
        assert dropped.split(".")[1] not in tables
        assert tables[plain.split(".")[1]].options["comment"] == "kept"


def test_truncate_survives(connect, table, restart):
    name = table("k int PRIMARY KEY")
    with connect() as session:
        for key in range(100):
            session.execute(f"INSERT INTO {name} (k) VALUES ({key})")
        session.execute(f"TRUNCATE {name}")
        session.execute(f"INSERT INTO {name} (k) VALUES (1000)")
        restart("kill")
        assert when_back(session, f"SELECT k FROM {name}").all() == [(1000,)]


def test_prepared_statement_works_after_the_server_forgot_it(connect, table, restart):
    name = table("k int PRIMARY KEY, v int")
    with connect() as session:
        insert = session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?)")
        session.execute(insert, (1, 1))
        restart("kill")
        when_back(session, insert, (2, 2))
        assert sorted(session.execute(f"SELECT k, v FROM {name}").all()) == [(1, 1), (2, 2)]


def test_paging_state_survives(connect, table, restart):
    name = table("k int PRIMARY KEY")
    scan = SimpleStatement(f"SELECT k FROM {name}", fetch_size=300)
    with connect() as session:
        insert = session.prepare(f"INSERT INTO {name} (k) VALUES (?)")
        execute_concurrent_with_args(session, insert, [(key,) for key in range(1_000)])
        result = session.execute(scan)
        seen, state = [row.k for row in result.current_rows], result.paging_state
    restart("kill")
    with connect() as session:
        rest = session.execute(scan, paging_state=state)
        seen += [row.k for row in rest]
    assert sorted(seen) == list(range(1_000))


def test_three_kills_in_a_row_lose_nothing(connect, table, restart):
    name = table("k int PRIMARY KEY, v int")
    with connect() as session:
        insert = session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?)")
        for turn in range(3):
            when_back(session, "SELECT key FROM system.local")
            rows = [(turn * 1_000 + n, turn) for n in range(500)] + [(-1, turn)]
            results = execute_concurrent_with_args(session, insert, rows)
            assert all(success for success, _ in results)
            restart("kill")
        when_back(session, "SELECT key FROM system.local")
        stored = dict(session.execute(f"SELECT k, v FROM {name}").all())
    assert stored == {-1: 2, **{turn * 1_000 + n: turn for turn in range(3) for n in range(500)}}
