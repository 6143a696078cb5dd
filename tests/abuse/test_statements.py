"""Statements that are too large, too deep or too many: an error, in bounded time and memory."""

import struct
import threading

import pytest

from wire import (
    BATCH, ERROR, INVALID, OVERLOADED, PROTOCOL_ERROR, QUERY, RESULT, SYNTAX_ERROR, Closed, error_in, frame, long_string, parameters, prepare, query,
    value,
)

DEPTH = 100_000
FRAME_BODY_MAX = 16 << 20
# A request of this size must be served even by a node with the least memory; larger ones may be too much for it.
SERVED_BYTES = 8 << 20


def int4(number: int) -> bytes:
    return struct.pack(">i", number)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * DEPTH,
        "SELECT " + "(" * DEPTH + "1" + ")" * DEPTH + " FROM abuse.wide",
        "SELECT " + "[" * DEPTH + "]" * DEPTH + " FROM abuse.wide",
        "SELECT " + "{" * DEPTH + "}" * DEPTH + " FROM abuse.wide",
        "SELECT " + "(int)" * DEPTH + "1 FROM abuse.wide",
        "SELECT " + "abs(" * DEPTH + "1" + ")" * DEPTH + " FROM abuse.wide",
        "SELECT 1" + "+1" * DEPTH + " FROM abuse.wide",
        "SELECT " + "-" * (DEPTH + 1) + "1 FROM abuse.wide",
        "SELECT k FROM abuse.wide WHERE k = " + "(" * DEPTH,
        "SELECT k FROM abuse.wide WHERE " + "(" * DEPTH + "k = 1" + ")" * DEPTH,
        "INSERT INTO abuse.wide (k, c, v) VALUES (" + "[" * DEPTH,
        "INSERT INTO abuse.wide (k, c, v) VALUES (1, 1, " + "{1:" * DEPTH,
        "INSERT INTO abuse.wide JSON '" + "[" * DEPTH + "'",
        "INSERT INTO abuse.wide JSON '" + '{"k":' * DEPTH + "'",
        "CREATE TABLE abuse.deep (k int PRIMARY KEY, v " + "frozen<list<" * DEPTH + "int" + ">>" * DEPTH + ")",
        "CREATE TABLE abuse.deep (k int PRIMARY KEY, v '" + "ListType(" * DEPTH + "')",
        "BEGIN BATCH " * DEPTH,
        "SELECT /*" * DEPTH,
        "'" + "''" * DEPTH,
        "$$" * (DEPTH + 1),
        "\"" * (DEPTH + 1),
        ";" * DEPTH,
        "SELECT " + "k.k" + ".k" * DEPTH + " FROM abuse.wide",
        "SELECT v" + "[0]" * DEPTH + " FROM abuse.wide",
    ],
    ids=lambda text: text[:40].strip(),
)
def test_deep_nesting_is_an_error(victim, text):
    with victim.ready() as wire:
        assert wire.ask(query(text)).error in (SYNTAX_ERROR, INVALID), text[:60]
        # Where the depth is in a string, preparing may leave it for later.
        assert wire.ask(prepare(text)).opcode in (ERROR, RESULT), text[:60]


@pytest.mark.parametrize("size", [SERVED_BYTES, FRAME_BODY_MAX - 200, FRAME_BODY_MAX])
def test_a_statement_of_the_largest_frame_is_answered(victim, size):
    """Read and done, or refused for its size: never silence."""
    for text in ("SELECT key FROM system.local WHERE key = '" + "x" * (size - 100) + "'", "SELECT key FROM system.local " + " " * (size - 100)):
        with victim.ready() as wire:
            try:
                wire.send(query(text))
            except Closed:
                pass
            reply = wire.reply()
            assert reply.opcode == RESULT or reply.error in ((INVALID,) if size <= SERVED_BYTES else (INVALID, OVERLOADED, PROTOCOL_ERROR)), reply
    with victim.ready() as wire:
        wire.send(frame(QUERY, long_string("x" * FRAME_BODY_MAX) + parameters())[: 1 << 16])
        assert error_in(wire.rest()).error == PROTOCOL_ERROR


