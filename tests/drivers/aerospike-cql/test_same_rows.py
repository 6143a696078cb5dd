"""What Aerospike's client writes, CQL sees at once: bins as columns, whatever their type, name and set."""

import json
import os
import pathlib
import shlex
import urllib.request

import aerospike
import pyarrow
import pytest
from aerospike import exception
from aerospike_helpers.operations import hll_operations, list_operations, operations
from cassandra import InvalidRequest
from cassandra.query import SimpleStatement, dict_factory

import server
from conftest import NAMESPACE, when_back
from waiting import wait_until

SEND_KEY = {"key": aerospike.POLICY_KEY_SEND}


def row_of(session, table, digest):
    session.row_factory = dict_factory
    rows = list(session.execute(f'SELECT * FROM {NAMESPACE}."{table}" WHERE digest = %s', (digest,)))
    assert len(rows) <= 1
    return rows[0] if rows else None


def test_what_a_transaction_has_written_is_seen_when_it_is_committed(client, session, set_name, digest):
    keys = [(NAMESPACE, set_name, number) for number in range(3)]
    for key in keys[:2]:
        client.put(key, {"a": 1})
    values = lambda: sorted(session.execute(f'SELECT digest, a FROM {NAMESPACE}."{set_name}"'), key=lambda row: row["digest"])
    count = lambda: session.execute(f'SELECT count(*) AS rows FROM {NAMESPACE}."{set_name}"').one()["rows"]
    session.row_factory = dict_factory
    before = values()
    assert len(before) == count() == 2
    transaction = aerospike.Transaction()
    transaction.timeout = 120
    within = {"txn": transaction}
    client.put(keys[0], {"a": 2}, policy=within)
    client.remove(keys[1], policy=within)
    client.put(keys[2], {"a": 2}, policy=within)
    assert (values(), count()) == (before, 2)
    assert row_of(session, set_name, digest(keys[2])) is None and row_of(session, set_name, digest(keys[1]))["a"] == 1
    client.commit(transaction)
    assert {bytes(row["digest"]): row["a"] for row in values()} == {bytes(digest(keys[0])): 2, bytes(digest(keys[2])): 2}
    assert count() == 2


def test_every_kind_of_bin_is_a_column_of_its_type(client, session, set_name, digest):
    key = (NAMESPACE, set_name, "ada")
    bins = {"i": -5, "d": 2.5, "s": "naïve", "b": b"\x00\xff", "t": True, "f": False, "l": [1, "x"], "m": {"k": 1}}
    client.put(key, bins, policy=SEND_KEY)
    row = row_of(session, set_name, digest(key))
    assert (row["digest"], row["generation"], row["key_string"], row["key_integer"]) == (digest(key), 1, "ada", None)
    for name in ("i", "d", "s", "b", "t", "f"):
        assert row[name] == bins[name], name
    # Msgpack, as the client sent it.
    assert row["l"].startswith(b"\x92\x01") and row["m"]
    # GeoJSON, as the client sent it, and an index of it that CQL leaves alone.
    place = '{"type": "Point", "coordinates": [8.5, 47.4]}'
    client.put(key, {"g": aerospike.geojson(place)}, policy=SEND_KEY)
    client.index_geo2dsphere_create(NAMESPACE, set_name, "g", f"{set_name}_g")
    assert json.loads(row_of(session, set_name, digest(key))["g"]) == json.loads(place) == json.loads(client.get(key)[2]["g"].dumps())
    query = f'SELECT digest FROM {NAMESPACE}."{set_name}" WHERE g = %s'
    assert [bytes(row["digest"]) for row in session.execute(query + " ALLOW FILTERING", (row_of(session, set_name, digest(key))["g"],))] == [bytes(digest(key))]
    with pytest.raises(InvalidRequest):
        session.execute(query, (place,))
    client.index_remove(NAMESPACE, f"{set_name}_g")
    # A sketch, as the client gets it.
    client.operate(key, [hll_operations.hll_add("h", ["a", "b"], 8)])
    assert row_of(session, set_name, digest(key))["h"] == bytes(client.get(key)[2]["h"])
    kinds = session.execute(
        "SELECT column_name, type FROM system_schema.columns WHERE keyspace_name = %s AND table_name = %s", (NAMESPACE, set_name)
    )
    kinds = {kind["column_name"]: kind["type"] for kind in kinds}
    expected = {"i": "bigint", "d": "double", "s": "text", "b": "blob", "t": "boolean", "f": "boolean", "l": "blob", "m": "blob", "g": "text"}
    assert {name: kinds[name] for name in expected} == expected


