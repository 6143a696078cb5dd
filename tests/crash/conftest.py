"""Private servers for crash tests, and sessions that never try anything twice."""

import contextlib
import tempfile

import pytest
from cassandra.cluster import Cluster, ExecutionProfile
from cassandra.policies import ConstantReconnectionPolicy, FallthroughRetryPolicy

import server as servers
from patient import patient
from sizes import pytest_collection_modifyitems, pytest_configure  # noqa: F401
from waiting import SECONDS_MAX


class Node:
    """A server that is killed now and then."""

    def __init__(self, memory: str, flags):
        runs = servers.ROOT / ".cache" / "run"
        runs.mkdir(parents=True, exist_ok=True)
        self.private = servers.Server(tempfile.mkdtemp(prefix="crash-", dir=runs), flags=flags, memory=memory)
        self.private.start()

    @contextlib.contextmanager
    def session(self):
        """A session in which every statement is sent once: what happened to it is then known, or unknown, but never twofold."""
        host, port = self.private.state()["cql"].rsplit(":", 1)
        profile = ExecutionProfile(request_timeout=SECONDS_MAX, retry_policy=FallthroughRetryPolicy())
        options = patient(profile, protocol_version=4, schema_metadata_enabled=False, token_metadata_enabled=False)
        cluster = Cluster([host], port=int(port), reconnection_policy=ConstantReconnectionPolicy(60), **options)
        try:
            yield cluster.connect()
        finally:
            cluster.shutdown()

    def restart(self, how: str, between=None):
        """`between` is called while no process runs."""
        self.private.restart(how, between)

    @property
    def data_dir(self):
        return self.private.directory / "data"

    @property
    def log(self):
        return self.private.log_path

    @property
    def pid(self) -> int:
        return self.private.state()["pid"]


@pytest.fixture
def start_node():
    """A function that starts a server with empty data; it ends with the test."""
    nodes = []

    def start(memory: str = "256MiB", flags=("--capacity", "2GiB")) -> Node:
        nodes.append(Node(memory, flags))
        return nodes[-1]

    yield start
    for node in nodes:
        node.private.stop()


@pytest.fixture
def node(start_node):
    return start_node()
