"""CDC logs as ScyllaDB's libraries read them: what each kind of write leaves, images, collections, times, streams, `kill -9`, and what is refused."""

import random
import threading
import time
import uuid

import pytest
from cassandra import InvalidRequest
from cassandra.query import SimpleStatement
from cassandra.util import max_uuid_from_time, min_uuid_from_time

from conftest import GONE, when_back
from waiting import wait_until, while_it_lives

CDC = "cdc = {'enabled': true}"
PREIMAGE, UPDATE, INSERT, ROW_DELETE, PARTITION_DELETE, POSTIMAGE = 0, 1, 2, 3, 4, 9
FROM_INCLUSIVE, FROM_EXCLUSIVE, TO_INCLUSIVE, TO_EXCLUSIVE = 5, 6, 7, 8


def log_of(session, name, partition=None):
    """The rows of a log, by stream and time; cdc$x is named cdc_x by the driver."""
    rows = session.execute(SimpleStatement(f"SELECT * FROM {name}_scylla_cdc_log", fetch_size=50))
    return [row for row in rows if partition is None or row.p == partition]


def fields(row, *names):
    return tuple(getattr(row, name) for name in names)


def streams(session):
    (generation,) = session.execute("SELECT time FROM system_distributed.cdc_generation_timestamps WHERE key = 'timestamps'")
    rows = session.execute("SELECT streams FROM system_distributed.cdc_streams_descriptions_v2 WHERE time = %s", (generation.time,))
    return generation.time, [stream for row in rows for stream in row.streams]


def test_each_kind_of_write_has_its_operation(shared_session, table):
    name = table("p int, c int, d int, v int, w text, s int static, PRIMARY KEY (p, c, d)", CDC)
    for text in (
        "INSERT INTO {t} (p, c, d, v) VALUES (1, 2, 3, 4)",
        "UPDATE {t} USING TTL 1000 SET w = 'x' WHERE p = 1 AND c = 2 AND d = 3",
        "UPDATE {t} SET v = null WHERE p = 1 AND c = 2 AND d = 3",
        "UPDATE {t} SET s = 7 WHERE p = 1",
        "DELETE FROM {t} WHERE p = 1 AND c = 2 AND d = 3",
        "DELETE FROM {t} WHERE p = 1 AND c = 2",
        "DELETE FROM {t} WHERE p = 1 AND c > 3 AND c <= 255",
        "DELETE FROM {t} WHERE p = 1 AND c = 5 AND d >= 6 AND d < 8",
        "DELETE FROM {t} WHERE p = 1 AND c > 9",
        "DELETE FROM {t} WHERE p = 1",
    ):
        shared_session.execute(text.format(t=name))
    rows = log_of(shared_session, name)
    told = [fields(row, "cdc_operation", "c", "d", "v", "cdc_deleted_v", "w", "cdc_ttl", "s") for row in rows]
    nothing = (None,) * 5
    assert told == [
        (INSERT, 2, 3, 4, None, None, None, None),
        (UPDATE, 2, 3, None, None, "x", 1000, None),
        (UPDATE, 2, 3, None, True, None, None, None),
        (UPDATE, None, None, None, None, None, None, 7),
        (ROW_DELETE, 2, 3, *nothing),
        (FROM_INCLUSIVE, 2, None, *nothing),
        (TO_INCLUSIVE, 2, None, *nothing),
        (FROM_EXCLUSIVE, 3, None, *nothing),
        (TO_INCLUSIVE, 255, None, *nothing),
        (FROM_INCLUSIVE, 5, 6, *nothing),
        (TO_EXCLUSIVE, 5, 8, *nothing),
        (FROM_EXCLUSIVE, 9, None, *nothing),
        (TO_INCLUSIVE, None, None, *nothing),
        (PARTITION_DELETE, None, None, *nothing),
    ]
    assert all(row.p == 1 for row in rows)
    ends = [(row.cdc_batch_seq_no, row.cdc_end_of_batch) for row in rows if row.cdc_operation in (FROM_EXCLUSIVE, TO_INCLUSIVE)]
    assert ends == [(1, True), (0, None), (1, True), (0, None), (1, True)]


