"""Roles in backups: they log in and may do what they could at the cut, and no password or hash is in what is said."""

import contextlib
import zlib

import pytest
from cassandra import Unauthorized
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster, NoHostAvailable

import server as servers
from conftest import KEYSPACE, of
from patient import patient

PASSWORDS = {"jo": "jos-password", "later": "laters-password"}


@pytest.fixture
def secured(node):
    """Starts servers that clients have to log in to; the first superuser's name is its password."""
    return lambda: node(servers.LOGIN_FLAGS, PlainTextAuthProvider("cassandra", "cassandra"))


def login_file(directory, role, password):
    path = directory / f"login-{role}"
    path.write_text(f"{role}:{password}")
    path.chmod(0o600)
    return "--login-file", path


@contextlib.contextmanager
def logged_in(node, role):
    host, port = node.server.state()["cql"].rsplit(":", 1)
    cluster = Cluster([host], port=int(port), auth_provider=PlainTextAuthProvider(role, PASSWORDS[role]), **patient(protocol_version=4))
    try:
        yield cluster.connect()
    finally:
        cluster.shutdown()


def roles_of(session):
    """What CQL shows of them, but the superuser of each server."""
    return (
        sorted(str(row) for row in session.execute("SELECT * FROM system_auth.roles") if row.role != "cassandra"),
        sorted(str(row) for row in session.execute("LIST ALL PERMISSIONS") if row.role != "cassandra"),
        sorted(str(row) for row in session.execute("SELECT * FROM system_auth.identity_to_role")),
        sorted(str(row) for row in session.execute("SELECT * FROM system_auth.cidr_permissions")),
    )


@pytest.mark.parametrize("encrypted", [False, True])
def test_roles_come_back_as_they_were_at_the_cut(secured, tmp_path, encrypted):
    source = secured()
    session, boss = source.session, login_file(tmp_path, "cassandra", "cassandra")
    key = tmp_path / "key"
    key.write_text("ab" * 32)
    key.chmod(0o600)
    words = ("--encryption-key-file", key) if encrypted else ()
    for text in (
        KEYSPACE.format("k"), "CREATE TABLE k.t (id int PRIMARY KEY)", "INSERT INTO k.t (id) VALUES (1)", "CREATE ROLE staff",
        f"CREATE ROLE jo WITH PASSWORD = '{PASSWORDS['jo']}' AND LOGIN = true AND OPTIONS = {{'max_connections': 20}} AND ACCESS FROM CIDRS {{'127.0.0.0/8'}}",
        "GRANT staff TO jo", "GRANT SELECT ON k.t TO staff", "ADD IDENTITY 'spiffe://there/jo' TO ROLE 'jo'",
    ):  # fmt: skip
        session.execute(text)
    tool, plain, place = of(source, tmp_path / "tool"), tmp_path / "plain", tmp_path / "backup"
    assert "roles and permissions are not in it: give --roles" in tool.must("backup", "--to", plain, *boss)
    said = tool.must("backup", "--to", place, "--roles", *boss, *words)
    assert ", 3 roles" in said and "not in it" not in said and "$2" not in said, said
    stored = (place / "roles.json").read_bytes()
    assert (b"$2b$" in stored) == (not encrypted) and (place / "roles.json").stat().st_mode & 0o777 == 0o600
    wanted = roles_of(session)
    session.execute(f"CREATE ROLE later WITH PASSWORD = '{PASSWORDS['later']}' AND LOGIN = true")
    assert ", 3 roles" in tool.must("backup", "verify", place, *words)
    target = secured()
    other = of(target, tmp_path / "restore")
    code, said = other.run("restore", "--from", plain, "--roles", *boss)
    assert code == 2 and "there is no role in the backup: it was taken without --roles" in said, said
    assert not list(target.session.execute("SELECT * FROM system_schema.tables WHERE keyspace_name = 'k'")), "it is said before anything is made"
    said = other.must("restore", "--from", place, "--roles", *boss, *words)
    assert "roles: 2 made, 0 are here as they were, 1 are here, differ, and stay as they are: cassandra" in said and "$2" not in said, said
    assert roles_of(target.session) == wanted
    with logged_in(target, "jo") as jo:
        assert [row.id for row in jo.execute("SELECT id FROM k.t")] == [1]
        with pytest.raises(Unauthorized):
            jo.execute("INSERT INTO k.t (id) VALUES (2)")
    with pytest.raises(NoHostAvailable), logged_in(target, "later"):
        pass
    # A change is found, and so is one for which the checksum was made anew, where the backup is encrypted.
    (place / "roles.json").write_bytes(stored[:-20] + bytes([stored[-20] ^ 1]) + stored[-19:])
    code, said = tool.run("backup", "verify", place, *words)
    assert code == 1 and "roles.json of the backup is damaged" in said, said
    if encrypted:
        manifest = (place / "manifest.json").read_bytes().rsplit(b"crc32", 1)[0]
        changed = (place / "roles.json").read_bytes()
        manifest = manifest.replace(str(zlib.crc32(stored)).encode(), str(zlib.crc32(changed)).encode())
        (place / "manifest.json").write_bytes(manifest + f"crc32 {zlib.crc32(manifest):08x}\n".encode())
        code, said = tool.run("backup", "verify", place, *words)
        assert code == 1 and "roles.json of the backup is damaged at byte 0: it is not what was encrypted" in said, said


def test_roles_that_exist_stay_and_only_superusers_take_or_make_any(secured, tmp_path):
    source = secured()
    session, boss = source.session, login_file(tmp_path, "cassandra", "cassandra")
    for text in (KEYSPACE.format("k"), "CREATE ROLE staff", f"CREATE ROLE jo WITH PASSWORD = '{PASSWORDS['jo']}' AND LOGIN = true", "GRANT staff TO jo", "ADD IDENTITY 'x' TO ROLE 'jo'"):
        session.execute(text)
    tool, place = of(source, tmp_path / "tool"), tmp_path / "backup"
    jo = login_file(tmp_path, "jo", PASSWORDS["jo"])
    code, said = tool.run("backup", "--to", place, "--roles", *jo)
    assert code == 2 and "orders are for superusers" in said, said
    tool.must("backup", "--to", place, "--roles", *boss)
    target = secured()
    other = of(target, tmp_path / "restore")
    target.session.execute("CREATE ROLE staff WITH LOGIN = true AND PASSWORD = 'other'")
    target.session.execute("CREATE ROLE somebody")
    target.session.execute("ADD IDENTITY 'x' TO ROLE 'somebody'")
    code, said = other.run("restore", "--from", place, "--roles", *boss)
    assert code == 1 and "the identity x of the backup's role jo is that of the role somebody here" in said, said
    assert "jo" not in [row.role for row in target.session.execute("LIST ROLES")]
    # The same command goes on.
    target.session.execute("DROP IDENTITY 'x'")
    said = other.must("restore", "--from", place, "--roles", *boss)
    assert "roles: 1 made, 0 are here as they were, 2 are here, differ, and stay as they are: cassandra, staff" in said, said
    found = {row.role: row for row in target.session.execute("SELECT * FROM system_auth.roles")}
    assert found["staff"].can_login and found["jo"].member_of == {"staff"}
