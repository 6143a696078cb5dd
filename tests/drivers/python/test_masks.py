"""Masked columns: who sees what, from GRANT to rows; on a server of their own that asks for passwords."""

import json
import tempfile

import pytest
from cassandra import InvalidRequest, Unauthorized
from cassandra.query import BatchStatement, SimpleStatement

import server
from conftest import PEER, run_directory, when_back
from roles import KEYSPACE, boss, login, names

pytestmark = pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB")

CLEAR = (7, 1, "static", "sensitive", 42)
MASKED = (7, 1, "static", "s*******e", 0)
WIDE = "INSERT INTO ks.t (k, c, s, v, w) VALUES (%s, %s, %s, %s, %s)"


@pytest.fixture(scope="module")
def guarded():
    private = server.Server(tempfile.mkdtemp(prefix="masks-", dir=run_directory()), server.LOGIN_FLAGS)
    private.start()
    with login(private, "cassandra") as boss:
        boss.execute(KEYSPACE.format("ks"))
        boss.execute(
            "CREATE TABLE ks.t (k int, c int, s text STATIC, v text MASKED WITH mask_inner(1, 1), w int MASKED WITH DEFAULT, PRIMARY KEY (k, c))"
        )
        boss.execute(WIDE, CLEAR)
    yield private
    private.stop()


@pytest.fixture
def role(boss):
    """A role that may read and write, and unmask nothing."""
    name = next(names)
    boss.execute(f"CREATE ROLE {name} WITH PASSWORD = '{name}' AND LOGIN = true")
    boss.execute(f"GRANT SELECT ON KEYSPACE ks TO {name}")
    boss.execute(f"GRANT MODIFY ON KEYSPACE ks TO {name}")
    yield name
    boss.execute(f"DROP ROLE {name}")


def rows(session, statement, *values):
    return [tuple(row) for row in session.execute(statement, *values)]


def refused(session, statement, columns, role, *values, table="t"):
    with pytest.raises(Unauthorized) as refusal:
        session.execute(statement, *values)
    expected = f"User {role} has no UNMASK nor SELECT_MASKED permission on table ks.{table}, cannot query masked columns [{columns}]"
    assert expected in str(refusal.value)


def test_unmask_counts_at_once_on_open_connections_and_for_prepared_statements(guarded, boss, role):
    with login(guarded, role) as session:
        one, many = session.prepare("SELECT * FROM ks.t WHERE k = ? AND c = ?"), session.prepare("SELECT k, c, s, v, w FROM ks.t")
        types = [column[3].typename for column in one.result_metadata]
        for resource in ("ALL KEYSPACES", "KEYSPACE ks", "TABLE ks.t"):
            assert rows(session, one, (7, 1)) == rows(session, many) == [MASKED]
            boss.execute(f"GRANT UNMASK ON {resource} TO {role}")
            assert rows(session, one, (7, 1)) == rows(session, many) == [CLEAR], resource
            boss.execute(f"REVOKE UNMASK ON {resource} FROM {role}")
        assert types == [column[3].typename for column in one.result_metadata] == ["int", "int", "varchar", "varchar", "int"]
    assert rows(boss, "SELECT * FROM ks.t") == [CLEAR]


def test_a_mask_that_changes_counts_for_prepared_statements(guarded, boss, role):
    boss.execute("CREATE TABLE ks.changing (k int PRIMARY KEY, v text)")
    boss.execute("INSERT INTO ks.changing (k, v) VALUES (1, 'sensitive')")
    with login(guarded, role) as session:
        read = session.prepare("SELECT v FROM ks.changing WHERE k = ?")
        for mask, seen in [("DROP MASKED", "sensitive"), ("MASKED WITH DEFAULT", "****"), ("MASKED WITH mask_replace('redacted')", "redacted"), ("MASKED WITH mask_null()", None), ("DROP MASKED", "sensitive")]:
            boss.execute(f"ALTER TABLE ks.changing ALTER v {mask}")
            assert rows(session, read, (1,)) == [(seen,)], mask


def test_functions_aggregates_json_and_pages_see_masks(guarded, boss, role):
    with login(guarded, role) as session:
        assert json.loads(session.execute("SELECT JSON v, w FROM ks.t").one()[0]) == {"v": "s*******e", "w": 0}
        assert rows(session, "SELECT max(v), sum(w), count(*) FROM ks.t") == [("s*******e", 0, 1)]
        assert rows(session, "SELECT w + 1, token(k), k FROM ks.t")[0][0] == 1
        assert rows(session, "SELECT writetime(v) FROM ks.t") == rows(boss, "SELECT writetime(v) FROM ks.t")
        boss.execute("CREATE TABLE ks.many (k int, c int, v int MASKED WITH mask_replace(-1), PRIMARY KEY (k, c))")
        for row in range(50):
            boss.execute("INSERT INTO ks.many (k, c, v) VALUES (%s, %s, %s)", (row % 7, row, row))
        paged = rows(session, SimpleStatement("SELECT c, v FROM ks.many", fetch_size=3))
        assert sorted(paged) == [(row, -1) for row in range(50)]


