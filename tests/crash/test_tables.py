"""Tables across kills: a change of the schema that was acknowledged stays, and what was truncated or dropped never comes back."""

import os
import random
import threading
import time

import pytest
from cassandra import AlreadyExists, InvalidRequest, OperationTimedOut
from cassandra.cluster import NoHostAvailable
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.connection import ConnectionException, ConnectionShutdown
from cassandra.protocol import ServerError

GONE = (NoHostAvailable, OperationTimedOut, ConnectionException, ConnectionShutdown, ServerError)
SEED = int(os.environ.get("TARNDB_CRASH_SEED", random.SystemRandom().randrange(1 << 32)))
KEYSPACE = "CREATE KEYSPACE {} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
ROWS = 400


def fill(session, table: str, version: int):
    insert = session.prepare(f"INSERT INTO {table} (k, v) VALUES (?, ?)")
    results = execute_concurrent_with_args(session, insert, [(key, version) for key in range(ROWS)], concurrency=50)
    assert all(success for success, _ in results)


def contents(session, table: str) -> dict:
    return {row.k: row.v for row in session.execute(f"SELECT k, v FROM {table}")}


@pytest.mark.parametrize("how", ["kill", "term"])
def test_schema_changes_survive(node, how):
    with node.session() as session:
        session.execute(KEYSPACE.format("ks"))
        session.execute("CREATE TYPE ks.pair (a int, b text)")
        session.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v int, p frozen<pair>)")
        session.execute("ALTER TABLE ks.t ADD extra text")
        session.execute("INSERT INTO ks.t (k, v, p, extra) VALUES (1, 2, {a: 3, b: 'four'}, 'five')")
        session.execute("ALTER TABLE ks.t DROP v")
        session.execute("CREATE TABLE ks.gone (k int PRIMARY KEY)")
        session.execute("DROP TABLE ks.gone")
        session.execute(KEYSPACE.format("gone"))
        session.execute("CREATE TABLE gone.t (k int PRIMARY KEY, v int)")
        fill(session, "gone.t", 1)
        session.execute("DROP KEYSPACE gone")
    for _ in range(2):
        node.restart(how)
        with node.session() as session:
            row = session.execute("SELECT * FROM ks.t").one()
            assert (row.k, tuple(row.p), row.extra) == (1, (3, "four"), "five") and not hasattr(row, "v")
            with pytest.raises(InvalidRequest):
                session.execute("SELECT * FROM ks.gone")
            with pytest.raises(InvalidRequest):
                session.execute("SELECT * FROM gone.t")
            with pytest.raises(AlreadyExists):
                session.execute("CREATE TABLE ks.t (k int PRIMARY KEY)")
    with node.session() as session:
        session.execute(KEYSPACE.format("gone"))
        session.execute("CREATE TABLE gone.t (k int PRIMARY KEY, v int)")
        assert contents(session, "gone.t") == {}
        session.execute("ALTER TABLE ks.t ADD v int")
        assert session.execute("SELECT v FROM ks.t").one().v is None, "a dropped column's value came back"


def test_what_was_truncated_or_dropped_stays_away_whenever_the_kill_comes(node):
    """Fill, then truncate or drop and recreate, kill at once or soon, and look; on top of what the rounds before left."""
    dice = random.Random(SEED)
    with node.session() as session:
        session.execute(KEYSPACE.format("ks"))
        session.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v int)")
    for round_number in range(6):
        where = f"seed {SEED}, round {round_number}"
        with node.session() as session:
            fill(session, "ks.t", round_number)
            # Some rounds let the log reach the device first, some have the marks of two changes in a row.
            time.sleep(dice.choice((0, 0.15)))
            acts = dice.choice((["truncate"], ["drop"], ["truncate", "fill", "truncate"], ["drop", "fill", "drop"], ["truncate", "drop"]))
            for act in acts:
                if act == "truncate":
                    session.execute("TRUNCATE ks.t")
                elif act == "drop":
                    session.execute("DROP TABLE ks.t")
                    session.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v int)")
                else:
                    fill(session, "ks.t", -1)
            kept = dice.choice((0, 7))
            for key in range(kept):
                session.execute("INSERT INTO ks.t (k, v) VALUES (%s, 1000)", (key,))
            assert contents(session, "ks.t") == dict.fromkeys(range(kept), 1000), where
        time.sleep(dice.choice((0, 0, 0.15)))
        node.restart(dice.choice(("kill", "kill", "term")))
        with node.session() as session:
            assert contents(session, "ks.t") == dict.fromkeys(range(kept), 1000), f"{where}, {acts}"


def test_kills_in_the_middle_of_schema_changes_leave_one_state_or_the_other(node):
    dice = random.Random(SEED)
    known, unknown = set(), set()
    with node.session() as session:
        session.execute(KEYSPACE.format("ks"))
    number = 0
    for round_number in range(5):
        with node.session() as session:
            killer = threading.Timer(dice.uniform(0.02, 0.4), node.restart, ["kill"])
            killer.start()
            while True:
                number += 1
                try:
                    if known and dice.random() < 0.4:
                        name = dice.choice(sorted(known))
                        known.discard(name)
                        unknown.add(name)
                        session.execute(f"DROP TABLE ks.{name}")
                        unknown.discard(name)
                    else:
                        name = f"t{number}"
                        unknown.add(name)
                        session.execute(f"CREATE TABLE ks.{name} (k int PRIMARY KEY, v int)")
                        session.execute(f"INSERT INTO ks.{name} (k, v) VALUES (1, {number})")
                        unknown.discard(name)
                        known.add(name)
                except GONE:
                    break
            killer.join()
        with node.session() as session:
            there = {row.table_name for row in session.execute("SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'ks'")}
            assert known <= there <= known | unknown, f"seed {SEED}: {there ^ known}"
            for name in there & unknown:
                session.execute(f"DROP TABLE ks.{name}")
            unknown.clear()
            for name in known:
                assert contents(session, f"ks.{name}") == {1: int(name[1:])}, f"seed {SEED}: {name}"
