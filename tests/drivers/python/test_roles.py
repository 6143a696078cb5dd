"""Roles: logging in, what a role may do, what becomes of those who may no more; on a server of their own that asks for passwords."""

import contextlib
import itertools
import socket
import struct
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from cassandra import AuthenticationFailed, InvalidRequest, Unauthorized
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster, NoHostAvailable

import server
from conftest import PEER, run_directory, when_back
from patient import patient
from waiting import SECONDS_MAX

pytestmark = pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB")

FLAGS = server.LOGIN_FLAGS
SUPERUSER = ("cassandra", "cassandra")
names = (f"role{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def guarded():
    """A server on which clients have to log in."""
    private = server.Server(tempfile.mkdtemp(prefix="roles-", dir=run_directory()), FLAGS)
    private.start()
    yield private
    private.stop()


@contextlib.contextmanager
def login(guarded, credentials=SUPERUSER, **options):
    """A session of who logs in so."""
    host, port = guarded.state()["cql"].rsplit(":", 1)
    provider = credentials and PlainTextAuthProvider(*credentials)
    cluster = Cluster([host], port=int(port), **patient(auth_provider=provider, **{"protocol_version": 4, **options}))
    try:
        yield cluster.connect()
    finally:
        cluster.shutdown()


def refusal(guarded, credentials) -> str:
    """Why this one is not let in."""
    with pytest.raises(NoHostAvailable) as failure, login(guarded, credentials):
        pass
    (error,) = failure.value.errors.values()
    assert isinstance(error, AuthenticationFailed), error
    return str(error)


@pytest.fixture
def role(guarded):
    """The name and password of a role that may log in."""
    name, password = next(names), "päss' word"
    with login(guarded) as session:
        session.execute(f"CREATE ROLE {name} WITH PASSWORD = 'päss'' word' AND LOGIN = true")
    return name, password


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("compression", [False, "lz4"])
def test_the_default_superuser_logs_in_on_every_version(guarded, version, compression):
    with login(guarded, protocol_version=version, compression=compression) as session:
        assert session.execute("LIST ROLES").one().role == "cassandra"


def test_who_gives_no_name_or_a_wrong_password_is_not_let_in(guarded):
    assert "requires authentication" in refusal(guarded, None)
    wrong = "Provided username {} and/or password are incorrect"
    assert wrong.format("cassandra") in refusal(guarded, ("cassandra", "Cassandra"))
    assert wrong.format("nobody") in refusal(guarded, ("nobody", "cassandra"))
    assert "Password must not be empty" in refusal(guarded, ("cassandra", ""))
    assert "too long" in refusal(guarded, ("cassandra", "x" * 5000))


@pytest.mark.parametrize("length", [1, 71, 72])
def test_passwords_may_have_up_to_72_bytes(guarded, length):
    name, password = next(names), "p" * length
    with login(guarded) as session:
        session.execute(f"CREATE ROLE {name} WITH PASSWORD = '{password}' AND LOGIN = true")
        for refused in ("", "p" * 73):
            with pytest.raises(InvalidRequest, match="1 to 72 bytes"):
                session.execute(f"ALTER ROLE {name} WITH PASSWORD = '{refused}'")
    with login(guarded, (name, password)) as session:
        assert session.execute("SELECT key FROM system.local").one()
    assert "incorrect" in refusal(guarded, (name, "p" * (length - 1) or "q"))


def test_a_role_without_a_password_does_not_log_in(guarded):
    name = next(names)
    with login(guarded) as session:
        session.execute(f"CREATE ROLE {name} WITH LOGIN = true")
    for password in ("cassandra", name, " "):
        assert "incorrect" in refusal(guarded, (name, password))


def test_a_role_logs_in_and_works(guarded, role):
    assert "incorrect" in refusal(guarded, (role[0], "pass' word"))
    with login(guarded) as boss:
        boss.execute(f"GRANT CREATE ON ALL KEYSPACES TO {role[0]}")
    with login(guarded, role) as session:
        session.execute(f"CREATE KEYSPACE ks_{role[0]} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}")
        session.execute(f"CREATE TABLE ks_{role[0]}.t (k int PRIMARY KEY, v text)")
        insert = session.prepare(f"INSERT INTO ks_{role[0]}.t (k, v) VALUES (?, ?)")
        for future in [session.execute_async(insert, (key, str(key))) for key in range(200)]:
            future.result()
        assert len(session.execute(f"SELECT * FROM ks_{role[0]}.t").all()) == 200
        with pytest.raises(Unauthorized, match="does not have sufficient privileges"):
            session.execute("CREATE ROLE another")
        assert [tuple(row) for row in session.execute("LIST ROLES")] == [(role[0], False, True, {}, "ALL")]


def test_a_changed_password_counts_from_then_on(guarded, role):
    with login(guarded, role) as session:
        session.execute(f"ALTER ROLE {role[0]} WITH PASSWORD = 'new'")
        assert session.execute("SELECT key FROM system.local").one(), "whoever is in stays in"
        assert "incorrect" in refusal(guarded, role)
        with login(guarded, (role[0], "new")) as other:
            assert other.execute("SELECT key FROM system.local").one()


@pytest.mark.parametrize("statement", ["DROP ROLE {}", "ALTER ROLE {} WITH LOGIN = false"])
def test_who_may_not_log_in_any_more_is_cut_off(guarded, role, statement):
    with login(guarded) as boss, login(guarded, role) as session:
        assert session.execute("SELECT key FROM system.local").one()
        boss.execute(statement.format(role[0]))
        assert "incorrect" in refusal(guarded, role)
        with pytest.raises(Exception) as failure:
            for _ in range(50):
                session.execute("SELECT key FROM system.local")
        assert isinstance(failure.value, NoHostAvailable) or "closed" in str(failure.value).lower(), failure.value


def test_roles_survive_kill_and_a_restart(guarded, role):
    with login(guarded) as session:
        session.execute(f"CREATE ROLE group_of_{role[0]}")
        session.execute(f"GRANT group_of_{role[0]} TO {role[0]}")
        guarded.restart("kill")
        roles = [row.role for row in when_back(session, f"LIST ROLES OF {role[0]}")]
    assert roles == [f"group_of_{role[0]}", role[0]]
    with login(guarded, role) as session:
        assert session.execute("SELECT key FROM system.local").one()


def test_a_hash_from_cassandra_is_taken_over(guarded):
    # Of 'cassandra', as Apache Cassandra stores it ($2a$).
    name = next(names)
    with login(guarded) as session:
        session.execute(f"CREATE ROLE {name} WITH HASHED PASSWORD = '$2a$10$TEDwZiPAH1KeXETkWVTqb.ChLV738ekqWq4LAZKqz63Mku3r2aMRm' AND LOGIN = true")
        with pytest.raises(InvalidRequest, match="Invalid hashed password"):
            session.execute("CREATE ROLE other WITH HASHED PASSWORD = 'cassandra'")
    with login(guarded, (name, "cassandra")) as session:
        assert session.execute("SELECT key FROM system.local").one()


def test_many_connections_at_once_log_in(guarded, role):
    def come_in(_):
        with login(guarded, role) as session:
            return session.execute("SELECT key FROM system.local").one().key

    with ThreadPoolExecutor(30) as pool:
        assert set(pool.map(come_in, range(30))) == {"local"}


def frame(opcode: int, body: bytes, stream: int = 0) -> bytes:
    return struct.pack(">BBhBi", 4, 0, stream, opcode, len(body)) + body


def ask(connection, opcode: int, body: bytes):
    """Opcode and body of the answer to a frame."""
    connection.sendall(frame(opcode, body))
    header = connection.recv(9, socket.MSG_WAITALL)
    _, _, _, answer, length = struct.unpack(">BBhBi", header)
    return answer, connection.recv(length, socket.MSG_WAITALL) if length else b""


STARTUP = b"\0\1\0\x0bCQL_VERSION\0\x053.0.0"
ERROR, AUTHENTICATE, AUTH_SUCCESS = 0x00, 0x03, 0x10
PROTOCOL, BAD_CREDENTIALS = 0x000A, 0x0100


def test_nothing_is_served_before_the_login(guarded):
    text = b"SELECT key FROM system.local"
    query = struct.pack(">i", len(text)) + text + b"\0\1\0"
    host, port = guarded.state()["cql"].rsplit(":", 1)
    with socket.create_connection((host, int(port)), SECONDS_MAX) as connection:
        assert ask(connection, 0x07, query)[0] == ERROR
        opcode, body = ask(connection, 0x01, STARTUP)
        assert (opcode, body[2:]) == (AUTHENTICATE, b"org.apache.cassandra.auth.PasswordAuthenticator")
        for opcode in (0x07, 0x09, 0x0A, 0x0B, 0x0D, 0x01):
            answer, body = ask(connection, opcode, query)
            assert (answer, struct.unpack(">i", body[:4])[0]) == (ERROR, PROTOCOL), opcode
        for token in (b"", b"cassandra", b"\0cassandra", b"\0\0", b"\0\xff\xfe\0x", b"\0" * 70_000, b"\0cassandra\0" + b"x" * (8 << 20)):
            answer, body = ask(connection, 0x0F, struct.pack(">i", len(token)) + token)
            assert (answer, struct.unpack(">i", body[:4])[0]) == (ERROR, BAD_CREDENTIALS), token[:20]
        assert ask(connection, 0x05, b"")[0] == 0x06, "OPTIONS is"
        token = b"\0cassandra\0cassandra"
        # What comes before the answer is refused, and the login goes on.
        connection.sendall(frame(0x0F, struct.pack(">i", len(token)) + token) + frame(0x07, query, 1))
        answers = {}
        for _ in range(2):
            _, _, stream, answer, length = struct.unpack(">BBhBi", connection.recv(9, socket.MSG_WAITALL))
            connection.recv(length, socket.MSG_WAITALL)
            answers[stream] = answer
        assert answers == {0: AUTH_SUCCESS, 1: ERROR}
        assert ask(connection, 0x07, query)[0] == 0x08


def test_without_namespaces_aerospike_clients_have_no_door(guarded):
    assert "aerospike" not in guarded.state()


def test_without_passwords_roles_need_a_login(shared_session):
    with pytest.raises(Unauthorized, match="not anonymous"):
        shared_session.execute("CREATE ROLE nobody")


def test_roles_can_be_read_and_their_passwords_not(guarded, role):
    with login(guarded) as session:
        session.execute(f"GRANT cassandra TO {role[0]}")
        row = session.execute(f"SELECT * FROM system_auth.roles WHERE role = '{role[0]}'").one()
        assert (row.can_login, row.is_superuser, row.member_of, row.salted_hash) == (True, False, {"cassandra"}, None)
        assert (role[0],) in session.execute("SELECT member FROM system_auth.role_members WHERE role = 'cassandra'").all()
        with pytest.raises(Unauthorized):
            session.execute(f"INSERT INTO system_auth.roles (role, is_superuser) VALUES ('{role[0]}', true)")
        session.execute(f"DROP ROLE {role[0]}")
