"""Materialized views: built on rows that are there, written with their table, through conditions, batches, time to live, deletions of many rows and `kill -9`."""

import concurrent.futures
import random
import threading
import time

import pytest
from cassandra import InvalidRequest
from cassandra.query import SimpleStatement

from conftest import GONE, when_back
from waiting import SECONDS_MAX, wait_until, while_it_lives

COLUMNS = "p int, c int, v int, w text, m map<text, int>, s int static, PRIMARY KEY (p, c)"
PARTITIONS, ROWS = 40, 400


def wait_built(session, name):
    keyspace, view = name.split(".")
    deadline = time.monotonic() + SECONDS_MAX
    while not session.execute("SELECT view_name FROM system.built_views WHERE keyspace_name = %s AND view_name = %s", (keyspace, view)).one():
        assert time.monotonic() < deadline, f"{name} is not built"
        time.sleep(0.02)


def rows_of(session, name, condition=lambda row: True):
    """In pages, as what views and tables have in common."""
    rows = session.execute(SimpleStatement(f"SELECT p, c, v, w, m FROM {name}", fetch_size=37))
    # A partition with nothing but its static column has a row without a clustering key.
    return sorted((row.p, row.c, row.v, row.w, tuple((row.m or {}).items())) for row in rows if row.c is not None and condition(row))


def has_v(row):
    return row.v is not None


@pytest.fixture(scope="module")
def viewed(shared_session, keyspace):
    """A table with rows, and views that are built from them."""
    name = f"{keyspace}.viewed"
    shared_session.execute(f"CREATE TABLE {name} ({COLUMNS})")
    insert = shared_session.prepare(f"INSERT INTO {name} (p, c, v, w, m) VALUES (?, ?, ?, ?, ?)")
    for n in range(ROWS):
        shared_session.execute(insert, (n % PARTITIONS, n, n % 7 if n % 11 else None, f"w{n}", {"k": n}))
    shared_session.execute(
        f"CREATE MATERIALIZED VIEW {keyspace}.by_v AS SELECT p, c, v, w, m FROM {name} "
        "WHERE v IS NOT NULL AND p IS NOT NULL AND c IS NOT NULL PRIMARY KEY (v, p, c) WITH CLUSTERING ORDER BY (p DESC, c ASC)"
    )
    shared_session.execute(
        f"CREATE MATERIALIZED VIEW {keyspace}.some AS SELECT p, c, v, w, m FROM {name} WHERE c > 100 AND p IN (1, 2, 3) PRIMARY KEY (c, p)"
    )
    for view in ("by_v", "some"):
        wait_built(shared_session, f"{keyspace}.{view}")
    return name, f"{keyspace}.by_v", f"{keyspace}.some"


def check(session, viewed):
    name, by_v, some = viewed
    assert rows_of(session, by_v) == rows_of(session, name, has_v)
    assert rows_of(session, some) == rows_of(session, name, lambda row: row.c > 100 and row.p in (1, 2, 3))


def statement(name, rng, number):
    p, c, v = rng.randrange(PARTITIONS), rng.randrange(ROWS), rng.randrange(9)
    return rng.choice([
        f"UPDATE {name} SET v = {v} WHERE p = {p} AND c = {c}",
        f"UPDATE {name} SET w = 'x{number}', m['a'] = {number} WHERE p = {p} AND c = {c}",
        f"INSERT INTO {name} (p, c, v, w) VALUES ({p}, {c}, {v}, 'y{number}')",
        f"INSERT INTO {name} (p, c, v) VALUES ({p}, {c}, 3) IF NOT EXISTS",
        f"UPDATE {name} SET v = 4 WHERE p = {p} AND c = {c} IF v = 3",
        f"UPDATE {name} SET s = {v} WHERE p = {p}",
        f"UPDATE {name} SET v = {v} WHERE p IN ({p}, {(p + 1) % PARTITIONS}) AND c = {c}",
        f"DELETE FROM {name} WHERE p = {p} AND c = {c}",
        f"DELETE v FROM {name} WHERE p = {p} AND c = {c}",
        f"DELETE FROM {name} WHERE p = {p} AND c > {c} AND c < {c + 30}",
        f"BEGIN BATCH UPDATE {name} SET v = 1 WHERE p = {p} AND c = {c}; "
        f"UPDATE {name} SET v = 2 WHERE p = {(p + 1) % PARTITIONS} AND c = {c}; APPLY BATCH",
        f"DELETE FROM {name} WHERE p = {p}" if number % 10 == 0 else f"UPDATE {name} SET v = 5 WHERE p = {p} AND c = {c}",
    ])