def test_sql_joins_sets(client, set_name, digest):
    directory = pathlib.Path(shlex.split(os.environ["TARNDB_TEST_RESTART"])[-1])
    for number in range(20):
        client.put((NAMESPACE, set_name, number), {"n": number, "city": "x" if number % 2 else "y"}, policy=SEND_KEY)
    table = f'{NAMESPACE}."{set_name}"'

    def rows(statement):
        request = urllib.request.Request(f"http://{server.Server(directory).state()['http']}/sql", statement.encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["rows"]

    assert rows(f"SELECT city, COUNT(*), SUM(n) FROM {table} GROUP BY city ORDER BY city") == [["x", 10, 100], ["y", 10, 90]]
    digits = digest((NAMESPACE, set_name, 7)).hex()
    assert rows(f"SELECT a.n, b.n FROM {table} a JOIN {table} b ON b.n = a.n + 1 WHERE a.digest = X'{digits}'") == [[7, 8]]


def test_sql_answers_in_arrow(client, set_name, digest):
    directory = pathlib.Path(shlex.split(os.environ["TARNDB_TEST_RESTART"])[-1])
    bins = {"i": -5, "d": 2.5, "s": "naïve", "b": b"\x00\xff", "t": True, "l": [1, "x"]}
    client.put((NAMESPACE, set_name, "ada"), bins, policy=SEND_KEY)
    client.put((NAMESPACE, set_name, "bob"), {"i": 7}, policy=SEND_KEY)
    statement = f'SELECT * FROM {NAMESPACE}."{set_name}" ORDER BY i'
    request = urllib.request.Request(f"http://{server.Server(directory).state()['http']}/sql?format=arrow", statement.encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        table = pyarrow.ipc.open_stream(answer).read_all()
    types = {field.name: str(field.type) for field in table.schema}
    assert [types[name] for name in ("digest", "key_string", *bins)] == ["binary", "string", "int64", "double", "string", "binary", "bool", "binary"]
    ada, bob = table.to_pylist()
    assert {name: ada[name] for name in "idsbt"} == {name: bins[name] for name in "idsbt"} and ada["l"].startswith(b"\x92\x01")
    assert (bob["digest"], bob["i"], bob["s"], bob["t"]) == (digest((NAMESPACE, set_name, "bob")), 7, None, None)


def test_keys_are_shown_as_they_were_sent(client, session, set_name, digest):
    for user_key, column in (("text", "key_string"), (-7, "key_integer"), (bytearray(b"\x01\x02"), "key_blob")):
        key = (NAMESPACE, set_name, user_key)
        client.put(key, {"n": 1}, policy=SEND_KEY)
        row = row_of(session, set_name, digest(key))
        expected = bytes(user_key) if isinstance(user_key, bytearray) else user_key
        assert {name: row[name] for name in ("key_string", "key_integer", "key_blob") if row[name] is not None} == {column: expected}


def test_every_write_is_seen_at_once(client, session, set_name, digest):
    select = session.prepare(f"SELECT n, generation FROM {NAMESPACE}.first WHERE digest = ?")
    key = (NAMESPACE, "first", set_name)
    session.row_factory = dict_factory
    for number in range(300):
        client.put(key, {"n": number})
        assert session.execute(select, (digest(key),)).one() == {"n": number, "generation": number + 1}


def test_changes_in_place_are_seen(client, session, set_name, digest):
    key = (NAMESPACE, set_name, "k")
    client.put(key, {"n": 1, "s": "b", "gone": 1, "l": [1]})
    client.increment(key, "n", 41)
    client.append(key, "s", "c")
    client.prepend(key, "s", "a")
    client.remove_bin(key, ["gone"])
    client.operate(key, [operations.increment("n", 1), list_operations.list_append("l", 2), operations.write("new", 1.5)])
    row = row_of(session, set_name, digest(key))
    assert (row["n"], row["s"], row["gone"], row["new"]) == (43, "abc", None, 1.5)
    client.put(key, {"n": 7}, policy={"exists": aerospike.POLICY_EXISTS_REPLACE})
    row = row_of(session, set_name, digest(key))
    assert (row["n"], row["s"], row["l"], row["new"]) == (7, None, None, None)
    client.remove(key)
    assert row_of(session, set_name, digest(key)) is None


def test_a_bin_of_several_kinds_has_a_column_for_each(client, session, set_name, digest):
    key = (NAMESPACE, set_name, "k")
    client.put(key, {"age": 36})
    client.put(key, {"age": "old"})
    row = row_of(session, set_name, digest(key))
    assert (row["age"], row["age:string"]) == (None, "old")
    client.put(key, {"age": 37})
    row = row_of(session, set_name, digest(key))
    assert (row["age"], row["age:string"]) == (37, None)


def test_a_prepared_select_goes_on_when_a_set_gets_bins(client, session, set_name, digest):
    key = (NAMESPACE, set_name, "k")
    client.put(key, {"n": 1})
    session.row_factory = dict_factory
    one = session.prepare(f"SELECT n FROM {NAMESPACE}.{set_name} WHERE digest = ?")
    for number in range(20):
        client.put(key, {"n": number, f"more{number}": number})
        assert session.execute(one, (digest(key),)).one() == {"n": number}
    assert len(row_of(session, set_name, digest(key))) == 5 + 21


def test_names_are_quoted_where_they_must_be(client, session, digest):
    key = (NAMESPACE, "Käse-Set 1", "k")
    client.put(key, {"Upper": 1, "with space": 2, 'qu"ote': 3, "digest": 4})
    row = row_of(session, "Käse-Set 1", digest(key))
    assert (row["Upper"], row["with space"], row['qu"ote'], row["digest:integer"]) == (1, 2, 3, 4)
    assert row["digest"] == digest(key)
    statement = session.execute(f'DESCRIBE TABLE {NAMESPACE}."Käse-Set 1"').one()["create_statement"]
    assert '"Upper" bigint' in statement and '"qu""ote" bigint' in statement


def test_records_without_a_set_have_a_table(client, session, digest):
    key = (NAMESPACE, None, "alone")
    client.put(key, {"n": 5})
    assert row_of(session, "_no_set", digest(key))["n"] == 5


def test_expiry_is_the_same(client, session, set_name, digest):
    short, long, forever = ((NAMESPACE, set_name, name) for name in ("short", "long", "forever"))
    client.put(short, {"n": 1}, meta={"ttl": 2})
    client.put(long, {"n": 2}, meta={"ttl": 1000})
    client.put(forever, {"n": 3}, meta={"ttl": aerospike.TTL_NEVER_EXPIRE})
    session.row_factory = dict_factory
    left = session.execute(f"SELECT n, TTL(n) AS left FROM {NAMESPACE}.{set_name}")
    left = {row["n"]: row["left"] for row in left}
    # Aerospike tells the last second of a record, CQL the first without it.
    assert 800 < left[2] <= 1001 and left[3] is None
    wait_until(lambda: row_of(session, set_name, digest(short)) is None)
    with pytest.raises(exception.RecordNotFound):
        client.get(short)


def test_a_set_is_read_whole_page_by_page(client, session, set_name, digest):
    keys = [(NAMESPACE, set_name, number) for number in range(1500)]
    for number, key in enumerate(keys):
        client.put(key, {"n": number, "even": "yes" if number % 2 == 0 else "no"})
    session.row_factory = dict_factory
    rows = list(session.execute(SimpleStatement(f"SELECT digest, n, token(digest) AS t FROM {NAMESPACE}.{set_name}", fetch_size=100)))
    assert {row["digest"]: row["n"] for row in rows} == {digest(key): number for number, key in enumerate(keys)}
    tokens = [row["t"] for row in rows]
    assert tokens == sorted(tokens)
    # The first twelve bits of a token are the partition that Aerospike's clients compute.
    for row in rows:
        assert (row["t"] + 2**63) >> 52 == int.from_bytes(row["digest"][:4], "little") & 4095
    count = session.execute(f"SELECT count(*) AS n FROM {NAMESPACE}.{set_name} WHERE even = 'yes' ALLOW FILTERING").one()["n"]
    assert count == 750
    upper = session.execute(f"SELECT count(*) AS n FROM {NAMESPACE}.{set_name} WHERE token(digest) >= %s", (tokens[700],)).one()["n"]
    assert upper == 800
    assert len(client.query(NAMESPACE, set_name).results()) == 1500


def test_a_truncation_empties_the_table(client, session, set_name, digest):
    for number in range(50):
        client.put((NAMESPACE, set_name, number), {"n": number})
    client.truncate(NAMESPACE, set_name, 0)
    session.row_factory = dict_factory
    assert not list(session.execute(f"SELECT * FROM {NAMESPACE}.{set_name}"))
    client.put((NAMESPACE, set_name, 1), {"n": 1})
    assert row_of(session, set_name, digest((NAMESPACE, set_name, 1)))["n"] == 1


def test_cql_does_not_write_sets(client, session, set_name, digest):
    key = (NAMESPACE, set_name, "k")
    client.put(key, {"n": 1})
    table = f"{NAMESPACE}.{set_name}"
    for statement in (
        f"INSERT INTO {table} (digest, n) VALUES (0x00, 1)",
        f"UPDATE {table} SET n = 2 WHERE digest = 0x00",
        f"DELETE FROM {table} WHERE digest = 0x00",
        f"TRUNCATE {table}",
        f"ALTER TABLE {table} ADD x int",
        f"DROP TABLE {table}",
    ):
        with pytest.raises(InvalidRequest, match="record set"):
            session.execute(statement)
    with pytest.raises(InvalidRequest, match="has record sets"):
        session.execute(f"DROP KEYSPACE {NAMESPACE}")
    assert client.get(key)[2] == {"n": 1}


def test_a_table_of_cql_is_no_set(client, session, set_name):
    session.execute(f"CREATE TABLE {NAMESPACE}.{set_name} (k int PRIMARY KEY, v int)")
    session.execute(f"INSERT INTO {NAMESPACE}.{set_name} (k, v) VALUES (1, 2)")
    with pytest.raises(exception.AerospikeError):
        client.put((NAMESPACE, set_name, 1), {"n": 1})
    with pytest.raises(exception.AerospikeError):
        client.get((NAMESPACE, set_name, 1))
    session.row_factory = dict_factory
    assert session.execute(f"SELECT v FROM {NAMESPACE}.{set_name}").one() == {"v": 2}
    session.execute(f"DROP TABLE {NAMESPACE}.{set_name}")


def test_drivers_find_sets_among_the_tables(client, cluster, session, set_name):
    client.put((NAMESPACE, set_name, "k"), {"n": 1})
    cluster.refresh_table_metadata(NAMESPACE, set_name)
    table = cluster.metadata.keyspaces[NAMESPACE].tables[set_name]
    assert [column.name for column in table.partition_key] == ["digest"]
    assert table.columns["n"].cql_type == "bigint"


@pytest.mark.restart
@pytest.mark.parametrize("how", ["kill", "term"])
def test_both_find_everything_after_a_restart(client, session, set_name, digest, restart, how):
    keys = [(NAMESPACE, set_name, number) for number in range(200)]
    for number, key in enumerate(keys):
        client.put(key, {"n": number, f"kind{number % 10}": str(number)})
    client.remove(keys[7])
    restart(how)
    session.row_factory = dict_factory
    rows = when_back(lambda: list(session.execute(f"SELECT * FROM {NAMESPACE}.{set_name}")))
    assert sorted(row["n"] for row in rows) == [number for number in range(200) if number != 7]
    for number in (0, 13, 199):
        record = when_back(lambda key=keys[number]: client.get(key))[2]
        assert record == {"n": number, f"kind{number % 10}": str(number)}
        row = row_of(session, set_name, digest(keys[number]))
        assert (row["n"], row[f"kind{number % 10}"]) == (number, str(number))
    assert client.exists(keys[7])[1] is None
