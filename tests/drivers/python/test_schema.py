"""Schema statements, the metadata that the driver builds from system_schema, and DESCRIBE."""

import pytest
from cassandra import AlreadyExists, InvalidRequest
from cassandra.protocol import ConfigurationException

from conftest import metadata


def test_keyspace_lives(connect, shared_session):
    name = "py_schema_life"
    shared_session.execute(f"DROP KEYSPACE IF EXISTS {name}")
    create = "CREATE KEYSPACE {} {} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
    shared_session.execute(create.format("", name) + " AND durable_writes = false")
    seen = metadata(shared_session, name)
    assert seen.durable_writes is False
    assert seen.replication_strategy.export_for_schema() == "{'class': 'SimpleStrategy', 'replication_factor': '1'}"
    shared_session.execute(f"ALTER KEYSPACE {name} WITH durable_writes = true")
    assert metadata(shared_session, name).durable_writes is True
    shared_session.execute(create.format("IF NOT EXISTS", name))
    with pytest.raises(AlreadyExists) as failure:
        shared_session.execute(create.format("", name))
    assert failure.value.keyspace == name and not failure.value.table
    shared_session.execute(f"DROP KEYSPACE {name}")
    shared_session.execute(f"DROP KEYSPACE IF EXISTS {name}")
    # Cassandra: invalid; older versions: a configuration error.
    with pytest.raises((InvalidRequest, ConfigurationException)):
        shared_session.execute(f"DROP KEYSPACE {name}")


def test_network_topology_strategy_is_kept(shared_session):
    name = "py_schema_topology"
    datacenter = shared_session.execute("SELECT data_center FROM system.local").one()[0]
    shared_session.execute(f"DROP KEYSPACE IF EXISTS {name}")
    shared_session.execute(
        f"CREATE KEYSPACE {name} WITH replication = {{'class': 'NetworkTopologyStrategy', '{datacenter}': 1}}"
    )
    strategy = metadata(shared_session, name).replication_strategy
    assert strategy.dc_replication_factors == {datacenter: 1}
    shared_session.execute(f"DROP KEYSPACE {name}")


def test_dropped_keyspace_takes_its_tables_along(shared_session):
    name = "py_schema_drop"
    create = f"CREATE KEYSPACE {name} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
    shared_session.execute(f"DROP KEYSPACE IF EXISTS {name}")
    for _ in range(2):
        shared_session.execute(create)
        shared_session.execute(f"CREATE TABLE {name}.t (k int PRIMARY KEY)")
        assert shared_session.execute(f"SELECT * FROM {name}.t").all() == []
        shared_session.execute(f"INSERT INTO {name}.t (k) VALUES (1)")
        shared_session.execute(f"DROP KEYSPACE {name}")
        with pytest.raises(InvalidRequest):
            shared_session.execute(f"SELECT * FROM {name}.t")


def test_table_metadata_says_what_was_created(shared_session, keyspace):
    shared_session.execute(
        f"CREATE TABLE {keyspace}.complete (a int, b text, c timeuuid, d int, s set<text> static, l list<frozen<set<int>>>,"
        " m map<text, frozen<list<int>>>, v decimal, PRIMARY KEY ((a, b), c, d))"
        " WITH CLUSTERING ORDER BY (c DESC, d ASC) AND comment = 'it''s all' AND default_time_to_live = 3600"
        " AND gc_grace_seconds = 60 AND compaction = {'class': 'LeveledCompactionStrategy'}"
        " AND compression = {'class': 'LZ4Compressor'} AND caching = {'keys': 'ALL', 'rows_per_partition': '10'}"
    )
    seen = metadata(shared_session, keyspace).tables["complete"]
    assert [column.name for column in seen.partition_key] == ["a", "b"]
    assert [(column.name, column.is_reversed) for column in seen.clustering_key] == [("c", True), ("d", False)]
    assert {name: column.cql_type for name, column in seen.columns.items()} == {
        "a": "int", "b": "text", "c": "timeuuid", "d": "int", "s": "set<text>", "l": "list<frozen<set<int>>>",
        "m": "map<text, frozen<list<int>>>", "v": "decimal",
    }
    assert seen.columns["s"].is_static and not seen.columns["v"].is_static
    assert seen.options["comment"] == "it's all"
    assert seen.options["default_time_to_live"] == 3600
    assert seen.options["gc_grace_seconds"] == 60
    assert dict(seen.options["caching"]) == {"keys": "ALL", "rows_per_partition": "10"}