def test_views_of_rows_that_were_there(shared_session, viewed):
    check(shared_session, viewed)
    by_p = [(row.p, row.c) for row in shared_session.execute(f"SELECT p, c FROM {viewed[1]} WHERE v = 3")]
    assert by_p == sorted(by_p, key=lambda key: (-key[0], key[1])) and by_p


def test_views_follow_writes_of_many_clients_at_a_time(shared_session, viewed):
    rng = random.Random(7)
    texts = [statement(viewed[0], rng, number) for number in range(2_000)]
    with concurrent.futures.ThreadPoolExecutor(16) as clients:
        list(clients.map(shared_session.execute, texts))
    check(shared_session, viewed)


def test_who_has_written_reads_it_in_the_view(shared_session, viewed):
    name, by_v, _ = viewed
    for number in range(100):
        shared_session.execute(f"UPDATE {name} SET v = {1000 + number} WHERE p = 1 AND c = 1")
        assert [row.v for row in shared_session.execute(f"SELECT v FROM {by_v} WHERE v = {1000 + number} AND p = 1 AND c = 1")] == [1000 + number]
        assert not list(shared_session.execute(f"SELECT v FROM {by_v} WHERE v = {999 + number}"))


def test_a_refused_condition_is_told_as_without_views(shared_session, viewed, table):
    plain = table("p int, c int, v int, PRIMARY KEY (p, c)")
    answers = []
    for name in (viewed[0], plain):
        shared_session.execute(f"INSERT INTO {name} (p, c, v) VALUES (2, 2, 2)")
        row = shared_session.execute(f"UPDATE {name} SET v = 4 WHERE p = 2 AND c = 2 IF v = 3").one()
        batch = shared_session.execute(f"BEGIN BATCH UPDATE {name} SET v = 4 WHERE p = 2 AND c = 2 IF v = 3; APPLY BATCH").one()
        answers.append((row, row._fields, batch, batch._fields))
    assert answers[0] == answers[1] and not answers[0][0].applied


def test_a_row_goes_when_the_column_of_its_key_expires(shared_session, viewed):
    name, by_v, _ = viewed
    shared_session.execute(f"INSERT INTO {name} (p, c, w) VALUES (1, 1, 'stays')")

    def lives(seconds):
        shared_session.execute(f"UPDATE {name} USING TTL {seconds} SET v = 2000 WHERE p = 1 AND c = 1")
        (row,) = shared_session.execute(f"SELECT w, ttl(w) AS left FROM {by_v} WHERE v = 2000")
        assert row.w == "stays" and 0 < row.left <= seconds

    while_it_lives(lives, 2)
    wait_until(lambda: not list(shared_session.execute(f"SELECT w FROM {by_v} WHERE v = 2000")))
    assert shared_session.execute(f"SELECT w, v FROM {name} WHERE p = 1 AND c = 1").one() == ("stays", None)


def test_deletions_of_more_rows_than_are_deleted_one_by_one(shared_session, table, keyspace):
    name = table("p int, c int, v int, PRIMARY KEY (p, c)")
    view = f"{keyspace}.{name.split('.')[1]}_by_v"
    shared_session.execute(
        f"CREATE MATERIALIZED VIEW {view} AS SELECT * FROM {name} WHERE v IS NOT NULL AND p IS NOT NULL AND c IS NOT NULL PRIMARY KEY (v, p, c)"
    )
    insert = shared_session.prepare(f"INSERT INTO {name} (p, c, v) VALUES (?, ?, ?)")
    with concurrent.futures.ThreadPoolExecutor(16) as clients:
        list(clients.map(lambda c: shared_session.execute(insert, (1, c, c % 5)), range(5_000)))
    count = f"SELECT count(*) FROM {view}"
    assert shared_session.execute(count).one()[0] == 5_000
    shared_session.execute(f"DELETE FROM {name} WHERE p = 1 AND c >= 1000")
    assert shared_session.execute(count).one()[0] == 1_000
    shared_session.execute(f"INSERT INTO {name} (p, c, v) VALUES (1, 4000, 3)")
    assert [row.c for row in shared_session.execute(f"SELECT c FROM {view} WHERE v = 3 AND p = 1 AND c >= 1000")] == [4000]
    shared_session.execute(f"DELETE FROM {name} WHERE p = 1")
    assert shared_session.execute(count).one()[0] == 0
    shared_session.execute(f"DROP MATERIALIZED VIEW {view}")


