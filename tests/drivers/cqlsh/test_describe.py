"""DESCRIBE in all forms that cqlsh has: its output creates the same schema again."""

import pytest

TABLE = """CREATE TABLE {name} (a int, b text, c timestamp, s int static, v map<text, frozen<list<int>>>, "Odd" text,
    PRIMARY KEY ((a, b), c)) WITH CLUSTERING ORDER BY (c DESC) AND comment = 'it''s odd'"""


def test_describe_keyspaces_lists_system_and_own(cqlsh):
    listed = cqlsh("DESCRIBE KEYSPACES").out.split()
    assert {"system", "system_schema", "shell"} <= set(listed)


def test_describe_tables_lists_those_of_the_keyspace(cqlsh):
    cqlsh("CREATE TABLE listed_one (k int PRIMARY KEY); CREATE TABLE listed_two (k int PRIMARY KEY);")
    assert {"listed_one", "listed_two"} <= set(cqlsh("DESCRIBE TABLES").out.split())


def test_described_table_is_created_again_from_its_description(cqlsh):
    cqlsh(TABLE.format(name="described") + ";")
    first = cqlsh("DESCRIBE TABLE described").out
    assert first.strip().startswith("CREATE TABLE shell.described (")
    for part in ("PRIMARY KEY ((a, b), c)", "CLUSTERING ORDER BY (c DESC)", "comment = 'it''s odd'", '"Odd" text', "s int static"):
        assert part in first
    cqlsh("DROP TABLE described; " + first)
    assert cqlsh("DESCRIBE TABLE described").out == first
    assert cqlsh("DESC described").out == first


def test_described_keyspace_is_created_again_from_its_description(cqlsh):
    replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    cqlsh(f"DROP KEYSPACE IF EXISTS shell_copy; CREATE KEYSPACE shell_copy WITH replication = {replication};", keyspace=None)
    cqlsh(TABLE.format(name="one") + "; " + TABLE.format(name="two") + ";", keyspace="shell_copy")
    first = cqlsh("DESCRIBE KEYSPACE shell_copy", keyspace=None).out
    assert first.strip().startswith("CREATE KEYSPACE shell_copy WITH replication = ")
    cqlsh("DROP KEYSPACE shell_copy; " + first, keyspace=None)
    assert cqlsh("DESCRIBE KEYSPACE shell_copy", keyspace=None).out == first
    cqlsh("DROP KEYSPACE shell_copy;", keyspace=None)


def test_describe_schema_holds_own_keyspaces_only(cqlsh):
    cqlsh("CREATE TABLE IF NOT EXISTS in_schema (k int PRIMARY KEY);")
    schema = cqlsh("DESCRIBE SCHEMA").out
    assert "CREATE KEYSPACE shell WITH" in schema and "CREATE TABLE shell.in_schema (" in schema
    assert "CREATE KEYSPACE system" not in schema
    assert "CREATE KEYSPACE system_schema WITH" in cqlsh("DESCRIBE FULL SCHEMA").out


def test_describe_cluster(cqlsh):
    out = cqlsh("DESCRIBE CLUSTER").out
    assert "Cluster: " in out and "Murmur3Partitioner" in out


def test_describe_type(cqlsh):
    cqlsh("CREATE TYPE address (street text, number int);")
    text = cqlsh("DESCRIBE TYPE address").out
    assert text.split() == "CREATE TYPE shell.address ( street text, number int );".split()
    assert "address" in cqlsh("DESCRIBE TYPES").out
    cqlsh("DROP TYPE address;")


def test_describe_system_table(cqlsh):
    out = cqlsh("DESCRIBE TABLE system.local").out
    assert "CREATE TABLE system.local (" in out and "release_version text" in out


@pytest.mark.parametrize("command, text", [
    ("DESCRIBE TABLE no_such_table", "'no_such_table' not found in keyspace 'shell'"),
    ("DESCRIBE KEYSPACE no_such_keyspace", "'no_such_keyspace' not found in keyspaces"),
])
def test_describing_what_is_not_there_says_so(cqlsh, command, text):
    assert text in cqlsh(command, fails=True).errors


def test_show_version_and_host(cqlsh):
    out = cqlsh("SHOW VERSION; SHOW HOST;", keyspace=None).out
    assert "CQL spec 3.4" in out and "Native protocol v" in out and "Connected to " in out
