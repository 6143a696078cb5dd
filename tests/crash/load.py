"""Writers of every kind at once, each on rows of its own, and counters that all of them share.

A writer sends one statement after the other over one session; the outcome of each goes into the model before the next is sent. A
statement that fails because the server is gone has an unknown outcome; any other failure is the test's.
"""

import random
import threading

from cassandra import OperationTimedOut
from cassandra.cluster import NoHostAvailable
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.connection import ConnectionException, ConnectionShutdown
from cassandra.protocol import ServerError
from cassandra.query import BatchStatement, BatchType

from model import Cells

# A server error is what a node says while it ends in order.
GONE = (NoHostAvailable, OperationTimedOut, ConnectionException, ConnectionShutdown, ServerError)
KEYS_PER_WRITER = 40
SHARED_KEYS = 5
# Partitions from here up are only written as a whole.
WHOLE = 10_000

SCHEMA = [
    "CREATE KEYSPACE crash WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE crash.plain (k int PRIMARY KEY, a int, b text)",
    "CREATE TABLE crash.wide (k int, c int, a int, b text, PRIMARY KEY (k, c))",
    "CREATE TABLE crash.cas (k int PRIMARY KEY, a int)",
    "CREATE TABLE crash.counted (k int PRIMARY KEY, n counter)",
    "CREATE TABLE crash.held (k int PRIMARY KEY, s set<int>, m map<int, int>, l list<int>)",
]


