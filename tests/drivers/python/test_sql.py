"""SQL over HTTP (`POST /sql`) and `tarndb sql`: what values are, that rows are those which SQLite finds in the same rows of its own, and what is refused and stopped."""

import base64
import contextlib
import csv
import datetime
import decimal
import http.client
import io
import ipaddress
import json
import os
import pathlib
import random
import re
import shlex
import signal
import sqlite3
import subprocess
import tempfile
import urllib.parse
import uuid

import pytest
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.util import Duration

import server
from conftest import PEER, create_keyspace, names, run_directory
from roles import KEYSPACE, boss, login, role  # noqa: F401: fixtures
from waiting import wait_until

pytestmark = pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB")

SECONDS_MAX = 300
FOR_EVER = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT MAX(n) FROM c"


@pytest.fixture(scope="module")
def tested(shared_session):
    """The server that all suites of this run share."""
    command = os.environ.get("TARNDB_TEST_RESTART")
    if not command:
        pytest.skip("the server under test is not ours")
    return server.Server(pathlib.Path(shlex.split(command)[-1]))


@pytest.fixture(scope="module")
def address(tested):
    """Where operators are served."""
    return tested.state()["http"]


def begin(address, body, headers=None, method="POST", **parameters):
    """A connection on which a statement was sent."""
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=SECONDS_MAX)
    connection.request(method, f"/sql?{urllib.parse.urlencode(parameters)}", body if isinstance(body, bytes) else body.encode(), headers or {})
    return connection


def answer(address, body, headers=None, **parameters):
    """The status and the text of an answer."""
    with contextlib.closing(begin(address, body, headers, **parameters)) as connection:
        response = connection.getresponse()
        return response.status, response.read().decode()


def ask(address, statement, *values, **parameters):
    """The document of an answer."""
    body = json.dumps({"query": statement, "parameters": values}) if values else statement
    status, text = answer(address, body, **parameters)
    assert status == 200, (statement, text)
    return json.loads(text)


def rows(address, statement, *values, **parameters):
    return ask(address, statement, *values, **parameters)["rows"]


def refused(address, statement, **parameters):
    status, text = answer(address, statement, **parameters)
    assert status != 200, (statement, text)
    return status, text


def test_values_of_all_types(shared_session, table, keyspace, address):
    shared_session.execute(f"CREATE TYPE IF NOT EXISTS {keyspace}.point (x int, y text)")
    types = {
        "a": ("ascii", "plain", "plain"),
        "b": ("bigint", -(2**63), -(2**63)),
        "bo": ("boolean", True, True),
        "bl": ("blob", b"\x00\xff", "0x00ff"),
        "da": ("date", datetime.date(2024, 2, 29), "2024-02-29"),
        "de": ("decimal", decimal.Decimal("-12.50"), -12.5),
        "d": ("double", 0.1, 0.1),
        "du": ("duration", Duration(1, 2, 3_000_000_000), "1mo2d3s"),
        "f": ("float", 1.5, 1.5),
        "i4": ("inet", "127.0.0.1", "127.0.0.1"),
        "i": ("int", -7, -7),
        "si": ("smallint", 300, 300),
        "ti": ("tinyint", -1, -1),
        "t": ("text", "größe\n\"x\"", "größe\n\"x\""),
        "tm": ("time", "12:34:56.000000789", "12:34:56.000000789"),
        "ts": ("timestamp", datetime.datetime(2024, 2, 29, 12, 34, 56, 789_000), "2024-02-29T12:34:56.789Z"),
        "u": ("uuid", uuid.UUID(int=10), "00000000-0000-0000-0000-00000000000a"),
        "tu": ("timeuuid", uuid.UUID("50554d6e-29bb-11e5-b345-feff819cdc9f"), "50554d6e-29bb-11e5-b345-feff819cdc9f"),
        "v": ("varint", 2**63 - 1, 2**63 - 1),
        "vv": ("varint", 2**70, float(2**70)),
        "l": ("list<int>", [3, 1, 3], [3, 1, 3]),
        "s": ("set<text>", {"b", "a"}, ["a", "b"]),
        "m": ("map<text, int>", {"k": 1}, {"k": 1}),
        "tup": ("tuple<int, text>", (1, "x"), [1, "x"]),
        "p": ("frozen<point>", (1, "y"), {"x": 1, "y": "y"}),
        "vec": ("vector<float, 2>", [0.5, 2.0], [0.5, 2.0]),
    }
    name = table("id int PRIMARY KEY, " + ", ".join(f"{column} {kind}" for column, (kind, _, _) in types.items()))
    placeholders = ", ".join(["?"] * (len(types) + 1))
    prepared = shared_session.prepare(f"INSERT INTO {name} (id, {', '.join(types)}) VALUES ({placeholders})")
    shared_session.execute(prepared, [1, *(value for _, value, _ in types.values())])
    shared_session.execute(f"INSERT INTO {name} (id) VALUES (2)")
    said = ask(address, f"SELECT {', '.join(types)} FROM {name} ORDER BY id")
    full, empty = said["rows"]
    for (column, (kind, _, expected)), value in zip(types.items(), full, strict=True):
        value = json.loads(value) if isinstance(expected, list | dict) else value
        assert value == expected and type(value) is type(expected), (column, kind)
    assert empty == [None] * len(types)
    labels = {column["name"]: column["type"] for column in said["columns"]}
    assert (labels["b"], labels["bo"], labels["t"], labels["d"], labels["bl"]) == ("bigint", "boolean", "text", "double", "blob")
    assert ipaddress.ip_address(full[list(types).index("i4")])
    # JSON functions read what has parts, and times are times to functions.
    assert rows(address, f"SELECT json_extract(m, '$.k'), json_array_length(l), (SELECT SUM(value) FROM json_each(l)) FROM {name} WHERE id = 1") == [[1, 3, 7]]
    times = f"SELECT extract(YEAR, ts), timestamp_trunc(MONTH, ts), ts < now(), ts > '2024-02', date(ts) FROM {name} WHERE id = 1"
    assert rows(address, times) == [[2024, "2024-02-01T00:00:00.000Z", 1, 1, "2024-02-29"]]
    assert rows(address, f"SELECT id FROM {name} WHERE bl = X'00FF'") == [[1]] and rows(address, f"SELECT id FROM {name} WHERE bl = '0x00ff'") == []
    assert rows(address, f"SELECT id FROM {name} WHERE bo = true AND i < 0 AND tup LIKE '%x%'") == [[1]]


