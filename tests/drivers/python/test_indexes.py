"""Secondary indexes: of every kind of column, on rows that are there before and after, through deletions, time to live, pages and restarts."""

import math
import random
import struct
import time

import pytest
from cassandra import InvalidRequest
from cassandra.protocol import ConfigurationException
from cassandra.query import SimpleStatement

from conftest import when_back
from waiting import SECONDS_MAX

ROWS = 600
COLUMNS = "a int, b int, v int, w text, s int static, m map<text, int>, st set<int>, f frozen<list<int>>, PRIMARY KEY (a, b)"
# What is asked for, and which rows that is.
QUERIES = [
    ("v = 7", lambda row: row["v"] == 7),
    ("w = 'w3'", lambda row: row["w"] == "w3"),
    ("s = 4", lambda row: row["s"] == 4),
    ("b = 77", lambda row: row["b"] == 77),
    ("m CONTAINS KEY 'k1'", lambda row: "k1" in row["m"]),
    ("m CONTAINS 3", lambda row: 3 in row["m"].values()),
    ("m['k2'] = 4", lambda row: row["m"].get("k2") == 4),
    ("st CONTAINS 5", lambda row: 5 in row["st"]),
    ("f = [2]", lambda row: row["f"] == [2]),
    ("a = 3 AND v = 3", lambda row: row["a"] == 3 and row["v"] == 3),
    ("v = 7 AND w = 'w3' ALLOW FILTERING", lambda row: row["v"] == 7 and row["w"] == "w3"),
]
TARGETS = ["v", "w", "s", "b", "keys(m)", "values(m)", "entries(m)", "st", "full(f)"]


def insert(session, name, numbers):
    statement = session.prepare(f"INSERT INTO {name} (a, b, v, w, m, st, f) VALUES (?, ?, ?, ?, ?, ?, ?)")
    for n in numbers:
        session.execute(statement, (n % 50, n, n % 20, f"w{n % 7}", {f"k{n % 3}": n % 5}, {n % 11}, [n % 4]))


def rows_of(session, text):
    """In pages, so that an index is left and entered again."""
    rows = session.execute(SimpleStatement(text, fetch_size=17))
    columns = ("a", "b", "v", "w", "s", "m", "st", "f")
    keep = {"m": lambda value: dict(value or {}), "st": lambda value: set(value or ()), "f": lambda value: list(value or ())}
    return [{column: keep.get(column, lambda value: value)(value) for column, value in zip(columns, row)} for row in rows]


def check(session, name):
    select = f"SELECT a, b, v, w, s, m, st, f FROM {name}"
    every = rows_of(session, select)
    for condition, matches in QUERIES:
        # Both are in the order of the ring.
        assert rows_of(session, f"{select} WHERE {condition}") == [row for row in every if matches(row)], condition


@pytest.fixture(scope="module")
def indexed(shared_session, keyspace):
    name = f"{keyspace}.indexed"
    shared_session.execute(f"CREATE TABLE {name} ({COLUMNS})")
    insert(shared_session, name, range(ROWS))
    for a in range(50):
        shared_session.execute(f"UPDATE {name} SET s = {a % 13} WHERE a = {a}")
    for target in TARGETS:
        shared_session.execute(f"CREATE INDEX ON {name} ({target})")
    insert(shared_session, name, range(ROWS, ROWS + 100))
    return name


def test_rows_from_before_and_after_are_found(shared_session, indexed):
    check(shared_session, indexed)


def test_indexes_that_are_complete_are_listed(connect, keyspace, indexed, restart):
    def listed(session):
        rows = session.execute('SELECT index_name, value FROM system."IndexInfo" WHERE table_name = %s', (keyspace,))
        return {row[0] for row in rows}

    def all_are_listed(session):
        rows = session.execute("SELECT index_name FROM system_schema.indexes WHERE keyspace_name = %s", (keyspace,))
        wanted, deadline = {row[0] for row in rows}, time.monotonic() + SECONDS_MAX
        assert len(wanted) >= len(TARGETS)
        while listed(session) != wanted:
            assert time.monotonic() < deadline, wanted - listed(session)
            time.sleep(0.05)

    with connect() as session:
        all_are_listed(session)
    restart("kill")
    with connect() as session:
        all_are_listed(session)


