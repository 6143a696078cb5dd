"""One server with small limits for the whole suite, and a well-behaved client that must not notice any of it.

After every test: the process is the same, a driver's session that was there before still reads and writes within a second, a
new connection is served within a second, and the most memory that the process had during the test is below its limit and a tenth.
"""

import os
import pathlib
import resource
import tempfile
import time

import pytest
from cassandra.cluster import Cluster

import server as servers
from patient import patient
from sizes import pytest_collection_modifyitems, pytest_configure  # noqa: F401
from wire import READY, RESULT, Wire, query

MEMORY_LIMIT_BYTES = 256 << 20
MEMORY_BYTES_MAX = MEMORY_LIMIT_BYTES + MEMORY_LIMIT_BYTES // 10
ANSWER_SECONDS_MAX = 1.0
# Drivers, allocators and slow machines need a moment: what is asserted is the least of the attempts of so many seconds.
ATTEMPTS_SECONDS = 60


class Victim:
    """The server under attack."""

    def __init__(self, private: servers.Server):
        self.private = private
        state = private.state()
        host, port = state["cql"].rsplit(":", 1)
        self.address, self.pid, self.writes = (host, int(port)), state["pid"], 0

    def wire(self, **options) -> Wire:
        """A new raw connection."""
        return Wire(self.address, **options)

    def ready(self, **options) -> Wire:
        """A new raw connection, v4, after READY."""
        return self.wire(**options).start()

    def memory_bytes_most(self) -> int:
        """The most resident memory that the process had since `forget_memory`."""
        return self._status("VmHWM") << 10

    def forget_memory(self):
        """Lets the kernel's high-water mark start anew."""
        pathlib.Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def memory_bytes(self) -> int:
        return self._status("VmRSS") << 10

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def _status(self, field: str) -> int:
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1])
        raise AssertionError(f"the server (pid {self.pid}) is gone\n{self.private.log_tail()}")

    def assert_unharmed(self, session):
        assert servers.alive(self.pid), f"the server died\n{self.private.log_tail()}"
        assert "panicked" not in self.private.log_tail(), self.private.log_tail()
        self.writes += 1
        took = least_seconds(lambda: round_trip(session, self.writes))
        assert took < ANSWER_SECONDS_MAX, f"a session that was there before waited {took:.2f} s"
        took = least_seconds(self.fresh)
        assert took < ANSWER_SECONDS_MAX, f"a new connection waited {took:.2f} s"
        most = self.memory_bytes_most()
        assert most <= MEMORY_BYTES_MAX, f"the process had {most >> 20} MiB, its limit is {MEMORY_LIMIT_BYTES >> 20} MiB"

    def fresh(self):
        with self.ready() as wire:
            assert wire.ask(query("SELECT v FROM abuse.witness WHERE k = 1")).opcode == RESULT


def round_trip(session, number: int):
    session.execute("INSERT INTO abuse.witness (k, v) VALUES (1, %s)", (number,))
    assert session.execute("SELECT v FROM abuse.witness WHERE k = 1").one().v == number


def least_seconds(act) -> float:
    """The least time of a few attempts: one that meets the end of the attack may wait for it."""
    least, deadline = float("inf"), time.monotonic() + ATTEMPTS_SECONDS
    while least >= ANSWER_SECONDS_MAX and time.monotonic() < deadline:
        began = time.monotonic()
        act()
        least = min(least, time.monotonic() - began)
    return least


@pytest.fixture(scope="session", autouse=True)
def descriptors_max():
    """As many open files as the system lets us have; the server inherits the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else 1 << 20


@pytest.fixture(scope="session")
def victim(descriptors_max):
    runs = servers.ROOT / ".cache" / "run"
    runs.mkdir(parents=True, exist_ok=True)
    private = servers.Server(tempfile.mkdtemp(prefix="abuse-", dir=runs), flags=("--capacity", "2GiB"), memory="256MiB")
    private.start()
    yield Victim(private)
    private.stop()


@pytest.fixture(scope="session")
def session(victim):
    """The well-behaved client."""
    cluster = Cluster([victim.address[0]], port=victim.address[1], **patient(protocol_version=4))
    session = cluster.connect()
    session.execute("CREATE KEYSPACE abuse WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.execute("CREATE TABLE abuse.witness (k int PRIMARY KEY, v int)")
    session.execute("CREATE TABLE abuse.wide (k int, c int, v blob, PRIMARY KEY (k, c))")
    yield session
    cluster.shutdown()


@pytest.fixture(autouse=True)
def unharmed(victim, session):
    victim.forget_memory()
    yield
    victim.assert_unharmed(session)