def test_masked_columns_are_no_oracle(guarded, boss, role):
    boss.execute("CREATE TABLE ks.keyed (k int MASKED WITH DEFAULT, c int, v int MASKED WITH DEFAULT, PRIMARY KEY (k, c))")
    boss.execute("INSERT INTO ks.keyed (k, c, v) VALUES (7, 7, 7)")
    with login(guarded, role) as session:
        by_key = session.prepare("SELECT * FROM ks.keyed WHERE k = ?")
        refused(session, by_key, "k", role, (7,), table="keyed")
        refused(session, "SELECT * FROM ks.keyed WHERE k = 7 AND v > 3 ALLOW FILTERING", "k, v", role, table="keyed")
        refused(session, "SELECT * FROM ks.keyed WHERE token(k) > token(3)", "k", role, table="keyed")
        refused(session, "UPDATE ks.t SET w = 1 WHERE k = 7 AND c = 1 IF w = 42", "w", role)
        refused(session, "INSERT INTO ks.keyed (k, c) VALUES (7, 7) IF NOT EXISTS", "k", role, table="keyed")
        batch = BatchStatement()
        batch.add("UPDATE ks.t SET s = 'static' WHERE k = 7")
        batch.add(session.prepare("UPDATE ks.t SET w = 1 WHERE k = 7 AND c = 1 IF w = ?"), (42,))
        refused(session, batch, "w", role)
        assert rows(session, "SELECT * FROM ks.keyed WHERE c = 7 ALLOW FILTERING") == [(0, 7, 0)]
        boss.execute(f"GRANT SELECT_MASKED ON ALL KEYSPACES TO {role}")
        assert rows(session, by_key, (7,)) == [(0, 7, 0)]
        assert rows(session, "SELECT * FROM ks.keyed WHERE v = 7 ALLOW FILTERING") == [(0, 7, 0)]
        assert rows(session, "UPDATE ks.t SET w = 1 WHERE k = 7 AND c = 1 IF w = 41") == [(False, 0)]
        assert rows(session, "INSERT INTO ks.t (k, c) VALUES (7, 1) IF NOT EXISTS") == [(False, *MASKED)]
        boss.execute(f"GRANT UNMASK ON ALL KEYSPACES TO {role}")
        assert rows(session, by_key, (7,)) == [(7, 7, 7)]
        assert rows(session, "UPDATE ks.t SET w = 1 WHERE k = 7 AND c = 1 IF w = 41") == [(False, 42)]


def test_views_inherit_masks(guarded, boss, role):
    boss.execute("CREATE TABLE ks.base (k int PRIMARY KEY, v text MASKED WITH DEFAULT)")
    boss.execute("CREATE MATERIALIZED VIEW ks.seen AS SELECT * FROM ks.base WHERE k IS NOT NULL AND v IS NOT NULL PRIMARY KEY (v, k)")
    boss.execute("INSERT INTO ks.base (k, v) VALUES (1, 'sensitive')")
    with login(guarded, role) as session:
        assert rows(session, "SELECT v, k FROM ks.seen") == [("****", 1)]
        refused(session, "SELECT k FROM ks.seen WHERE v = 'sensitive'", "v", role, table="seen")
        boss.execute(f"GRANT UNMASK ON ks.base TO {role}")
        assert rows(session, "SELECT k, v FROM ks.seen WHERE v = 'sensitive'") == [(1, "sensitive")]


def test_permissions_are_listed_and_masks_survive_kill(guarded, boss, role):
    boss.execute(f"GRANT UNMASK, SELECT_MASKED ON ks.t TO {role}")
    listed = [tuple(row) for row in boss.execute(f"LIST ALL PERMISSIONS ON ks.t OF {role} NORECURSIVE")]
    assert listed == [(role, role, "<table ks.t>", permission) for permission in ("UNMASK", "SELECT_MASKED")]
    guarded.restart("kill")
    masks = when_back(boss, "SELECT column_name, function_keyspace, function_name, function_argument_values FROM system_schema.column_masks WHERE keyspace_name = 'ks' AND table_name = 't'")
    assert [tuple(row) for row in masks] == [("v", "system", "mask_inner", ["1", "1"]), ("w", "system", "mask_default", [])]
    when_back(boss, f"REVOKE UNMASK ON ks.t FROM {role}")
    with login(guarded, role) as session:
        assert rows(session, "SELECT * FROM ks.t WHERE k = 7") == [MASKED]


def test_without_authorization_and_without_logins_nothing_is_masked(tmp_path):
    for flags, user in ((["--authorization", "none"], "jo"), (None, None)):
        free = server.Server(tmp_path / str(user), [*server.LOGIN_FLAGS, *flags] if flags else [])
        free.start()
        try:
            with login(free, "cassandra") as session:
                session.execute(KEYSPACE.format("ks"))
                session.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v text MASKED WITH DEFAULT)")
                session.execute("INSERT INTO ks.t (k, v) VALUES (1, 'sensitive')")
                if user:
                    session.execute(f"CREATE ROLE {user} WITH PASSWORD = '{user}' AND LOGIN = true")
            with login(free, user or "anybody") as session:
                assert rows(session, "SELECT v FROM ks.t WHERE k = 1") == [("sensitive",)]
                with pytest.raises(InvalidRequest, match="Unable to find masking function"):
                    session.execute("ALTER TABLE ks.t ALTER v MASKED WITH nothing()")
        finally:
            free.stop()