def test_what_changes_is_found_as_it_is(shared_session, indexed):
    for n in range(0, ROWS, 3):
        shared_session.execute(f"DELETE FROM {indexed} WHERE a = {n % 50} AND b = {n}")
    for a in range(0, 50, 5):
        shared_session.execute(f"DELETE FROM {indexed} WHERE a = {a}")
    for a in range(1, 50, 5):
        shared_session.execute(f"DELETE FROM {indexed} WHERE a = {a} AND b > 100 AND b < 400")
    for n in range(0, ROWS, 7):
        shared_session.execute(f"UPDATE {indexed} SET v = {n % 21}, m['k2'] = 4, st = st + {{5}} WHERE a = {n % 50} AND b = {n}")
    for n in range(0, ROWS, 11):
        shared_session.execute(f"DELETE w, st FROM {indexed} WHERE a = {n % 50} AND b = {n}")
    check(shared_session, indexed)


@pytest.mark.restart
@pytest.mark.parametrize("how", ["kill", "term"])
def test_entries_survive(connect, indexed, restart, how):
    with connect() as session:
        restart(how)
        when_back(session, f"SELECT a FROM {indexed} WHERE a = 1 LIMIT 1")
        check(session, indexed)
        insert(session, indexed, range(ROWS + 100, ROWS + 150))
        check(session, indexed)


def test_ranges_of_a_storage_attached_index(shared_session, run, table):
    name = table("k int PRIMARY KEY, v int, t text")
    for text in (f"CREATE CUSTOM INDEX ON {name} (v) USING 'StorageAttachedIndex'", f"CREATE INDEX ON {name} (t) USING 'sai'"):
        run(text)
    for k in range(100):
        run(f"INSERT INTO {name} (k, v, t) VALUES ({k}, {k - 50}, 't{k % 3}')")
    assert sorted(run(f"SELECT k FROM {name} WHERE v > -3 AND v <= 2")) == [(k,) for k in range(48, 53)]
    assert sorted(run(f"SELECT k FROM {name} WHERE v < -45 AND t = 't0'")) == [(0,), (3,)]
    with pytest.raises(InvalidRequest, match="data filtering"):
        run(f"SELECT k FROM {name} WHERE t > 'a'")


def test_truncation_and_drop(run, table):
    name = table("k int PRIMARY KEY, v int")
    run(f"CREATE INDEX by_v ON {name} (v)")
    run(f"INSERT INTO {name} (k, v) VALUES (1, 2)")
    assert run(f"SELECT k FROM {name} WHERE v = 2") == [(1,)]
    run(f"TRUNCATE {name}")
    assert run(f"SELECT k FROM {name} WHERE v = 2") == []
    run(f"INSERT INTO {name} (k, v) VALUES (3, 2)")
    assert run(f"SELECT k FROM {name} WHERE v = 2") == [(3,)]
    keyspace = name.split(".")[0]
    assert run(
        "SELECT table_name, index_name, kind, options FROM system_schema.indexes WHERE keyspace_name = %s AND table_name = %s", (keyspace, name.split(".")[1])
    ) == [(name.split(".")[1], "by_v", "COMPOSITES", {"target": "v"})]
    with pytest.raises(InvalidRequest, match="dependent secondary indexes"):
        run(f"ALTER TABLE {name} DROP v")
    run(f"DROP INDEX {keyspace}.by_v")
    with pytest.raises(InvalidRequest, match="data filtering"):
        run(f"SELECT k FROM {name} WHERE v = 2")


@pytest.mark.parametrize(
    "statement, message",
    [
        ("CREATE INDEX ON {name} (nothing)", "Undefined column name nothing in table "),
        ("CREATE INDEX ON {name} (k)", "Cannot create secondary index on the only partition key column k"),
        ("CREATE INDEX ON {name} (keys(v))", "Non-collection columns only support simple indexes"),
        ("CREATE INDEX ON {name} (full(l))", "full\\(\\) indexes can only be created on frozen collections"),
        ("CREATE INDEX ON {name} (keys(l))", "with non-map type"),
        ("CREATE INDEX ON {name} (fl)", "Frozen collections are immutable"),
        ("CREATE INDEX ON {name} (d)", "Secondary indexes are not supported on duration columns"),
        ("CREATE INDEX ON {name} (v) WITH OPTIONS = {{'a': 'b'}}", "Cannot specify options for a non-CUSTOM index"),
        ("DROP INDEX {keyspace}.nothing", "doesn't exist"),
    ],
)
def test_what_cannot_be_indexed(run, table, statement, message):
    name = table("k int PRIMARY KEY, v int, l list<int>, fl frozen<list<int>>, d duration")
    with pytest.raises(InvalidRequest, match=message):
        run(statement.format(name=name, keyspace=name.split(".")[0]))


