"""Functions and aggregates of users: made and dropped, wherever values stand, bounded, replaced under prepared statements, guarded, and there after `kill -9`."""

import contextlib
import datetime
import decimal
import itertools
import tempfile
import threading
import uuid

import pytest
from cassandra import FunctionFailure, InvalidRequest, Unauthorized
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.util import Date, Duration, Time

import server
from conftest import PEER, metadata, reads_beside, run_directory, when_back
from patient import patient
from waiting import SECONDS_MAX

pytestmark = pytest.mark.skipif(bool(PEER), reason="Cassandra has no functions in Lua")

names = (f"f{number}" for number in itertools.count())
ROWS = 600


@pytest.fixture
def function(shared_session, keyspace):
    """Makes a function and gives its full name."""

    def make(arguments, returns, body, mode="CALLED", name=None):
        name = name or f"{keyspace}.{next(names)}"
        shared_session.execute(
            f"CREATE OR REPLACE FUNCTION {name}({arguments}) {mode} ON NULL INPUT RETURNS {returns} LANGUAGE lua AS $${body}$$"
        )
        return name

    return make


def test_values_of_each_type_come_back(shared_session, table, function):
    values = {
        "ascii": "a", "bigint": -(2**63), "blob": b"\x00\xff", "boolean": True, "date": Date(datetime.date(2024, 2, 29)),
        "decimal": decimal.Decimal("-1.50"), "double": 0.1, "duration": Duration(1, 2, 3), "float": 1.5, "inet": "::1", "int": 7,
        "smallint": -7, "text": "ä", "time": Time(1234567890123), "timestamp": datetime.datetime(2024, 2, 29, 12, 0, 0, 5000),
        "timeuuid": uuid.uuid1(), "tinyint": 1, "uuid": uuid.uuid4(), "varint": 2**100, "list<int>": [3, 1, 3],
        "set<text>": {"a", "b"}, "map<text, int>": {"a": 1, "b": 2}, "tuple<int, text>": (1, "x"), "list<frozen<map<int, text>>>": [{1: "x"}, {2: "y"}],
    }
    columns = ", ".join(f"c{number} {name}" for number, name in enumerate(values))
    name = table(f"k int PRIMARY KEY, {columns}")
    marks = ", ".join("?" * (len(values) + 1))
    insert = shared_session.prepare(f"INSERT INTO {name} (k, {', '.join(f'c{n}' for n in range(len(values)))}) VALUES ({marks})")
    shared_session.execute(insert, (1, *values.values()))
    calls = [f"{function(f'a {data_type}', data_type, 'return a')}(c{number})" for number, data_type in enumerate(values)]
    row = shared_session.execute(f"SELECT {', '.join(calls)} FROM {name} WHERE k = 1").one()
    for (data_type, value), found in zip(values.items(), row):
        assert (list(found) if data_type == "list<int>" else found) == value, data_type
    shared_session.execute(f"INSERT INTO {name} (k) VALUES (2)")
    row = shared_session.execute(f"SELECT {', '.join(calls)} FROM {name} WHERE k = 2").one()
    assert not any(row)


def test_functions_stand_wherever_values_do(shared_session, table, function):
    plus = function("a int, b int", "int", "return (a or 0) + (b or 0)")
    name = table("k int PRIMARY KEY, v int, l list<int>")
    shared_session.execute(f"INSERT INTO {name} (k, v) VALUES ({plus}(1, 2), {plus}(4, null))")
    prepared = shared_session.prepare(f"INSERT INTO {name} (k, v, l) VALUES ({plus}(?, ?), 1, [{plus}(1, ?), 5])")
    shared_session.execute(prepared, (10, 20, 3))
    assert [tuple(row) for row in shared_session.execute(f"SELECT k, v, l FROM {name} WHERE k IN (3, 30)")] == [(3, 4, None), (30, 1, [4, 5])]
    row = shared_session.execute(f"SELECT {plus}(k, {plus}(v, 1)) FROM {name} WHERE k = {plus}(1, 2)").one()
    assert row[0] == 8
    result = shared_session.execute(f"SELECT {plus}(k, v), {plus}(k, v) AS sum FROM {name}")
    assert result.column_names[1] == "sum" and plus.split(".")[1] in result.column_names[0]
    selected = shared_session.prepare(f"SELECT {plus}(k, ?) FROM {name} WHERE k = {plus}(?, 0)")
    assert shared_session.execute(selected, (7, 3)).one()[0] == 10
    batch = BatchStatement()
    batch.add(prepared, (50, 0, 0))
    batch.add(prepared, (60, 0, 0))
    shared_session.execute(batch)
    assert sorted(row.k for row in shared_session.execute(f"SELECT k FROM {name}")) == [3, 30, 50, 60]