class Model:
    """The rows of tables in a SQLite of this process."""

    def __init__(self, *keyspaces):
        self.connection = sqlite3.connect(":memory:")
        for keyspace in keyspaces:
            self.connection.execute(f"ATTACH ':memory:' AS {keyspace}")

    def add(self, name, columns, found):
        self.connection.execute(f"CREATE TABLE {name} ({columns})")
        self.connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(found[0]))})", found)

    def rows(self, statement):
        return [list(row) for row in self.connection.execute(statement)]


@pytest.fixture(scope="module")
def orders(shared_session, keyspace):
    """Two keyspaces with tables of some thousand rows, and a model that has the same."""
    other = f"{keyspace}_b"
    shared_session.execute(f"DROP KEYSPACE IF EXISTS {other}")
    create_keyspace(shared_session, other)
    generator = random.Random(6)
    text = lambda: generator.choice(["", "a", "B", "b", "größe", "1", "10", None])  # noqa: E731
    day = datetime.datetime(2024, 1, 1)
    moment = lambda: day + datetime.timedelta(milliseconds=generator.randrange(50) * 1_800_000)  # noqa: E731
    shown = lambda at: at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"  # noqa: E731
    shared_session.execute(
        f"CREATE TABLE {keyspace}.orders (seller int, part text, at timestamp, line int, v text, n int, x double, s int STATIC, PRIMARY KEY ((seller, part), at, line)) "
        "WITH CLUSTERING ORDER BY (at DESC, line ASC)"
    )
    shared_session.execute(f"CREATE INDEX ON {keyspace}.orders (v)")
    shared_session.execute(f"CREATE TABLE {other}.orders (id bigint PRIMARY KEY, name text, n int)")
    made = {}
    for _ in range(3_000):
        key = (generator.randrange(6), generator.choice(["a", "b", "ä"]), moment(), generator.randrange(4))
        made[key] = (text(), generator.choice([None, *range(-3, 4)]), generator.choice([None, 0.5, 1.0, -2.25, 4096.0]))
    statics = {(seller, part): seller * 10 for seller, part, _, _ in made}
    insert = shared_session.prepare(f"INSERT INTO {keyspace}.orders (seller, part, at, line, v, n, x) VALUES (?, ?, ?, ?, ?, ?, ?)")
    execute_concurrent_with_args(shared_session, insert, [(*key, *values) for key, values in made.items()], raise_on_first_error=True)
    of_partition = shared_session.prepare(f"UPDATE {keyspace}.orders SET s = ? WHERE seller = ? AND part = ?")
    for (seller, part), value in statics.items():
        shared_session.execute(of_partition, (value, seller, part))
    names_of = [(number, text(), generator.choice([None, *range(-3, 4)])) for number in range(200)]
    insert = shared_session.prepare(f"INSERT INTO {other}.orders (id, name, n) VALUES (?, ?, ?)")
    execute_concurrent_with_args(shared_session, insert, names_of, raise_on_first_error=True)
    model = Model(keyspace, other)
    found = [(seller, part, shown(at), line, statics[seller, part], n, v, x) for (seller, part, at, line), (v, n, x) in made.items()]
    model.add(f"{keyspace}.orders", "seller INTEGER, part TEXT, at TEXT, line INTEGER, s INTEGER, n INTEGER, v TEXT, x REAL", found)
    model.add(f"{other}.orders", "id BIGINT, n INTEGER, name TEXT", [(number, n, name) for number, name, n in names_of])
    yield keyspace, other, model
    shared_session.execute(f"DROP KEYSPACE {other}")


