"""Nodes as processes, and clusters of them.

Every node of a cluster has an address of its own (127.x.y.N, or one in a network namespace) and the same ports. Invariants: only
processes that were started here are ever signalled; they die with the test runner; directories go when a test has passed.
"""

import contextlib
import ctypes
import functools
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

from cassandra import ConsistencyLevel, DriverException
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster as Driver, ExecutionProfile, NoHostAvailable
from cassandra.connection import ConnectionException
from cassandra.policies import (
    ConstantReconnectionPolicy, FallthroughRetryPolicy, RoundRobinPolicy, TokenAwarePolicy, WhiteListRoundRobinPolicy,
)
from cassandra.protocol import ErrorMessage
from cassandra.query import SimpleStatement

import server as servers

START_SECONDS_MAX = 180
END_SECONDS_MAX = 180
SETTLE_SECONDS_MAX = 180
CORES = int(os.environ.get("TARNDB_TEST_CORES", "1"))
CAPACITY = "512MiB"
VOTERS_MAX = 5
PR_SET_PDEATHSIG = 1
CLONE_NEWNET = 0x4000_0000
# What a statement can end with besides a result.
FAILURES = (DriverException, NoHostAvailable, ConnectionException, ErrorMessage)
LIBC = ctypes.CDLL(None, use_errno=True)
blocks = itertools.count(random.randrange(1 << 14))


