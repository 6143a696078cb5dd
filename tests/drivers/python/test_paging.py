"""Paging: every row once whatever the page size, and paging states that a new connection goes on from."""

import pytest
from cassandra.query import SimpleStatement

PARTITIONS = 1_000
WIDE_ROWS = 5_000


@pytest.fixture(scope="module")
def tables(shared_session, keyspace):
    """`many`: single-row partitions. `wide`: one partition of many rows, downwards, and a small one."""
    from cassandra.concurrent import execute_concurrent_with_args

    shared_session.execute(f"CREATE TABLE {keyspace}.many (k int PRIMARY KEY, v text)")
    shared_session.execute(
        f"CREATE TABLE {keyspace}.wide (k int, c int, s int static, v text, PRIMARY KEY (k, c))"
        " WITH CLUSTERING ORDER BY (c DESC)"
    )
    insert = shared_session.prepare(f"INSERT INTO {keyspace}.many (k, v) VALUES (?, ?)")
    execute_concurrent_with_args(shared_session, insert, [(key, "v" * 20) for key in range(PARTITIONS)])
    insert = shared_session.prepare(f"INSERT INTO {keyspace}.wide (k, c, s, v) VALUES (?, ?, 9, ?)")
    rows = [(1, number, "v" * 50) for number in range(WIDE_ROWS)] + [(2, number, "") for number in range(10)]
    execute_concurrent_with_args(shared_session, insert, rows)
    return keyspace


@pytest.mark.parametrize("fetch_size", [1, 7, 100, 999, 1000, 1001, 5000])
def test_scan_gives_every_partition_once(shared_session, tables, fetch_size):
    statement = SimpleStatement(f"SELECT k FROM {tables}.many", fetch_size=fetch_size)
    keys = [row.k for row in shared_session.execute(statement)]
    assert sorted(keys) == list(range(PARTITIONS))


@pytest.mark.parametrize("fetch_size", [13, 1000, 4999, 5000, 5001])
@pytest.mark.parametrize("order, step", [("DESC", -1), ("ASC", 1)])
def test_wide_partition_pages_in_order(shared_session, tables, fetch_size, order, step):
    statement = SimpleStatement(f"SELECT c, s FROM {tables}.wide WHERE k = 1 ORDER BY c {order}", fetch_size=fetch_size)
    rows = list(shared_session.execute(statement))
    assert [row.c for row in rows] == list(range(WIDE_ROWS))[::step]
    assert {row.s for row in rows} == {9}


def test_page_has_at_most_its_size_and_says_whether_more_follow(shared_session, tables):
    result = shared_session.execute(SimpleStatement(f"SELECT c FROM {tables}.wide WHERE k = 1", fetch_size=100))
    assert len(result.current_rows) == 100
    assert result.has_more_pages
    small = shared_session.execute(SimpleStatement(f"SELECT c FROM {tables}.wide WHERE k = 2", fetch_size=100))
    assert len(small.current_rows) == 10
    assert not small.has_more_pages


@pytest.mark.parametrize("query, expected", [
    ("SELECT k FROM {}.many", PARTITIONS),
    ("SELECT c FROM {}.wide WHERE k = 1", WIDE_ROWS),
    ("SELECT c FROM {}.wide", WIDE_ROWS + 10),
    ("SELECT c FROM {}.wide WHERE k = 1 AND c >= 100 AND c < 1300", 1200),
    ("SELECT k FROM {}.many LIMIT 777", 777),
    ("SELECT c FROM {}.wide WHERE k IN (1, 2)", WIDE_ROWS + 10),
])
@pytest.mark.parametrize("version", [3, 4, 5])
def test_paging_state_is_resumed_on_a_new_connection(connect, tables, query, expected, version):
    seen = []
    paging_state = None
    while True:
        with connect(protocol_version=version) as session:
            statement = SimpleStatement(query.format(tables), fetch_size=-(-expected // 3))
            result = session.execute(statement, paging_state=paging_state)
            seen += [row[0] for row in result.current_rows]
            paging_state = result.paging_state
        if paging_state is None:
            break
    assert len(seen) == expected
    assert len(set(seen)) in (expected, expected - 10)


def test_limit_spans_pages(shared_session, tables):
    statement = SimpleStatement(f"SELECT c FROM {tables}.wide WHERE k = 1 LIMIT 250", fetch_size=100)
    assert [row.c for row in shared_session.execute(statement)] == list(range(WIDE_ROWS))[::-1][:250]


def test_rows_written_behind_the_cursor_do_not_disturb_it(shared_session, tables, table):
    name = table("k int, c int, PRIMARY KEY (k, c)")
    for number in range(0, 100, 2):
        shared_session.execute(f"INSERT INTO {name} (k, c) VALUES (1, {number})")
    result = shared_session.execute(SimpleStatement(f"SELECT c FROM {name} WHERE k = 1", fetch_size=10))
    first = [row.c for row in result.current_rows]
    for number in first:
        shared_session.execute(f"DELETE FROM {name} WHERE k = 1 AND c = {number}")
    shared_session.execute(f"INSERT INTO {name} (k, c) VALUES (1, 1)")
    rest = []
    while result.has_more_pages:
        result.fetch_next_page()
        rest += [row.c for row in result.current_rows]
    assert first == list(range(0, 20, 2))
    assert rest == list(range(20, 100, 2))


def test_filtered_scan_pages_to_its_end(shared_session, tables):
    statement = SimpleStatement(f"SELECT k FROM {tables}.many WHERE v = 'none' ALLOW FILTERING", fetch_size=10)
    assert list(shared_session.execute(statement)) == []
    statement = SimpleStatement(f"SELECT c FROM {tables}.wide WHERE v = '' ALLOW FILTERING", fetch_size=3)
    assert sorted(row.c for row in shared_session.execute(statement)) == list(range(10))


def test_count_ignores_the_page_size(shared_session, tables):
    statement = SimpleStatement(f"SELECT count(*) FROM {tables}.many", fetch_size=10)
    assert shared_session.execute(statement).one()[0] == PARTITIONS


@pytest.mark.parametrize("garbage", [b"\x00", b"garbage", b"\xff" * 64], ids=["zero", "text", "ones"])
def test_broken_paging_state_is_an_error_not_a_wrong_answer(connect, tables, garbage):
    from cassandra import InvalidRequest
    from cassandra.cluster import NoHostAvailable
    from cassandra.protocol import ProtocolException

    statement = SimpleStatement(f"SELECT k FROM {tables}.many", fetch_size=10)
    # Answered with 0x2200, or with a protocol error, upon which the driver gives up the connection.
    with connect() as session, pytest.raises((InvalidRequest, ProtocolException, NoHostAvailable)):
        session.execute(statement, paging_state=garbage)
    with connect() as session:
        assert len(session.execute(statement).current_rows) == 10
