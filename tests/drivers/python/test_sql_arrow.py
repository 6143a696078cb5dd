"""SQL over HTTP as a stream of Arrow (`POST /sql?format=arrow`), read by pyarrow."""

import contextlib
import datetime
import http.client
import io
import subprocess
import uuid

import pyarrow
import pyarrow.compute
import pytest
from cassandra.concurrent import execute_concurrent_with_args

from conftest import PEER
import server
from test_sql import FOR_EVER, SECONDS_MAX, address, as_role, begin, guarded, refused, rows, tested  # noqa: F401: fixtures
from roles import boss, role  # noqa: F401: fixtures

pytestmark = pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB")

KIND = "application/vnd.apache.arrow.stream"


def read(address, statement, headers=None, **parameters):  # noqa: F811
    """The table of an answer."""
    parameters = parameters if headers else {"format": "arrow", **parameters}
    with contextlib.closing(begin(address, statement, headers, **parameters)) as connection:
        response = connection.getresponse()
        assert response.status == 200, response.read()
        assert response.headers["Content-Type"] == KIND
        table = pyarrow.ipc.open_stream(response).read_all()
        table.validate(full=True)
        return table


def types(table):
    return [str(field.type) for field in table.schema]


def test_values_of_all_types(shared_session, table, address):  # noqa: F811
    at = datetime.datetime(2024, 2, 29, 12, 34, 56, 789_000)
    columns = {
        "a": ("ascii", "plain", "string", "plain"),
        "b": ("bigint", -(2**63), "int64", -(2**63)),
        "bo": ("boolean", True, "bool", True),
        "bl": ("blob", b"\x00\xff", "binary", b"\x00\xff"),
        "d": ("double", 0.1, "double", 0.1),
        "f": ("float", 1.5, "float", 1.5),
        "i": ("int", -(2**31), "int32", -(2**31)),
        "si": ("smallint", 300, "int16", 300),
        "ti": ("tinyint", -1, "int8", -1),
        "t": ("text", "größe\n", "string", "größe\n"),
        "e": ("text", "", "string", ""),
        "ts": ("timestamp", at, "timestamp[ms, tz=UTC]", at.replace(tzinfo=datetime.UTC)),
        "u": ("uuid", uuid.UUID(int=10), "string", "00000000-0000-0000-0000-00000000000a"),
        "v": ("varint", 2**63 - 1, "int64", 2**63 - 1),
        "vv": ("varint", 2**70, "double", float(2**70)),
        "l": ("list<int>", [3, 1], "string", "[3, 1]"),
        "inf": ("double", float("-inf"), "double", float("-inf")),
    }
    name = table("id int PRIMARY KEY, " + ", ".join(f"{column} {kind}" for column, (kind, *_) in columns.items()))
    prepared = shared_session.prepare(f"INSERT INTO {name} (id, {', '.join(columns)}) VALUES ({', '.join(['?'] * (len(columns) + 1))})")
    shared_session.execute(prepared, [1, *(value for _, value, *_ in columns.values())])
    shared_session.execute(f"INSERT INTO {name} (id) VALUES (2)")
    told = read(address, f"SELECT {', '.join(columns)} FROM {name} ORDER BY id")
    assert told.column_names == list(columns)
    assert types(told) == [kind for _, _, kind, _ in columns.values()]
    full, empty = told.to_pylist()
    assert full == {column: expected for column, (*_, expected) in columns.items()}
    assert empty == dict.fromkeys(columns)
    times = read(address, f"SELECT MAX(ts) AS a, TIMESTAMP_ADD(DAY, MIN(ts), 1) AS b, TIMESTAMP('1969-12-31T23:59:59.999Z') AS c, date(ts) AS d FROM {name}")
    assert types(times) == ["timestamp[ms, tz=UTC]"] * 3 + ["string"]
    expected = [at, at + datetime.timedelta(days=1), datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000)]
    assert [column[0].as_py() for column in times.columns[:3]] == [time.replace(tzinfo=datetime.UTC) for time in expected]
    # As before, a time is a text in JSON and in conditions.
    assert rows(address, f"SELECT ts, ts = '2024-02-29T12:34:56.789Z', typeof(ts) FROM {name} WHERE ts > '2024-02'") == [["2024-02-29T12:34:56.789Z", 1, "text"]]
    by_accept = read(address, f"SELECT {', '.join(columns)} FROM {name} ORDER BY id", {"Accept": KIND})
    assert by_accept.equals(told)


def test_without_rows_there_are_columns(table, address):  # noqa: F811
    name = table("id int PRIMARY KEY, v text, x double")
    told = read(address, f"SELECT id, v, x, x + 1 AS y FROM {name}")
    assert (told.num_rows, told.column_names, types(told)) == (0, ["id", "v", "x", "y"], ["int32", "string", "double", "string"])