def test_truncated_altered_dropped(shared_session, table, keyspace):
    name = table("p int PRIMARY KEY, v int, w int")
    view = f"{keyspace}.{name.split('.')[1]}_view"
    shared_session.execute(f"CREATE MATERIALIZED VIEW {view} AS SELECT * FROM {name} WHERE v IS NOT NULL AND p IS NOT NULL PRIMARY KEY (v, p)")
    shared_session.execute(f"INSERT INTO {name} (p, v, w) VALUES (1, 1, 1)")
    shared_session.execute(f"TRUNCATE {name}")
    assert not list(shared_session.execute(f"SELECT * FROM {view}"))
    shared_session.execute(f"ALTER TABLE {name} ADD x text")
    shared_session.execute(f"INSERT INTO {name} (p, v, x) VALUES (2, 3, 'new')")
    assert list(shared_session.execute(f"SELECT * FROM {view}")) == [(3, 2, None, "new")]
    for refused in [
        f"INSERT INTO {view} (v, p) VALUES (1, 1)",
        f"TRUNCATE {view}",
        f"DROP TABLE {view}",
        f"DROP TABLE {name}",
        f"ALTER TABLE {name} DROP w",
        f"CREATE INDEX ON {view} (w)",
    ]:
        with pytest.raises(InvalidRequest):
            shared_session.execute(refused)
    shared_session.execute(f"DROP MATERIALIZED VIEW {view}")
    with pytest.raises(InvalidRequest):
        shared_session.execute(f"SELECT * FROM {view}")
    shared_session.execute(f"ALTER TABLE {name} DROP w")


def test_a_value_that_no_key_can_hold_is_refused(shared_session, table, keyspace):
    name = table("p int PRIMARY KEY, v text")
    view = f"{keyspace}.{name.split('.')[1]}_view"
    shared_session.execute(f"CREATE MATERIALIZED VIEW {view} AS SELECT * FROM {name} WHERE v IS NOT NULL AND p IS NOT NULL PRIMARY KEY (v, p)")
    with pytest.raises(InvalidRequest, match="longer than maximum"):
        shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, %s)", ("x" * 70_000,))
    assert not list(shared_session.execute(f"SELECT p FROM {name}"))
    shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, '')")
    assert list(shared_session.execute(f"SELECT v, p FROM {view}")) == [("", 1)]
    shared_session.execute(f"DROP MATERIALIZED VIEW {view}")


@pytest.mark.restart
def test_views_are_what_their_table_is_after_a_kill(connect, viewed, restart):
    """Writers of many kinds until the server goes away beneath them; then every entry that was left is delivered."""
    started, ends = threading.Semaphore(0), threading.Event()

    def write(writer):
        rng = random.Random(writer)
        with connect() as session:
            for number in range(1_000_000):
                if number == 50:
                    started.release()
                try:
                    session.execute_async(statement(viewed[0], rng, number), timeout=SECONDS_MAX).result()
                except GONE:
                    return
                if ends.is_set():
                    return

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(8)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert started.acquire(timeout=SECONDS_MAX)
    restart("kill")
    ends.set()
    for thread in threads:
        thread.join(2 * SECONDS_MAX)
        assert not thread.is_alive()
    with connect() as session:
        when_back(session, f"SELECT v FROM {viewed[0]} WHERE p = 0 AND c = 0")
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            try:
                check(session, viewed)
                break
            except AssertionError:
                assert time.monotonic() < deadline, "views differ from their table"
                time.sleep(0.1)
