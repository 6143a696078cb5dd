"""Aggregates of SQL over HTTP that the node makes where rows lie: the same as SQLite makes of the same rows, and of rows that are read one by one."""

import datetime
import decimal
import math
import random
import uuid

import pytest
from cassandra.cluster import NoHostAvailable
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.protocol import ProtocolException

from conftest import PEER
from test_sql import address, ask, compare, orders, refused, rows, tested  # noqa: F401: fixtures
from waiting import wait_until

pytestmark = pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB")


def test_random_statements_give_what_sqlite_gives(orders, address):  # noqa: F811
    one, _, model = orders
    generator = random.Random(20)
    literals = {
        "seller": ["0", "3", "2.5", "99", "'3'", "9999999999", "NULL", "1 + 1"],
        "part": ["'a'", "'b'", "'ä'", "''", "7", "NULL"],
        "at": ["'2024-01-01T10:00:00.000Z'", "'2024-01-01T10:30'", "'2024-01-02'", "'x'", "''", "5"],
        "line": ["0", "1", "-1", "1.0", "'2'"],
        "v": ["'a'", "'größe'", "''", "'10'", "10", "NULL"],
        "n": ["0", "-3", "2", "2.5", "1e300"],
        "x": ["0.5", "1", "-2.25", "4096", "1e300", "NULL"],
        "s": ["10", "20.5", "'x'"],
    }

    def term():
        column = generator.choice(list(literals))
        value, other = generator.choice(literals[column]), generator.choice(literals[column])
        return generator.choice([
            f"{column} = {value}", f"{column} < {value}", f"{column} >= {value}", f"{value} > {column}", f"{column} <= {value}",
            f"{column} BETWEEN {value} AND {other}", f"{column} IS NOT NULL", f"{column} IN ({value}, {other})", f"NOT {column} = {value}",
        ])

    def item():
        function = generator.choice(["COUNT", "MIN", "MAX", "SUM", "AVG"])
        column = generator.choice(["seller", "line", "n", "x", "s"] + ([] if function in ("SUM", "AVG") else ["part", "at", "v"]))
        return generator.choice(["COUNT(*)", f"{function}({column})", f"{function}(o.{column})"])

    for _ in range(300):
        groups = generator.choice(["", "", "seller", "v", "at", "part, line", "x", "n, v", "s"])
        statement = f"SELECT {', '.join([item(), item(), item()] + ([groups] if groups else []))} FROM {{t}} o"
        if generator.random() < 0.6:
            terms = [term() for _ in range(generator.randrange(1, 4))]
            if generator.random() < 0.2:
                terms += ["seller = 2", "part = 'a'"]
            statement += " WHERE " + " AND ".join(terms)
        if groups:
            statement += f" GROUP BY {groups}"
        if generator.random() < 0.3:
            statement += f" HAVING {item()} > 1"
        if groups and generator.random() < 0.4:
            statement += f" ORDER BY {groups} DESC LIMIT 4"
        compare(address, model, statement.format(t=f"{one}.orders"))


# Values of each type, the edges of what SQL has of it among them.
VALUES = {
    "tinyint": [-128, 0, 127],
    "smallint": [-32768, 5],
    "int": [-(2**31), 0, 2**31 - 1],
    "bigint": [-(2**40), 7, 2**40],
    "boolean": [True, False],
    "float": [0.5, -3.25, math.nan, math.inf],
    "double": [1e300, -0.1, 0.3, math.nan, -0.0],
    "text": ["", "a", "B", "ä", "10"],
    "ascii": ["", "x", "Y"],
    "blob": [b"", b"\x00", b"\xff\x00"],
    "uuid": [uuid.UUID(int=5), uuid.UUID(int=2**127 + 9)],
    "timestamp": [-1, 0, 1_764_000_000_123, 253_402_300_799_999, 253_402_300_800_000, -62_167_219_200_001],
    "date": ["1970-01-01", "0001-01-01", "2024-02-29", "9999-12-31"],
    "time": ["00:00:00", "23:59:59.999999999"],
    "varint": [-(2**70), 5, 2**64],
    "decimal": [decimal.Decimal("1.5"), decimal.Decimal("-20")],
    "list<int>": [[1, 2], [3]],
}