def in_child(space: str | None):
    """What a child does before it becomes the node: it enters its network namespace, and ends when the test runner does."""
    if space is not None:
        descriptor = os.open(space, os.O_RDONLY)
        if LIBC.setns(descriptor, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {space}")
        os.close(descriptor)
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def running(threads, stopping: threading.Event):
    """Threads that run until the block ends, and see that by the event."""
    stopping.clear()
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        for thread in threads:
            thread.join()


class Node:
    """One member: its directory and, while it runs, its process; `space` is the network namespace in which it runs."""

    def __init__(self, directory: pathlib.Path, address: str, ports: dict, flags, space: str | None = None, capacity: str = CAPACITY):
        self.directory, self.address, self.ports, self.flags, self.space = directory, address, ports, list(flags), space
        self.capacity, self.data_dir = capacity, directory / "data"
        self.cores = CORES
        self.log_path = directory / "log"
        self.binary = servers.binary()
        self.process = None
        directory.mkdir(parents=True, exist_ok=True)

    def __repr__(self):
        return f"node at {self.address}"

    @property
    def number(self) -> int:
        """What the cluster calls it if members joined in the order of their addresses."""
        return int(self.address.rsplit(".", 1)[1])

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self, *flags, wait: bool = True):
        """Starts the process and waits until it serves clients."""
        assert not self.is_running
        command = [
            self.binary, "start", "--data-dir", str(self.data_dir), "--listen", self.address,
            *(word for name, port in self.ports.items() for word in (f"--{name}-port", str(port))),
            "--http-port", "0", "--cores", str(self.cores), "--pin", "off",
            "--memory-limit", f"{64 + 128 * self.cores}MiB", "--capacity", self.capacity, *self.flags, *flags,
        ]
        with open(self.log_path, "ab") as log:
            self.log_start = log.tell()
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=functools.partial(in_child, self.space),
            )
        if wait:
            self.wait_ready()

    def wait_ready(self):
        until(f"{self} is ready", lambda: "tarndb ready" in self.log(since_start=True) or not self.is_running, START_SECONDS_MAX)
        assert self.is_running, f"{self} ended with status {self.process.returncode}\n{self.log_tail()}"

    def log(self, since_start: bool = False) -> str:
        with open(self.log_path, "rb") as log:
            log.seek(self.log_start if since_start else 0)
            return log.read().decode(errors="replace")

    def http(self) -> str:
        """Where it serves operators, as its ready line says."""
        ready = next(line for line in self.log(since_start=True).splitlines() if line.startswith("tarndb ready"))
        return next(word.removeprefix("http=") for word in ready.split() if word.startswith("http="))

    def log_tail(self) -> str:
        return "\n".join(self.log().splitlines()[-30:])

    def signal(self, what: signal.Signals):
        assert self.is_running, f"{self} had died by itself\n{self.log_tail()}"
        self.process.send_signal(what)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait(END_SECONDS_MAX)

    def terminate(self):
        """As an operator ends it: it drains first."""
        self.signal(signal.SIGTERM)
        assert self.process.wait(END_SECONDS_MAX) == 0, f"{self} ended with status {self.process.returncode}\n{self.log_tail()}"

    def pause(self):
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    def end(self):
        """However it is."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(END_SECONDS_MAX)


class Cluster:
    """Members that know each other. The first one founds it."""

    def __init__(self, count: int = 3, flags=(), network=None, binary: str | None = None):
        runs = servers.ROOT / ".cache" / "run"
        runs.mkdir(parents=True, exist_ok=True)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="cluster-", dir=runs))
        self.network, self.flags, self.binary = network, list(flags), binary or servers.binary()
        block = next(blocks) % (1 << 14)
        self.block = f"127.{64 + (block >> 8)}.{block & 255}"
        self.ports = dict(zip(("cql", "cql-shard-aware", "aerospike", "node"), random.sample(range(10_000, 30_000), 4), strict=True))
        self.nodes = []
        for _ in range(count):
            self.add()

    def add(self, *flags, start: bool = True, capacity: str = CAPACITY) -> Node:
        """One more member; the first founds the cluster."""
        number = len(self.nodes) + 1
        address, space = self.network.place(number) if self.network else (f"{self.block}.{number}", None)
        join = ["--join", ",".join(f"{node.address}:{self.ports['node']}" for node in self.nodes[:3])] if self.nodes else []
        node = Node(self.directory / f"node{number}", address, self.ports, ["--rack", f"rack{number}", *join, *self.flags, *flags], space, capacity)
        node.binary = self.binary
        if space and "--authentication" not in node.flags:
            node.flags.append("--insecure")
        self.nodes.append(node)
        if start:
            node.start()
        return node

    def running(self):
        return [node for node in self.nodes if node.is_running]

    def driver(self, nodes=None, *, retries=FallthroughRetryPolicy, only: bool = False, consistency=ConsistencyLevel.QUORUM, seconds: float = 20):
        """The driver, connected to some nodes; `only`: it sends to no others."""
        addresses = [node.address for node in nodes or self.running()]
        policy = WhiteListRoundRobinPolicy(addresses) if only else TokenAwarePolicy(RoundRobinPolicy())
        profile = ExecutionProfile(policy, request_timeout=seconds, retry_policy=retries(), consistency_level=consistency)
        return Driver(
            addresses, port=self.ports["cql"], protocol_version=4, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, connect_timeout=5,
            reconnection_policy=ConstantReconnectionPolicy(0.3, None), schema_metadata_enabled=False, idle_heartbeat_interval=5,
            idle_heartbeat_timeout=10, control_connection_timeout=5,
        )

    def session(self, nodes=None, **options):
        return Session(self.driver(nodes, **options))

    def create(self, factor: int = 3):
        """Keyspace `k`, and a table of registers."""
        with self.session(seconds=120) as session:
            session.execute(f"CREATE KEYSPACE k WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {factor}}}")
            session.execute("CREATE TABLE k.t (a int PRIMARY KEY, b int)")
        self.settle()
        count = min(len(self.running()), VOTERS_MAX)
        until("the votes are where they belong", lambda: self.votes() >= count - 1 + count % 2, SETTLE_SECONDS_MAX, 0.1)

    def votes(self) -> int:
        """How many members vote on the metadata: until there are three, whose loss the cluster bears depends on who it is."""
        with urllib.request.urlopen(f"http://{self.running()[0].http()}/status", timeout=60) as answer:
            return sum(member["votes"] for member in json.load(answer)["cluster"]["members"])

    def settle(self, nodes=None, seconds_max: float = SETTLE_SECONDS_MAX):
        """Waits until every slot has all its replicas: a scan at ALL asks for that."""
        began = time.monotonic()
        with self.session(nodes) as session:
            scan = SimpleStatement("SELECT a FROM k.t", consistency_level=ConsistencyLevel.ALL, fetch_size=5000)
            until("every slot has all its replicas", lambda: succeeds(lambda: list(session.execute(scan))), seconds_max, 0.1)
        return time.monotonic() - began

    def rows_at(self, node: Node, keys) -> dict:
        """The rows as this member has them by itself."""
        with self.session([node], only=True, consistency=ConsistencyLevel.ONE) as session:
            select = session.prepare("SELECT b FROM k.t WHERE a = ?")
            futures = {key: session.execute_async(select, (key,)) for key in keys}
            found = {key: future.result().one() for key, future in futures.items()}
        return {key: row.b for key, row in found.items() if row is not None}

    def assert_members_agree(self, keys, nodes=None):
        """Where every node has every slot, each has the same rows."""
        nodes = nodes or self.running()
        first = self.rows_at(nodes[0], keys)
        for node in nodes[1:]:
            assert self.rows_at(node, keys) == first, f"{node} and {nodes[0]} have different rows"

    def stop(self, *, keep: bool):
        for node in self.nodes:
            if node.is_running:
                # A process that is stopped dies of SIGKILL, too.
                node.end()
        if self.network:
            self.network.close()
        if not keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    def logs(self) -> str:
        return "\n".join(f"--- {node}, {node.log_path}\n{node.log_tail()}" for node in self.nodes)


class Session:
    """A session of a driver of its own, which ends with it."""

    def __init__(self, driver):
        self.driver = driver
        try:
            until("a node takes the driver in", self._connects, 120, 0.2)
        except BaseException:
            driver.shutdown()
            raise

    def _connects(self):
        try:
            self.session = self.driver.connect()
        except NoHostAvailable:
            return False
        return True

    def __enter__(self):
        return self.session

    def __exit__(self, *_):
        self.driver.shutdown()


def until(what: str, condition, seconds_max: float, pause: float = 0.02):
    """Waits for a condition; an AssertionError names it when it does not come."""
    deadline = time.monotonic() + seconds_max
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds_max} s in vain: {what}"
        time.sleep(pause)


def succeeds(attempt) -> bool:
    try:
        attempt()
    except FAILURES:
        return False
    return True


def connect(address: str, port: int, seconds_max: float = 60) -> socket.socket:
    return socket.create_connection((address, port), seconds_max)
