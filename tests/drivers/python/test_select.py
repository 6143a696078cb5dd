"""SELECT: slices, orders, limits, IN, token ranges, filtering, counting, static columns."""

import pytest
from cassandra import InvalidRequest
from cassandra.metadata import Murmur3Token


@pytest.fixture(scope="module")
def wide(shared_session, keyspace):
    """Three partitions of ten rows; `c` runs downwards."""
    name = f"{keyspace}.wide"
    shared_session.execute(
        f"CREATE TABLE {name} (k int, c int, v int, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC)"
    )
    for key in range(3):
        for clustering in range(10):
            shared_session.execute(f"INSERT INTO {name} (k, c, v) VALUES ({key}, {clustering}, {clustering % 3})")
    return name


@pytest.mark.parametrize(
    "condition, expected",
    [
        ("c = 4", [4]),
        ("c > 6", [9, 8, 7]),
        ("c >= 6", [9, 8, 7, 6]),
        ("c < 2", [1, 0]),
        ("c <= 2", [2, 1, 0]),
        ("c > 2 AND c <= 5", [5, 4, 3]),
        ("c > 5 AND c < 5", []),
        ("c IN (1, 7, 3)", [7, 3, 1]),
        ("c IN ()", []),
        ("(c) > (7)", [9, 8]),
    ],
)
def test_slice_comes_in_clustering_order(run, wide, condition, expected):
    assert [c for (c,) in run(f"SELECT c FROM {wide} WHERE k = 1 AND {condition}")] == expected


@pytest.mark.parametrize(
    "order, expected", [("", [9, 8, 7]), ("ORDER BY c DESC", [9, 8, 7]), ("ORDER BY c ASC", [0, 1, 2])]
)
def test_order_by_turns_the_partition_round(run, wide, order, expected):
    assert [c for (c,) in run(f"SELECT c FROM {wide} WHERE k = 0 {order} LIMIT 3")] == expected


def test_slice_is_reversed_with_its_bounds(run, wide):
    rows = run(f"SELECT c FROM {wide} WHERE k = 0 AND c > 2 AND c <= 6 ORDER BY c ASC")
    assert [c for (c,) in rows] == [3, 4, 5, 6]


def test_limits(run, wide):
    assert len(run(f"SELECT c FROM {wide}")) == 30
    assert len(run(f"SELECT c FROM {wide} LIMIT 17")) == 17
    per_partition = run(f"SELECT k, c FROM {wide} PER PARTITION LIMIT 2")
    assert sorted(per_partition) == [(k, c) for k in range(3) for c in (8, 9)]
    assert len(run(f"SELECT k, c FROM {wide} PER PARTITION LIMIT 2 LIMIT 5")) == 5
    with pytest.raises(InvalidRequest):
        run(f"SELECT c FROM {wide} LIMIT 0")


def test_bound_limit(shared_session, run, wide):
    select = shared_session.prepare(f"SELECT c FROM {wide} WHERE k = ? LIMIT ?")
    assert run(select, (1, 4)) == [(9,), (8,), (7,), (6,)]


def test_in_on_the_partition_key(shared_session, run, wide):
    rows = run(f"SELECT k, c FROM {wide} WHERE k IN (2, 0, 7) AND c > 7")
    assert sorted(rows) == [(0, 8), (0, 9), (2, 8), (2, 9)]
    select = shared_session.prepare(f"SELECT k FROM {wide} WHERE k IN ? AND c = 1")
    assert sorted(run(select, ([1, 2, 9],))) == [(1,), (2,)]


def test_order_by_with_in_and_paging_off_merges_partitions(shared_session, wide):
    from cassandra.query import SimpleStatement

    statement = SimpleStatement(f"SELECT k, c FROM {wide} WHERE k IN (0, 1) ORDER BY c ASC LIMIT 5", fetch_size=None)
    assert [row.c for row in shared_session.execute(statement)] == [0, 0, 1, 1, 2]


