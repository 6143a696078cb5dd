"""Fixtures: which server to test, sessions on it, a keyspace a module and a table a test.

The server is TARNDB_TEST_CQL (host:port) when that is set; TARNDB_TEST_RESTART is then the command that restarts it (it is
given `kill` or `term` as its last word) and without it the restart tests are skipped. With neither, a private server is
started here. `not_yet.txt` lists tests that TarnDB is known to fail: they must fail, or the line must go.
"""

import contextlib
import itertools
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import threading
import time

import pytest
from cassandra import DriverException, OperationTimedOut, RequestExecutionException, RequestValidationException
from cassandra.cluster import Cluster, ExecutionProfile, NoHostAvailable
from cassandra.connection import ConnectionException
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy, TokenAwarePolicy
from cassandra.query import SimpleStatement

import server
from patient import patient
from waiting import SECONDS_MAX

EXTERNAL = os.environ.get("TARNDB_TEST_CQL")
# Set for a server that is not TarnDB (Apache Cassandra): `not_yet.txt` does not apply to it.
PEER = os.environ.get("TARNDB_TEST_PEER")
names = itertools.count()


def pytest_collection_modifyitems(items):
    """Marks the tests of not_yet.txt as expected failures, strictly: one that passes fails the run."""
    lines = (pathlib.Path(__file__).parent / "not_yet.txt").read_text().splitlines()
    known = {line.split("#")[0].strip() for line in lines} - {""}
    unknown = known - {item.nodeid for item in items} - {item.nodeid.split("[")[0] for item in items}
    whole_suite = len({item.fspath for item in items}) > 5
    if unknown and whole_suite:
        raise pytest.UsageError(f"not_yet.txt names tests that do not exist: {sorted(unknown)}")
    for item in items:
        if not PEER and (item.nodeid in known or item.nodeid.split("[")[0] in known):
            item.add_marker(pytest.mark.xfail(strict=True, reason="listed in not_yet.txt"))


@pytest.fixture(scope="session")
def endpoint():
    """host and port of the server under test."""
    if EXTERNAL:
        host, port = EXTERNAL.rsplit(":", 1)
        yield host, int(port)
        return
    directory = tempfile.mkdtemp(prefix="python-", dir=run_directory())
    private = server.Server(directory)
    host, port = private.start().rsplit(":", 1)
    os.environ["TARNDB_TEST_RESTART"] = shlex.join(["python3", server.__file__, "restart", directory])
    yield host, int(port)
    private.stop()


def run_directory() -> pathlib.Path:
    """Where private servers keep their data: on the disk of the source tree, since O_DIRECT needs a real one."""
    directory = server.ROOT / ".cache" / "run"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


# What a client may see of a server that goes away. The statement's outcome is then unknown.
GONE = (NoHostAvailable, OperationTimedOut, ConnectionException, RequestExecutionException, DriverException)


def when_back(session, statement, values=None):
    """The statement's result, as soon as the session and its control connection have found the server again."""
    deadline = time.monotonic() + SECONDS_MAX
    while True:
        try:
            session.cluster.refresh_nodes()
            return session.execute(statement, values)
        except RequestValidationException:
            # The server is back and says no.
            raise
        except GONE:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def metadata(session, keyspace: str):
    """What the driver reads of a keyspace now.

    After a restart the control connection may be lost once more while the driver takes notice of all its dead connections.
    """
    deadline = time.monotonic() + SECONDS_MAX
    while True:
        try:
            session.cluster.refresh_keyspace_metadata(keyspace)
            return session.cluster.metadata.keyspaces[keyspace]
        except DriverException as failure:
            if "not refreshed" not in str(failure) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@pytest.fixture(scope="session")
