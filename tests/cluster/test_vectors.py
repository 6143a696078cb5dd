"""ORDER BY … ANN OF on three nodes: graphs answer for all slots of a core at once, and follow failovers and changes that a member has missed."""

import math
import random
import struct
import urllib.request

from cassandra.concurrent import execute_concurrent_with_args

from nodes import succeeds, until

ROWS = 12_000
DIMENSIONS = 8
NEAREST = 10
GROUPS = 2_000
QUERIES = 15
FLOATS = struct.Struct(f">{DIMENSIONS}f")
SECONDS_MAX = 120


def new_vector(chance):
    return FLOATS.unpack(FLOATS.pack(*(chance.gauss(0, 1) for _ in range(DIMENSIONS))))


def figure(node, name) -> float:
    """The sum over a node's cores."""
    with urllib.request.urlopen(f"http://{node.http()}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name + "{"))


def settled(nodes, vectors):
    figures = ("tarndb_vectors_linked", "tarndb_vectors_left")
    until("all graphs have all vectors", lambda: all([figure(node, name) for name in figures] == [vectors, 0] for node in nodes), SECONDS_MAX)


def test_the_nearest_are_found_through_failovers(cluster):
    chance, rows = random.Random(1), {}

    def put(session, keys):
        vectors = {k: new_vector(chance) for k in keys}
        insert = session.prepare("INSERT INTO k.v (k, v, g) VALUES (?, ?, ?)")
        done = execute_concurrent_with_args(session, insert, [(k, list(v), k % GROUPS) for k, v in vectors.items()], concurrency=64)
        assert all(success for success, _ in done)
        rows.update(vectors)

    def check(session):
        query = session.prepare(f"SELECT k, v FROM k.v ORDER BY v ANN OF ? LIMIT {NEAREST}")
        hits = 0
        for _ in range(QUERIES):
            near = new_vector(chance)
            order = sorted(rows, key=lambda k: math.dist(rows[k], near))[:NEAREST]
            found = [(row.k, tuple(row.v)) for row in session.execute(query, (list(near),))]
            assert len({k for k, _ in found}) == len(found) == NEAREST
            assert all(rows[k] == vector for k, vector in found)
            hits += len({k for k, _ in found} & set(order))
        assert hits >= 0.95 * QUERIES * NEAREST, hits
        # So few of a group that candidates are not enough: all rows are compared.
        few = session.execute(f"SELECT k FROM k.v WHERE g = 5 ORDER BY v ANN OF %s LIMIT {NEAREST} ALLOW FILTERING", (list(new_vector(chance)),))
        assert sorted(row.k for row in few) == [k for k in sorted(rows) if k % GROUPS == 5]
        return query

    with cluster.session(seconds=60) as session:
        session.execute(f"CREATE TABLE k.v (k int PRIMARY KEY, v vector<float, {DIMENSIONS}>, g int)")
        session.execute("CREATE INDEX of_v ON k.v (v) USING 'sai' WITH OPTIONS = {'similarity_function': 'euclidean'}")
        put(session, range(ROWS))
        settled(cluster.nodes, ROWS)
    for node in cluster.nodes:
        with cluster.session([node], only=True, seconds=60) as session:
            query = check(session)
            # One part for each core of each member, and not one for each slot.
            trace = session.execute(query, (list(new_vector(chance)),), trace=True).get_query_trace(max_wait_sec=120)
            parts = [event.description for event in trace.events if "begins at token" in event.description]
            assert 0 < len(parts) <= 4 * len(cluster.nodes), parts

    lost, *others = cluster.nodes
    lost.kill()
    with cluster.session(others, only=True, seconds=60) as session:
        query = session.prepare(f"SELECT k FROM k.v ORDER BY v ANN OF ? LIMIT {NEAREST}")
        until("its slots have other primaries", lambda: succeeds(lambda: session.execute(query, (list(new_vector(chance)),))), 120)
        check(session)
        put(session, range(0, ROWS, 7))
        for k in range(3, 200, 10):
            session.execute(f"DELETE FROM k.v WHERE k = {k}")
            del rows[k]
        check(session)
    lost.start()
    cluster.settle()
    settled(cluster.nodes, len(rows))
    with cluster.session([lost], only=True, seconds=60) as session:
        check(session)