def test_a_table_without_clustering_columns(shared_session, table):
    name = table("p int PRIMARY KEY, v int", "cdc = {'enabled': true, 'preimage': true, 'postimage': true}")
    for text in ("INSERT INTO {t} (p, v) VALUES (1, 2)", "UPDATE {t} SET v = 3 WHERE p = 1", "DELETE FROM {t} WHERE p = 1"):
        shared_session.execute(text.format(t=name))
    assert [fields(row, "cdc_operation", "v") for row in log_of(shared_session, name)] == [
        (INSERT, 2), (POSTIMAGE, 2), (PREIMAGE, 2), (UPDATE, 3), (POSTIMAGE, 3), (PREIMAGE, 3), (PARTITION_DELETE, None),
    ]  # fmt: skip


def test_images_are_the_row_before_and_after(shared_session, table):
    columns = "p int, c int, v int, w int, m map<int, int>, l list<int>, PRIMARY KEY (p, c)"
    changed = table(columns, "cdc = {'enabled': true, 'preimage': true}")
    full = table(columns, "cdc = {'enabled': true, 'preimage': 'full', 'postimage': true, 'delta': 'keys'}")
    for name in (changed, full):
        shared_session.execute(f"INSERT INTO {name} (p, c, v, w, m, l) VALUES (1, 1, 1, 2, {{1: 2}}, [5, 6])")
        shared_session.execute(f"UPDATE {name} SET v = 10, m[3] = 4 WHERE p = 1 AND c = 1")
    told = [fields(row, "cdc_operation", "v", "w", "m") for row in log_of(shared_session, changed)]
    assert told == [(INSERT, 1, 2, {1: 2}), (PREIMAGE, 1, None, {1: 2}), (UPDATE, 10, None, {3: 4})]
    rows = log_of(shared_session, full)
    assert [fields(row, "cdc_operation", "v", "w", "m") for row in rows] == [
        (INSERT, None, None, None),
        (POSTIMAGE, 1, 2, {1: 2}),
        (PREIMAGE, 1, 2, {1: 2}),
        (UPDATE, None, None, None),
        (POSTIMAGE, 10, 2, {1: 2, 3: 4}),
    ]
    assert list(rows[-1].l.values()) == [5, 6] and all(position.version == 1 for position in rows[-1].l)
    assert [(row.cdc_batch_seq_no, row.cdc_end_of_batch) for row in rows] == [(0, None), (1, True), (0, None), (1, None), (2, True)]
    assert rows[2].cdc_time == rows[4].cdc_time != rows[0].cdc_time


def test_collections_tell_what_was_added_and_deleted(shared_session, keyspace, table):
    shared_session.execute(f"CREATE TYPE {keyspace}.u (a int, b text)")
    name = table("p int PRIMARY KEY, e set<int>, m map<text, int>, l list<text>, u u", CDC)
    for text in (
        "UPDATE {t} SET e = {{1, 2}}, m = {{'a': 1}}, l = ['x', 'y'], u = {{a: 1, b: 'z'}} WHERE p = 1",
        "UPDATE {t} SET e = e + {{3}}, m['b'] = 2, l = l + ['z'], u.a = 5 WHERE p = 1",
        "UPDATE {t} SET e = e - {{1}}, l = l - ['x'], u.b = null WHERE p = 1",
        "DELETE m['a'], e FROM {t} WHERE p = 1",
        "UPDATE {t} USING TTL 100 SET e = {{9}} WHERE p = 1",
    ):
        shared_session.execute(text.format(t=name))
    rows = log_of(shared_session, name)
    of_set = [fields(row, "e", "cdc_deleted_e", "cdc_deleted_elements_e") for row in rows]
    # What expires and the deletion of what was there, which does not, are two rows.
    assert of_set == [({1, 2}, True, None), ({3}, None, None), (None, None, {1}), (None, True, None), (None, True, None), ({9}, None, None)]
    assert [row.cdc_ttl for row in rows] == [None] * 5 + [100]
    of_map = [fields(row, "m", "cdc_deleted_m", "cdc_deleted_elements_m") for row in rows]
    assert of_map[:4] == [({"a": 1}, True, None), ({"b": 2}, None, None), (None, None, None), (None, None, {"a"})]
    added = {position: value for row in rows[:2] for position, value in row.l.items()}
    assert [value for _, value in sorted(added.items(), key=lambda item: (item[0].time, item[0].bytes))] == ["x", "y", "z"]
    (position,) = rows[2].cdc_deleted_elements_l
    assert added[position] == "x"
    assert [tuple(row.u) if row.u else None for row in rows[:3]] == [(1, "z"), (5, None), None]
    assert rows[2].cdc_deleted_elements_u == {1}