def null_is_largest(statement):
    """A statement as SQLite has to be asked, whose NULL is the least value."""
    def term(text):
        return text + (" NULLS FIRST" if text.endswith(" DESC") else " NULLS LAST")

    def order(found):
        return "ORDER BY " + ", ".join(term(text) for text in found[1].split(", "))

    return re.sub(r"ORDER BY ([^()]*?)(?=\)| LIMIT|$)", order, statement)


def compare(address, model, statement):
    """Rows without an order are compared as a set that counts."""
    is_ordered = "ORDER BY" in statement.rsplit(")", 1)[-1]
    order = (lambda found: found) if is_ordered else (lambda found: sorted(found, key=repr))
    assert order(rows(address, statement)) == order(model.rows(null_is_largest(statement))), statement


def test_conditions_find_what_sqlite_finds(orders, address):
    one, _, model = orders
    generator = random.Random(7)
    literals = {
        "seller": ["0", "3", "5", "2.0", "2.5", "99", "'3'", "9999999999", "NULL"],
        "part": ["'a'", "'b'", "'ä'", "''", "'A'", "7", "NULL"],
        "at": ["'2024-01-01T10:00:00.000Z'", "'2024-01-01T10:30:00.000Z'", "'2024-01-01'", "'2024-01-02'", "'x'", "''", "5"],
        "line": ["0", "1", "3", "-1", "1.0", "'2'"],
        "v": ["'a'", "'B'", "'größe'", "''", "'10'", "10", "NULL"],
        "n": ["0", "-3", "2", "2.5", "1e300"],
        "x": ["0.5", "1", "-2.25", "4096", "1e300"],
    }

    def condition(column=None, operator=None):
        column = column or generator.choice(list(literals))
        operator = operator or generator.choice(["=", "=", "<", "<=", ">", ">=", "<>", "IS", "IN"])
        value = generator.choice(literals[column])
        return f"{column} IN ({value}, {generator.choice(literals[column])})" if operator == "IN" else f"{column} {operator} {value}"

    for number in range(250):
        parts = [condition() for _ in range(generator.randrange(1, 4))]
        if number % 2:
            parts += [condition("seller", generator.choice(["=", "IN"])), condition("part", generator.choice(["=", "IN"]))]
        text = f" {generator.choice(['AND', 'AND', 'OR'])} ".join(parts)
        statement = generator.choice([
            "SELECT * FROM {t} WHERE {c}",
            "SELECT COUNT(*), MIN(at), MAX(v), SUM(n), TOTAL(x), MAX(s) FROM {t} WHERE {c}",
            "SELECT seller, part, at, line FROM {t} WHERE {c} ORDER BY seller, part, at DESC, line LIMIT 5",
            "SELECT v, COUNT(*) FROM {t} WHERE {c} GROUP BY v ORDER BY v",
        ])
        compare(address, model, statement.format(t=f"{one}.orders", c=text))


