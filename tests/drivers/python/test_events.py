"""Events: a session that changes nothing hears of every schema change, and its metadata follows."""

import queue

import pytest

from waiting import SECONDS_MAX, wait_until


@pytest.fixture
def heard(connect):
    """A queue of the schema events that a second session's control connection receives."""
    events = queue.Queue()
    with connect() as watcher:
        connection = watcher.cluster.control_connection._connection
        connection.register_watchers({"SCHEMA_CHANGE": events.put}, register_timeout=SECONDS_MAX)
        yield events


def expect(events, change, target, keyspace, **names):
    """Takes events until the expected one comes; others may lie between (a colleague's keyspaces)."""
    while True:
        event = events.get(timeout=SECONDS_MAX)
        if event["keyspace"] == keyspace and event["target_type"] == target and event["change_type"] == change:
            assert {name: event.get(name) for name in names} == names
            return


def test_every_schema_change_is_announced(shared_session, heard):
    name = "py_events_all"
    shared_session.execute(f"DROP KEYSPACE IF EXISTS {name}")
    shared_session.execute(
        f"CREATE KEYSPACE {name} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
    )
    expect(heard, "CREATED", "KEYSPACE", name)
    shared_session.execute(f"CREATE TABLE {name}.t (k int PRIMARY KEY)")
    expect(heard, "CREATED", "TABLE", name, table="t")
    shared_session.execute(f"ALTER TABLE {name}.t ADD v int")
    expect(heard, "UPDATED", "TABLE", name, table="t")
    shared_session.execute(f"DROP TABLE {name}.t")
    expect(heard, "DROPPED", "TABLE", name, table="t")
    shared_session.execute(f"ALTER KEYSPACE {name} WITH durable_writes = false")
    expect(heard, "UPDATED", "KEYSPACE", name)
    shared_session.execute(f"DROP KEYSPACE {name}")
    expect(heard, "DROPPED", "KEYSPACE", name)


def test_statement_that_changes_nothing_announces_nothing(shared_session, heard, table, keyspace):
    name = table("k int PRIMARY KEY").split(".")[1]
    expect(heard, "CREATED", "TABLE", keyspace, table=name)
    shared_session.execute(f"CREATE TABLE IF NOT EXISTS {keyspace}.{name} (k int PRIMARY KEY)")
    shared_session.execute(f"DROP TABLE IF EXISTS {keyspace}.no_such_table")
    shared_session.execute(f"CREATE TABLE {keyspace}.marker (k int PRIMARY KEY)")
    expect(heard, "CREATED", "TABLE", keyspace, table="marker")


@pytest.mark.parametrize("version", [3, 4, 5])
def test_second_sessions_metadata_follows(connect, shared_session, keyspace, version):
    with connect(protocol_version=version, schema_event_refresh_window=0) as watcher:
        def tables():
            return watcher.cluster.metadata.keyspaces[keyspace].tables

        shared_session.execute(f"CREATE TABLE {keyspace}.seen{version} (k int PRIMARY KEY, v text)")
        wait_until(lambda: f"seen{version}" in tables())
        assert tables()[f"seen{version}"].columns["v"].cql_type == "text"
        shared_session.execute(f"ALTER TABLE {keyspace}.seen{version} ADD w int")
        wait_until(lambda: "w" in tables()[f"seen{version}"].columns)
        shared_session.execute(f"DROP TABLE {keyspace}.seen{version}")
        wait_until(lambda: f"seen{version}" not in tables())


def test_result_of_a_schema_statement_is_the_change(connect, shared_session, keyspace):
    # The driver's own metadata is current as soon as execute() returns.
    with connect() as session:
        session.execute(f"CREATE TABLE {keyspace}.own (k int PRIMARY KEY)")
        assert "own" in session.cluster.metadata.keyspaces[keyspace].tables
        session.execute(f"DROP TABLE {keyspace}.own")
        assert "own" not in session.cluster.metadata.keyspaces[keyspace].tables
