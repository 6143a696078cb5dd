"""Fixtures: which server to test, a client of it, and a set of its own for each test.

The server is TARNDB_TEST_AEROSPIKE (host:port) when that is set; TARNDB_TEST_RESTART is then the command that restarts it (it is
given `kill` or `term` as its last word) and without it the restart tests are skipped. With neither, a private server is started here.
"""

import itertools
import os
import shlex
import subprocess
import tempfile
import time

import aerospike
import pytest
from aerospike import exception

import server
from aerospike_settings import settings

NAMESPACE = "test"
EXTERNAL = os.environ.get("TARNDB_TEST_AEROSPIKE")
BACK_SECONDS_MAX = 30
sets = itertools.count()
# Where clients look for modules whose stream functions they run themselves: all clients of a process where the first one was told to.
MODULES = tempfile.TemporaryDirectory(prefix="aerospike-lua-")


@pytest.fixture(scope="session")
def endpoint():
    """host and port of the server under test."""
    if EXTERNAL:
        host, port = EXTERNAL.rsplit(":", 1)
        yield host, int(port)
        return
    directory = server.ROOT / ".cache" / "run"
    directory.mkdir(parents=True, exist_ok=True)
    private = server.Server(tempfile.mkdtemp(prefix="aerospike-", dir=directory))
    private.start()
    os.environ["TARNDB_TEST_RESTART"] = shlex.join(["python3", server.__file__, "restart", str(private.directory)])
    host, port = private.state()["aerospike"].rsplit(":", 1)
    yield host, int(port)
    private.stop()


def connected(endpoint):
    """A client that has just connected."""
    return aerospike.client(settings([endpoint], lua={"user_path": MODULES.name})).connect()


@pytest.fixture(scope="session")
def client(endpoint):
    """A client that all tests share."""
    shared = connected(endpoint)
    yield shared
    shared.close()


@pytest.fixture
def new_set():
    """A set that no other test has."""
    return f"s{os.getpid()}_{next(sets)}"


@pytest.fixture
def key(new_set):
    """A key in a set of its own."""
    return (NAMESPACE, new_set, "key")


@pytest.fixture(scope="session")
def restart(client):
    """A function that ends the server with `kill` or `term` and returns once the shared client has found it again."""
    command = os.environ.get("TARNDB_TEST_RESTART")
    if not command:
        pytest.skip("the server under test is not ours to restart")

    def restart_server(how: str):
        subprocess.run([*shlex.split(command), how], check=True, stdout=subprocess.DEVNULL, timeout=150)
        deadline = time.monotonic() + BACK_SECONDS_MAX
        while True:
            try:
                client.exists((NAMESPACE, None, "nobody"))
                return
            except exception.RecordNotFound:
                return
            except exception.AerospikeError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    return restart_server




@pytest.fixture
def refused():
    """A context manager: what happens within is refused with this result code."""

    class Context:
        def __init__(self, code):
            self.code = code

        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            assert error is not None, f"nothing was refused; expected code {self.code}"
            if not isinstance(error, exception.AerospikeError):
                return False
            assert error.code == self.code, f"code {error.code} ({error.msg}), expected {self.code}"
            return True

    return Context