def test_values_of_all_types_are_what_rows_give(shared_session, table, address):
    columns = {f"c{number}": kind for number, kind in enumerate(VALUES)}
    name = table("p int, r int, " + ", ".join(f"{column} {kind}" for column, kind in columns.items()) + ", PRIMARY KEY (p, r)")
    generator = random.Random(3)
    insert = shared_session.prepare(f"INSERT INTO {name} (p, r, {', '.join(columns)}) VALUES (?, ?, {', '.join('?' * len(columns))})")
    value = lambda kind: None if generator.random() < 0.2 else generator.choice(VALUES[kind])  # noqa: E731
    given = [(number % 40, number, *(value(kind) for kind in columns.values())) for number in range(1_500)]
    execute_concurrent_with_args(shared_session, insert, given, raise_on_first_error=True)
    numbers = [column for column, kind in columns.items() if kind in ("tinyint", "smallint", "int", "bigint", "boolean", "float")]
    # What comes from a subquery is read row by row.
    same = lambda items, rest="": (  # noqa: E731
        rows(address, f"SELECT {items} FROM {name} {rest}"),
        rows(address, f"SELECT {items} FROM (SELECT * FROM {name}) {rest}"),
    )
    for column, kind in columns.items():
        for items, rest in (
            (f"COUNT({column}), MIN({column}), MAX({column}), TYPEOF(MIN({column})), COUNT(*)", ""),
            (f"{column}, COUNT(*), MIN(r), MAX(r)", f"GROUP BY {column}"),
            (f"COUNT({column}), SUM(r)", f"WHERE {column} >= (SELECT 5)" if kind == "list<int>" else f"WHERE {column} > 0"),
            ("COUNT(*), SUM(r)", f"WHERE {column} <= 'm' AND r < 900"),
            ("COUNT(*), SUM(r)", f"WHERE {column} = X'00'"),
        ):
            aggregated, read = same(items, rest)
            assert aggregated == read, (kind, items, rest)
        labels = f"SELECT MIN({column}), {column} FROM {name} GROUP BY {column} LIMIT 1"
        said = ask(address, labels)["columns"]
        assert said == ask(address, labels.replace(name, f"(SELECT * FROM {name})"))["columns"], kind
    for column in numbers:
        aggregated, read = same(f"SUM({column}), AVG({column})")
        assert aggregated == read, column
    double = next(column for column, kind in columns.items() if kind == "double")
    (aggregated,), (read,) = same(f"SUM({double}), AVG({double})", "WHERE r < 400")
    assert aggregated == pytest.approx(read, rel=1e-12), "rounding alone depends on the order"
    for at in ("'2000'", "'0000'", "'9999-12-31T23:59:59.999Z'", "'x'", "''"):
        column = next(column for column, kind in columns.items() if kind == "timestamp")
        for operator in ("=", "<", "<=", ">", ">="):
            aggregated, read = same("COUNT(*), SUM(r)", f"WHERE {column} {operator} {at}")
            assert aggregated == read, (operator, at)


def test_rows_that_are_gone_are_not_aggregated(shared_session, table, address):
    name = table("p int, c int, v int, s int STATIC, PRIMARY KEY (p, c)")
    for number in range(30):
        shared_session.execute(f"INSERT INTO {name} (p, c, v) VALUES (%s, %s, %s)", (number % 3, number, number))
    shared_session.execute(f"UPDATE {name} SET s = 7 WHERE p = 9")
    counts = lambda: rows(address, f"SELECT COUNT(*), COUNT(v), COUNT(s), SUM(v), MAX(c) FROM {name}")  # noqa: E731
    assert counts() == [[31, 30, 1, sum(range(30)), 29]], "a partition with static columns alone is a row"
    shared_session.execute(f"DELETE FROM {name} WHERE p = 0 AND c = 27")
    shared_session.execute(f"DELETE FROM {name} WHERE p = 1 AND c > 20")
    shared_session.execute(f"DELETE v FROM {name} WHERE p = 2 AND c = 29")
    left = [number for number in range(30) if number != 27 and not (number % 3 == 1 and number > 20)]
    assert counts() == [[1 + len(left), len(left) - 1, 1, sum(left) - 29, 29]]
    shared_session.execute(f"INSERT INTO {name} (p, c, v) VALUES (5, 100, 100) USING TTL 1")
    wait_until(lambda: counts()[0][4] == 29)
    assert counts() == [[1 + len(left), len(left) - 1, 1, sum(left) - 29, 29]]


