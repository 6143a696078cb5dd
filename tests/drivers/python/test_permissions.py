"""Permissions: what a role may do, from the statement that grants it to the rows; on a server of their own that asks for passwords."""

import base64
import http.client
import json
import tempfile

import pytest
from cassandra import InvalidRequest, Unauthorized
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionException
from cassandra.query import BatchStatement

import server
from conftest import PEER, run_directory, when_back
from roles import KEYSPACE, boss, login, role
from waiting import wait_until

pytestmark = pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB")


@pytest.fixture(scope="module")
def guarded():
    """A server on which roles need permissions, with table `ks.t` of 100 rows."""
    private = server.Server(tempfile.mkdtemp(prefix="permissions-", dir=run_directory()), [*server.LOGIN_FLAGS, "--audit-log", "audit.log"])
    private.start()
    with login(private, "cassandra") as boss:
        boss.execute(KEYSPACE.format("ks"))
        boss.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v int)")
        for key in range(100):
            boss.execute("INSERT INTO ks.t (k, v) VALUES (%s, 0)", (key,))
    yield private
    private.stop()


def refused(session, statement, *values, permission="SELECT", resource="<table ks.t>"):
    with pytest.raises(Unauthorized) as refusal:
        session.execute(statement, *values)
    assert f"has no {permission} permission on {resource} or any of its parents" in str(refusal.value)


def test_prepared_statements_of_open_connections_follow_every_change(guarded, boss, role):
    with login(guarded, role) as session:
        read, write = session.prepare("SELECT v FROM ks.t WHERE k = ?"), session.prepare("UPDATE ks.t SET v = ? WHERE k = ?")
        for _ in range(2):
            # Rows on every core.
            for key in range(100):
                refused(session, read, (key,))
                refused(session, write, (1, key), permission="MODIFY")
            boss.execute(f"GRANT SELECT ON ks.t TO {role}")
            assert [session.execute(read, (key,)).one().v for key in range(100)] == [0] * 100
            refused(session, write, (1, 7), permission="MODIFY")
            boss.execute(f"REVOKE SELECT ON ks.t FROM {role}")
        assert {row.v for row in boss.execute("SELECT v FROM ks.t")} == {0}


def test_batches_conditions_and_slices_are_no_way_around(guarded, boss, role):
    with login(guarded, role) as session:
        batch = BatchStatement()
        batch.add(session.prepare("DELETE FROM ks.t WHERE k = ?"), (1,))
        batch.add("UPDATE ks.t SET v = 1 WHERE k = 2")
        refused(session, batch, permission="MODIFY")
        refused(session, "BEGIN BATCH DELETE FROM ks.t WHERE k = 1 APPLY BATCH", permission="MODIFY")
        refused(session, "TRUNCATE ks.t", permission="MODIFY")
        for read in ("SELECT count(*) FROM ks.t", "SELECT JSON * FROM ks.t", "SELECT * FROM ks.t WHERE v = 0 ALLOW FILTERING", "SELECT DISTINCT k FROM ks.t"):
            refused(session, read)
        boss.execute(f"GRANT MODIFY ON KEYSPACE ks TO {role}")
        refused(session, "INSERT INTO ks.t (k) VALUES (1) IF NOT EXISTS")
        refused(session, "BEGIN BATCH UPDATE ks.t SET v = 1 WHERE k = 2 IF v = 0; APPLY BATCH")
        session.execute("UPDATE ks.t SET v = 0 WHERE k = 2")
        assert len(boss.execute("SELECT k FROM ks.t").all()) == 100


def test_who_makes_something_owns_it_until_it_is_dropped(guarded, boss, role):
    own = f"own_{role}"
    with login(guarded, role) as session:
        refused(session, KEYSPACE.format(own), permission="CREATE", resource="<all keyspaces>")
        boss.execute(f"GRANT CREATE ON ALL KEYSPACES TO {role}")
        session.execute(KEYSPACE.format(own))
        session.execute(f"CREATE TABLE {own}.t (k int PRIMARY KEY)")
        session.execute(f"INSERT INTO {own}.t (k) VALUES (1)")
        assert session.execute(f"SELECT k FROM {own}.t").one().k == 1
        refused(session, "ALTER TABLE ks.t ADD w int", permission="ALTER")
        session.execute(f"DROP KEYSPACE {own}")
        boss.execute(KEYSPACE.format(own))
        refused(session, f"CREATE INDEX ON {own}.t (k)", permission="ALTER", resource=f"<table {own}.t>")
        boss.execute(f"DROP KEYSPACE {own}")