def test_large_values_are_stored_or_refused(victim):
    """A value is refused when it is more than one write may have, and read back whole when it was taken."""
    insert = "INSERT INTO abuse.wide (k, c, v) VALUES (?, ?, ?)"
    taken = []
    for megabytes in (1, 2, 4, 7, 8, 12, 15):
        with victim.ready() as wire:
            reply = wire.ask(query(insert, [int4(1000), int4(megabytes), bytes([megabytes]) * (megabytes << 20)]))
            assert reply.opcode == RESULT or reply.error == INVALID or (reply.error == OVERLOADED and megabytes << 20 > SERVED_BYTES), reply
            if reply.opcode == RESULT:
                taken.append(megabytes)
    assert 1 in taken and 2 in taken and 4 in taken, taken
    with victim.ready() as wire:
        for megabytes in taken:
            reply = wire.ask(query("SELECT v FROM abuse.wide WHERE k = ? AND c = ?", [int4(1000), int4(megabytes)]))
            assert reply.body.endswith(value(bytes([megabytes]) * (megabytes << 20))), (megabytes, reply)
        assert wire.ask(query("DELETE FROM abuse.wide WHERE k = 1000")).opcode == RESULT


def test_long_keys_are_refused(victim):
    with victim.ready() as wire:
        assert wire.ask(query("CREATE TABLE IF NOT EXISTS abuse.keys (k blob, c blob, v int, PRIMARY KEY (k, c))")).opcode == RESULT
        for partition, clustering in ((65_535, 1), (65_536, 1), (1, 65_535), (1, 65_536), (40_000, 40_000), (5 << 20, 1), (1, 5 << 20)):
            reply = wire.ask(query("INSERT INTO abuse.keys (k, c, v) VALUES (?, ?, 1)", [b"k" * partition, b"c" * clustering]))
            assert reply.opcode == RESULT or reply.error == INVALID, (partition, clustering, reply)
            reply = wire.ask(query("SELECT v FROM abuse.keys WHERE k = ? AND c = ?", [b"k" * partition, b"c" * clustering]))
            assert reply.opcode == RESULT or reply.error == INVALID, (partition, clustering, reply)
        assert wire.ask(query("INSERT INTO abuse.keys (k, c, v) VALUES (?, ?, 1)", [b"", b"c"])).error == INVALID


@pytest.mark.parametrize("count", [1_000, 65_535, 65_536, 200_000])
def test_many_keys_of_in_are_answered(victim, count):
    """More partitions than a request has parts must not be waited for for ever."""
    literal = "SELECT k FROM abuse.witness WHERE k IN (" + ",".join(map(str, range(count))) + ")"
    listed = struct.pack(">i", count) + b"".join(value(int4(key)) for key in range(count))
    with victim.ready() as wire:
        for request in (query(literal), query("SELECT k FROM abuse.witness WHERE k IN ?", [listed])):
            reply = wire.ask(request)
            assert reply.opcode == RESULT or reply.error in (INVALID, OVERLOADED), reply


def test_a_product_of_in_lists_is_refused_before_it_is_built(victim):
    with victim.ready() as wire:
        create = "CREATE TABLE IF NOT EXISTS abuse.product (a int, b int, c int, d int, e int, f int, PRIMARY KEY ((a, b, c), d, e, f))"
        assert wire.ask(query(create)).opcode == RESULT
        thousand = "(" + ",".join(map(str, range(1000))) + ")"
        where = f"a IN {thousand} AND b IN {thousand} AND c IN {thousand}"
        assert wire.ask(query(f"SELECT * FROM abuse.product WHERE {where}")).error == INVALID
        where = f"a = 1 AND b = 1 AND c = 1 AND d IN {thousand} AND e IN {thousand} AND f IN {thousand}"
        assert wire.ask(query(f"SELECT * FROM abuse.product WHERE {where}")).error == INVALID
        assert wire.ask(query(f"DELETE FROM abuse.product WHERE {where}")).error == INVALID
        assert wire.ask(query(f"UPDATE abuse.product SET f = 1 WHERE {where}")).error == INVALID