def test_a_failed_call_is_a_function_failure(shared_session, numbers, keyspace, function):
    for body, text in (
        ("error('no')", "no"),
        ("while true do end", "instructions"),
        ("local t = {} while true do t[#t + 1] = {} end", "memory"),
        ("return string.rep('x', 1e9)", ""),
        ("return io.open('/etc/passwd')", "io"),
        ("return {}", "table"),
    ):
        name = function("a int", "text", body)
        with pytest.raises(FunctionFailure) as failure:
            shared_session.execute(f"SELECT {name}(v) FROM {numbers} WHERE p = 1 LIMIT 1")
        assert text in str(failure.value)
        assert (failure.value.keyspace, failure.value.function, failure.value.arg_types) == (keyspace, name.split(".")[1], ["int"])
    with pytest.raises(FunctionFailure):
        shared_session.execute(f"INSERT INTO {numbers} (p, c, v) VALUES (1000, 1, {function('a int', 'int', 'error(1)')}(1))")
    assert not list(shared_session.execute(f"SELECT v FROM {numbers} WHERE p = 1000"))


def test_others_are_served_beside_heavy_functions(connect, numbers, function):
    """300,000 instructions a row: seconds of work, beside which others are served."""
    heavy = function("a int", "int", "local s = 0 for i = 1, 100000 do s = s + i end return a")
    # Whoever waits for the whole of a statement reads twice beside each at most.
    assert reads_beside(connect, numbers, heavy, statements=2, wanted=5) > 5


def test_aggregates_with_groups_and_pages(shared_session, keyspace, numbers, function):
    values = [n for n in range(ROWS) if n % 4]
    step = function("s tuple<int, bigint>, v int", "tuple<int, bigint>", "return {s[1] + 1, s[2] + v}", mode="RETURNS NULL")
    last = function("s tuple<int, bigint>", "double", "if s[1] == 0 then return nil end return s[2] / s[1]")
    name = f"{keyspace}.mean"
    shared_session.execute(
        f"CREATE AGGREGATE {name}(int) SFUNC {step.split('.')[1]} STYPE tuple<int, bigint> FINALFUNC {last.split('.')[1]} INITCOND (0, 0)"
    )
    assert shared_session.execute(f"SELECT {name}(v) FROM {numbers}").one()[0] == pytest.approx(sum(values) / len(values))
    assert shared_session.execute(f"SELECT {name}(v) FROM {numbers} WHERE p = 77").one()[0] is None
    expected = {p: [n for n in values if n % 10 == p] for p in range(10)}
    for size in (1, 3, 100):
        rows = list(shared_session.execute(SimpleStatement(f"SELECT p, {name}(v), count(v) FROM {numbers} GROUP BY p", fetch_size=size)))
        assert {row[0]: row[1] for row in rows} == {p: pytest.approx(sum(some) / len(some)) for p, some in expected.items()}
    with pytest.raises(InvalidRequest, match="is still referenced by aggregates"):
        shared_session.execute(f"DROP FUNCTION {step}")
    shared_session.execute(f"DROP AGGREGATE {name}")
    shared_session.execute(f"DROP FUNCTION {step}")


def test_overloads_and_types(shared_session, keyspace, numbers):
    shared_session.execute(f"CREATE TYPE {keyspace}.pair (a int, b text)")
    for arguments in ("a int", "a text", "a pair"):
        body = "return type(a)" if arguments != "a pair" else "return a.b"
        shared_session.execute(f"CREATE FUNCTION {keyspace}.kind({arguments}) CALLED ON NULL INPUT RETURNS text LANGUAGE lua AS '{body}'")
    row = shared_session.execute(f"SELECT {keyspace}.kind(c), {keyspace}.kind((text)'x'), {keyspace}.kind((pair){{a: 1, b: 'y'}}) FROM {numbers} LIMIT 1")
    assert tuple(row.one()) == ("number", "string", "y")
    with pytest.raises(InvalidRequest, match="matches multiple function definitions"):
        shared_session.execute(f"DROP FUNCTION {keyspace}.kind")
    with pytest.raises(InvalidRequest, match="is still used by functions"):
        shared_session.execute(f"DROP TYPE {keyspace}.pair")
    for types in ("int", "text", "pair"):
        shared_session.execute(f"DROP FUNCTION {keyspace}.kind({types})")
    shared_session.execute(f"DROP TYPE {keyspace}.pair")
    with pytest.raises(InvalidRequest, match="Unknown function"):
        shared_session.execute(f"SELECT {keyspace}.kind(c) FROM {numbers}")