def test_times_rise_whatever_timestamps_clients_send(shared_session, table):
    name = table("p int, c int, v int, PRIMARY KEY (p, c)", CDC)
    begun = time.time()
    for c in range(20):
        shared_session.execute(f"INSERT INTO {name} (p, c, v) VALUES (1, {c}, 1) USING TIMESTAMP {1000 - c}")
    shared_session.execute(f"UPDATE {name} USING TIMESTAMP 5 SET v = 7 WHERE p = 1 AND c = 0")
    rows = log_of(shared_session, name)
    assert [row.c for row in rows] == list(range(20)), "a write that loses changes nothing, and is not told"
    times = [(row.cdc_time.time - 0x01B21DD213814000) / 1e7 for row in rows]
    assert times == sorted(times) and len({row.cdc_time for row in rows}) == 20
    assert begun - 5 < times[0] and times[-1] < time.time() + 5


def test_conditions_and_batches(shared_session, table):
    name = table("p int, c int, v int, PRIMARY KEY (p, c)", CDC)
    shared_session.execute(f"INSERT INTO {name} (p, c, v) VALUES (1, 1, 1) IF NOT EXISTS")
    shared_session.execute(f"INSERT INTO {name} (p, c, v) VALUES (1, 1, 2) IF NOT EXISTS")
    shared_session.execute(f"UPDATE {name} SET v = 3 WHERE p = 1 AND c = 1 IF v = 1")
    shared_session.execute(f"UPDATE {name} SET v = 4 WHERE p = 1 AND c = 1 IF v = 1")
    assert [fields(row, "cdc_operation", "v") for row in log_of(shared_session, name)] == [(INSERT, 1), (UPDATE, 3)]
    writes = "; ".join(f"INSERT INTO {name} (p, c, v) VALUES ({p}, {c}, 5)" for p in (2, 3, 4) for c in (1, 2, 3))
    shared_session.execute(f"BEGIN BATCH {writes}; DELETE FROM {name} WHERE p = 1 APPLY BATCH")
    for p in (2, 3, 4):
        assert [fields(row, "cdc_operation", "c", "v") for row in log_of(shared_session, name, p)] == [(INSERT, c, 5) for c in (1, 2, 3)]
    assert [row.cdc_operation for row in log_of(shared_session, name, 1)] == [INSERT, UPDATE, PARTITION_DELETE]


