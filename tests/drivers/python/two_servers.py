"""Two servers of a test's own, one to copy from and one to copy to, with a session on each."""

import contextlib
import os

from cassandra.cluster import Cluster
from cassandra.policies import ConstantReconnectionPolicy

import server
from conftest import run_directory, when_back
from patient import patient


@contextlib.contextmanager
def started(name):
    """The servers: source and target."""
    with contextlib.ExitStack() as stack:
        found = []
        for side in ("from", "to"):
            private = server.Server(run_directory() / f"{name}-{side}-{os.getpid()}", memory="256M")
            private.start()
            stack.callback(private.stop)
            found.append(private)
        yield found


@contextlib.contextmanager
def connected(sides):
    """A session on each."""
    with contextlib.ExitStack() as stack:
        found = []
        for side in sides:
            host, port = side.state()["cql"].rsplit(":", 1)
            cluster = Cluster(
                [host], port=int(port), reconnection_policy=ConstantReconnectionPolicy(0.1, max_attempts=None), **patient(protocol_version=4)
            )
            stack.callback(cluster.shutdown)
            found.append(cluster.connect())
        yield found


def stored(session, name, columns="*"):
    return sorted(map(repr, map(tuple, when_back(session, f"SELECT {columns} FROM {name}"))))


def assert_equal(sessions, name, columns="*"):
    source, target = (stored(session, name, columns) for session in sessions)
    assert source == target