def test_slices_of_several_clustering_columns(table, run):
    name = table("k int, a int, b text, PRIMARY KEY (k, a, b)", "CLUSTERING ORDER BY (a DESC, b ASC)")
    for a in range(3):
        for b in "xyz":
            run(f"INSERT INTO {name} (k, a, b) VALUES (1, {a}, '{b}')")
    assert run(f"SELECT a, b FROM {name} WHERE k = 1 AND a = 1") == [(1, "x"), (1, "y"), (1, "z")]
    assert run(f"SELECT a, b FROM {name} WHERE k = 1 AND a = 1 AND b >= 'y'") == [(1, "y"), (1, "z")]
    assert run(f"SELECT a, b FROM {name} WHERE k = 1 AND a > 0 LIMIT 4") == [(2, "x"), (2, "y"), (2, "z"), (1, "x")]
    reversed_rows = run(f"SELECT a, b FROM {name} WHERE k = 1 ORDER BY a ASC, b DESC LIMIT 4")
    assert reversed_rows == [(0, "z"), (0, "y"), (0, "x"), (1, "z")]
    assert sorted(run(f"SELECT a, b FROM {name} WHERE k = 1 AND (a, b) > (1, 'y')")) == [
        (1, "z"), (2, "x"), (2, "y"), (2, "z"),
    ]
    assert sorted(run(f"SELECT a, b FROM {name} WHERE k = 1 AND (a, b) IN ((0, 'x'), (2, 'z'))")) == [
        (0, "x"), (2, "z"),
    ]


@pytest.mark.parametrize("kind, ordered", [
    ("int", [-(2**31), -1, 0, 1, 2**31 - 1]),
    ("bigint", [-(2**63), -256, 0, 255, 2**63 - 1]),
    ("varint", [-(2**90), -129, -128, 0, 127, 128, 2**64]),
    ("double", [-1e300, -1.0, 0.0, 5e-324, 1.0, 1e300]),
    ("text", ["", "A", "a", "a\u0000", "aa", "b", "\u00e4"]),
    ("blob", [b"", b"\x00", b"\x00\x00", b"\x01", b"\x7f", b"\x80", b"\xff\xff"]),
    ("boolean", [False, True]),
    ("tinyint", [-128, -1, 0, 127]),
])
def test_rows_are_ordered_by_value_not_by_bytes(shared_session, table, run, kind, ordered):
    for direction in ("ASC", "DESC"):
        name = table(f"k int, c {kind}, PRIMARY KEY (k, c)", f"CLUSTERING ORDER BY (c {direction})")
        insert = shared_session.prepare(f"INSERT INTO {name} (k, c) VALUES (1, ?)")
        for value in ordered[1::2] + ordered[::2]:
            shared_session.execute(insert, (value,))
        rows = [c for (c,) in run(f"SELECT c FROM {name} WHERE k = 1")]
        assert rows == (ordered if direction == "ASC" else ordered[::-1])


def test_decimal_and_timeuuid_order(shared_session, table, run):
    from decimal import Decimal
    from uuid import UUID

    ordered = [Decimal(text) for text in ("-1E+10", "-1.5", "0", "0.001", "1", "1.5", "1E+10")]
    name = table("k int, c decimal, PRIMARY KEY (k, c)")
    insert = shared_session.prepare(f"INSERT INTO {name} (k, c) VALUES (1, ?)")
    for value in ordered[::-1]:
        shared_session.execute(insert, (value,))
    assert [c for (c,) in run(f"SELECT c FROM {name} WHERE k = 1")] == ordered
    # By time: the least significant part of the time comes first in the bytes.
    times = [UUID(f"{low}-{mid}-1{high}-8080-808080808080") for low, mid, high in [
        ("ffffffff", "0000", "000"), ("00000000", "0001", "000"), ("00000000", "0000", "001"),
    ]]
    name = table("k int, c timeuuid, PRIMARY KEY (k, c)")
    insert = shared_session.prepare(f"INSERT INTO {name} (k, c) VALUES (1, ?)")
    for value in times[::-1]:
        shared_session.execute(insert, (value,))
    assert [c for (c,) in run(f"SELECT c FROM {name} WHERE k = 1")] == times


