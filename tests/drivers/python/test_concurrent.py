"""Many requests in flight: thousands of streams, several sessions, replies out of order."""

import pytest
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args


@pytest.mark.parametrize("version, compression", [(3, "lz4"), (4, False), (4, "snappy"), (5, False), (5, "lz4")])
def test_thousands_of_concurrent_statements(connect, table, version, compression):
    name = table("k int PRIMARY KEY, v text")
    count = 1_200
    with connect(protocol_version=version, compression=compression) as session:
        insert = session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?)")
        select = session.prepare(f"SELECT k, v FROM {name} WHERE k = ?")
        written = execute_concurrent_with_args(
            session, insert, [(key, f"value of {key}") for key in range(count)], concurrency=500
        )
        assert all(success for success, _ in written)
        read = execute_concurrent_with_args(session, select, [(key,) for key in range(count)], concurrency=500)
        for key, (success, rows) in enumerate(read):
            assert success and tuple(rows.one()) == (key, f"value of {key}")


def test_every_stream_of_a_connection_can_be_in_flight(shared_session, table):
    name = table("k int PRIMARY KEY")
    futures = [shared_session.execute_async(f"SELECT * FROM {name} WHERE k = {key}") for key in range(5_000)]
    assert all(future.result().all() == [] for future in futures)


def test_slow_scan_does_not_hold_back_point_reads(shared_session, table):
    name = table("k int, c int, v text, PRIMARY KEY (k, c)")
    insert = shared_session.prepare(f"INSERT INTO {name} (k, c, v) VALUES (?, ?, ?)")
    execute_concurrent_with_args(shared_session, insert, [(n % 50, n, "v" * 500) for n in range(5_000)])
    point = shared_session.prepare(f"SELECT v FROM {name} WHERE k = ? AND c = ?")
    scans = [shared_session.execute_async(f"SELECT count(*) FROM {name}") for _ in range(3)]
    points = [shared_session.execute_async(point, (n % 50, n)) for n in range(500)]
    assert all(len(future.result().all()) == 1 for future in points)
    assert [scan.result().one()[0] for scan in scans] == [5_000] * 3


def test_mixed_statements_are_answered_to_their_askers(shared_session, table):
    name = table("k int PRIMARY KEY, v int")
    insert = shared_session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?)")
    select = shared_session.prepare(f"SELECT k FROM {name} WHERE k = ?")
    statements = []
    for key in range(1_000):
        statements += [(insert, (key, key)), (f"SELECT count(*) FROM {name} WHERE k = %s", (-1,)), (select, (-key - 1,))]
    results = execute_concurrent(shared_session, statements, concurrency=300)
    for number, (success, rows) in enumerate(results):
        assert success
        answer = [tuple(row) for row in rows]
        assert answer == ([(0,)] if number % 3 == 1 else [])


def test_concurrent_counters_lose_nothing(shared_session, table):
    name = table("k int PRIMARY KEY, c counter")
    add = shared_session.prepare(f"UPDATE {name} SET c = c + ? WHERE k = ?")
    results = execute_concurrent_with_args(shared_session, add, [(n, n % 4) for n in range(1_000)], concurrency=100)
    assert all(success for success, _ in results)
    totals = dict(shared_session.execute(f"SELECT k, c FROM {name}").all())
    assert totals == {key: sum(n for n in range(1_000) if n % 4 == key) for key in range(4)}


def test_last_write_of_each_client_is_read_back(connect, table):
    # Two sessions write the same keys with explicit timestamps in opposite orders: both must see the same end.
    name = table("k int PRIMARY KEY, v int")
    with connect() as one, connect() as two:
        futures = []
        for session, order in ((one, range(200)), (two, reversed(range(200)))):
            write = session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?) USING TIMESTAMP ?")
            futures += [session.execute_async(write, (number % 10, number, 1_000 + number)) for number in order]
        for future in futures:
            future.result()
        expected = sorted((key, 190 + key) for key in range(10))
        for session in (one, two):
            assert sorted(tuple(row) for row in session.execute(f"SELECT k, v FROM {name}")) == expected


def test_schema_changes_beside_traffic(shared_session, table):
    name = table("k int PRIMARY KEY, v int")
    insert = shared_session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?)")
    futures = [shared_session.execute_async(insert, (key, 1)) for key in range(1_000)]
    for number in range(3):
        shared_session.execute(f"ALTER TABLE {name} ADD added{number} int")
    futures += [shared_session.execute_async(insert, (key, 1)) for key in range(1_000, 2_000)]
    for future in futures:
        future.result()
    assert shared_session.execute(f"SELECT count(*) FROM {name}").one()[0] == 2_000