def test_java_is_refused(shared_session, keyspace):
    with pytest.raises(InvalidRequest, match="Language 'java' is not supported"):
        shared_session.execute(f"CREATE FUNCTION {keyspace}.j(a int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS 'return a;'")


def test_prepared_statements_follow_a_replaced_function(shared_session, numbers, function):
    name = function("a int", "int", "return 1")
    prepared = shared_session.prepare(f"SELECT {name}(v) FROM {numbers} WHERE p = 1 AND c = 1")
    assert shared_session.execute(prepared).one()[0] == 1
    function("a int", "int", "return 2", name=name)
    assert shared_session.execute(prepared).one()[0] == 2
    shared_session.execute(f"DROP FUNCTION {name}")
    with pytest.raises(InvalidRequest, match="Unknown function"):
        shared_session.execute(prepared)


def test_driver_metadata_and_describe(shared_session, keyspace, function):
    name = function("a int, b list<text>", "bigint", "return a", mode="RETURNS NULL")
    own = name.split(".")[1]
    shared_session.execute(f"CREATE FUNCTION {keyspace}.step(s int, v int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return s'")
    shared_session.execute(f"CREATE AGGREGATE {keyspace}.whole(int) SFUNC step STYPE int INITCOND 7")
    known = metadata(shared_session, keyspace)
    found = known.functions[f"{own}(int,list<text>)"]
    assert (found.argument_names, found.return_type, found.language, found.body) == (["a", "b"], "bigint", "lua", "return a")
    assert not found.called_on_null_input
    aggregate = known.aggregates["whole(int)"]
    assert (aggregate.state_func, aggregate.state_type, aggregate.return_type) == ("step", "int", "int")
    described = shared_session.execute(f"DESCRIBE FUNCTION {name}").one()
    assert described.create_statement.startswith(f"CREATE FUNCTION {name}(a int, b list<text>)\n    RETURNS NULL ON NULL INPUT")
    assert "whole(int)" in [row.name for row in shared_session.execute("DESCRIBE AGGREGATES") if row.keyspace_name == keyspace]
    shared_session.execute(f"DROP AGGREGATE {keyspace}.whole")


def test_events_tell_of_functions(connect, shared_session, keyspace):
    heard, arrived = [], threading.Event()

    def note(event):
        if event["keyspace"] == keyspace and event["target_type"] == "FUNCTION":
            heard.append((event["change_type"], event["function"].name, list(event["function"].argument_types)))
            arrived.set() if len(heard) == 3 else None

    with connect() as watcher:
        connection = watcher.cluster.control_connection._connection
        connection.register_watchers({"SCHEMA_CHANGE": note}, register_timeout=SECONDS_MAX)
        for statement in ("CREATE", "CREATE OR REPLACE"):
            body = f"return '{statement}'"
            shared_session.execute(
                f"{statement} FUNCTION {keyspace}.told(a int) CALLED ON NULL INPUT RETURNS text LANGUAGE lua AS $${body}$$"
            )
        shared_session.execute(f"DROP FUNCTION {keyspace}.told")
        assert arrived.wait(SECONDS_MAX)
    assert heard == [(change, "told", ["int"]) for change in ("CREATED", "UPDATED", "DROPPED")]


@pytest.mark.restart
def test_functions_survive_a_kill(shared_session, keyspace, numbers, function, restart):
    name = function("a int", "int", "return a + 1")
    shared_session.execute(f"CREATE FUNCTION {keyspace}.kept(s int, v int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return s + 1'")
    shared_session.execute(f"CREATE AGGREGATE {keyspace}.rows_of(int) SFUNC kept STYPE int INITCOND 0")
    prepared = shared_session.prepare(f"SELECT {name}(c) FROM {numbers} WHERE p = 1 AND c = 1")
    restart("kill")
    row = when_back(shared_session, f"SELECT {keyspace}.rows_of(v), count(*) FROM {numbers}").one()
    assert tuple(row) == (ROWS, ROWS)
    assert shared_session.execute(prepared).one()[0] == 2
    shared_session.execute(f"DROP AGGREGATE {keyspace}.rows_of")