def test_null_is_the_largest_value_and_a_name_in_quotes_is_no_text(orders, address):
    one, _, _ = orders
    first = rows(address, f"SELECT v FROM {one}.orders ORDER BY v LIMIT 1")
    last = rows(address, f"SELECT v FROM {one}.orders ORDER BY v DESC LIMIT 1")
    assert first == [[""]] and last == [[None]]
    assert rows(address, f"SELECT v FROM {one}.orders ORDER BY v NULLS FIRST LIMIT 1") == [[None]]
    assert "no such column" in refused(address, f"SELECT \"nobody\" FROM {one}.orders")[1]


def test_joins_groups_windows_and_common_tables(orders, address):
    one, other, model = orders
    for statement in (
        "SELECT COUNT(*), SUM(n), AVG(n), MIN(x), MAX(x) FROM {a}",
        "SELECT seller, part, COUNT(*), COUNT(v), SUM(n), MAX(at) FROM {a} GROUP BY seller, part ORDER BY seller, part",
        "SELECT v, COUNT(DISTINCT n) FROM {a} GROUP BY v HAVING COUNT(*) > 10 ORDER BY v",
        "SELECT a.seller, b.id, b.name FROM {a} a JOIN {b} b ON b.id = a.line WHERE a.part = 'a' AND a.seller = 2",
        "SELECT a.seller, a.line, b.id FROM {b} b JOIN {a} a ON a.v = b.name AND a.n = b.n WHERE b.id < 40",
        "SELECT b.id, COUNT(a.seller) FROM {b} b LEFT JOIN {a} a ON a.seller = b.n AND a.part = b.name GROUP BY b.id ORDER BY b.id",
        "SELECT id, n, SUM(n) OVER (ORDER BY id), RANK() OVER (PARTITION BY name ORDER BY n, id) FROM {b} ORDER BY id",
        "SELECT seller, at, LAG(line) OVER (PARTITION BY seller ORDER BY at, line, part) FROM {a} WHERE part = 'b' ORDER BY seller, at, line LIMIT 50",
        "WITH busy AS (SELECT seller, COUNT(*) AS c FROM {a} GROUP BY seller) SELECT seller, c FROM busy WHERE c > (SELECT AVG(c) FROM busy) ORDER BY seller",
        "SELECT name FROM {b} UNION SELECT v FROM {a} EXCEPT SELECT 'B' ORDER BY 1",
        "SELECT id FROM {b} WHERE EXISTS (SELECT 1 FROM {a} a WHERE a.seller = 1 AND a.part = 'ä' AND a.line = {b}.n) ORDER BY id",
        "SELECT id FROM {b} WHERE n IN (SELECT n FROM {a} WHERE v = 'größe') ORDER BY id DESC LIMIT 7 OFFSET 2",
        "SELECT {a}.seller, {b}.id FROM {a}, {b} WHERE {a}.n = {b}.n AND {b}.id = 3 AND {a}.seller = 1",
        "VALUES (1, 'a'), (2, NULL)",
    ):
        compare(address, model, statement.replace("{a}", f"{one}.orders").replace("{b}", f"{other}.orders"))


def test_counts_are_of_all_rows(shared_session, table, keyspace, address):
    """What counts a table, or aggregates its rows, is done by the node: in ranges of tokens, or pages of rows."""
    name = table("a int, b text, c int, v int, PRIMARY KEY ((a, b), c)")
    insert = shared_session.prepare(f"INSERT INTO {name} (a, b, c, v) VALUES (?, ?, ?, ?)")
    given = [(number % 900, "xyz"[number % 3], number, number) for number in range(7_000)] + [(-1, "one", number, 0) for number in range(6_000)]
    execute_concurrent_with_args(shared_session, insert, given, raise_on_first_error=True)
    assert rows(address, f"SELECT COUNT(*) FROM {name}") == [[13_000]]
    said = ask(address, f"select count(*) as n from {name.split('.')[1]};", keyspace=keyspace)
    assert said["rows"] == [[13_000]] and said["columns"][0]["name"] == "n"
    assert rows(address, f"SELECT COUNT(*) FROM {name} WHERE a = -1") == [[6_000]]
    assert rows(address, f"SELECT COUNT(*) FROM {name} x, (SELECT 1 UNION SELECT 2)") == [[26_000]]
    assert rows(address, f"SELECT 1 FROM {name} LIMIT 2") == [[1], [1]]
    whole = rows(address, f"SELECT COUNT(c), SUM(v), AVG(v), MIN(b), MAX(c) FROM {name}")
    assert whole == [[13_000, sum(range(7_000)), sum(range(7_000)) / 13_000, "one", 6_999]]
    groups = rows(address, f"SELECT c, COUNT(*) FROM {name} GROUP BY c")
    assert groups == [[number, 1 + (number < 6_000)] for number in range(7_000)], "groups come in their order, those of several pages once"
    shared_session.execute(f"TRUNCATE {name}")
    assert rows(address, f"SELECT COUNT(*) FROM {name}") == [[0]]
    assert rows(address, f"SELECT COUNT(v), SUM(v), AVG(v), MIN(b) FROM {name}") == [[0, None, None, None]]
    assert rows(address, f"SELECT c, COUNT(*) FROM {name} GROUP BY c") == []
    counted = rows(address, "SELECT COUNT(*) FROM system_schema.keyspaces")
    assert counted == [[len(list(shared_session.execute("SELECT keyspace_name FROM system_schema.keyspaces")))]]