def test_exported_table_can_be_created_from_its_export(shared_session, keyspace):
    shared_session.execute(
        f"CREATE TABLE {keyspace}.original (a int, b text, c timestamp, s int static, v map<text, frozen<list<int>>>,"
        ' "Odd" text, PRIMARY KEY ((a, b), c)) WITH CLUSTERING ORDER BY (c DESC) AND comment = \'x\''
    )
    exported = metadata(shared_session, keyspace).tables["original"].export_as_string()
    assert exported.startswith(f"CREATE TABLE {keyspace}.original (")
    assert "PRIMARY KEY ((a, b), c)" in exported and "CLUSTERING ORDER BY (c DESC)" in exported
    shared_session.execute(f"DROP TABLE {keyspace}.original")
    shared_session.execute(exported)
    assert metadata(shared_session, keyspace).tables["original"].export_as_string() == exported


def test_exported_keyspace_holds_its_tables(shared_session, keyspace):
    shared_session.execute(f"CREATE TABLE {keyspace}.member (k int PRIMARY KEY)")
    exported = metadata(shared_session, keyspace).export_as_string()
    assert exported.startswith(f"CREATE KEYSPACE {keyspace} WITH replication = ")
    assert f"CREATE TABLE {keyspace}.member (" in exported


def test_server_describes_a_table_in_words_that_create_it(shared_session, keyspace):
    shared_session.execute(
        f"CREATE TABLE {keyspace}.told (a int, b int, v text, PRIMARY KEY (a, b)) WITH CLUSTERING ORDER BY (b DESC)"
    )
    row = shared_session.execute(f"DESCRIBE TABLE {keyspace}.told").one()
    assert (row.keyspace_name, row.type, row.name) == (keyspace, "table", "told")
    shared_session.execute(f"DROP TABLE {keyspace}.told")
    shared_session.execute(row.create_statement)
    again = shared_session.execute(f"DESCRIBE TABLE {keyspace}.told").one()
    assert again.create_statement == row.create_statement


def test_server_lists_keyspaces_and_tables(shared_session, table, keyspace):
    name = table("k int PRIMARY KEY").split(".")[1]
    assert keyspace in [row.keyspace_name for row in shared_session.execute("DESCRIBE KEYSPACES")]
    tables = [(row.keyspace_name, row.name) for row in shared_session.execute("DESCRIBE TABLES")]
    assert (keyspace, name) in tables
    described = shared_session.execute(f"DESCRIBE KEYSPACE {keyspace}").all()
    assert described[0].type == "keyspace" and name in [row.name for row in described[1:]]
    cluster = shared_session.execute("DESCRIBE CLUSTER").one()
    assert cluster.partitioner.endswith("Murmur3Partitioner")
    with pytest.raises(InvalidRequest):
        shared_session.execute(f"DESCRIBE TABLE {keyspace}.no_such_table")


def test_create_table_if_not_exists(shared_session, table):
    name = table("k int PRIMARY KEY, v int")
    shared_session.execute(f"CREATE TABLE IF NOT EXISTS {name} (other text PRIMARY KEY)")
    with pytest.raises(AlreadyExists) as failure:
        shared_session.execute(f"CREATE TABLE {name} (k int PRIMARY KEY)")
    assert f"{failure.value.keyspace}.{failure.value.table}" == name
    shared_session.execute(f"SELECT v FROM {name}")


def test_alter_table_adds_and_drops_columns(shared_session, table, run, keyspace):
    name = table("k int, c int, a int, PRIMARY KEY (k, c)")
    run(f"INSERT INTO {name} (k, c, a) VALUES (1, 1, 1)")
    run(f"ALTER TABLE {name} ADD (b text, s int static)")
    assert run(f"SELECT a, b, s FROM {name}") == [(1, None, None)]
    run(f"UPDATE {name} SET b = 'x', s = 3 WHERE k = 1 AND c = 1")
    run(f"ALTER TABLE {name} DROP a")
    assert run(f"SELECT * FROM {name}") == [(1, 1, 3, "x")]
    with pytest.raises(InvalidRequest):
        run(f"SELECT a FROM {name}")
    run(f"ALTER TABLE {name} ADD a int")
    assert run(f"SELECT a, b FROM {name}") == [(None, "x")]
    assert "a" in metadata(shared_session, keyspace).tables[name.split(".")[1]].columns