def test_collections_that_lie_about_their_length_are_refused(victim):
    with victim.ready() as wire:
        assert wire.ask(query("CREATE TABLE IF NOT EXISTS abuse.lists (k int PRIMARY KEY, l list<int>, m map<int, text>)")).opcode == RESULT
        wrong = [
            b"", b"\x00", struct.pack(">i", -1), struct.pack(">i", 1), struct.pack(">i", 1 << 30), struct.pack(">i", 0x7FFFFFFF),
            struct.pack(">ii", 1, 1 << 30), struct.pack(">ii", 1, -1), struct.pack(">iii", 2, 4, 1), struct.pack(">i", 1) + value(b"abc"),
            struct.pack(">i", 1) + value(int4(1)) + b"rest",
        ]
        for column in "lm":
            for raw in wrong[2:]:
                reply = wire.ask(query(f"INSERT INTO abuse.lists (k, {column}) VALUES (1, ?)", [raw]))
                assert reply.error == INVALID, (column, raw, reply)


def test_a_batch_of_the_most_statements_is_answered(victim):
    one = b"\x00" + long_string("INSERT INTO abuse.wide (k, c, v) VALUES (2000, 1, 0x00)") + b"\x00\x00"
    with victim.ready() as wire:
        for count in (1_000, 65_535):
            reply = wire.ask(frame(BATCH, b"\x01" + struct.pack(">H", count) + one * count + b"\x00\x01\x00"))
            assert reply.opcode == RESULT or reply.error is not None, reply
        reply = wire.ask(frame(BATCH, b"\x00" + struct.pack(">H", 60_000) + one * 1_000 + b"\x00\x01\x00"))
        assert reply.error == PROTOCOL_ERROR


@pytest.mark.parametrize("size", [400_000, SERVED_BYTES])
@pytest.mark.parametrize(
    "first, repeated, last",
    [
        ("BEGIN UNLOGGED BATCH ", "INSERT INTO abuse.witness (k, v) VALUES (2, 2);", " APPLY BATCH"),
        ("INSERT INTO abuse.lists (k, l) VALUES (1, [", "1,", "1])"),
        ("SELECT * FROM abuse.witness WHERE k IN (", "1,", "1)"),
        ("SELECT ", "k,", "k FROM abuse.witness"),
        ("SELECT k FROM abuse.witness WHERE k = 1", " AND v = 1", ""),
        ("CREATE TABLE IF NOT EXISTS abuse.columns (k int PRIMARY KEY", ", k int", ")"),
    ],
)
def test_texts_of_many_small_parts_stay_within_memory(victim, session, first, repeated, last, size):
    """Their plans take many times as much as they do."""
    session.execute("CREATE TABLE IF NOT EXISTS abuse.lists (k int PRIMARY KEY, l list<int>)")
    with victim.ready() as wire:
        reply = wire.ask(query(first + repeated * (size // len(repeated)) + last))
        assert reply.opcode == RESULT or reply.error in (INVALID, SYNTAX_ERROR), reply


def test_many_large_statements_prepared_stay_within_memory(victim):
    """Each is another statement, and the server is asked to remember all of them."""
    with victim.ready() as wire:
        for number in range(600):
            reply = wire.ask(prepare(f"SELECT k FROM abuse.wide WHERE k = {number} AND v = 0x" + "00" * 500_000 + " ALLOW FILTERING"))
            assert reply.opcode in (ERROR, RESULT)


def test_many_columns_and_markers_are_bounded(victim):
    with victim.ready() as wire:
        columns = ", ".join(f"c{number} int" for number in range(100_000))
        assert wire.ask(query(f"CREATE TABLE abuse.columns (k int PRIMARY KEY, {columns})")).opcode in (ERROR,)
        markers = ",".join("?" * 70_000)
        assert wire.ask(prepare(f"SELECT k FROM abuse.witness WHERE k IN ({markers})")).opcode == ERROR


def test_scans_by_many_at_once_stay_within_memory(victim, session):
    """Fifty clients ask for everything at once: each gets all, or is told to ask for less."""
    session.execute("CREATE TABLE IF NOT EXISTS abuse.scanned (k int, c int, v blob, PRIMARY KEY (k, c))")
    insert = session.prepare("INSERT INTO abuse.scanned (k, c, v) VALUES (?, ?, ?)")
    for number in range(60):
        session.execute(insert, (number, 0, bytes(1 << 20)))
    failures = []

    def scan():
        try:
            with victim.ready() as wire:
                reply = wire.ask(query("SELECT * FROM abuse.scanned"))
                assert reply.opcode == RESULT or reply.error in (OVERLOADED, INVALID), reply
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=scan) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session.execute("DROP TABLE abuse.scanned")
    assert not failures, failures[:3]