def test_a_plan_tells_what_finds_rows(orders, address):
    one, _, _ = orders
    plan = lambda where: rows(address, f"EXPLAIN QUERY PLAN SELECT * FROM {one}.orders WHERE {where}")[0][-1]  # noqa: E731
    assert "0=,1=,2]," in plan("seller = 1 AND part = 'a' AND at >= '2024'")
    assert "6=," in plan("v = 'a'")


def test_names(shared_session, keyspace, address):
    for statement in (
        f'CREATE TABLE {keyspace}."Mixed" (id int PRIMARY KEY, "Value" int, value int)',
        f"CREATE TABLE {keyspace}.mixed (id int PRIMARY KEY)",
        f'CREATE TABLE {keyspace}."OnlyCapitals" (id int PRIMARY KEY)',
        f'INSERT INTO {keyspace}."Mixed" (id, "Value", value) VALUES (1, 2, 3)',
    ):
        shared_session.execute(statement)
    said = ask(address, f'SELECT * FROM {keyspace}."Mixed"')
    assert [column["name"] for column in said["columns"]] == ["id", "Value", "value_2"] and said["rows"] == [[1, 2, 3]]
    assert rows(address, f"SELECT COUNT(*) FROM {keyspace}.mixed") == [[0]]
    assert rows(address, f'SELECT COUNT(*) FROM {keyspace.upper()}.onlycapitals') == [[0]]
    status, text = refused(address, f'SELECT * FROM {keyspace}."Mixed" a JOIN {keyspace}.mixed b')
    assert status == 400 and "differ by capitals alone" in text
    assert rows(address, "SELECT COUNT(*) FROM mixed", keyspace=keyspace) == [[0]]
    assert rows(address, "SELECT COUNT(*) FROM local JOIN system_schema.tables", keyspace="system")[0][0] > 0
    assert rows(address, "SELECT key FROM system.local") == [["local"]]
    assert rows(address, f"SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{keyspace}' AND table_name = 'mixed'") == [["mixed"]]
    for statement, options, says in (
        ("SELECT * FROM mixed", {}, "name its keyspace"),
        ("SELECT * FROM nowhere.t", {}, "no such table: nowhere.t"),
        (f"SELECT * FROM {keyspace}.absent", {}, "no such table"),
        (f"SELECT absent FROM {keyspace}.mixed", {}, "no such column: absent"),
        ("SELECT 1", {"keyspace": "nowhere"}, "no keyspace nowhere"),
    ):
        status, text = refused(address, statement, **options)
        assert status == 400 and says in text, text


def test_what_is_refused(shared_session, table, address):
    name = table("id int PRIMARY KEY, v int")
    shared_session.execute(f"INSERT INTO {name} (id, v) VALUES (1, 1)")
    for statement in (
        f"INSERT INTO {name} VALUES (2, 2)", f"UPDATE {name} SET v = 2", f"DELETE FROM {name}", f"DROP TABLE {name}", "CREATE TABLE t (a)",
        "PRAGMA user_version", "ATTACH 'x' AS y", f"EXPLAIN DELETE FROM {name}", "TRUNCATE x", "BEGIN",
    ):
        status, text = refused(address, statement)
        assert status == 403 and "only reads" in text, statement
    for statement in (
        "SELEC 1", "", ";", "SELECT", "SELECT 1; SELECT 2", f"WITH x AS (SELECT 1) DELETE FROM {name}", "SELECT 'a", "SELECT load_extension('x')",
        "SELECT * FROM sqlite_schema", "SELECT ?", "SELECT readfile('/etc/passwd')", '{"query": 1}', "SELECT \0", "(" * 2_000,
    ):
        status, text = refused(address, statement)
        assert status == 400 and text.strip(), statement
    assert refused(address, "SELECT 1", timeout="5")[0] == 400
    assert refused(address, "SELECT 1", headers={"Origin": f"http://{address}"})[0] == 403
    assert refused(address, "SELECT 1", headers={"Host": "evil.example"})[0] == 403
    assert refused(address, "SELECT 1", method="GET")[0] == 405
    assert refused(address, "SELECT '" + "x" * (64 << 10) + "'")[0] == 413
    assert answer(address, b"SELECT '\xff'")[0] == 200
    assert [tuple(row) for row in shared_session.execute(f"SELECT * FROM {name}")] == [(1, 1)]