def test_what_is_computed_has_the_type_of_its_values(address):  # noqa: F811
    told = read(address, "VALUES (1, 1, 'a', NULL, X'01'), (2, 0.5, 7, NULL, NULL), (NULL, NULL, X'00ab', NULL, X'')")
    assert types(told) == ["int64", "double", "string", "string", "binary"]
    assert [column.to_pylist() for column in told.columns] == [[1, 2, None], [1.0, 0.5, None], ["a", "7", "0x00ab"], [None] * 3, [b"\x01", None, b""]]
    # No double is all of these numbers.
    told = read(address, "VALUES (9007199254740993), (0.5)")
    assert told.columns[0].to_pylist() == ["9007199254740993", "0.5"]
    assert read(address, "SELECT 1 AS a, 2 AS a").columns[1].to_pylist() == [2]


def test_many_batches_have_all_rows(table, shared_session, address):  # noqa: F811
    name = table("id int PRIMARY KEY, v text, w int")
    insert = shared_session.prepare(f"INSERT INTO {name} (id, v, w) VALUES (?, ?, ?)")
    given = {number: ("x" * (number % 100) or None, number * 7 if number % 3 else None) for number in range(20_000)}
    values = [(number, *rest) for number, rest in given.items()]
    execute_concurrent_with_args(shared_session, insert, values, raise_on_first_error=True)
    told = read(address, f"SELECT * FROM {name}")
    assert {row["id"]: (row["v"], row["w"]) for row in told.to_pylist()} == given
    assert 3 <= told["id"].num_chunks <= 100
    assert read(address, f"SELECT id FROM {name}", max_rows=8_192).num_rows == 8_192
    assert read(address, f"SELECT id FROM {name}", max_rows=8_193).num_rows == 8_193
    assert pyarrow.compute.sum(read(address, f"SELECT w FROM {name}")["w"]).as_py() == sum(w or 0 for _, w in given.values())
    # Few rows that are long.
    long = read(address, f"SELECT hex(zeroblob(300000)) AS h FROM {name} LIMIT 20")
    assert long["h"].num_chunks >= 5 and set(long["h"].to_pylist()) == {"0" * 600_000}


def test_errors_before_the_first_batch_have_a_status(guarded, boss, role, address):  # noqa: F811
    assert refused(address, "SELECT * FROM nowhere.t", format="arrow")[0] == 400
    assert refused(address, "DELETE FROM x", format="arrow")[0] == 403
    assert refused(address, FOR_EVER, format="arrow", timeout_ms=100)[0] == 408
    assert refused(address, "SELECT extract('YEAR', 'no time')", format="arrow")[0] == 400
    assert refused(guarded.state()["http"], "SELECT * FROM ks.secret", headers=as_role(role), format="arrow")[0] == 403
    assert rows(address, "SELECT 1") == [[1]]


COUNTING = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 100000) SELECT {} AS n FROM c"
LATE = COUNTING.format("CASE WHEN n < 50000 THEN n ELSE extract('YEAR', 'no time') END")
MIXED = COUNTING.format("CASE WHEN n < 50000 THEN n ELSE 'a text' END")


@pytest.mark.parametrize("statement, why", [(LATE, b"no time"), (MIXED, b"int64")])
def test_an_error_amid_rows_cuts_the_stream(address, statement, why):  # noqa: F811
    with contextlib.closing(begin(address, statement, format="arrow")) as connection:
        response = connection.getresponse()
        assert response.status == 200
        with pytest.raises(http.client.IncompleteRead) as cut:
            response.read()
    # A reader that does not see HTTP's end does not take it for whole either; who looks at the bytes finds why.
    whole = cut.value.partial
    assert why in whole[-300:]
    reader = pyarrow.ipc.open_stream(io.BytesIO(whole))
    seen = 0
    with pytest.raises(pyarrow.ArrowInvalid):
        while True:
            seen += reader.read_next_batch().num_rows
    assert 0 < seen < 50_000
    assert read(address, MIXED.replace("THEN n", "THEN CAST(n AS TEXT)")).num_rows == 100_000


def shell(address, statement, *arguments):  # noqa: F811
    command = [server.binary(), "sql", "--http", address, "--format", "arrow", *arguments, statement]
    done = subprocess.run(command, capture_output=True, timeout=SECONDS_MAX)
    return done.returncode, done.stdout, done.stderr.decode()


def test_the_shell_passes_streams_on(address):  # noqa: F811
    code, out, err = shell(address, COUNTING.format("n"))
    assert (code, err) == (0, "") and pyarrow.ipc.open_stream(out).read_all()["n"].to_pylist() == list(range(1, 100_001))
    code, out, err = shell(address, "SELEC 1")
    assert (code, out) == (1, b"") and "SELEC" in err
    code, _, err = shell(address, LATE)
    assert code == 1 and "no time" in err
