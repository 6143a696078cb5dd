"""Nodes on directories that something has happened to: how they start, what they say, and which rows they have.

Invariants: only processes that were started here are ever signalled, and they die with the test runner; a directory that a cell works on is a copy, so
that cells do not see each other.
"""

import contextlib
import ctypes
import dataclasses
import functools
import mmap
import os
import pathlib
import select
import shutil
import signal
import subprocess
import time

from cassandra import DriverException
from cassandra.cluster import Cluster, ExecutionProfile
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import ConstantReconnectionPolicy, FallthroughRetryPolicy
from cassandra.protocol import ErrorMessage

import faults
import server as servers
from patient import patient
from waiting import SECONDS_MAX

START_SECONDS_MAX = 180
END_SECONDS_MAX = 180
PR_SET_PDEATHSIG = 1
# Whom root becomes where the file system's permissions are to be felt.
NOBODY = 65534
FLAGS = ["--cores", "1", "--memory-limit", "192MiB", "--pin", "off"]
CAPACITY = ["--capacity", "512MiB"]
LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_runner():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@dataclasses.dataclass
class Ended:
    """A process that has ended by itself."""

    code: int
    log: str


class Node:
    """A process on a data directory."""

    def __init__(self, directory: pathlib.Path, flags=(), nobody: bool = False):
        self.directory, self.data_dir, self.log_path = directory, directory / "data", directory / "log"
        self.flags, self.nobody = list(flags), nobody
        self.process, self.ready = None, {}

    def command(self, *flags):
        ports = [word for name in ("cql", "cql-shard-aware", "aerospike", "http") for word in (f"--{name}-port", "0")]
        capacity = [] if "--devices" in self.flags else CAPACITY
        become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if self.nobody else []
        return [*become, servers.binary(), "start", "--data-dir", str(self.data_dir), "--listen", "127.0.0.1", *ports, *FLAGS, *capacity, *self.flags, *flags]

    def start(self, *flags) -> Ended | None:
        """Starts it and waits until it serves clients, or has ended."""
        with open(self.log_path, "ab") as log:
            began = log.tell()
            self.process = subprocess.Popen(
                self.command(*flags), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True, preexec_fn=die_with_runner,
            )
        descriptor = os.pidfd_open(self.process.pid)
        deadline = time.monotonic() + START_SECONDS_MAX
        try:
            while time.monotonic() < deadline:
                has_ended = select.select([descriptor], [], [], 0.02)[0]
                text = self.log(began)
                line = next((line for line in text.splitlines() if line.startswith("tarndb ready")), None)
                if line is not None and not has_ended:
                    self.ready = dict(word.split("=", 1) for word in line.split() if "=" in word)
                    return None
                if has_ended:
                    return Ended(self.process.wait(), text)
        finally:
            os.close(descriptor)
        self.process.kill()
        raise AssertionError(f"neither ready nor ended within {START_SECONDS_MAX} s\n{self.log()[-2000:]}")

    def log(self, since: int = 0) -> str:
        with open(self.log_path, "rb") as log:
            log.seek(since)
            return log.read().decode(errors="replace")

    def end(self, how: signal.Signals):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            code = self.process.wait(END_SECONDS_MAX)
            assert code == (0 if how == signal.SIGTERM else -how), f"ended with {code}\n{self.log()[-2000:]}"

    @contextlib.contextmanager
    def session(self):
        host, port = self.ready["cql"].rsplit(":", 1)
        profile = ExecutionProfile(request_timeout=SECONDS_MAX, retry_policy=FallthroughRetryPolicy())
        options = patient(profile, protocol_version=4, schema_metadata_enabled=False, token_metadata_enabled=False)
        cluster = Cluster([host], port=int(port), reconnection_policy=ConstantReconnectionPolicy(60), **options)
        try:
            yield cluster.connect()
        finally:
            cluster.shutdown()


TABLES = ("faults.a", "faults.b")
# What is written in each of two lives of a node: rows of which table, from which key to which.
FIRST, SECOND, LAST = ("faults.a", 0, 1200), ("faults.b", 0, 1500), ("faults.a", 1200, 1240)
GONE = ("faults.gone", 0, 10)
# Some segments of 8 MiB; in the second life more than the stable memory has images of. A fault finds the last rows by their text.
TEXTS = {FIRST: "x" * 10_000, SECOND: "x" * 24_000, GONE: "z" * 500, LAST: "y" * 500}
# A flush falls between the last rows and a kill that rarely, and more often where this machine stalls.
MAKE_TRIES = 15


