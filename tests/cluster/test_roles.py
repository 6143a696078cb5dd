"""Roles of a cluster: what one member is told all know, and none is without them."""

from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster as Driver, NoHostAvailable

import pytest

from nodes import until

FLAGS = ["--authentication", "password"]


def login(cluster, node, role, password):
    """Whether this member lets the role in."""
    driver = Driver([node.address], port=cluster.ports["cql"], protocol_version=4, auth_provider=PlainTextAuthProvider(role, password), connect_timeout=10)
    try:
        driver.connect()
        return True
    except NoHostAvailable as failure:
        assert any("incorrect" in str(error) for error in failure.errors.values()), failure.errors
        return False
    finally:
        driver.shutdown()


def statement(cluster, node, text, credentials=("cassandra", "cassandra")):
    driver = Driver([node.address], port=cluster.ports["cql"], protocol_version=4, auth_provider=PlainTextAuthProvider(*credentials), connect_timeout=10)
    try:
        return driver.connect().execute(text).all()
    finally:
        driver.shutdown()


@pytest.fixture
def guarded(start_cluster):
    return start_cluster(3, flags=FLAGS)


def test_a_role_is_known_everywhere_and_outlives_members(guarded):
    first, second, third = guarded.nodes
    until("the members serve", lambda: all(login(guarded, node, "cassandra", "cassandra") for node in guarded.nodes), 30, 0.2)
    statement(guarded, first, "CREATE ROLE jo WITH PASSWORD = 'one' AND LOGIN = true")
    assert all(login(guarded, node, "jo", "one") for node in guarded.nodes)
    third.kill()
    until("the others decide without it", lambda: statement(guarded, second, "ALTER ROLE jo WITH PASSWORD = 'two'") == [], 20, 0.2)
    assert login(guarded, first, "jo", "two") and not login(guarded, first, "jo", "one")
    first.kill()
    first.start()
    third.start()
    for node in guarded.nodes:
        assert login(guarded, node, "jo", "two") and not login(guarded, node, "jo", "one"), node
    fourth = guarded.add()
    assert login(guarded, fourth, "jo", "two") and not login(guarded, fourth, "nobody", "cassandra")
    assert [row.role for row in statement(guarded, fourth, "LIST ROLES")] == ["cassandra", "jo"]
    statement(guarded, fourth, "DROP ROLE jo")
    assert not any(login(guarded, node, "jo", "two") for node in guarded.nodes)