def test_libraries_find_streams_and_read_them(shared_session, table):
    name = table("p int, v int, PRIMARY KEY (p)", CDC)
    begun = time.time()
    insert = shared_session.prepare(f"INSERT INTO {name} (p, v) VALUES (?, ?)")
    for p in range(200):
        shared_session.execute(insert, (p, p))
    generation, ids = streams(shared_session)
    assert generation.timestamp() < begun and len(ids) == len(set(ids)) == 4096
    groups = {}
    for stream in ids:
        low = int.from_bytes(stream[8:], "big")
        assert len(stream) == 16 and low & 15 == 1
        groups.setdefault(low >> 4 & 0x3FFFFF, []).append(stream)
    assert len(groups) == 256
    # What the Go library asks, window by window.
    window = (min_uuid_from_time(begun - 60), max_uuid_from_time(time.time() + 60))
    found = []
    for group in groups.values():
        marks = ", ".join(["%s"] * len(group))
        text = f'SELECT * FROM {name}_scylla_cdc_log WHERE "cdc$stream_id" IN ({marks}) AND "cdc$time" > %s AND "cdc$time" <= %s BYPASS CACHE'
        found.extend(shared_session.execute(text, (*group, *window)))
    assert sorted(row.p for row in found) == list(range(200))
    # A stream has the slot of its rows: the primary of the one is that of the other.
    slots = shared_session.execute(f'SELECT token("cdc$stream_id") AS of_stream, p FROM {name}_scylla_cdc_log')
    of_base = {row.p: row.t for row in shared_session.execute(f"SELECT token(p) AS t, p FROM {name}")}
    assert all((row.of_stream + 2**63) >> 52 == (of_base[row.p] + 2**63) >> 52 for row in slots)


def test_drivers_see_the_log_and_the_option(shared_session, keyspace, table):
    name = table("p int PRIMARY KEY, v int", "cdc = {'enabled': true, 'ttl': 60}")
    bare = name.split(".")[1]
    shared_session.cluster.refresh_schema_metadata()
    tables = shared_session.cluster.metadata.keyspaces[keyspace].tables
    assert f"{bare}_scylla_cdc_log" in tables
    (row,) = shared_session.execute("SELECT extensions FROM system_schema.tables WHERE keyspace_name = %s AND table_name = %s", (keyspace, bare))
    assert row.extensions["cdc"].startswith(b"\5\0\0\0\5\0\0\0delta\4\0\0\0full\7\0\0\0enabled\4\0\0\0true")
    shared_session.execute(f"ALTER TABLE {name} ADD w int")
    shared_session.cluster.refresh_table_metadata(keyspace, f"{bare}_scylla_cdc_log")
    assert "cdc$deleted_w" in shared_session.cluster.metadata.keyspaces[keyspace].tables[f"{bare}_scylla_cdc_log"].columns


def test_rows_expire_with_their_time_to_live(shared_session, table):
    def lives(seconds):
        name = table("p int PRIMARY KEY, v int", f"cdc = {{'enabled': true, 'ttl': {seconds}}}")
        shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 1)")
        (row,) = shared_session.execute(f'SELECT ttl("cdc$operation") AS left FROM {name}_scylla_cdc_log')
        assert 0 < row.left <= seconds
        return name

    name = while_it_lives(lives, 2)
    wait_until(lambda: not log_of(shared_session, name))


def test_truncated_disabled_enabled_dropped(shared_session, table):
    name = table("p int PRIMARY KEY, v int", CDC)
    shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 1)")
    shared_session.execute(f"TRUNCATE {name}")
    assert [row.v for row in log_of(shared_session, name)] == [1], "the log says what was"
    shared_session.execute(f"ALTER TABLE {name} WITH cdc = {{'enabled': false}}")
    shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 2)")
    shared_session.execute(f"ALTER TABLE {name} WITH {CDC}")
    shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 3)")
    assert [row.v for row in log_of(shared_session, name)] == [1, 3]
    shared_session.execute(f"TRUNCATE {name}_scylla_cdc_log")
    assert log_of(shared_session, name) == []
    shared_session.execute(f"DROP TABLE {name}")
    with pytest.raises(InvalidRequest):
        log_of(shared_session, name)


