"""The server under test (TARNDB_TEST_CQL), a session on it as applications open it, and its restart."""

import os
import shlex
import subprocess
import time

import pytest
from cassandra import DriverException, OperationTimedOut
from cassandra.cluster import Cluster, ExecutionProfile, NoHostAvailable
from cassandra.connection import ConnectionException
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy, TokenAwarePolicy

from patient import patient
from waiting import SECONDS_MAX

HOST, PORT = os.environ["TARNDB_TEST_CQL"].rsplit(":", 1)
# What a client may see of a server that goes away.
GONE = (NoHostAvailable, OperationTimedOut, ConnectionException, DriverException)


def when_back(attempt):
    """The result of a function, as soon as the session has found the server."""
    deadline = time.monotonic() + SECONDS_MAX
    while True:
        try:
            return attempt()
        except GONE:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@pytest.fixture(scope="module")
def session():
    """A session of this module's."""
    profile = ExecutionProfile(load_balancing_policy=TokenAwarePolicy(RoundRobinPolicy()), request_timeout=SECONDS_MAX)
    cluster = Cluster([HOST], port=int(PORT), reconnection_policy=ConstantReconnectionPolicy(0.1, max_attempts=None), **patient(profile, protocol_version=5))
    yield cluster.connect()
    cluster.shutdown()


@pytest.fixture(scope="module")
def keyspace(session, request):
    """A keyspace of this module's, empty at the start."""
    name = "app_" + request.module.__name__.removeprefix("test_")
    session.execute(f"DROP KEYSPACE IF EXISTS {name}")
    session.execute(f"CREATE KEYSPACE {name} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}")
    yield name
    when_back(lambda: session.execute(f"DROP KEYSPACE IF EXISTS {name}", timeout=SECONDS_MAX))


@pytest.fixture
def kill(session):
    """A function that kills the server and returns once it is ready again and the session has found it."""
    command = os.environ.get("TARNDB_TEST_RESTART")
    if not command:
        pytest.skip("the server under test is not ours to restart")

    def restart():
        subprocess.run([*shlex.split(command), "kill"], check=True, stdout=subprocess.DEVNULL, timeout=300)
        # The control connection, too: else the session takes notice of its dead connections one by one.
        when_back(session.cluster.refresh_nodes)
        when_back(lambda: session.execute("SELECT key FROM system.local"))

    return restart
