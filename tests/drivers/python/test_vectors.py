"""ORDER BY … ANN OF by graphs of vectors: recall against exact answers, filters, changes of rows, restarts; and vectors of very many dimensions."""

import heapq
import http.client
import json
import math
import os
import pathlib
import random
import shlex
import struct
import time

import pytest
from cassandra import InvalidRequest
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.protocol import SyntaxException

import server
from conftest import when_back

# So many that each of two cores has more than the 4,096 from which on it makes a graph.
ROWS = 10_000
DIMENSIONS = 12
QUERIES = 20
NEAREST = 10
GROUPS = 5
SECONDS_MAX = 120
FLOATS = struct.Struct(f">{DIMENSIONS}f")
FUNCTIONS = ["cosine", "euclidean", "dot_product"]


def new_vector(chance):
    """Rounded to what the server stores."""
    return FLOATS.unpack(FLOATS.pack(*(chance.gauss(0, 1) for _ in range(DIMENSIONS))))


def similarity(function, one, other):
    # By the law of cosines: `dist` and `hypot` are the fast functions that Python has of vectors.
    distance, long, wide = math.dist(one, other), math.hypot(*one), math.hypot(*other)
    if function == "euclidean":
        return 1 / (1 + distance**2)
    dot = (long**2 + wide**2 - distance**2) / 2
    return (1 + (dot / (long * wide) if function == "cosine" else dot)) / 2


def metric(name):
    """The sum over cores of one of the server's figures; `None` for a server that is not ours."""
    command = shlex.split(os.environ.get("TARNDB_TEST_RESTART", ""))
    if not command or command[-2] != "restart":
        return None
    host, port = server.Server(pathlib.Path(command[-1])).state()["http"].rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=SECONDS_MAX)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name + "{"))


def stored_parts() -> int:
    """Files that the server has stored of its graphs."""
    directory = pathlib.Path(shlex.split(os.environ["TARNDB_TEST_RESTART"])[-1])
    return len(list((directory / "data" / "blobs").glob("vectors-*")))


def settled(session, keyspace, index, linked):
    """Waits until the index is listed as built and its graphs have so many vectors, as far as the server tells. Figures are told once in a while."""
    deadline = time.monotonic() + SECONDS_MAX
    while True:
        rows = when_back(session, "SELECT index_name FROM system.\"IndexInfo\" WHERE table_name = %s", (keyspace,))
        figures = (metric("tarndb_vectors_linked"), metric("tarndb_vectors_left"))
        if index in [row[0] for row in rows] and figures in [(linked, 0), (None, None)]:
            return
        assert time.monotonic() < deadline, (index, rows, figures, linked)
        time.sleep(0.05)


