"""Fixtures: a client of each protocol on one server, and a set a test.

The server is TARNDB_TEST_CQL and TARNDB_TEST_AEROSPIKE (host:port each) with TARNDB_TEST_RESTART, the command that restarts it; without
them a private one is started here.
"""

import itertools
import os
import shlex
import subprocess
import tempfile
import time

import aerospike
import pytest
from aerospike import exception as aerospike_exception
from cassandra import DriverException
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.policies import ConstantReconnectionPolicy

import server
from aerospike_settings import settings
from waiting import SECONDS_MAX

NAMESPACE = "test"
names = itertools.count()


def split(address: str) -> tuple[str, int]:
    host, port = address.rsplit(":", 1)
    return host, int(port)


@pytest.fixture(scope="session")
def endpoints():
    """Host and port for CQL, and for Aerospike."""
    if os.environ.get("TARNDB_TEST_CQL"):
        yield split(os.environ["TARNDB_TEST_CQL"]), split(os.environ["TARNDB_TEST_AEROSPIKE"])
        return
    run_directory = server.ROOT / ".cache" / "run"
    run_directory.mkdir(parents=True, exist_ok=True)
    directory = tempfile.mkdtemp(prefix="aerospike-cql-", dir=run_directory)
    private = server.Server(directory)
    cql = private.start()
    os.environ["TARNDB_TEST_RESTART"] = shlex.join(["python3", server.__file__, "restart", directory])
    yield split(cql), split(private.state()["aerospike"])
    private.stop()


@pytest.fixture(scope="session")
def client(endpoints):
    """Aerospike's."""
    connected = aerospike.client(settings([endpoints[1]])).connect()
    yield connected
    connected.close()


@pytest.fixture(scope="session")
def cluster(endpoints):
    host, port = endpoints[0]
    connected = Cluster(
        [host], port=port, reconnection_policy=ConstantReconnectionPolicy(0.2, max_attempts=None),
        connect_timeout=SECONDS_MAX, control_connection_timeout=SECONDS_MAX, max_schema_agreement_wait=SECONDS_MAX,
    )
    yield connected
    connected.shutdown()


@pytest.fixture(scope="session")
def session(cluster, client):
    """CQL's. The namespace is a keyspace from its first record on."""
    client.put((NAMESPACE, "first", 0), {"n": 0})
    connected = cluster.connect()
    connected.default_timeout = SECONDS_MAX
    return connected


@pytest.fixture
def set_name():
    return f"s{next(names)}"


@pytest.fixture
def digest():
    """A record's digest: what CQL finds it by."""
    return lambda key: bytes(aerospike.calc_digest(key[0], key[1] or "", key[2]))


@pytest.fixture
def restart():
    """Restarts the server: how is `kill` or `term`."""
    command = os.environ.get("TARNDB_TEST_RESTART")
    if not command:
        pytest.skip("the server is not ours to restart")
    return lambda how: subprocess.run([*shlex.split(command), how], check=True, timeout=300, stdout=subprocess.DEVNULL)


def when_back(attempt):
    """What `attempt` gives, as soon as its client has found the server again."""
    deadline = time.monotonic() + SECONDS_MAX
    while True:
        try:
            return attempt()
        except (aerospike_exception.AerospikeError, NoHostAvailable, DriverException):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
