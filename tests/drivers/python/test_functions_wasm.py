"""Functions in WebAssembly: values of every type and null, numbers as they are, aggregates, what ends a call, others beside one, and there after `kill -9`."""

import datetime
import decimal
import itertools
import uuid

import pytest
from cassandra import FunctionFailure, InvalidRequest
from cassandra.query import SimpleStatement
from cassandra.util import Date, Duration, Time

from conftest import PEER, metadata, reads_beside, when_back

pytestmark = pytest.mark.skipif(bool(PEER), reason="Cassandra has no functions in WebAssembly")

names = (f"w{number}" for number in itertools.count())
ROWS = 400

ABI_1 = r"""(memory (export "memory") 1) (global (export "_scylla_abi") i32 (i32.const 1024)) (data (i32.const 1024) "\01\00\00\00")"""
# Room is given from the bottom up, and never taken back: whoever calls has an instance of their own.
ABI_2 = r"""(memory (export "memory") 17) (global (export "_scylla_abi") i32 (i32.const 1024)) (data (i32.const 1024) "\02\00\00\00")
(global $top (mut i32) (i32.const 65536))
(func $malloc (export "_scylla_malloc") (param $size i32) (result i32)
  (global.get $top)
  (global.set $top (i32.and (i32.add (i32.add (global.get $top) (local.get $size)) (i32.const 15)) (i32.const -8))))
(func (export "_scylla_free") (param i32))"""
SAME = "(param i64) (result i64) local.get 0"
# The state is a bigint, and null before the first row; the value may be null.
ADD = """(param $s i64) (param $v i64) (result i64) (local $sum i64) (local $bytes i64) (local $at i32) (local $left i32)
(local.set $at (call $malloc (i32.const 8)))
(if (i64.ne (i64.shr_s (local.get $s) (i64.const 32)) (i64.const -1)) (then (local.set $sum (call $number (local.get $s)))))
(if (i64.ne (i64.shr_s (local.get $v) (i64.const 32)) (i64.const -1)) (then
  (local.set $sum (i64.add (local.get $sum) (call $number (local.get $v))))))
(local.set $left (i32.const 8))
(loop $next
  (local.set $left (i32.sub (local.get $left) (i32.const 1)))
  (i64.store8 (i32.add (local.get $at) (local.get $left)) (local.get $sum))
  (local.set $sum (i64.shr_s (local.get $sum) (i64.const 8)))
  (br_if $next (local.get $left)))
(i64.or (i64.const 0x800000000) (i64.extend_i32_u (local.get $at)))"""
# Bytes of a number, the highest first.
NUMBER = """(func $number (param $v i64) (result i64) (local $n i64) (local $at i32) (local $end i32)
(local.set $at (i32.wrap_i64 (local.get $v)))
(local.set $end (i32.add (local.get $at) (i32.wrap_i64 (i64.shr_u (local.get $v) (i64.const 32)))))
(local.set $n (i64.load8_s (local.get $at)))
(loop $next
  (local.set $at (i32.add (local.get $at) (i32.const 1)))
  (if (i32.lt_u (local.get $at) (local.get $end)) (then
    (local.set $n (i64.or (i64.shl (local.get $n) (i64.const 8)) (i64.load8_u (local.get $at))))
    (br $next))))
(local.get $n))"""
LOOP = "(loop $l (br $l))"
GROW = "(loop $l (drop (memory.grow (i32.const 1))) (br $l))"


@pytest.fixture
def function(shared_session, keyspace):
    """Makes a function and gives its full name."""

    def make(arguments, returns, body, mode="RETURNS NULL", name=None, abi=ABI_1, more="", language="wasm"):
        name = name or f"{keyspace}.{next(names)}"
        module = f'(module {abi} {more} (func (export "{name.split(".")[1]}") {body}))'
        shared_session.execute(
            f"CREATE OR REPLACE FUNCTION {name}({arguments}) {mode} ON NULL INPUT RETURNS {returns} LANGUAGE {language} AS $${module}$$"
        )
        return name

    return make