def test_storage_attached_indexes_are_in_a_system_view(run, table):
    name = table("k int PRIMARY KEY, v int, w text, m map<text, int>")
    keyspace = name.split(".")[0]
    run(f"CREATE INDEX plain_{keyspace} ON {name} (v)")
    run(f"CREATE INDEX of_v ON {name} (v) USING 'sai'")
    run(f"CREATE INDEX of_w ON {name} (w) USING 'sai' WITH OPTIONS = {{'case_sensitive': 'false'}}")
    run(f"CREATE INDEX of_m ON {name} (entries(m)) USING 'sai'")
    rows = run("SELECT index_name, column_name, is_queryable, is_string, analyzer FROM system_views.sai_column_indexes WHERE keyspace_name = %s", (keyspace,))
    assert [row for row in rows if row[0].startswith("of_")] == [
        ("of_m", "m", True, True, "NoOpAnalyzer"),
        ("of_v", "v", True, False, "NoOpAnalyzer"),
        ("of_w", "w", True, True, "NonTokenizingAnalyzer{caseSensitive=false, normalized=false, ascii=false}"),
    ]


def test_cores_and_their_memory_are_in_system_views(run, table):
    name = table("k int PRIMARY KEY")
    run(f"INSERT INTO {name} (k) VALUES (1)")
    # A core reports each second.
    deadline = time.monotonic() + SECONDS_MAX
    answered = size = 0
    while (answered == 0 or size == 0) and time.monotonic() < deadline:
        pools = dict(run("SELECT name, completed_tasks FROM system_views.thread_pools"))
        answered = sum(pools.values())
        ((cache, size, hits, requests),) = run("SELECT name, size_bytes, hit_count, request_count FROM system_views.caches")
    assert "core-0" in pools and answered > 0
    assert cache == "frames" and size > 0 and hits <= requests


def test_latencies_by_table_are_in_system_views(run, table):
    keyspace, name = (full := table("k int, c int, v int, PRIMARY KEY (k, c)")).split(".")
    for row in range(30):
        run(f"INSERT INTO {full} (k, c, v) VALUES ({row % 3}, {row}, 1)")
    for _ in range(5):
        run(f"SELECT v FROM {full} WHERE k = 1 AND c = 1")
    run(f"SELECT v FROM {full}")
    run(f"BEGIN BATCH INSERT INTO {full} (k, c, v) VALUES (1, 1, 2); UPDATE {full} SET v = 3 WHERE k = 1 AND c = 2; APPLY BATCH")

    def counts(whose):
        def count(kind):
            where = f"keyspace_name = '{keyspace}' AND table_name = '{name}'"
            rows = list(run(f"SELECT count, max_ms, p50th_ms, p99th_ms, per_second FROM system_views.{whose}_{kind}_latency WHERE {where}"))
            for _, max_ms, p50, p99, rate in rows:
                assert 0 <= p50 <= p99 <= max_ms and rate >= 0
            return rows[0][0] if rows else 0

        return [count(kind) for kind in ("read", "scan", "write")]

    # A core reports each second.
    deadline = time.monotonic() + SECONDS_MAX
    while counts("coordinator") != [5, 1, 31] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert counts("coordinator") == counts("local") == [5, 1, 31]


def test_a_custom_index_needs_a_class(run, table):
    with pytest.raises(ConfigurationException, match="Unable to find custom indexer class 'legacy_local_table'"):
        run(f"CREATE CUSTOM INDEX ON {table('k int PRIMARY KEY, v int')} (v)")


