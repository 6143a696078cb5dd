"""Fixtures: which server to test, a client of it, and containers whose names belong to a test.

The server is TARNDB_TEST_GRIDDB (host:port) when that is set; TARNDB_TEST_RESTART is then the command that restarts it (it is given `kill` or `term` as its
last word), and without it the restart tests are skipped. With neither, a private server is started here.
"""

import contextlib
import itertools
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import pytest

from client import griddb

# Not before the client has its Java: the directory above has a package `java`.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import server  # noqa: E402

EXTERNAL = os.environ.get("TARNDB_TEST_GRIDDB")
names = itertools.count()


@pytest.fixture(scope="session")
def member():
    """host:port of the server under test."""
    if EXTERNAL:
        yield EXTERNAL
        return
    directory = server.ROOT / ".cache" / "run"
    directory.mkdir(parents=True, exist_ok=True)
    private = server.Server(tempfile.mkdtemp(prefix="griddb-", dir=directory))
    private.start()
    os.environ["TARNDB_TEST_RESTART"] = shlex.join(["python3", server.__file__, "restart", str(private.directory)])
    yield private.state()["griddb"]
    private.stop()


@pytest.fixture(scope="session")
def connect(member):
    """A function that connects; keywords are the client's, beside the usual ones or instead of them."""
    opened = []

    def connected(**keywords):
        usual = {"notification_member": member, "cluster_name": "TarnDB", "username": "admin", "password": "admin"}
        store = griddb.StoreFactory.get_instance().get_store(**{**usual, **keywords})
        opened.append(store)
        return store

    yield connected
    for store in opened:
        store.close()


@pytest.fixture(scope="session")
def store(connect):
    """A client that all tests share."""
    return connect()


@pytest.fixture
def name():
    """A name that no other container has."""
    return f"python_{os.getpid()}_{next(names)}"


@pytest.fixture
def make(store, name):
    """A function that makes a container of these columns, pairs of names and types or the client's own dictionaries."""

    def made(*columns, kind=griddb.ContainerType.COLLECTION, keyed=True, keys=None, called=name):
        columns = [list(column) if isinstance(column, tuple) else column for column in columns]
        info = griddb.ContainerInfo(called, columns, kind, keyed, keys)
        return store.put_container(info)

    return made


@pytest.fixture
def things(make):
    """A collection of INTEGER, STRING."""
    return make(("id", griddb.Type.INTEGER), ("text", griddb.Type.STRING))


@pytest.fixture
def refused():
    """A context manager: what happens within is refused with this error."""

    @contextlib.contextmanager
    def context(code):
        with pytest.raises(griddb.GSException) as failure:
            yield
        # The first one is of what the client did with the error of the other.
        assert failure.value.get_error_code(0) == code, failure.value.get_message(0)

    return context


@pytest.fixture
def restart(member):
    """A function that ends the server with `kill` or `term` and returns once it is ready again."""
    command = os.environ.get("TARNDB_TEST_RESTART")
    if not command:
        pytest.skip("the server under test is not ours to restart")
    return lambda how: subprocess.run([*shlex.split(command), how], check=True, stdout=subprocess.DEVNULL, timeout=300)