@pytest.mark.parametrize("abi", [ABI_1, ABI_2])
def test_values_of_each_type_and_null_come_back(shared_session, keyspace, table, function, abi):
    shared_session.execute(f"CREATE TYPE IF NOT EXISTS {keyspace}.wasm_pair (a int, b text)")
    values = {
        "ascii": "a", "bigint": -(2**63), "blob": b"\x00\xff", "boolean": True, "date": Date(datetime.date(2024, 2, 29)),
        "decimal": decimal.Decimal("-1.50"), "double": 0.1, "duration": Duration(1, 2, 3), "float": 1.5, "inet": "::1", "int": 7,
        "smallint": -7, "text": "ä" * 100_000, "time": Time(1234567890123), "timestamp": datetime.datetime(2024, 2, 29, 12, 0, 0, 5000),
        "timeuuid": uuid.uuid1(), "tinyint": 1, "uuid": uuid.uuid4(), "varint": 2**100, "list<int>": [3, 1, 3],
        "set<text>": {"a", "b"}, "map<text, int>": {"a": 1, "b": 2}, "tuple<int, text>": (1, "x"), "wasm_pair": (1, "y"),
    }
    columns = ", ".join(f"c{number} {name}" for number, name in enumerate(values))
    name = table(f"k int PRIMARY KEY, {columns}")
    marks = ", ".join("?" * (len(values) + 1))
    insert = shared_session.prepare(f"INSERT INTO {name} (k, {', '.join(f'c{n}' for n in range(len(values)))}) VALUES ({marks})")
    shared_session.execute(insert, (1, *values.values()))
    calls = [f"{function(f'a {data_type}', data_type, SAME, 'CALLED', abi=abi)}(c{number})" for number, data_type in enumerate(values)]
    row = shared_session.execute(f"SELECT {', '.join(calls)} FROM {name} WHERE k = 1").one()
    for (data_type, value), found in zip(values.items(), row):
        assert (type(value)(found) if isinstance(value, (list, tuple)) else found) == value, data_type
    shared_session.execute(f"INSERT INTO {name} (k) VALUES (2)")
    row = shared_session.execute(f"SELECT {', '.join(calls)} FROM {name} WHERE k = 2").one()
    assert not any(row)


def test_numbers_overloads_and_prepared_statements(shared_session, table, function):
    name = function("a int, b int", "int", "(param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))")
    function("a double, b bigint", "double", "(param f64 i64) (result f64) (f64.add (local.get 0) (f64.convert_i64_s (local.get 1)))", name=name)
    rows = table("k int PRIMARY KEY, v int")
    insert = shared_session.prepare(f"INSERT INTO {rows} (k, v) VALUES ({name}((int) ?, 1), {name}((int) ?, (int) null))")
    shared_session.execute(insert, (6, 1))
    assert [tuple(row) for row in shared_session.execute(f"SELECT k, v FROM {rows} WHERE k = {name}(3, 4)")] == [(7, None)]
    assert shared_session.execute(f"SELECT {name}((double) 1.5, (bigint) 2) FROM {rows}").one()[0] == 3.5
    prepared = shared_session.prepare(f"SELECT {name}(k, 1) FROM {rows} WHERE k = 7")
    assert shared_session.execute(prepared).one()[0] == 8
    function("a int, b int", "int", "(param i32 i32) (result i32) (i32.mul (local.get 0) (local.get 1))", name=name)
    assert shared_session.execute(prepared).one()[0] == 7


def test_aggregates_with_groups_and_pages(shared_session, keyspace, numbers, function):
    step = function("s bigint, v int", "bigint", ADD, "CALLED", abi=ABI_2, more=NUMBER)
    last = function("s bigint", "double", "(param i64) (result f64) (f64.convert_i64_s (local.get 0))")
    shared_session.execute(f"CREATE AGGREGATE {keyspace}.wasm_sum(int) SFUNC {step.split('.')[1]} STYPE bigint FINALFUNC {last.split('.')[1]}")
    values = [n for n in range(ROWS) if n % 4]
    assert shared_session.execute(f"SELECT {keyspace}.wasm_sum(v) FROM {numbers}").one()[0] == sum(values)
    assert shared_session.execute(f"SELECT {keyspace}.wasm_sum(v) FROM {numbers} WHERE p = 77").one()[0] is None
    for size in (1, 3, 100):
        found = shared_session.execute(SimpleStatement(f"SELECT p, {keyspace}.wasm_sum(v) FROM {numbers} GROUP BY p", fetch_size=size))
        assert {row[0]: row[1] for row in found} == {p: sum(n for n in values if n % 10 == p) for p in range(10)}
    with pytest.raises(InvalidRequest, match="is still referenced by aggregates"):
        shared_session.execute(f"DROP FUNCTION {step}")
    shared_session.execute(f"DROP AGGREGATE {keyspace}.wasm_sum")