def test_parameters_and_formats(table, shared_session, address):
    name = table("id int PRIMARY KEY, v text")
    insert = shared_session.prepare(f"INSERT INTO {name} (id, v) VALUES (?, ?)")
    execute_concurrent_with_args(shared_session, insert, [(number, "x" * 50) for number in range(12_000)], raise_on_first_error=True)
    assert rows(address, f"SELECT id FROM {name} WHERE id = ? AND v > ? AND ? IS NULL", 7, "a", None) == [[7]]
    assert refused(address, json.dumps({"query": "SELECT ?", "parameters": [1, 2]}))[0] == 400
    said = ask(address, f"SELECT id FROM {name}", max_rows=3)
    assert len(said["rows"]) == said["row_count"] == 3 and said["has_more"] is True
    assert ask(address, f"SELECT id FROM {name} LIMIT 3", max_rows=3)["has_more"] is False
    status, text = answer(address, f"SELECT id, v FROM {name}", {"Accept": "application/x-ndjson"})
    head, *found, end = [json.loads(line) for line in text.splitlines()]
    assert status == 200 and [column["name"] for column in head["columns"]] == ["id", "v"]
    assert sorted(row[0] for row in found) == list(range(12_000)) and end["row_count"] == 12_000 and end["took_ms"] > 0
    assert sorted(rows(address, f"SELECT id FROM {name}")) == [[number] for number in range(12_000)]
    # What fails after rows have gone out says so where the end would be.
    late = f"SELECT CASE WHEN n < 5000 THEN n ELSE extract('YEAR', 'no time') END FROM (SELECT COUNT(*) OVER (ROWS UNBOUNDED PRECEDING) AS n FROM {name})"
    status, text = answer(address, late)
    broken = json.loads(text)
    assert status == 200 and broken["code"] == 400 and "no time" in broken["error"] and len(broken["rows"]) < 5_000


def test_memory_and_time_are_bounded(address):
    # Texts are in memory alone.
    texts = ", ".join(f"group_concat(hex(zeroblob(1000)) || {number})" for number in range(20))
    status, text = refused(address, f"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 15000) SELECT {texts} FROM c")
    assert status == 507 and "memory" in text
    status, text = refused(address, FOR_EVER, timeout_ms=100)
    assert status == 408 and "0.1 s" in text
    assert rows(address, "SELECT 1") == [[1]]


def running(tested):
    """How many statements run: each has a thread that watches its client."""

    def watches(comm):
        try:
            return comm.read_text().startswith("tarndb-sql-watc")
        except (FileNotFoundError, ProcessLookupError):
            return False  # It has ended since it was listed.

    return sum(map(watches, pathlib.Path(f"/proc/{tested.state()['pid']}/task").glob("*/comm")))