@pytest.fixture(scope="module")
def guarded():
    """A server on which roles need permissions, with functions and a role that may read."""
    private = server.Server(tempfile.mkdtemp(prefix="functions-", dir=run_directory()), server.LOGIN_FLAGS)
    private.start()
    with login(private, "cassandra") as boss:
        boss.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        boss.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v int)")
        boss.execute("INSERT INTO ks.t (k, v) VALUES (1, 1)")
        boss.execute("CREATE FUNCTION ks.f(a int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return a'")
        boss.execute("CREATE FUNCTION ks.step(s int, v int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return s + v'")
        boss.execute("CREATE AGGREGATE ks.total(int) SFUNC step STYPE int INITCOND 0")
        boss.execute("CREATE ROLE r WITH PASSWORD = 'r' AND LOGIN = true")
        boss.execute("GRANT SELECT ON KEYSPACE ks TO r")
        boss.execute("GRANT MODIFY ON KEYSPACE ks TO r")
    yield private
    private.stop()


@contextlib.contextmanager
def login(guarded, role):
    host, port = guarded.state()["cql"].rsplit(":", 1)
    cluster = Cluster([host], port=int(port), **patient(auth_provider=PlainTextAuthProvider(role, role), protocol_version=5))
    try:
        yield cluster.connect()
    finally:
        cluster.shutdown()


def test_execute_is_asked_for_at_each_execution(guarded):
    with login(guarded, "cassandra") as boss, login(guarded, "r") as user:
        call = user.prepare("SELECT ks.f(v) FROM ks.t WHERE k = 1")
        write = user.prepare("INSERT INTO ks.t (k, v) VALUES (2, ks.f(?))")
        for resource in ("FUNCTION ks.f(int)", "ALL FUNCTIONS IN KEYSPACE ks", "ALL FUNCTIONS"):
            for run in (lambda: user.execute(call), lambda: user.execute(write, (1,)), lambda: user.execute("SELECT ks.f(v) FROM ks.t")):
                with pytest.raises(Unauthorized, match="EXECUTE permission on <function ks.f"):
                    run()
            boss.execute(f"GRANT EXECUTE ON {resource} TO r")
            assert user.execute(call).one()[0] == 1
            user.execute(write, (1,))
            boss.execute(f"REVOKE EXECUTE ON {resource} FROM r")
        # An aggregate needs its functions' permissions, too.
        boss.execute("GRANT EXECUTE ON FUNCTION ks.total(int) TO r")
        with pytest.raises(Unauthorized, match="<function ks.step"):
            user.execute("SELECT ks.total(v) FROM ks.t")
        boss.execute("GRANT EXECUTE ON FUNCTION ks.step(int, int) TO r")
        assert user.execute("SELECT ks.total(v) FROM ks.t WHERE k = 1").one()[0] == 1
        boss.execute("REVOKE EXECUTE ON FUNCTION ks.total(int) FROM r")
        boss.execute("REVOKE EXECUTE ON FUNCTION ks.step(int, int) FROM r")


def test_who_makes_a_function_owns_it(guarded):
    with login(guarded, "cassandra") as boss, login(guarded, "r") as user:
        make = "CREATE {}FUNCTION ks.mine(a int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return {}'"
        with pytest.raises(Unauthorized, match="CREATE permission on <all functions in ks>"):
            user.execute(make.format("", "a"))
        boss.execute("GRANT CREATE ON ALL FUNCTIONS IN KEYSPACE ks TO r")
        user.execute(make.format("", "a"))
        boss.execute("REVOKE CREATE ON ALL FUNCTIONS IN KEYSPACE ks FROM r")
        user.execute(make.format("OR REPLACE ", "a + 1"))
        assert user.execute("SELECT ks.mine(v) FROM ks.t WHERE k = 1").one()[0] == 2
        listed = {(row.resource, row.permission) for row in boss.execute("LIST ALL ON FUNCTION ks.mine(int) OF r")}
        assert listed == {("<function ks.mine(int)>", name) for name in ("ALTER", "DROP", "AUTHORIZE", "EXECUTE")}
        with pytest.raises(Unauthorized, match="DROP permission on <function ks.f"):
            user.execute("DROP FUNCTION ks.f(int)")
        user.execute("DROP FUNCTION ks.mine")
        # What gets its name later is another function.
        boss.execute(make.format("", "a"))
        with pytest.raises(Unauthorized):
            user.execute("SELECT ks.mine(v) FROM ks.t WHERE k = 1")
        boss.execute("DROP FUNCTION ks.mine")