@pytest.fixture(scope="module")
def scattered(shared_session, keyspace):
    """200 single-row partitions."""
    name = f"{keyspace}.scattered"
    shared_session.execute(f"CREATE TABLE {name} (k int PRIMARY KEY, v int, t text)")
    insert = shared_session.prepare(f"INSERT INTO {name} (k, v, t) VALUES (?, ?, ?)")
    for key in range(200):
        shared_session.execute(insert, (key, key % 10, f"t{key}"))
    return name


def test_tokens_are_murmur3_and_the_scan_is_in_their_order(run, scattered):
    rows = run(f"SELECT k, token(k) FROM {scattered}")
    assert [token for _, token in rows] == sorted(token for _, token in rows)
    assert {key for key, _ in rows} == set(range(200))
    for key, token in rows:
        assert token == Murmur3Token.hash_fn(key.to_bytes(4, "big"))


def test_token_ranges_partition_the_table(run, scattered):
    bounds = [-(2**63), -(2**62), 0, 12345, 2**61, 2**63 - 1]
    seen = []
    for low, high in zip(bounds, bounds[1:]):
        seen += run(f"SELECT k FROM {scattered} WHERE token(k) > {low} AND token(k) <= {high}")
    assert sorted(seen) == [(key,) for key in range(200)]


def test_scan_goes_on_after_the_token_of_a_key(shared_session, run, scattered):
    order = run(f"SELECT k FROM {scattered}")
    after = shared_session.prepare(f"SELECT k FROM {scattered} WHERE token(k) >= token(?) LIMIT ?")
    assert run(after, (order[50][0], 20)) == order[50:70]
    assert run(f"SELECT k FROM {scattered} WHERE token(k) > token({order[-1][0]})") == []


def test_composite_partition_key(shared_session, table, run):
    name = table("a int, b text, v int, PRIMARY KEY ((a, b))")
    for a in range(3):
        for b in "xy":
            run(f"INSERT INTO {name} (a, b, v) VALUES ({a}, '{b}', {a})")
    assert run(f"SELECT v FROM {name} WHERE a = 1 AND b = 'y'") == [(1,)]
    assert len(run(f"SELECT v FROM {name} WHERE a IN (0, 1) AND b IN ('x', 'y')")) == 4
    with pytest.raises(InvalidRequest):
        run(f"SELECT v FROM {name} WHERE a = 1")
    tokens = run(f"SELECT token(a, b) FROM {name}")
    assert len(set(tokens)) == 6


def test_filtering_needs_its_words(run, scattered):
    with pytest.raises(InvalidRequest) as failure:
        run(f"SELECT k FROM {scattered} WHERE v = 3")
    assert "ALLOW FILTERING" in str(failure.value)
    rows = run(f"SELECT k FROM {scattered} WHERE v = 3 ALLOW FILTERING")
    assert sorted(rows) == [(key,) for key in range(3, 200, 10)]
    assert len(run(f"SELECT k FROM {scattered} WHERE v > 7 AND v <= 8 ALLOW FILTERING")) == 20
    assert run(f"SELECT k FROM {scattered} WHERE v = 3 AND t = 't13' ALLOW FILTERING") == [(13,)]


def test_filtering_in_a_partition_and_on_collections(table, run, wide):
    assert run(f"SELECT c FROM {wide} WHERE k = 1 AND v = 0 ALLOW FILTERING") == [(9,), (6,), (3,), (0,)]
    assert sorted(run(f"SELECT k, c FROM {wide} WHERE c = 5 ALLOW FILTERING")) == [(0, 5), (1, 5), (2, 5)]
    name = table("k int PRIMARY KEY, s set<int>, m map<text, int>")
    run(f"INSERT INTO {name} (k, s, m) VALUES (1, {{1, 2}}, {{'a': 1}})")
    run(f"INSERT INTO {name} (k, s, m) VALUES (2, {{2, 3}}, {{'b': 1}})")
    assert run(f"SELECT k FROM {name} WHERE s CONTAINS 1 ALLOW FILTERING") == [(1,)]
    assert run(f"SELECT k FROM {name} WHERE m CONTAINS KEY 'b' ALLOW FILTERING") == [(2,)]


