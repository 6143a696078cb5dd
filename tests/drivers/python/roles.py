"""Roles on a server of a test file's own, which it gives as the fixture `guarded`: sessions of roles, the superuser's, and a new role for each test."""

import contextlib
import itertools

import pytest
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster

from patient import patient

KEYSPACE = "CREATE KEYSPACE {} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
names = (f"role{number}" for number in itertools.count())


@contextlib.contextmanager
def login(guarded, role, **options):
    """A session of a role, whose password is its name."""
    host, port = guarded.state()["cql"].rsplit(":", 1)
    provider = PlainTextAuthProvider(role, role)
    cluster = Cluster([host], port=int(port), **patient(auth_provider=provider, **{"protocol_version": 5, **options}))
    try:
        yield cluster.connect()
    finally:
        cluster.shutdown()


@pytest.fixture(scope="module")
def boss(guarded):
    with login(guarded, "cassandra") as session:
        yield session


@pytest.fixture
def role(boss):
    """A role without permissions."""
    name = next(names)
    boss.execute(f"CREATE ROLE {name} WITH PASSWORD = '{name}' AND LOGIN = true")
    yield name
    boss.execute(f"DROP ROLE {name}")