def test_like_on_a_sasi_index(run, table):
    name = table("k int PRIMARY KEY, w text")
    run(f"CREATE CUSTOM INDEX ON {name} (w) USING 'org.apache.cassandra.index.sasi.SASIIndex' WITH OPTIONS = {{'mode': 'CONTAINS', 'case_sensitive': 'false'}}")
    words = ["alpha", "Alpine", "beta", "alphabet", "tap", "", "100%"]
    for key, word in enumerate(words):
        run(f"INSERT INTO {name} (k, w) VALUES ({key}, '{word}')")
    for pattern, matches in [
        ("ALP%", lambda word: word.startswith("alp")),
        ("%a", lambda word: word.endswith("a")),
        ("%ap%", lambda word: "ap" in word),
        ("Beta", lambda word: word == "beta"),
        ("%%", None),
        ("nothing%", lambda word: False),
    ]:
        query = f"SELECT w FROM {name} WHERE w LIKE '{pattern}'"
        if matches is None:
            with pytest.raises(InvalidRequest, match="can't be empty"):
                run(query)
        else:
            assert {word for (word,) in run(query)} == {word for word in words if matches(word.lower())}, pattern
    plain = table("k int PRIMARY KEY, w text")
    run(f"CREATE INDEX ON {plain} (w)")
    with pytest.raises(InvalidRequest, match="LIKE restriction is only supported on properly indexed columns. w LIKE 'a%' is not valid"):
        run(f"SELECT k FROM {plain} WHERE w LIKE 'a%' ALLOW FILTERING")


def test_the_nearest_vectors_are_found(shared_session, run, table):
    chance = random.Random(1)
    rows = {k: ([chance.uniform(-1, 1) for _ in range(8)], k % 3) for k in range(3000)}
    near = [chance.uniform(-1, 1) for _ in range(8)]
    single = struct.Struct(">8f")
    rows = {k: (single.unpack(single.pack(*vector)), a) for k, (vector, a) in rows.items()}
    near = single.unpack(single.pack(*near))

    def cosine(vector):
        return sum(x * y for x, y in zip(vector, near)) / math.sqrt(sum(x * x for x in vector))

    def dot(vector):
        return sum(x * y for x, y in zip(vector, near))

    def euclidean(vector):
        return -sum((x - y) ** 2 for x, y in zip(vector, near))

    def check(name, measure):
        for condition, wanted in [("", (0, 1, 2)), ("WHERE a = 1", (1,))]:
            order = sorted((k for k in rows if rows[k][1] in wanted), key=lambda k: -measure(rows[k][0]))
            found = run(f"SELECT k FROM {name} {condition} ORDER BY v ANN OF {list(near)} LIMIT 10")
            assert [k for (k,) in found] == order[:10], (name, condition)

    for measure, function in [(cosine, "COSINE"), (dot, "dot_product"), (euclidean, "euclidean")]:
        name = table("k int PRIMARY KEY, v vector<float, 8>, a int")
        insert = shared_session.prepare(f"INSERT INTO {name} (k, v, a) VALUES (?, ?, ?)")
        for k, (vector, a) in rows.items():
            shared_session.execute(insert, (k, vector, a))
        run(f"CREATE INDEX ON {name} (v) USING 'sai' WITH OPTIONS = {{'similarity_function': '{function}'}}")
        run(f"CREATE INDEX ON {name} (a) USING 'sai'")
        check(name, measure)


@pytest.mark.parametrize("group_by", ["", " GROUP BY a"])
def test_full_pages_say_that_there_is_more_as_cassandras_do(shared_session, keyspace, group_by):
    """Clients go on until a page is not full."""
    name = f"{keyspace}.full_pages{len(group_by)}"
    shared_session.execute(f"CREATE TABLE {name} (a int, b int, c int, PRIMARY KEY (a, b, c))")
    shared_session.execute(f"CREATE INDEX ON {name} (b)")
    for a in range(10):
        shared_session.execute(f"INSERT INTO {name} (a, b, c) VALUES ({a}, 1, {a})")
    shared_session.execute(f"INSERT INTO {name} (a, b, c) VALUES (17, 17, 2)")
    for size, pages in [(1, [1] * 10 + [0]), (3, [3, 3, 3, 1]), (5, [5, 5, 0]), (100, [10])]:
        statement = SimpleStatement(f"SELECT a FROM {name} WHERE b = 1{group_by}", fetch_size=size)
        found, rows, state = [], [], None
        while not found or (state is not None and len(found) < 20):
            page = shared_session.execute(statement, paging_state=state)
            rows += [row.a for row in page.current_rows]
            found, state = [*found, len(page.current_rows)], page.paging_state
        assert (found, sorted(rows)) == (pages, list(range(10)))
    limited = SimpleStatement(f"SELECT a FROM {name} WHERE b = 1{group_by} LIMIT 5", fetch_size=5)
    assert shared_session.execute(limited).paging_state is None
