"""Errors: the codes that drivers act upon, and that the connection lives on after each."""

import pytest
from cassandra import AlreadyExists, InvalidRequest
from cassandra.protocol import SyntaxException


@pytest.fixture
def name(table):
    return table("k int, c int, v text, PRIMARY KEY (k, c)")


@pytest.mark.parametrize("statement", [
    "SELECT * FROM {keyspace}.no_such_table",
    "SELECT * FROM no_such_keyspace.t",
    "SELECT * FROM no_keyspace_given",
    "INSERT INTO {keyspace}.no_such_table (k) VALUES (1)",
    "SELECT nope FROM {name}",
    "SELECT * FROM {name} WHERE nope = 1",
    "SELECT * FROM {name} WHERE v = 'x'",
    "SELECT * FROM {name} WHERE c = 1",
    "SELECT * FROM {name} WHERE k > 1",
    "SELECT * FROM {name} WHERE k = 1 ORDER BY v",
    "SELECT * FROM {name} ORDER BY c",
    "SELECT writetime(k) FROM {name}",
    "SELECT no_such_function(k) FROM {name}",
    "INSERT INTO {name} (k, c, nope) VALUES (1, 1, 1)",
    "INSERT INTO {name} (k, v) VALUES (1, 'x')",
    "INSERT INTO {name} (k, c, v) VALUES (1, 1, 5)",
    "INSERT INTO {name} (k, c, v) VALUES ('x', 1, 'x')",
    "INSERT INTO {name} (k, c, v) VALUES (99999999999, 1, 'x')",
    "INSERT INTO {name} (k, c, v) VALUES (null, 1, 'x')",
    "INSERT INTO {name} (k, c) VALUES (1)",
    "INSERT INTO {name} (k, c, k) VALUES (1, 1, 1)",
    "INSERT INTO {name} (k, c) VALUES (1, 1) USING TTL -1",
    "INSERT INTO {name} (k, c) VALUES (1, 1) USING TTL 999999999",
    "UPDATE {name} SET v = 'x' WHERE k = 1",
    "UPDATE {name} SET k = 2 WHERE k = 1 AND c = 1",
    "UPDATE {name} SET v = v + 1 WHERE k = 1 AND c = 1",
    "DELETE FROM {name} WHERE c = 1",
    "DELETE k FROM {name} WHERE k = 1 AND c = 1",
    "TRUNCATE {keyspace}.no_such_table",
    "ALTER TABLE {keyspace}.no_such_table ADD v int",
    "DROP TABLE {keyspace}.no_such_table",
    "CREATE TABLE no_such_keyspace.t (k int PRIMARY KEY)",
    "USE no_such_keyspace",
])
def test_mistake_is_invalid_0x2200(shared_session, keyspace, name, statement):
    with pytest.raises(InvalidRequest) as failure:
        shared_session.execute(statement.format(keyspace=keyspace, name=name))
    assert "code=2200" in str(failure.value)
    assert shared_session.execute(f"SELECT * FROM {name}").all() == []


@pytest.mark.parametrize("statement", [
    "", ";", "SELEC", "SELECT FROM", "SELECT * FROM", "SELECT * FROM t WHERE", "INSERT INTO t VALUES (1)",
    "SELECT * FROM t; SELECT * FROM t", "CREATE TABLE t", "SELECT * FROM t LIMIT x y", "INSERT INTO t (k) VALUES ('open)",
    "UPDATE t SET WHERE k = 1", "SELECT * FROM t WHERE k = = 1", "\u00e4", "BEGIN BATCH INSERT INTO t (k) VALUES (1)",
])
def test_nonsense_is_a_syntax_error_0x2000(shared_session, statement):
    with pytest.raises(SyntaxException) as failure:
        shared_session.execute(statement)
    assert "code=2000" in str(failure.value)
    assert "line " in str(failure.value)


def test_mistakes_are_found_while_preparing(shared_session, keyspace, name):
    with pytest.raises(InvalidRequest):
        shared_session.prepare(f"SELECT * FROM {keyspace}.no_such_table WHERE k = ?")
    with pytest.raises(InvalidRequest):
        shared_session.prepare(f"SELECT nope FROM {name} WHERE k = ?")
    with pytest.raises(SyntaxException):
        shared_session.prepare("SELECT ? ?")


def test_existing_table_is_0x2400_with_its_name(shared_session, keyspace, name):
    with pytest.raises(AlreadyExists) as failure:
        shared_session.execute(f"CREATE TABLE {name} (k int PRIMARY KEY)")
    assert (failure.value.keyspace, f"{keyspace}.{failure.value.table}") == (keyspace, name)


def test_value_of_the_wrong_length_is_invalid(shared_session, name):
    from cassandra.query import BoundStatement

    prepared = shared_session.prepare(f"INSERT INTO {name} (k, c, v) VALUES (?, ?, ?)")
    for broken in ([b"\x01", bytes(4), b"x"], [bytes(4), bytes(8), b"x"], [bytes(4), bytes(4), b"\xff\xfe"]):
        bound = BoundStatement(prepared)
        bound.values = broken
        with pytest.raises(InvalidRequest):
            shared_session.execute(bound)


def test_partition_key_larger_than_64_kib_is_invalid(shared_session, table):
    keys = table("k blob PRIMARY KEY")
    insert = shared_session.prepare(f"INSERT INTO {keys} (k) VALUES (?)")
    shared_session.execute(insert, (b"k" * 65_535,))
    with pytest.raises(InvalidRequest):
        shared_session.execute(insert, (b"k" * 65_536,))
    with pytest.raises(InvalidRequest):
        shared_session.execute(insert, (b"",))


def test_error_does_not_disturb_other_streams(shared_session, name):
    wrong = [shared_session.execute_async(f"SELECT nope FROM {name}") for _ in range(100)]
    right = [shared_session.execute_async(f"SELECT v FROM {name}") for _ in range(100)]
    assert all(future.result().all() == [] for future in right)
    for future in wrong:
        with pytest.raises(InvalidRequest):
            future.result()


@pytest.mark.parametrize("version", [4, 5])
def test_custom_payload_is_accepted(connect, name, version):
    with connect(protocol_version=version) as session:
        payload = {"tarn": b"\x00\x01", "empty": b"", "large": b"x" * 10_000}
        assert session.execute(f"SELECT * FROM {name}", custom_payload=payload).all() == []
        prepared = session.prepare(f"SELECT * FROM {name} WHERE k = ?", custom_payload=payload)
        assert session.execute(prepared, (1,), custom_payload=payload).all() == []


@pytest.mark.parametrize("version", [4, 5])
def test_full_count_is_answered_with_a_warning(connect, name, version):
    with connect(protocol_version=version) as session:
        result = session.execute(f"SELECT count(*) FROM {name}")
        assert result.one()[0] == 0
        assert any("partition key" in warning for warning in result.response_future.warnings or [])
        assert not session.execute(f"SELECT * FROM {name}").response_future.warnings
