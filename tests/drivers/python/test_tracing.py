"""Traces: what drivers show of a request that asked for one."""

import pytest
from cassandra import InvalidRequest
from cassandra.query import BatchStatement, SimpleStatement

from conftest import PEER
from waiting import SECONDS_MAX


@pytest.fixture
def rows(shared_session, table):
    name = table("k int, c int, v text, PRIMARY KEY (k, c)")
    for key in range(20):
        shared_session.execute(f"INSERT INTO {name} (k, c, v) VALUES (%s, 1, 'x')", (key,))
    return name


def activities(trace):
    assert trace.duration is not None and trace.started_at is not None and trace.client
    assert [event.datetime for event in trace.events] == sorted(event.datetime for event in trace.events)
    assert all(event.source_elapsed <= trace.duration and event.thread_name for event in trace.events)
    return [event.description for event in trace.events]


def test_a_trace_tells_what_was_asked_and_what_happened(shared_session, rows):
    text = f"SELECT v FROM {rows} WHERE k = 7 AND c = 1"
    result = shared_session.execute(SimpleStatement(text), trace=True)
    assert result.one().v == "x"
    trace = result.get_query_trace(max_wait_sec=SECONDS_MAX)
    assert trace.request_type == "Execute CQL3 query"
    assert trace.parameters["query"] == text and trace.parameters["consistency_level"]
    told = activities(trace)
    assert told[0] == f"Parsing {text}"
    if not PEER:
        assert told[-1] == "Request complete"
        assert any("belongs to core" in activity for activity in told)


def test_every_kind_of_request_can_be_traced(shared_session, rows):
    read = shared_session.prepare(f"SELECT v FROM {rows} WHERE k = ? AND c = ?")
    for key in range(20):
        # On every core, by this one and by another.
        result = shared_session.execute(read, (key, 1), trace=True)
        assert result.one().v == "x"
        assert activities(result.get_query_trace(max_wait_sec=SECONDS_MAX))
    scan = shared_session.execute(f"SELECT k, v FROM {rows}", trace=True)
    assert len(scan.all()) == 20 and len(activities(scan.get_query_trace(max_wait_sec=SECONDS_MAX))) > 3
    batch = BatchStatement()
    for key in range(5):
        batch.add(f"INSERT INTO {rows} (k, c, v) VALUES ({key}, 2, 'y')")
    assert activities(shared_session.execute(batch, trace=True).get_query_trace(max_wait_sec=SECONDS_MAX))
    changed = shared_session.execute(f"ALTER TABLE {rows} WITH comment = 'traced'", trace=True)
    assert activities(changed.get_query_trace(max_wait_sec=SECONDS_MAX))


def test_rows_and_pages_are_the_same_with_a_trace(shared_session, rows):
    statement = SimpleStatement(f"SELECT k, c, v FROM {rows}", fetch_size=3)
    assert sorted(map(tuple, shared_session.execute(statement, trace=True))) == sorted(map(tuple, shared_session.execute(statement)))


def test_a_failed_request_has_its_error(shared_session, rows):
    with pytest.raises(InvalidRequest, match="Undefined column name nope"):
        shared_session.execute(f"SELECT nope FROM {rows}", trace=True)


@pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB")
def test_passwords_are_in_no_trace(shared_session):
    result = shared_session.execute_async("CREATE ROLE ann WITH PASSWORD = 's3cret'", trace=True)
    with pytest.raises(Exception):
        result.result()
    assert not any("s3cret" in str(row) for table in ("sessions", "events") for row in shared_session.execute(f"SELECT * FROM system_traces.{table}"))


def test_without_being_asked_for_there_is_no_trace(shared_session, rows):
    assert shared_session.execute(f"SELECT v FROM {rows} WHERE k = 7 AND c = 1").get_query_trace() is None