def test_statements_that_look_like_others_give_what_rows_give(shared_session, table, address):
    name = table("id uuid PRIMARY KEY, kind int, note text")
    for number in range(32):
        insert = f"INSERT INTO {name} (id, kind, note) VALUES (%s, %s, %s)"
        shared_session.execute(insert, (uuid.UUID(int=number << 123), number % 3, "10" if number < 10 else f"note {number % 5}"))
    for statement in (
        *(f"SELECT COUNT(*), MAX(kind) FROM {{t}} WHERE id {sign} {text}" for sign in ("<", "<=", ">", ">=", "=") for text in ("'8'", "'5'", "''")),
        'SELECT kind, "COUNT"(*) FROM {t} GROUP BY kind',
        "SELECT [sum](kind), COUNT(*) FROM {t}",
        "SELECT `total`(kind), kind FROM {t} GROUP BY kind",
        'SELECT COUNT(*)"n", SUM(kind)n2 FROM {t}',
        "SELECT note, COUNT(*) FROM {t} GROUP BY note HAVING note = COUNT(*)",
        "SELECT note, CASE WHEN note = COUNT(*) THEN 1 ELSE 0 END FROM {t} GROUP BY note",
        "SELECT/*/ COUNT(*) */COUNT(note) FROM {t}",
        "SELECT kind, COUNT(*) FROM {t} GROUP BY kind, kind",
        f"SELECT note, COUNT(*) FROM {{t}} GROUP BY note{', note' * 1_900}",
        f"SELECT COUNT(*), SUM(kind) FROM {{t}} WHERE kind > 0{' AND kind < 2' * 100}",
    ):
        aggregated, read = (sorted(rows(address, statement.format(t=t)), key=repr) for t in (name, f"(SELECT * FROM {name})"))
        assert aggregated == read, statement


def test_what_cannot_be_aggregated_is_read(shared_session, table, address):
    name = table("id int PRIMARY KEY, big bigint, n int, v text")
    shared_session.execute(f"CREATE INDEX ON {name} (v)")
    for number in range(4):
        insert = f"INSERT INTO {name} (id, big, n, v) VALUES (%s, %s, %s, %s)"
        shared_session.execute(insert, (number, 2**62, number, f"v{number % 2}"))
    status, text = refused(address, f"SELECT SUM(big) FROM {name}")
    assert status == 400 and "integer overflow" in text
    assert rows(address, f"SELECT AVG(big), SUM(n) FROM {name}") == [[float(2**62), 6]]
    assert rows(address, f"SELECT SUM(n), COUNT(*) FROM {name} WHERE id = 3") == [[3, 1]], "one row by its key"
    assert rows(address, f"SELECT SUM(n), COUNT(*) FROM {name} WHERE v = 'v1'") == [[4, 2]], "rows by an index"
    assert rows(address, f"SELECT SUM(n), MAX(v) FROM {name} WHERE n >= ? AND v > ?", 1, "v0") == [[4, "v1"]]
    assert rows(address, f"SELECT v, SUM(n) AS total FROM {name} GROUP BY v HAVING total > 2 ORDER BY total") == [["v1", 4]]
    assert rows(address, f"SELECT SUM(n) FROM {name} WHERE 1 = 0") == [[None]]


def test_what_asks_for_aggregates_and_is_none_is_refused(connect, shared_session, table):
    """What this server's own SQL sends in place of a paging state, from whoever else sends it."""
    name = table("id int PRIMARY KEY, n int, d decimal")
    shared_session.execute(f"INSERT INTO {name} (id, n) VALUES (1, 2)")
    # One group column, no fold, no condition.
    of_column = lambda column: bytes([2, 1, 0, column, 0, 0, 0, 0, 0])  # noqa: E731
    repeated = b"\x02\xff\xff" + bytes(2 * 65_535) + bytes(4)
    assert len(list(shared_session.execute(f"SELECT n FROM {name}", paging_state=of_column(0)))) == 1
    for statement, state in (
        (f"SELECT n FROM {name}", b"\x02"),
        (f"SELECT n FROM {name}", of_column(0)[:-1]),
        (f"SELECT n FROM {name}", of_column(1)),
        (f"SELECT n FROM {name}", repeated),
        (f"SELECT n FROM {name}", of_column(0) + b"\x01\x02"),
        (f"SELECT d FROM {name}", of_column(0)),
        (f"SELECT n FROM {name} LIMIT 1", of_column(0)),
        (f"SELECT n FROM {name} WHERE id = 1", of_column(0)),
        (f"SELECT DISTINCT id FROM {name}", of_column(0)),
        (f"SELECT COUNT(*) FROM {name}", of_column(0)),
        (f"SELECT id, n FROM {name} GROUP BY id", of_column(0)),
    ):
        # The driver gives up the connection upon a protocol error.
        with connect() as session, pytest.raises((ProtocolException, NoHostAvailable), match="paging state|shutdown"):
            session.execute(statement, paging_state=state)
    assert [tuple(row) for row in shared_session.execute(f"SELECT id, n FROM {name}")] == [(1, 2)]
