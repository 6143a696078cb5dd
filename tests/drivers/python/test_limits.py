"""Limits of roles: connections, requests and bytes, from the statement that sets them to open connections, on a server of their own."""

import importlib.util
import tempfile
import time

import pytest
from cassandra import InvalidRequest, OperationTimedOut, Unauthorized
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import FallthroughRetryPolicy
from cassandra.protocol import OverloadedErrorMessage

import roles
import server
from conftest import PEER, run_directory
from roles import KEYSPACE, boss, names, role
from waiting import SECONDS_MAX

pytestmark = [
    pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB"),
    pytest.mark.skipif(importlib.util.find_spec("cassandra.shard_info") is not None, reason="ScyllaDB's driver has other connections, one a core"),
]


@pytest.fixture(scope="module")
def guarded():
    """A server with table `ks.t` of 100 rows, which every role may use."""
    private = server.Server(tempfile.mkdtemp(prefix="limits-", dir=run_directory()), [*server.LOGIN_FLAGS, "--authorization", "none"])
    private.start()
    with login(private, "cassandra") as boss:
        boss.execute(KEYSPACE.format("ks"))
        boss.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v text)")
        for key in range(100):
            boss.execute("INSERT INTO ks.t (k, v) VALUES (%s, 'x')", (key,))
    yield private
    private.stop()


def login(guarded, role):
    """A session of a role: two connections. The driver's own policy asks the next host, and may then fail before it has noted why this one did not answer."""
    profile = ExecutionProfile(retry_policy=FallthroughRetryPolicy(), request_timeout=SECONDS_MAX)
    return roles.login(guarded, role, execution_profiles={EXEC_PROFILE_DEFAULT: profile})


def outcomes(session, statement, values=()):
    """How many of the requests were served; the others were refused as too many. They come together, however long one takes."""
    served = 0
    for is_served, found in execute_concurrent_with_args(session, statement, values, concurrency=100, raise_on_first_error=False):
        served += is_served
        assert is_served or (isinstance(found, OverloadedErrorMessage) and "has reached its limit" in str(found)), found
    return served


def usage(boss, role):
    return boss.execute("SELECT * FROM system_views.role_limits WHERE role = %s", (role,)).one()


def until_connected(boss, role, connections):
    """The server has so many connections of a role: drivers open and close theirs when they like."""
    deadline = time.monotonic() + SECONDS_MAX
    while (row := usage(boss, role)) and row.connections != connections:
        assert time.monotonic() < deadline, row
        time.sleep(0.01)


def options_of(boss, role):
    [row] = [row for row in boss.execute(f"LIST ROLES OF {role}") if row.role == role]
    return dict(row.options)


def test_requests_of_open_connections_are_limited_at_once(guarded, boss, role):
    with login(guarded, role) as session:
        read, write = session.prepare("SELECT v FROM ks.t WHERE k = ?"), session.prepare("INSERT INTO ks.t (k, v) VALUES (?, 'x')")
        keys = [(key % 100,) for key in range(300)]
        assert outcomes(session, read, keys) == 300 and usage(boss, role) is None
        boss.execute(f"ALTER ROLE {role} WITH OPTIONS = {{'requests_per_second': 5}}")
        assert options_of(boss, role) == {"requests_per_second": "5"}
        served = outcomes(session, read, keys)
        assert 1 <= served < 300
        row = usage(boss, role)
        assert (row.requests_per_second, row.connections, row.max_connections) == (5, 2, None) and row.refused_requests >= 300 - served
        # Of both kinds together, and texts, and batches.
        assert outcomes(session, "SELECT v FROM ks.t WHERE k = %s", keys) + outcomes(session, write, keys) < 300
        # What drivers read of the system is not counted.
        assert outcomes(session, "SELECT * FROM system.local", [()] * 100) == 100
        boss.execute(f"ALTER ROLE {role} WITH OPTIONS = {{'writes_per_second': 5, 'reads_per_second': 0}}")
        assert options_of(boss, role) == {"writes_per_second": "5"}
        assert outcomes(session, read, keys) == 300 and outcomes(session, write, keys) < 300
        boss.execute(f"ALTER ROLE {role} WITH OPTIONS = {{}}")
        assert outcomes(session, write, keys) == 300 and options_of(boss, role) == {}


def test_a_granted_role_limits_too(guarded, boss, role):
    group = next(names)
    boss.execute(f"CREATE ROLE {group} WITH OPTIONS = {{'requests_per_second': 3}}")
    with login(guarded, role) as session:
        keys = [(key % 100,) for key in range(200)]
        boss.execute(f"ALTER ROLE {role} WITH OPTIONS = {{'requests_per_second': 100000}}")
        assert outcomes(session, "SELECT v FROM ks.t WHERE k = %s", keys) == 200
        boss.execute(f"GRANT {group} TO {role}")
        assert outcomes(session, "SELECT v FROM ks.t WHERE k = %s", keys) < 200
        boss.execute(f"REVOKE {group} FROM {role}")
        assert outcomes(session, "SELECT v FROM ks.t WHERE k = %s", keys) == 200
    boss.execute(f"DROP ROLE {group}")


def test_bytes_are_limited(guarded, boss, role):
    with login(guarded, role) as session:
        write = session.prepare("INSERT INTO ks.t (k, v) VALUES (?, ?)")
        boss.execute(f"ALTER ROLE {role} WITH OPTIONS = {{'bytes_per_second': 10000}}")
        assert outcomes(session, write, [(key, "y" * 5_000) for key in range(50)]) < 50
        assert usage(boss, role).bytes_per_second == 10_000


def test_connections_are_limited_at_log_in_and_at_once(guarded, boss, role):
    with login(guarded, role) as session:
        boss.execute(f"ALTER ROLE {role} WITH OPTIONS = {{'max_connections': 3}}")
        until_connected(boss, role, 2)
        # Of its two connections one is let in.
        with pytest.raises((NoHostAvailable, OperationTimedOut)), login(guarded, role) as other:
            other.execute("SELECT v FROM ks.t WHERE k = 1", timeout=2)
        assert usage(boss, role).refused_connections > 0
        session.execute("SELECT v FROM ks.t WHERE k = 1")
    boss.execute(f"ALTER ROLE {role} WITH OPTIONS = {{'max_connections': 4}}")
    until_connected(boss, role, 0)
    with login(guarded, role) as _, login(guarded, role) as __:
        # A session that nobody refers to is closed.
        until_connected(boss, role, 4)
        boss.execute(f"ALTER ROLE {role} WITH OPTIONS = {{'max_connections': 1}}")
        assert usage(boss, role).connections <= 1


def test_options_that_are_none_and_who_may_set_them(guarded, boss, role):
    for options, why in [
        ("{'request_per_second': 5}", "did you mean requests_per_second"),
        ("{'requests_per_second': -1}", "is a number up to"),
        ("{'requests_per_second': 'many'}", "is a number up to"),
    ]:
        with pytest.raises(InvalidRequest, match=why):
            boss.execute(f"ALTER ROLE {role} WITH OPTIONS = {options}")
    boss.execute(f"ALTER ROLE {role} WITH OPTIONS = {{'requests_per_second': 1000}}")
    with login(guarded, role) as session:
        with pytest.raises(Unauthorized, match="aren't allowed to alter OPTIONS"):
            session.execute(f"ALTER ROLE {role} WITH OPTIONS = {{}}")