def value(key: int) -> int:
    return key * 7 + 1


def write(session, rows):
    table, first, last = rows
    insert = session.prepare(f"INSERT INTO {table} (k, v, t) VALUES (?, ?, ?)")
    text = TEXTS[rows]
    for done, _ in execute_concurrent_with_args(session, insert, [(key, value(key), text) for key in range(first, last)], concurrency=64):
        assert done


def make(directory: pathlib.Path, flags, how: signal.Signals) -> tuple[pathlib.Path, pathlib.Path]:
    """A directory with rows whose node has ended in one of two ways, and the same as it was before, after an orderly end.

    After a kill the last rows are in the stable memory alone.
    """
    for _ in range(MAKE_TRIES):
        made = make_once(directory, flags, how)
        if how == signal.SIGTERM or not is_flushed(directory):
            return made
        for one in made:
            delete(one)
    raise AssertionError(f"the last rows were flushed before the kill, {MAKE_TRIES} times")


def is_flushed(directory: pathlib.Path) -> bool:
    device = directory / "device"
    with open(device if device.exists() else directory / "data" / "shard-0.data", "rb") as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(faults.LAST_TEXT) >= 0


def make_once(directory: pathlib.Path, flags, how: signal.Signals) -> tuple[pathlib.Path, pathlib.Path]:
    node = Node(directory, flags)
    directory.mkdir(parents=True)
    assert node.start() is None
    try:
        with node.session() as session:
            session.execute("CREATE KEYSPACE faults WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
            session.execute("CREATE TABLE faults.a (k int PRIMARY KEY, v int, t text)")
            write(session, FIRST)
        node.end(signal.SIGTERM)
        older = directory.with_name(directory.name + "-older")
        copy(directory, older)
        # What is acknowledged last stays in the stable memory for as long as it may.
        assert node.start("--flush-interval-ms", "10000") is None
        with node.session() as session:
            session.execute("CREATE TABLE faults.b (k int PRIMARY KEY, v int, t text)")
            session.execute("CREATE TABLE faults.gone (k int PRIMARY KEY, v int, t text)")
            write(session, GONE)
            session.execute("TRUNCATE faults.gone")
            write(session, SECOND)
            write(session, LAST)
            if how == signal.SIGKILL:
                # At once: the session takes its time to end.
                node.end(how)
        node.end(how)
    finally:
        if node.process.poll() is None:
            node.process.kill()
            node.process.wait()
    return directory, older


def copy(source: pathlib.Path, target: pathlib.Path):
    """Holes stay holes."""
    subprocess.run(["cp", "-r", "--sparse=always", "--reflink=auto", str(source), str(target)], check=True)
    target.chmod(0o755)


@functools.cache
def all_rows() -> dict:
    """What must be there: by table and key."""
    return {(table, key): value(key) for table, first, last in (FIRST, SECOND, LAST) for key in range(first, last)}


def read(node: Node) -> tuple[dict, int]:
    """The rows of a node, and how many keys it has answered with an error. A table that is not there is an AssertionError."""
    found, failed = {}, 0
    with node.session() as session:
        for table in TABLES:
            try:
                found |= {(table, row.k): row.v for row in session.execute(f"SELECT k, v FROM {table}")}
            except (DriverException, ErrorMessage):
                # A scan stops at what cannot be read: by key then.
                select_one = session.prepare(f"SELECT k, v FROM {table} WHERE k = ?")
                keys = [key for name, key in all_rows() if name == table]
                results = execute_concurrent_with_args(session, select_one, [(key,) for key in keys], concurrency=64, raise_on_first_error=False)
                for done, rows in results:
                    failed += not done
                    found |= {(table, row.k): row.v for row in rows} if done else {}
        assert list(session.execute("SELECT k FROM faults.gone")) == [], "what was truncated is back"
    return found, failed


def delete(directory: pathlib.Path):
    shutil.rmtree(directory, ignore_errors=True)