def restart(shared_session):
    """A function that ends the server with `kill` or `term` and returns once it is ready again.

    The shared session is connected again by then, too: the driver finds out only when it next uses a connection.
    """
    command = os.environ.get("TARNDB_TEST_RESTART")
    if not command:
        pytest.skip("the server under test is not ours to restart")

    def restart_server(how: str):
        subprocess.run([*shlex.split(command), how], check=True, stdout=subprocess.DEVNULL, timeout=300)
        when_back(shared_session, "SELECT key FROM system.local")

    return restart_server


@pytest.fixture(scope="session")
def connect(endpoint):
    """A context manager that connects with the given Cluster options and gives the session."""

    @contextlib.contextmanager
    def connect_session(keyspace=None, profile=None, **options):
        host, port = endpoint
        if profile is None:
            profile = ExecutionProfile(
                load_balancing_policy=TokenAwarePolicy(RoundRobinPolicy()), request_timeout=SECONDS_MAX
            )
        options.setdefault("protocol_version", 4)
        cluster = Cluster(
            [host],
            port=port,
            reconnection_policy=ConstantReconnectionPolicy(0.1, max_attempts=None),
            **patient(profile, **options),
        )
        try:
            yield cluster.connect(keyspace)
        finally:
            cluster.shutdown()

    return connect_session


@pytest.fixture(scope="session")
def shared_session(connect):
    """One session on protocol v4 that all tests may use, as long as they do not change its state."""
    with connect() as session:
        yield session


@pytest.fixture(scope="module")
def keyspace(shared_session, request):
    """A keyspace of this module, empty at its start."""
    name = "py_" + re.sub(r"\W", "_", request.module.__name__.removeprefix("test_"))
    shared_session.execute(f"DROP KEYSPACE IF EXISTS {name}")
    create_keyspace(shared_session, name)
    yield name
    shared_session.execute(f"DROP KEYSPACE {name}")


def create_keyspace(session, name: str):
    """One replica: the suites also run against a single Cassandra node."""
    session.execute(
        f"CREATE KEYSPACE {name} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
    )


@pytest.fixture
def table(shared_session, keyspace):
    """A function that creates a table from its column definitions and returns its full name."""

    def create_table(columns: str, options: str = "") -> str:
        name = f"{keyspace}.t{next(names)}"
        shared_session.execute(f"CREATE TABLE {name} ({columns}) {'WITH ' + options if options else ''}")
        return name

    return create_table


@pytest.fixture(scope="module")
def numbers(shared_session, keyspace, request):
    """A table of as many rows as the module's ROWS, a quarter of which have no value."""
    name = f"{keyspace}.numbers"
    shared_session.execute(f"CREATE TABLE {name} (p int, c int, v int, PRIMARY KEY (p, c))")
    insert = shared_session.prepare(f"INSERT INTO {name} (p, c, v) VALUES (?, ?, ?)")
    for n in range(request.module.ROWS):
        shared_session.execute(insert, (n % 10, n, n if n % 4 else None))
    return name


def reads_beside(connect, table, heavy, statements, wanted):
    """How many reads of one row are served for each statement with which another client has a heavy function called for each row of the table.

    Those are so many statements, and ten times as many at most as long as fewer reads than `wanted` are served: a reader may stall beside some.
    """
    ended = threading.Event()
    reads = done = 0

    def work():
        nonlocal done
        with connect() as session:
            while done < statements or (reads <= wanted * done and done < 10 * statements):
                rows = list(session.execute(SimpleStatement(f"SELECT {heavy}(c) FROM {table}", fetch_size=5000)))
                assert rows
                done += 1
        ended.set()

    worker = threading.Thread(target=work)
    with connect() as session:
        worker.start()
        while not ended.is_set():
            session.execute(f"SELECT v FROM {table} WHERE p = 1 AND c = 1")
            reads += 1
            assert worker.is_alive() or ended.is_set()
        worker.join()
    return reads / done


@pytest.fixture
def run(shared_session):
    """A function that executes a statement and returns its rows as a list of tuples."""

    def run_statement(statement, values=None, **options):
        return [tuple(row) for row in shared_session.execute(statement, values, **options)]

    return run_statement
