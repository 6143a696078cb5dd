"""Prepared statements: markers, metadata, reuse over connections, re-preparing after the server forgot."""

import pytest
from cassandra import InvalidRequest
from cassandra.query import BoundStatement


@pytest.fixture
def people(table):
    return table("k int, c text, v int, w int, PRIMARY KEY (k, c)")


@pytest.mark.parametrize("version", [3, 4, 5])
def test_prepared_statement_runs_on_every_version(connect, people, version):
    with connect(protocol_version=version) as session:
        insert = session.prepare(f"INSERT INTO {people} (k, c, v) VALUES (?, ?, ?)")
        for number in range(20):
            session.execute(insert, (version, f"c{number:02}", number))
        select = session.prepare(f"SELECT c, v FROM {people} WHERE k = ? AND c >= ?")
        rows = session.execute(select, (version, "c15")).all()
        assert [tuple(row) for row in rows] == [(f"c{number:02}", number) for number in range(15, 20)]


def test_routing_key_is_found_from_the_metadata(shared_session, people):
    insert = shared_session.prepare(f"INSERT INTO {people} (v, c, k) VALUES (?, ?, ?)")
    assert insert.routing_key_indexes == [2]
    assert insert.bind((1, "c", 258)).routing_key == b"\x00\x00\x01\x02"


def test_named_markers(shared_session, people, run):
    insert = shared_session.prepare(f"INSERT INTO {people} (k, c, v) VALUES (:key, :cluster, :\"Value\")")
    assert [column.name for column in insert.column_metadata] == ["key", "cluster", "Value"]
    shared_session.execute(insert, {"Value": 3, "cluster": "x", "key": 1})
    assert run(f"SELECT k, c, v FROM {people}") == [(1, "x", 3)]


def test_markers_are_named_after_what_they_fill(shared_session, people):
    update = shared_session.prepare(f"UPDATE {people} USING TIMESTAMP ? AND TTL ? SET v = ? WHERE k = ? AND c IN ?")
    assert [column.name for column in update.column_metadata] == ["[timestamp]", "[ttl]", "v", "k", "in(c)"]
    select = shared_session.prepare(f"SELECT * FROM {people} WHERE k = ? PER PARTITION LIMIT ? LIMIT ?")
    assert [column.name for column in select.column_metadata] == ["k", "[per_partition_limit]", "[limit]"]


def test_values_of_a_simple_statement_are_bound_by_the_driver(shared_session, people, run):
    shared_session.execute(f"INSERT INTO {people} (k, c, v) VALUES (%s, %s, %s)", (1, "it's", None))
    shared_session.execute(f"UPDATE {people} SET w = %(w)s WHERE k = %(k)s AND c = %(c)s", {"w": 4, "k": 1, "c": "it's"})
    assert run(f"SELECT c, v, w FROM {people}") == [("it's", None, 4)]


def test_same_statement_prepared_twice_has_one_id(shared_session, people):
    text = f"SELECT v FROM {people} WHERE k = ?"
    first, second = shared_session.prepare(text), shared_session.prepare(text)
    assert first.query_id == second.query_id
    assert first.query_id != shared_session.prepare(text + " LIMIT 1").query_id


def test_prepared_statement_is_known_to_other_connections(connect, shared_session, people):
    prepared = shared_session.prepare(f"SELECT v FROM {people} WHERE k = ?")
    with connect() as other:
        assert other.execute(BoundStatement(prepared).bind((1,))).all() == []


def test_unknown_id_is_reported_as_unprepared_and_the_driver_prepares_again(connect, people):
    with connect(prepare_on_all_hosts=False) as session:
        prepared = session.prepare(f"INSERT INTO {people} (k, c, v) VALUES (?, ?, ?)")
        # An id that the server never gave: it answers 0x2500 with that id, the driver looks the statement up,
        # prepares it again and sends the new id.
        forgotten = bytes(16)
        real = prepared.query_id
        session.cluster.add_prepared(forgotten, prepared)
        prepared.query_id = forgotten
        try:
            from cassandra import DriverException

            with pytest.raises(DriverException) as failure:
                session.execute(prepared, (1, "c", 1))
            # The server did prepare: the driver only complains that the id changed.
            assert "ID mismatch" in str(failure.value) and real.hex() in str(failure.value)
        finally:
            prepared.query_id = real


def test_dropped_table_makes_the_statement_invalid(shared_session, people):
    prepared = shared_session.prepare(f"SELECT v FROM {people} WHERE k = ?")
    shared_session.execute(f"DROP TABLE {people}")
    with pytest.raises(InvalidRequest):
        shared_session.execute(prepared, (1,))


def test_recreated_table_is_served_by_the_old_statement(shared_session, table):
    name = table("k int PRIMARY KEY, v int")
    insert = shared_session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?)")
    shared_session.execute(insert, (1, 1))
    shared_session.execute(f"DROP TABLE {name}")
    shared_session.execute(f"CREATE TABLE {name} (k int PRIMARY KEY, v int)")
    shared_session.execute(insert, (2, 2))
    assert [tuple(row) for row in shared_session.execute(f"SELECT k, v FROM {name}")] == [(2, 2)]


@pytest.mark.parametrize("version", [4, 5])
def test_select_star_sees_an_added_column(connect, people, version):
    # v5 tells the client of the changed result metadata; v4 clients get the rows' own metadata after re-preparing.
    with connect(protocol_version=version) as session:
        star = session.prepare(f"SELECT * FROM {people} WHERE k = ?")
        session.execute(f"INSERT INTO {people} (k, c, v) VALUES (1, 'c', 1)")
        assert session.execute(star, (1,)).one().v == 1
        session.execute(f"ALTER TABLE {people} ADD added{version} int")
        session.execute(f"UPDATE {people} SET added{version} = 5 WHERE k = 1 AND c = 'c'")
        if version == 4:
            star = session.prepare(f"SELECT * FROM {people} WHERE k = ? ")
        assert getattr(session.execute(star, (1,)).one(), f"added{version}") == 5


def test_wrong_values_are_refused(shared_session, people):
    prepared = shared_session.prepare(f"INSERT INTO {people} (k, c, v) VALUES (?, ?, ?)")
    with pytest.raises(ValueError):
        prepared.bind((1, "c", 1, 1))
    with pytest.raises(InvalidRequest):
        shared_session.execute(prepared, (None, "c", 1))
    short = BoundStatement(prepared)
    short.values = [b"\x00\x00\x01", b"c", b"\x00\x00\x00\x01"]
    with pytest.raises(InvalidRequest):
        shared_session.execute(short)


def test_prepared_ddl_and_use_are_possible(shared_session, table):
    name = table("k int PRIMARY KEY")
    shared_session.execute(shared_session.prepare(f"ALTER TABLE {name} ADD v int"))
    shared_session.execute(shared_session.prepare(f"INSERT INTO {name} (k, v) VALUES (1, 2)"))
    assert shared_session.execute(f"SELECT v FROM {name}").one().v == 2