class Model:
    """A table with vectors, and what should be in it."""

    def __init__(self, session, name, function, columns="k int PRIMARY KEY", key=lambda k: (k,)):
        self.session, self.name, self.function, self.key = session, name, function, key
        plain, _, composed = columns.partition(", PRIMARY")
        self.columns = [column.split()[0] for column in plain.split(", ")]
        self.rows, self.lengths = {}, {}
        session.execute(f"CREATE TABLE {name} ({plain}, v vector<float, {DIMENSIONS}>, g int{composed and ', PRIMARY' + composed})")
        names = ", ".join([*self.columns, "v", "g"])
        self.insert = session.prepare(f"INSERT INTO {name} ({names}) VALUES ({', '.join('?' * (len(self.columns) + 2))})")
        self.where = " AND ".join(f"{column} = ?" for column in self.columns)

    def put(self, rows):
        done = execute_concurrent_with_args(
            self.session, self.insert, [(*self.key(k), list(v), g) for k, (v, g) in rows.items()], concurrency=100)
        assert all(success for success, _ in done)
        self.rows.update(rows)
        self.lengths.update({k: math.hypot(*v) for k, (v, _) in rows.items()})

    def delete(self, keys):
        statement = self.session.prepare(f"DELETE FROM {self.name} WHERE {self.where}")
        done = execute_concurrent_with_args(self.session, statement, [self.key(k) for k in keys], concurrency=100)
        assert all(success for success, _ in done)
        for k in keys:
            self.rows.pop(k, None)

    def farness(self, near):
        """Orders keys by the similarity of their vectors to this one, the most similar first, with as little as Python can do for it."""
        rows, lengths, dist = self.rows, self.lengths, math.dist
        match self.function:
            case "euclidean":
                return lambda k: dist(rows[k][0], near)
            case "dot_product":
                return lambda k: dist(rows[k][0], near) ** 2 - lengths[k] ** 2
        wide = math.hypot(*near) ** 2
        return lambda k: (dist(rows[k][0], near) ** 2 - lengths[k] ** 2 - wide) / lengths[k]

    def check(self, chance):
        """No row that is not there, each with the vector that it has now; and nearly all of the nearest."""
        statement = self.session.prepare(
            f"SELECT {', '.join(self.columns)}, v, similarity_{self.function}(v, ?) FROM {self.name} ORDER BY v ANN OF ? LIMIT {NEAREST}")
        of_key = {self.key(k): k for k in self.rows}
        hits = wanted = 0
        for _ in range(QUERIES):
            near = new_vector(chance)
            order = heapq.nsmallest(NEAREST, self.rows, key=self.farness(near))
            found, before = [], math.inf
            for row in self.session.execute(statement, (list(near), list(near))):
                key, vector, score = of_key[tuple(row[:-2])], row[-2], row[-1]
                assert tuple(vector) == self.rows[key][0]
                assert score == pytest.approx(similarity(self.function, vector, near), abs=1e-4) and score <= before
                before = score
                found.append(key)
            assert len(set(found)) == len(found) == len(order)
            hits += len(set(found) & set(order))
            wanted += len(order)
        assert hits >= 0.95 * wanted, (self.name, hits, wanted)


@pytest.fixture(scope="module")
def models(shared_session, keyspace):
    """A table for each function, loaded before the index but for its last rows."""
    chance = random.Random(54)
    models = []
    for function in FUNCTIONS:
        model = Model(shared_session, f"{keyspace}.{function}", function)
        rows = {k: (new_vector(chance), k % GROUPS) for k in range(ROWS)}
        model.put({k: row for k, row in rows.items() if k < ROWS - 500})
        shared_session.execute(
            f"CREATE INDEX of_{function} ON {model.name} (v) USING 'sai' WITH OPTIONS = {{'similarity_function': '{function}'}}")
        model.put({k: row for k, row in rows.items() if k >= ROWS - 500})
        models.append(model)
    for function in FUNCTIONS:
        settled(shared_session, keyspace, f"of_{function}", ROWS * len(FUNCTIONS))
    return models


def test_nearly_all_of_the_nearest_are_found(models):
    for model in models:
        model.check(random.Random(1))


def test_filters_leave_what_matches(models):
    """From filters that most rows pass to one that none passes."""
    for model in models:
        for condition, accept in [("g > 1", lambda group: group > 1), ("g = 3", lambda group: group == 3), ("g = 99", lambda group: False)]:
            check_filtered(model, condition, accept)


def check_filtered(model, condition, accept):
    chance = random.Random(3)
    statement = model.session.prepare(
        f"SELECT k, v FROM {model.name} WHERE {condition} ORDER BY v ANN OF ? LIMIT {NEAREST} ALLOW FILTERING")
    hits = 0
    for _ in range(QUERIES):
        near = new_vector(chance)
        live = [k for k, (_, group) in model.rows.items() if accept(group)]
        order = sorted(live, key=lambda k: -similarity(model.function, model.rows[k][0], near))[:NEAREST]
        found = [(row.k, tuple(row.v)) for row in model.session.execute(statement, (list(near),))]
        assert len(found) == min(NEAREST, len(live))
        assert all(accept(model.rows[k][1]) and model.rows[k][0] == vector for k, vector in found)
        hits += len({k for k, _ in found} & set(order))
    assert hits >= 0.95 * QUERIES * min(NEAREST, len(live)), (condition, hits)