def test_alter_table_changes_options_and_renames_keys(shared_session, table, run, keyspace):
    name = table("k int, c int, v int, PRIMARY KEY (k, c)")
    run(f"INSERT INTO {name} (k, c, v) VALUES (1, 2, 3)")
    run(f"ALTER TABLE {name} WITH comment = 'new' AND default_time_to_live = 99")
    seen = metadata(shared_session, keyspace).tables[name.split(".")[1]]
    assert (seen.options["comment"], seen.options["default_time_to_live"]) == ("new", 99)
    run(f"ALTER TABLE {name} RENAME c TO moved")
    assert run(f"SELECT k, moved, v FROM {name} WHERE k = 1 AND moved = 2") == [(1, 2, 3)]


@pytest.mark.parametrize("change", [
    "ADD k int", "ADD v text", "DROP k", "DROP c", "DROP nope", "RENAME v TO w", "ADD x no_such_type",
    "WITH no_such_option = 1", "WITH gc_grace_seconds = 'many'",
])
def test_impossible_alteration_is_refused(shared_session, table, run, change):
    from cassandra.protocol import SyntaxException

    name = table("k int, c int, v int, PRIMARY KEY (k, c)")
    with pytest.raises((InvalidRequest, ConfigurationException, SyntaxException)):
        run(f"ALTER TABLE {name} {change}")
    run(f"INSERT INTO {name} (k, c, v) VALUES (1, 1, 1)")


@pytest.mark.parametrize("columns", [
    "k int", "k int, PRIMARY KEY (nope)", "k int PRIMARY KEY, k text", "k counter PRIMARY KEY", "k list<int> PRIMARY KEY",
    "k int PRIMARY KEY, s int static", "k int PRIMARY KEY, c counter, v int", "k int PRIMARY KEY, l list<list<int>>",
    "k duration PRIMARY KEY", "k int PRIMARY KEY, v no_such_type", "k int, c int, PRIMARY KEY (k, k)",
])
def test_impossible_table_is_refused(shared_session, keyspace, columns):
    with pytest.raises((InvalidRequest, ConfigurationException)):
        shared_session.execute(f"CREATE TABLE {keyspace}.impossible ({columns})")


def test_dropped_table_comes_back_empty(shared_session, table, run):
    name = table("k int PRIMARY KEY, v int")
    run(f"INSERT INTO {name} (k, v) VALUES (1, 1)")
    run(f"DROP TABLE {name}")
    run(f"DROP TABLE IF EXISTS {name}")
    with pytest.raises(InvalidRequest):
        run(f"DROP TABLE {name}")
    run(f"CREATE TABLE {name} (k int PRIMARY KEY, v text)")
    assert run(f"SELECT * FROM {name}") == []


def test_schema_version_changes_with_the_schema(shared_session, table):
    version = "SELECT schema_version FROM system.local WHERE key = 'local'"
    before = shared_session.execute(version).one()[0]
    table("k int PRIMARY KEY")
    assert shared_session.execute(version).one()[0] != before


@pytest.mark.parametrize("statement", ["DROP KEYSPACE system", "CREATE TABLE system.mine (k int PRIMARY KEY)"])
def test_system_keyspaces_cannot_be_changed(shared_session, statement):
    from cassandra import Unauthorized

    with pytest.raises((Unauthorized, InvalidRequest)):
        shared_session.execute(statement)


def test_user_defined_type_lives(shared_session, table, keyspace, run):
    run(f"CREATE TYPE {keyspace}.address (street text, number int, tags frozen<set<text>>)")
    name = table(f"k int PRIMARY KEY, home frozen<address>, all_of list<frozen<address>>, loose address")
    run(f"INSERT INTO {name} (k, home, loose) VALUES (1, {{street: 'a', number: 1, tags: {{'x'}}}}, {{number: 5}})")
    run(f"UPDATE {name} SET loose.street = 'b' WHERE k = 1")
    [(street, number, loose)] = run(f"SELECT home.street, home.number, loose FROM {name}")
    assert (street, number) == ("a", 1) and (loose.street, loose.number) == ("b", 5)
    run(f"ALTER TYPE {keyspace}.address ADD zip text")
    assert run(f"SELECT home.zip FROM {name}") == [(None,)]
    types = metadata(shared_session, keyspace).user_types
    assert types["address"].field_names == ["street", "number", "tags", "zip"]
    with pytest.raises(InvalidRequest):
        run(f"DROP TYPE {keyspace}.address")
    run(f"DROP TABLE {name}")
    run(f"DROP TYPE {keyspace}.address")