def test_grants_survive_kill_and_are_listed_as_cassandra_lists_them(guarded, boss, role):
    boss.execute(f"GRANT SELECT ON ks.t TO {role}")
    warned = boss.execute_async(f"GRANT SELECT, MODIFY ON ks.t TO {role}")
    warned.result()
    assert warned.warnings == [f"Role '{role}' was already granted SELECT on <table ks.t>"]
    again = boss.execute_async(f"GRANT SELECT ON ks.t TO {role}")
    again.result()
    assert again.warnings == warned.warnings, "also where nothing changes"
    guarded.restart("kill")
    rows = [tuple(row) for row in when_back(boss, f"LIST ALL PERMISSIONS OF {role}")]
    assert rows == [(role, role, "<table ks.t>", "SELECT"), (role, role, "<table ks.t>", "MODIFY")]
    with login(guarded, role) as session:
        assert session.execute("SELECT v FROM ks.t WHERE k = 1").one().v == 0
        with pytest.raises(Unauthorized, match="not authorized to view everyone's permissions"):
            session.execute("LIST ALL PERMISSIONS")
        refused(session, "SELECT * FROM system_auth.role_permissions", resource="<table system_auth.role_permissions>")
    stored = boss.execute(f"SELECT resource, permissions FROM system_auth.role_permissions WHERE role = '{role}'").one()
    assert (stored.resource, set(stored.permissions)) == ("data/ks/t", {"MODIFY", "SELECT"})
    with pytest.raises(InvalidRequest, match="Resource <table ks.nothing> doesn't exist"):
        boss.execute(f"GRANT SELECT ON ks.nothing TO {role}")


def test_without_authorization_roles_use_all_data(boss, tmp_path):
    free = server.Server(tmp_path, [*server.LOGIN_FLAGS, "--authorization", "none"])
    free.start()
    try:
        with login(free, "cassandra") as session:
            session.execute("CREATE ROLE jo WITH PASSWORD = 'jo' AND LOGIN = true")
            with pytest.raises(InvalidRequest, match="GRANT operation is not supported by AllowAllAuthorizer"):
                session.execute("GRANT SELECT ON ALL KEYSPACES TO jo")
        with login(free, "jo") as session:
            session.execute(KEYSPACE.format("ks"))
    finally:
        free.stop()


def test_traces_which_have_the_statements_of_all_roles_need_select(guarded, boss, role):
    with login(guarded, role) as session:
        refused(session, "SELECT * FROM system_traces.sessions", resource="<table system_traces.sessions>")
        boss.execute(f"GRANT SELECT ON KEYSPACE system_traces TO {role}")
        assert session.execute("SELECT release_version FROM system.local", trace=True).get_query_trace(20).events


def test_a_role_logs_in_from_its_networks_only(guarded, boss, role):
    read = "SELECT v FROM ks.t WHERE k = 1"
    boss.execute(f"GRANT SELECT ON ks.t TO {role}")
    with login(guarded, role) as session:
        assert session.execute(read).one().v == 0
        boss.execute(f"ALTER ROLE {role} WITH ACCESS FROM CIDRS {{'10.1.2.3/8', '::1'}}")
        [groups] = boss.execute(f"SELECT cidr_groups FROM system_auth.cidr_permissions WHERE role = '{role}'").one()
        assert set(groups) == {"10.0.0.0/8", "::1"}
        cidrs = {row.cidr_group: set(row.cidrs) for row in boss.execute("SELECT * FROM system_auth.cidr_groups")}
        assert cidrs["10.0.0.0/8"] == {("10.0.0.0", 8)} and cidrs["::1"] == {("::1", 128)}
        assert not list(boss.execute("SELECT * FROM system_auth.network_permissions"))
        with pytest.raises((NoHostAvailable, ConnectionException)):
            session.execute(read)
    with pytest.raises(NoHostAvailable, match="not permitted to log in from 127.0.0.1"), login(guarded, role):
        pass
    boss.execute(f"ALTER ROLE {role} WITH ACCESS FROM CIDRS {{'127.0.0.0/8'}} AND ACCESS TO DATACENTERS {{'datacenter1'}}")
    with login(guarded, role) as session:
        assert session.execute(read).one().v == 0
        with pytest.raises(Unauthorized, match="Only superusers are allowed"):
            session.execute(f"ALTER ROLE {role} WITH ACCESS FROM ALL CIDRS")
    for scope in ("FROM CIDRS {'office'}", "TO DATACENTERS {'dc2'}"):
        with pytest.raises(InvalidRequest):
            boss.execute(f"ALTER ROLE {role} WITH ACCESS {scope}")


def test_sql_over_http_is_permitted_and_audited_by_the_address_of_its_client(guarded, boss, role):
    boss.execute(f"GRANT SELECT ON ks.t TO {role}")
    boss.execute(f"ALTER ROLE {role} WITH ACCESS FROM CIDRS {{'127.0.0.2/32'}}")
    host, port = guarded.state()["http"].rsplit(":", 1)

    def status_of(address):
        connection = http.client.HTTPConnection(host, int(port), 60, source_address=(address, 0))
        try:
            authorization = "Basic " + base64.b64encode(f"{role}:{role}".encode()).decode()
            connection.request("POST", "/sql", "SELECT v FROM ks.t WHERE k = 1", {"Authorization": authorization})
            return connection.getresponse().status
        finally:
            connection.close()

    assert status_of("127.0.0.2") == 200
    assert status_of("127.0.0.1") in (401, 403)
    lines = lambda: map(json.loads, (guarded.directory / "audit.log").read_text().splitlines())
    clients = lambda: {line["client"].split(":")[0] for line in lines() if line["role"] == role and line["protocol"] == "cql" and "operation" in line}
    wait_until(clients)
    assert clients() == {"127.0.0.2"}