def test_what_is_refused(shared_session, keyspace, table):
    name = table("p int PRIMARY KEY, v int", CDC)
    stream, now = uuid.uuid4().bytes, uuid.uuid1()
    with pytest.raises(InvalidRequest, match="Cannot modify CDC log table"):
        shared_session.execute(
            f'INSERT INTO {name}_scylla_cdc_log ("cdc$stream_id", "cdc$time", "cdc$batch_seq_no") VALUES (%s, %s, 0)', (stream, now)
        )
    with pytest.raises(InvalidRequest, match="Cannot modify CDC log table"):
        shared_session.execute(f'DELETE FROM {name}_scylla_cdc_log WHERE "cdc$stream_id" = %s', (stream,))
    with pytest.raises(InvalidRequest, match="Cannot drop CDC log table"):
        shared_session.execute(f"DROP TABLE {name}_scylla_cdc_log")
    with pytest.raises(InvalidRequest, match="Counter support not implemented"):
        shared_session.execute(f"CREATE TABLE {keyspace}.counted (p int PRIMARY KEY, n counter) WITH {CDC}")


def test_views_indexes_and_a_log_of_one_table(shared_session, keyspace, table):
    name = table("p int, c int, v int, PRIMARY KEY (p, c)", CDC)
    view = f"{keyspace}.logged_by_v"
    shared_session.execute(f"CREATE INDEX ON {name} (v)")
    shared_session.execute(
        f"CREATE MATERIALIZED VIEW {view} AS SELECT * FROM {name} WHERE v IS NOT NULL AND p IS NOT NULL AND c IS NOT NULL PRIMARY KEY (v, p, c)"
    )
    for c in range(20):
        shared_session.execute(f"INSERT INTO {name} (p, c, v) VALUES (1, {c}, {c % 3})")
    shared_session.execute(f"DELETE FROM {name} WHERE p = 1 AND c < 10")
    expected = [c for c in range(10, 20) if c % 3 == 1]
    assert [row.c for row in shared_session.execute(f"SELECT c FROM {view} WHERE v = 1 AND p = 1")] == expected
    assert sorted(row.c for row in shared_session.execute(f"SELECT c FROM {name} WHERE v = 1")) == expected
    assert [row.cdc_operation for row in log_of(shared_session, name)] == [INSERT] * 20 + [FROM_INCLUSIVE, TO_EXCLUSIVE]
    shared_session.execute(f"DROP MATERIALIZED VIEW {view}")


def test_a_log_says_what_the_table_says_after_kill(shared_session, connect, table, restart):
    """Eight writers until the server dies: the log, replayed, is the table, whatever of the last writes is in it."""
    name = table("p int, c int, v int, PRIMARY KEY (p, c)", "cdc = {'enabled': true, 'postimage': true}")
    stopped = threading.Event()

    def write(number):
        rng = random.Random(number)
        with connect() as session:
            insert = session.prepare(f"INSERT INTO {name} (p, c, v) VALUES (?, ?, ?)")
            delete = session.prepare(f"DELETE FROM {name} WHERE p = ? AND c = ?")
            while not stopped.is_set():
                p, c = rng.randrange(8), rng.randrange(8)
                try:
                    if rng.random() < 0.2:
                        session.execute(delete, (p, c))
                    else:
                        session.execute(insert, (p, c, rng.randrange(1_000_000)))
                except GONE:
                    return

    writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for writer in writers:
        writer.start()
    while len(log_of(shared_session, name)) < 3_000:
        pass
    restart("kill")
    stopped.set()
    for writer in writers:
        writer.join()
    when_back(shared_session, f"SELECT p FROM {name}")
    rows = {}
    for row in log_of(shared_session, name):
        if row.cdc_operation == INSERT:
            rows[row.p, row.c] = row.v
        elif row.cdc_operation == ROW_DELETE:
            rows.pop((row.p, row.c), None)
        else:
            assert (row.cdc_operation, rows[row.p, row.c]) == (POSTIMAGE, row.v)
    assert rows == {(row.p, row.c): row.v for row in shared_session.execute(f"SELECT p, c, v FROM {name}")}