def test_a_client_that_goes_away_frees_its_statement(tested, address):
    waiting = [begin(address, FOR_EVER, timeout_ms=3_600_000) for _ in range(3)]
    wait_until(lambda: running(tested) == 3)
    waiting.pop().close()
    wait_until(lambda: running(tested) == 2)
    command = [server.binary(), "sql", "--http", address, FOR_EVER, "--timeout", "3600"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as typed:
        wait_until(lambda: running(tested) == 3)
        typed.send_signal(signal.SIGINT)
    for connection in waiting:
        connection.close()
    wait_until(lambda: running(tested) == 0)


def test_only_so_many_run_at_once(tested, address):
    waiting = []
    try:
        while (said := answer(address, "SELECT 1"))[0] == 200:
            assert len(waiting) < 100
            waiting.append(begin(address, FOR_EVER, timeout_ms=3_600_000))
            wait_until(lambda: running(tested) == len(waiting))
        assert said[0] == 503 and f"{len(waiting)} statements of SQL run here already" in said[1]
    finally:
        for connection in waiting:
            connection.close()
    wait_until(lambda: running(tested) == 0)


def shell(address, *arguments, text=None):
    done = subprocess.run([server.binary(), "sql", "--http", address, *arguments], input=text, capture_output=True, text=True, timeout=SECONDS_MAX)
    return done.returncode, done.stdout, done.stderr


def test_the_shell(shared_session, table, keyspace, address):
    name = table("id int PRIMARY KEY, v text, n double")
    for row in ((1, "a,\"b\"\nc", 0.5), (2, None, None), (3, "größe", -1.0)):
        shared_session.execute(f"INSERT INTO {name} (id, v, n) VALUES (%s, %s, %s)", row)
    statement = f"SELECT * FROM {name} ORDER BY id"
    code, out, err = shell(address, statement)
    lines = out.splitlines()
    assert code == 0 and not err
    assert lines[0].split() == ["id", "|", "n", "|", "v"] and lines[3].split() == ["2", "|", "null", "|", "null"] and lines[-1].startswith("(3 rows, ")
    code, out, _ = shell(address, statement, "--format", "csv")
    assert code == 0 and list(csv.reader(io.StringIO(out, newline=""))) == [["id", "n", "v"], ["1", "0.5", "a,\"b\"\nc"], ["2", "", ""], ["3", "-1.0", "größe"]]
    code, out, _ = shell(address, statement, "--format", "json")
    assert code == 0 and json.loads(out)["rows"] == [[1, 0.5, "a,\"b\"\nc"], [2, None, None], [3, -1.0, "größe"]]
    # From a file: several statements, the last without an end; it stops at the first that fails.
    script = f"SELECT ';' AS a;\n-- a comment;\nSELECT COUNT(*)\n  FROM {name.split('.')[1]}"
    code, out, _ = shell(address, "--format", "csv", "--keyspace", keyspace, text=script)
    assert (code, out) == (0, "a\n;\nCOUNT(*)\n3\n")
    code, out, err = shell(address, "--format", "csv", text="SELECT 1 AS a; SELEC 2; SELECT 3;")
    assert code == 1 and out == "a\n1\n" and "SELEC" in err
    code, out, err = shell(address, f"DELETE FROM {name}")
    assert code == 1 and out == "" and "only reads" in err
    code, _, err = shell(address, FOR_EVER, "--timeout", "1")
    assert code == 1 and "1 s" in err
    code, out, _ = shell(address, f"SELECT id FROM {name}", "--max-rows", "2")
    assert code == 0 and "(2 rows, and there are more, " in out
    assert shell(f"127.0.0.1:{server.free_port()}", "SELECT 1")[0] == 2
    assert shell(address, "SELECT 1", "--format", "xml")[0] == 2


@pytest.fixture(scope="module")
def guarded():
    private = server.Server(tempfile.mkdtemp(prefix="sql-", dir=run_directory()), server.LOGIN_FLAGS)
    private.start()
    with login(private, "cassandra") as session:
        session.execute(KEYSPACE.format("ks"))
        session.execute("CREATE TABLE ks.open (id int PRIMARY KEY, v text MASKED WITH mask_inner(1, 1), w int)")
        session.execute("CREATE TABLE ks.keyed (id text MASKED WITH DEFAULT PRIMARY KEY, w int)")
        session.execute("CREATE TABLE ks.secret (id int PRIMARY KEY)")
        session.execute("CREATE INDEX ON ks.open (v)")
        for number in range(3):
            session.execute("INSERT INTO ks.open (id, v, w) VALUES (%s, %s, %s)", (number, f"value{number}", number))
            session.execute("INSERT INTO ks.keyed (id, w) VALUES (%s, %s)", (f"key{number}", number))
    yield private
    private.stop()


def as_role(name):
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{name}".encode()).decode()}


def test_a_role_reads_what_it_may(guarded, boss, role):  # noqa: F811
    address = guarded.state()["http"]
    assert refused(address, "SELECT 1")[0] == 401
    assert refused(address, "SELECT 1", headers=as_role("nobody"))[0] == 401
    status, text = refused(address, "SELECT * FROM ks.open", headers=as_role(role))
    assert status == 403 and "no SELECT permission" in text
    for aggregates in ("COUNT(*)", "SUM(w)", "w, COUNT(*)"):
        status, text = refused(address, f"SELECT {aggregates} FROM ks.open{' GROUP BY w' if ',' in aggregates else ''}", headers=as_role(role))
        assert status == 403 and "no SELECT permission" in text
    boss.execute(f"GRANT SELECT ON ks.open TO {role}")
    assert sorted(rows(address, "SELECT id, w FROM ks.open", headers=as_role(role))) == [[0, 0], [1, 1], [2, 2]]
    assert refused(address, "SELECT o.id FROM ks.open o JOIN ks.secret s ON s.id = o.id", headers=as_role(role))[0] == 403
    login_file = guarded.directory / "login"
    login_file.write_text(f"{role}:{role}\n")
    login_file.chmod(0o600)
    code, out, _ = shell(address, "SELECT MAX(id) AS m FROM ks.open", "--login-file", str(login_file), "--format", "csv")
    assert (code, out) == (0, "m\n2\n")
    code, _, err = shell(address, "SELECT * FROM ks.secret", "--login-file", str(login_file))
    assert code == 1 and "no SELECT permission" in err
    assert shell(address, "SELECT 1")[0] == 2


def test_masked_columns_are_what_the_role_sees(guarded, boss, role):  # noqa: F811
    address = guarded.state()["http"]
    boss.execute(f"GRANT SELECT ON KEYSPACE ks TO {role}")
    seen = lambda statement, who: rows(address, statement, headers=as_role(who))  # noqa: E731
    assert seen("SELECT DISTINCT v FROM ks.open WHERE id = 1", role) == [["v****1"]]
    assert seen("SELECT MIN(v), MAX(v), COUNT(*), SUM(w) FROM ks.open", role) == [["v****0", "v****2", 3, 3]], "of the values as they are seen"
    assert seen("SELECT COUNT(*) FROM ks.open WHERE v > 'v****1'", role) == [[1]]
    assert seen("SELECT MIN(id), SUM(w) FROM ks.keyed", role) == [["****", 3]]
    assert seen("SELECT id FROM ks.open WHERE v = 'value1'", role) == [], "nobody finds by trying what is masked"
    assert seen("SELECT id FROM ks.open WHERE v = 'v****1'", role) == [[1]]
    assert seen("SELECT id, w FROM ks.keyed WHERE id = 'key1'", role) == []
    assert sorted(seen("SELECT w FROM ks.keyed WHERE id = '****' OR w = 1", role)) == [[0], [1], [2]]
    assert seen("SELECT id FROM ks.open WHERE v = 'value1'", "cassandra") == [[1]]
    assert seen("SELECT w FROM ks.keyed WHERE id = 'key1'", "cassandra") == [[1]]
    boss.execute(f"GRANT UNMASK ON ks.open TO {role}")
    assert seen("SELECT id FROM ks.open WHERE v = 'value1'", role) == [[1]]


def test_the_systems_own_tables(shared_session, address):
    found = rows(address, "SELECT keyspace_name, COUNT(*) FROM system_schema.tables GROUP BY keyspace_name ORDER BY 1")
    expected = {}
    for row in shared_session.execute("SELECT keyspace_name, table_name FROM system_schema.tables"):
        expected[row.keyspace_name] = expected.get(row.keyspace_name, 0) + 1
    assert found == [[name, count] for name, count in sorted(expected.items())]


def test_over_tls():
    with tempfile.TemporaryDirectory(prefix="sql-tls-", dir=run_directory()) as folder:
        directory = pathlib.Path(folder) / "server"
        flags = server.offered_tls(directory, "required")
        if not flags:
            pytest.skip("there is nothing to make certificates with")
        private = server.Server(directory, flags)
        private.start()
        try:
            secure = ["--http-ca", str(directory / "certificates" / "ca.pem")]
            address = private.state()["http"]
            code, out, err = shell(f"https://{address}", "SELECT key FROM system.local", "--format", "csv", *secure)
            assert (code, out) == (0, "key\nlocal\n"), err
            assert refused(address, "SELECT 1")[0] == 426
            command = [server.binary(), "sql", "--http", f"https://{address}", FOR_EVER, "--timeout", "3600", *secure]
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as typed:
                wait_until(lambda: running(private) == 1)
                typed.send_signal(signal.SIGKILL)
            wait_until(lambda: running(private) == 0)
        finally:
            private.stop()