def test_a_partition_and_rare_rows_are_answered_exactly(models):
    model = models[0]
    near = list(new_vector(random.Random(4)))
    assert [row.k for row in model.session.execute(f"SELECT k FROM {model.name} WHERE k = 77 ORDER BY v ANN OF {near} LIMIT 3")] == [77]
    model.put({k: (model.rows[k][0], 99) for k in (5, 5000, 9000)})
    found = [row.k for row in model.session.execute(f"SELECT k FROM {model.name} WHERE g = 99 ORDER BY v ANN OF {near} LIMIT 10 ALLOW FILTERING")]
    assert found == sorted((5, 5000, 9000), key=lambda k: -similarity(model.function, model.rows[k][0], near))
    model.put({k: (model.rows[k][0], k % GROUPS) for k in (5, 5000, 9000)})


def test_what_changes_is_found_as_it_is(models):
    chance = random.Random(5)
    for model in models:
        for _ in range(3):
            keys = chance.sample(sorted(model.rows), 1200)
            model.delete(keys[:500])
            model.put({k: (new_vector(chance), k % GROUPS) for k in keys[500:1000]})
            # Only another column, and vectors that go while their rows stay.
            model.put({k: (model.rows[k][0], (model.rows[k][1] + 1) % GROUPS) for k in keys[1000:1100]})
            for k in keys[1100:]:
                model.session.execute(f"DELETE v FROM {model.name} WHERE k = {k}")
                del model.rows[k]
            model.put({k + ROWS: (new_vector(chance), k % GROUPS) for k in keys[:500]})
            model.check(chance)


def test_expired_vectors_are_not_found(models):
    model = models[1]
    near = new_vector(random.Random(6))
    passing = model.session.prepare(f"INSERT INTO {model.name} (k, v, g) VALUES (?, ?, 0) USING TTL 1")
    for k in range(100_000, 100_050):
        model.session.execute(passing, (k, list(near)))
    query = model.session.prepare(f"SELECT k FROM {model.name} ORDER BY v ANN OF ? LIMIT {NEAREST}")
    deadline = time.monotonic() + SECONDS_MAX
    while any(row.k >= 100_000 for row in model.session.execute(query, (list(near),))):
        assert time.monotonic() < deadline
    model.check(random.Random(7))


@pytest.mark.restart
@pytest.mark.parametrize("how", ["kill", "term"])
def test_answers_are_right_at_once_after_a_restart_and_once_graphs_are_back(connect, keyspace, models, restart, how):
    deadline = time.monotonic() + SECONDS_MAX
    while stored_parts() == 0:
        assert time.monotonic() < deadline, "no graph is stored"
        time.sleep(0.05)
    restart(how)
    with connect() as session:
        for model in models:
            model.session = session
            when_back(session, f"SELECT k FROM {model.name} WHERE k = 1")
            model.check(random.Random(8))
        vectors = sum(len(model.rows) for model in models)
        for model in models:
            settled(session, keyspace, f"of_{model.function}", vectors)
            model.check(random.Random(9))
        assert metric("tarndb_vectors_restored") > 0, "graphs begin as they were stored"
    for model in models:
        model.session = None