def test_count(run, scattered, wide, table):
    assert run(f"SELECT count(*) FROM {scattered}") == [(200,)]
    assert run(f"SELECT count(1) FROM {scattered} WHERE k IN (1, 2, 777)") == [(2,)]
    assert run(f"SELECT count(*) FROM {wide} WHERE k = 1 AND c < 4") == [(4,)]
    assert run(f"SELECT count(*) AS n FROM {table('k int PRIMARY KEY')}") == [(0,)]


def test_aliases_and_functions_name_their_columns(shared_session, wide):
    row = shared_session.execute(f"SELECT k AS partition, c, writetime(v), ttl(v) AS left FROM {wide} LIMIT 1")
    assert row.column_names == ["partition", "c", "writetime(v)", "left"]


def test_star_gives_keys_first_then_names_in_order(shared_session, table):
    name = table("z int, b int, k text, a int, s int static, c int, PRIMARY KEY ((k, c), z)")
    assert shared_session.execute(f"SELECT * FROM {name}").column_names == ["k", "c", "z", "s", "a", "b"]


def test_distinct_gives_each_partition_once(run, wide):
    assert sorted(run(f"SELECT DISTINCT k FROM {wide}")) == [(0,), (1,), (2,)]


def test_static_column_is_shared_by_the_partition(table, run):
    name = table("k int, c int, s text static, v int, PRIMARY KEY (k, c)")
    run(f"INSERT INTO {name} (k, s) VALUES (1, 'only static')")
    assert run(f"SELECT k, c, s, v FROM {name}") == [(1, None, "only static", None)]
    run(f"INSERT INTO {name} (k, c, v) VALUES (1, 1, 1)")
    run(f"INSERT INTO {name} (k, c, s, v) VALUES (1, 2, 'new', 2)")
    assert run(f"SELECT c, s, v FROM {name} WHERE k = 1") == [(1, "new", 1), (2, "new", 2)]
    assert run(f"SELECT DISTINCT k, s FROM {name}") == [(1, "new")]
    run(f"DELETE s FROM {name} WHERE k = 1")
    assert run(f"SELECT c, s FROM {name} WHERE k = 1") == [(1, None), (2, None)]
    run(f"UPDATE {name} SET s = 'again' WHERE k = 1")
    run(f"DELETE FROM {name} WHERE k = 1 AND c > 0")
    assert run(f"SELECT c, s FROM {name} WHERE k = 1") == [(None, "again")]


def test_quoted_names_keep_their_case(keyspace, run):
    run(f'CREATE TABLE {keyspace}."MixedCase" ("Key" int PRIMARY KEY, "select" text, "a""b" int)')
    run(f'INSERT INTO {keyspace}."MixedCase" ("Key", "select", "a""b") VALUES (1, \'x\', 2)')
    assert run(f'SELECT "Key", "select", "a""b" FROM {keyspace}."MixedCase"') == [(1, "x", 2)]
    with pytest.raises(InvalidRequest):
        run(f'SELECT key FROM {keyspace}."MixedCase"')


def test_unreserved_words_are_names(table, run):
    name = table("key text PRIMARY KEY, ttl int, type text, date date, counter int, values int")
    run(f"INSERT INTO {name} (KEY, ttl, type, counter, values) VALUES ('a', 1, 'x', 2, 3)")
    assert run(f"SELECT Key, TTL, type, counter, values FROM {name} WHERE KEY = 'a'") == [("a", 1, "x", 2, 3)]