def test_a_failed_call_is_a_function_failure(shared_session, numbers, keyspace, function):
    for body, text in (
        (f"{LOOP} (i32.const 0)", "instructions"),
        (f"{GROW} (i32.const 0)", "memory"),
        ("unreachable", "unreachable"),
        ("(i32.load (i32.const -4))", "out of bounds memory access"),
    ):
        name = function("a int", "int", f"(param i32) (result i32) {body}")
        with pytest.raises(FunctionFailure) as failure:
            shared_session.execute(f"SELECT {name}(v) FROM {numbers} WHERE p = 1 LIMIT 1")
        assert text in str(failure.value)
        assert (failure.value.keyspace, failure.value.function, failure.value.arg_types) == (keyspace, name.split(".")[1], ["int"])
    for returned in ("0x7fffffff00000000", "0x1ffffffff"):
        name = function("a int", "blob", f"(param i32) (result i64) (i64.const {returned})")
        with pytest.raises(FunctionFailure, match="outside of memory"):
            shared_session.execute(f"INSERT INTO {numbers} (p, c, v) VALUES (1000, 1, blobAsInt({name}(1)))")
    assert not list(shared_session.execute(f"SELECT v FROM {numbers} WHERE p = 1000"))


def test_modules_that_cannot_run_are_refused(shared_session, keyspace, function):
    for body, more, text in (
        ("(param i32) (result i64) (i64.const 0)", "", r"its function '.*' is \(func \(param i32\) \(result i64\)\)"),
        ("(param i32) (result i32) (i64.const 0)", "", "type mismatch"),
        ("(param i32) (result", "", "line 1, column"),
        ("(param i32) (result i32) (v128.const i64x2 0 0)", "", "SIMD"),
    ):
        with pytest.raises(InvalidRequest, match=f"Could not compile function '.*': .*{text}"):
            function("a int", "int", body, more=more)
    with pytest.raises(InvalidRequest, match="it imports 'time' of 'env'"):
        function("a int", "int", "(param i32) (result i32) local.get 0", abi=f'(import "env" "time" (func (result i64))) {ABI_1}')
    for language in ("java", "rust"):
        with pytest.raises(InvalidRequest, match=f"Language '{language}' is not supported"):
            function("a int", "int", "(param i32) (result i32) local.get 0", language=language)


def test_others_are_served_beside_heavy_functions(connect, numbers, function):
    """300,000 instructions a row: much work, beside which others are served."""
    heavy = function(
        "a int", "int",
        "(param i32) (result i32) (local $n i32) (loop $l (br_if $l (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 50000)))) local.get 0",
    )
    # Whoever waits for the whole of a statement reads twice beside each at most.
    assert reads_beside(connect, numbers, heavy, statements=5, wanted=2) > 2


def test_driver_metadata_and_describe(shared_session, keyspace, function):
    name = function("a bigint", "bigint", "(param i64) (result i64) local.get 0", language="XWASM")
    own = name.split(".")[1]
    found = metadata(shared_session, keyspace).functions[f"{own}(bigint)"]
    assert (found.language, found.body.startswith("(module (memory")) == ("wasm", True)
    described = shared_session.execute(f"DESCRIBE FUNCTION {name}").one().create_statement
    assert "LANGUAGE wasm\n    AS $$(module" in described
    shared_session.execute(f"DROP FUNCTION {name}")
    shared_session.execute(described)
    assert shared_session.execute(f"SELECT {name}((bigint) 5) FROM system.local").one()[0] == 5


@pytest.mark.restart
def test_functions_survive_a_kill(shared_session, keyspace, numbers, function, restart):
    step = function("s bigint, v int", "bigint", ADD, "CALLED", abi=ABI_2, more=NUMBER)
    shared_session.execute(f"CREATE AGGREGATE {keyspace}.wasm_kept(int) SFUNC {step.split('.')[1]} STYPE bigint")
    prepared = shared_session.prepare(f"SELECT {step}((bigint) 40, c) FROM {numbers} WHERE p = 2 AND c = 2")
    restart("kill")
    row = when_back(shared_session, f"SELECT {keyspace}.wasm_kept(v), count(*) FROM {numbers}").one()
    assert tuple(row) == (sum(n for n in range(ROWS) if n % 4), ROWS)
    assert shared_session.execute(prepared).one()[0] == 42
    shared_session.execute(f"DROP AGGREGATE {keyspace}.wasm_kept")