def test_ranges_partitions_and_tables_that_are_deleted(shared_session, keyspace):
    """A table with clustering columns: what deletions cover is gone, what is written after them is there."""
    chance = random.Random(10)
    model = Model(shared_session, f"{keyspace}.wide", "euclidean", "p int, c int, PRIMARY KEY (p, c)", key=lambda k: (k // 100, k % 100))
    model.put({k: (new_vector(chance), 0) for k in range(ROWS)})
    shared_session.execute(f"CREATE INDEX of_wide ON {model.name} (v) USING 'sai' WITH OPTIONS = {{'similarity_function': 'euclidean'}}")
    deadline = time.monotonic() + SECONDS_MAX
    while "of_wide" not in [row[0] for row in shared_session.execute("SELECT index_name FROM system.\"IndexInfo\" WHERE table_name = %s", (keyspace,))]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    model.check(chance)
    for p in range(0, 20):
        shared_session.execute(f"DELETE FROM {model.name} WHERE p = {p}")
    for p in range(20, 40):
        shared_session.execute(f"DELETE FROM {model.name} WHERE p = {p} AND c >= 10 AND c < 60")
    model.rows = {k: row for k, row in model.rows.items() if k >= 4000 or (k >= 2000 and not 10 <= k % 100 < 60)}
    model.check(chance)
    model.put({k: (new_vector(chance), 0) for k in range(500, 2500)})
    model.check(chance)
    # Deletions from before the rows were written delete nothing.
    shared_session.execute(f"DELETE FROM {model.name} USING TIMESTAMP 1 WHERE p = 50")
    model.check(chance)
    shared_session.execute(f"TRUNCATE {model.name}")
    model.rows = {}
    model.check(chance)
    model.put({k: (new_vector(chance), 0) for k in range(50)})
    model.check(chance)
    shared_session.execute(f"DROP INDEX {keyspace}.of_wide")
    with pytest.raises(Exception, match="requires the column to be indexed"):
        shared_session.execute(f"SELECT p FROM {model.name} ORDER BY v ANN OF {list(new_vector(chance))} LIMIT 3")


LONG = 70_000


def test_long_vectors_come_back(shared_session, table, run):
    """Two bytes do not count their dimensions."""
    name = table(f"k int PRIMARY KEY, v vector<float, {LONG}>, t vector<text, {LONG}>")
    insert = shared_session.prepare(f"INSERT INTO {name} (k, v, t) VALUES (?, ?, ?)")
    numbers, texts = [number / 4 for number in range(LONG)], [str(number) for number in range(LONG)]
    shared_session.execute(insert, (1, numbers, texts))
    shared_session.execute(f"INSERT INTO {name} (k, v) VALUES (2, {numbers})")
    assert run(f"SELECT v, t FROM {name} WHERE k = 1") == [(numbers, texts)]
    assert run(f"SELECT v, t FROM {name} WHERE k = 2") == [(numbers, None)]
    [(row,)] = run(f"SELECT JSON v, t FROM {name} WHERE k = 1")
    assert json.loads(row) == {"v": numbers, "t": texts}
    assert run(f"SELECT similarity_euclidean(v, {numbers}) FROM {name} WHERE k = 1") == [(1.0,)]
    # As many elements as two bytes make of the dimension.
    short = LONG - 65_536
    with pytest.raises(InvalidRequest, match=f"expected {LONG} elements, but given {short}"):
        shared_session.execute(f"INSERT INTO {name} (k, v) VALUES (3, {numbers[:short]})")


@pytest.mark.restart
def test_a_vector_of_the_most_dimensions_costs_what_its_values_have(connect, shared_session, table, restart):
    most = 2**31 - 1
    name = table(f"k int PRIMARY KEY, v vector<float, {most}>, t vector<frozen<vector<text, {most}>>, {most}>")
    with pytest.raises(SyntaxException, match="NumberFormatException"):
        table(f"k int PRIMARY KEY, v vector<float, {most + 1}>")
    write = f"INSERT INTO {name} (k, v, t) VALUES (1, %s, null)"

    def check(session):
        assert f"vector<float, {most}>" in session.execute(f"DESCRIBE TABLE {name}").one().create_statement
        assert session.execute(f"SELECT k, v, t FROM {name}").one() == (1, None, None)
        assert json.loads(session.execute(f"SELECT JSON v, t FROM {name}").one()[0]) == {"v": None, "t": None}
        for statement, message in [
            (write % "[1, 2]", f"expected {most} elements, but given 2"),
            (f"INSERT INTO {name} JSON '{{\"k\": 1, \"v\": [1, 2]}}'", f"expected {most} but given 2"),
            (write % "0x00000000", "Invalid HEX constant"),
            (f"SELECT similarity_cosine(v, [1, 2]) FROM {name}", "All arguments must have the same vector dimensions"),
        ]:
            with pytest.raises(InvalidRequest, match=message):
                session.execute(statement)

    shared_session.execute(write % "null")
    check(shared_session)
    restart("kill")
    with connect() as session:
        when_back(session, f"SELECT k FROM {name} WHERE k = 1")
        check(session)
        session.execute(f"DROP TABLE {name}")