class Load:
    """The models of all tables, over any number of kills."""

    def __init__(self, seed: int, writers: int):
        self.seed, self.writers = seed, writers
        self.plain, self.wide, self.cas, self.counted, self.held = (Cells() for _ in range(5))
        # What all writers raise: acknowledged and attempted, by key.
        self.shared_counters = {key: [0, 0] for key in range(-SHARED_KEYS, 0)}
        self.shared_cas = {key: [0, 0] for key in range(-SHARED_KEYS, 0)}
        self.lock = threading.Lock()
        self.acknowledged = self.unknown = 0

    def create(self, session):
        for statement in SCHEMA:
            session.execute(statement)
        for key in self.shared_cas:
            session.execute("INSERT INTO crash.cas (k, a) VALUES (%s, 0)", (key,))

    def run(self, statements, round_number: int):
        """Writes with all writers until the server is gone; returns the failures that are not that."""
        failures = []
        threads = [
            threading.Thread(target=self._write, args=(Writer(self, statements, number, random.Random(f"{self.seed}/{round_number}/{number}")), failures))
            for number in range(self.writers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return failures

    def _write(self, writer, failures):
        try:
            while writer.step():
                pass
        except Exception as failure:
            failures.append(f"writer {writer.number}: {failure!r}")

    def check(self, session):
        """Reads everything, whole tables and row by row, and compares."""
        fetch = lambda statement, *values: session.execute(statement, values or None)
        self.plain.check({row.k: (row.a, row.b) for row in fetch("SELECT k, a, b FROM crash.plain")}, "plain")
        wide = {(row.k, row.c): (row.a, row.b) for row in fetch("SELECT k, c, a, b FROM crash.wide")}
        for number in range(self.writers):
            whole = [wide.get((WHOLE + number, c)) for c in range(10)]
            assert len(set(whole)) == 1, f"a batch of one partition was done in part: {whole}"
        self.wide.check(wide, "wide")
        cas = {row.k: row.a for row in fetch("SELECT k, a FROM crash.cas")}
        counted = {row.k: row.n for row in fetch("SELECT k, n FROM crash.counted")}
        for shared, rows, name in ((self.shared_cas, cas, "cas"), (self.shared_counters, counted, "counted")):
            for key, bounds in shared.items():
                seen = rows.pop(key, 0)
                assert bounds[0] <= seen <= bounds[1], f"{name} {key}: read {seen}, acknowledged {bounds[0]}, attempted {bounds[1]}"
                bounds[:] = [seen, seen]
        self.cas.check(cas, "cas")
        self.counted.check(counted, "counted")
        held = {row.k: collections_of(row) for row in fetch("SELECT k, s, m, l FROM crash.held")}
        self.held.check(held, "held")
        # The same by key: the table's scan and the index are two ways.
        by_key = session.prepare("SELECT k, a, b FROM crash.plain WHERE k = ?")
        self.plain.check({row.k: (row.a, row.b) for row in each(session, by_key, self.plain.possible)}, "plain by key")
        by_partition = session.prepare("SELECT k, c, a, b FROM crash.wide WHERE k = ?")
        partitions = {key for key, _ in self.wide.possible}
        self.wide.check({(row.k, row.c): (row.a, row.b) for row in each(session, by_partition, partitions)}, "wide by partition")


def each(session, statement, keys):
    """The rows of a statement for each of many keys."""
    results = execute_concurrent_with_args(session, statement, [(key,) for key in keys], concurrency=32)
    return [row for _, rows in results for row in rows]


def collections_of(row):
    """Comparable, and without the difference between empty and none, which CQL does not have."""
    return (frozenset(row.s or ()), frozenset((row.m or {}).items()), tuple(row.l or ()))


class Statements:
    """Everything prepared, once a round."""

    def __init__(self, session):
        self.session = session
        prepare = session.prepare
        self.plain_insert = prepare("INSERT INTO crash.plain (k, a, b) VALUES (?, ?, ?)")
        self.plain_update = prepare("UPDATE crash.plain SET a = ? WHERE k = ?")
        self.plain_clear = prepare("DELETE b FROM crash.plain WHERE k = ?")
        self.plain_delete = prepare("DELETE FROM crash.plain WHERE k = ?")
        self.wide_insert = prepare("INSERT INTO crash.wide (k, c, a, b) VALUES (?, ?, ?, ?)")
        self.wide_delete = prepare("DELETE FROM crash.wide WHERE k = ? AND c = ?")
        self.wide_delete_range = prepare("DELETE FROM crash.wide WHERE k = ? AND c >= ? AND c < ?")
        self.cas_insert = prepare("INSERT INTO crash.cas (k, a) VALUES (?, ?) IF NOT EXISTS")
        self.cas_update = prepare("UPDATE crash.cas SET a = ? WHERE k = ? IF a = ?")
        self.cas_delete = prepare("DELETE FROM crash.cas WHERE k = ? IF EXISTS")
        self.cas_read = prepare("SELECT a FROM crash.cas WHERE k = ?")
        self.count = prepare("UPDATE crash.counted SET n = n + ? WHERE k = ?")
        self.set_add = prepare("UPDATE crash.held SET s = s + ? WHERE k = ?")
        self.set_remove = prepare("UPDATE crash.held SET s = s - ? WHERE k = ?")
        self.map_put = prepare("UPDATE crash.held SET m[?] = ? WHERE k = ?")
        self.list_append = prepare("UPDATE crash.held SET l = l + ? WHERE k = ?")
        self.held_replace = prepare("INSERT INTO crash.held (k, s, m, l) VALUES (?, ?, ?, ?)")
        self.held_delete = prepare("DELETE FROM crash.held WHERE k = ?")


class Writer:
    """One stream of statements, about keys of its own."""

    def __init__(self, load: Load, statements: Statements, number: int, dice: random.Random):
        self.load, self.do, self.number, self.dice = load, statements, number, dice

    def step(self) -> bool:
        """One statement; False when the server is gone."""
        kinds = (self.plain, self.plain, self.wide, self.batch_of_a_partition, self.batch, self.cas, self.cas_shared, self.count, self.hold)
        return self.dice.choice(kinds)()

    def key(self) -> int:
        return self.number * KEYS_PER_WRITER + self.dice.randrange(KEYS_PER_WRITER)

    def run(self, cells_and_changes, statement, values=None):
        """Executes and tells the models: a list of (cells, key, change). Gives the rows, or None when the outcome is unknown."""
        try:
            rows = self.do.session.execute(statement, values)
            known = True
        except GONE:
            rows, known = None, False
        with self.load.lock:
            if known:
                self.load.acknowledged += 1
            else:
                self.load.unknown += 1
            for cells, key, change in cells_and_changes:
                cells.write(key, change, known)
        return rows

    def plain(self) -> bool:
        key, a, cells = self.key(), self.dice.randrange(1 << 30), self.load.plain
        # Without its other columns a row stays only if it was inserted: an update alone makes one too, without a marker.
        kind = self.dice.choice("iiudc")
        if kind == "i":
            text = "x" * self.dice.choice((0, 10, 100, 1_000, 1_000, 20_000))
            return self.run([(cells, key, lambda _: (a, text))], self.do.plain_insert, (key, a, text)) is not None
        if kind == "u":
            return self.run([(cells, key, lambda row: (a, row[1] if row else None))], self.do.plain_update, (a, key)) is not None
        if kind == "c":
            # `a` is never null in a row that is there, so that the row stays.
            return self.run([(cells, key, lambda row: row and (row[0], None))], self.do.plain_clear, (key,)) is not None
        return self.run([(cells, key, lambda _: None)], self.do.plain_delete, (key,)) is not None

    def wide(self) -> bool:
        key, c, a, cells = self.number, self.dice.randrange(200), self.dice.randrange(1 << 30), self.load.wide
        kind = self.dice.choice("iiiidr")
        if kind == "i":
            text = "w" * self.dice.randrange(300)
            return self.run([(cells, (key, c), lambda _: (a, text))], self.do.wide_insert, (key, c, a, text)) is not None
        if kind == "d":
            return self.run([(cells, (key, c), lambda _: None)], self.do.wide_delete, (key, c)) is not None
        end = c + self.dice.randrange(20)
        changes = [(cells, (key, gone), lambda _: None) for gone in range(c, end)]
        return self.run(changes, self.do.wide_delete_range, (key, c, end)) is not None

    def batch_of_a_partition(self) -> bool:
        """All of it or nothing, which `check` looks at besides."""
        key, a = WHOLE + self.number, self.dice.randrange(1 << 30)
        batch = BatchStatement(BatchType.UNLOGGED)
        changes = []
        for c in range(10):
            batch.add(self.do.wide_insert, (key, c, a, "batch"))
            changes.append((self.load.wide, (key, c), lambda _: (a, "batch")))
        return self.run(changes, batch) is not None

    def batch(self) -> bool:
        """Over partitions, and so over cores."""
        a = self.dice.randrange(1 << 30)
        batch = BatchStatement(BatchType.LOGGED)
        changes = []
        for key in {self.key() for _ in range(5)}:
            batch.add(self.do.plain_insert, (key, a, "batch"))
            changes.append((self.load.plain, key, lambda _: (a, "batch")))
        return self.run(changes, batch) is not None

    def cas(self) -> bool:
        key, a, cells = self.key(), self.dice.randrange(1 << 30), self.load.cas
        kind = self.dice.choice("iuud")
        if kind == "i":
            return self.run([(cells, key, lambda row: a if row is None else row)], self.do.cas_insert, (key, a)) is not None
        if kind == "d":
            return self.run([(cells, key, lambda _: None)], self.do.cas_delete, (key,)) is not None
        expected = self.dice.choice(sorted(cells.of(key), key=repr))
        if expected is None:
            return True
        return self.run([(cells, key, lambda row: a if row == expected else row)], self.do.cas_update, (a, key, expected)) is not None

    def cas_shared(self) -> bool:
        """All writers raise the same registers, each only from the value that it has read."""
        key = self.dice.choice(list(self.load.shared_cas))
        bounds = self.load.shared_cas[key]
        try:
            seen = self.do.session.execute(self.do.cas_read, (key,)).one().a
        except GONE:
            return False
        with self.load.lock:
            bounds[1] += 1
        try:
            row = self.do.session.execute(self.do.cas_update, (seen + 1, key, seen)).one()
        except GONE:
            return False
        with self.load.lock:
            if row.applied:
                bounds[0] += 1
            else:
                bounds[1] -= 1
        return True

    def count(self) -> bool:
        if self.dice.random() < 0.5:
            key, by = self.key(), self.dice.randrange(-5, 10)
            return self.run([(self.load.counted, key, lambda n: (n or 0) + by)], self.do.count, (by, key)) is not None
        key = self.dice.choice(list(self.load.shared_counters))
        bounds = self.load.shared_counters[key]
        with self.load.lock:
            bounds[1] += 1
        try:
            self.do.session.execute(self.do.count, (1, key))
        except GONE:
            return False
        with self.load.lock:
            bounds[0] += 1
        return True

    def hold(self) -> bool:
        key, number, cells = self.key(), self.dice.randrange(20), self.load.held
        kind = self.dice.choice("aarppllid")
        whole = lambda row: row or (frozenset(), frozenset(), ())
        # A row made by updates alone is gone with its last element.
        keep = lambda row: row if any(row) else None
        if kind == "a":
            change = lambda row: (whole(row)[0] | {number}, whole(row)[1], whole(row)[2])
            return self.run([(cells, key, change)], self.do.set_add, ({number}, key)) is not None
        if kind == "r":
            change = lambda row: row and keep((row[0] - {number}, row[1], row[2]))
            return self.run([(cells, key, change)], self.do.set_remove, ({number}, key)) is not None
        if kind == "p":
            put = self.dice.randrange(1000)
            change = lambda row: (whole(row)[0], frozenset((dict(whole(row)[1]) | {number: put}).items()), whole(row)[2])
            return self.run([(cells, key, change)], self.do.map_put, (number, put, key)) is not None
        if kind == "l":
            change = lambda row: (whole(row)[0], whole(row)[1], whole(row)[2] + (number,))
            return self.run([(cells, key, change)], self.do.list_append, ([number], key)) is not None
        if kind == "i":
            new = (frozenset({number}), frozenset({(number, 1)}), (number, number))
            return self.run([(cells, key, lambda _: new)], self.do.held_replace, (key, {number}, {number: 1}, [number, number])) is not None
        return self.run([(cells, key, lambda _: None)], self.do.held_delete, (key,)) is not None
