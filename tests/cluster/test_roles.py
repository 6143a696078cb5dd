"""Roles of a cluster: what one member is told all know, and none is without them."""

import contextlib
import random

from cassandra import Unauthorized
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster as Driver, ExecutionProfile, NoHostAvailable
from cassandra.policies import WhiteListRoundRobinPolicy

import pytest
import server as servers

from griddb_frames import GridClient, Refused
from nodes import succeeds, until
from patient import SECONDS_MAX, patient

FLAGS = servers.LOGIN_FLAGS
GRIDDB_NOT_ALLOWED = 10_079


def login(cluster, node, role, password):
    """Whether this member lets the role in."""
    driver = Driver([node.address], port=cluster.ports["cql"], **patient(protocol_version=4, auth_provider=PlainTextAuthProvider(role, password)))
    try:
        driver.connect()
        return True
    except NoHostAvailable as failure:
        assert any("incorrect" in str(error) for error in failure.errors.values()), failure.errors
        return False
    finally:
        driver.shutdown()


def statement(cluster, node, text, credentials=("cassandra", "cassandra")):
    driver = Driver([node.address], port=cluster.ports["cql"], **patient(protocol_version=4, auth_provider=PlainTextAuthProvider(*credentials)))
    try:
        return driver.connect().execute(text).all()
    finally:
        driver.shutdown()


@pytest.fixture
def guarded(start_cluster):
    port = random.randrange(10_000, 30_000)
    cluster = start_cluster(3, flags=[*FLAGS, "--griddb-port", str(port)])
    cluster.griddb_port = port
    return cluster


@contextlib.contextmanager
def told(cluster):
    """A function that has a node execute a statement of a role, each over a connection that stays: changes act on these, too."""
    with contextlib.ExitStack() as stack:
        sessions = {}

        def tell(node, text, credentials=("cassandra", "cassandra")):
            if (node, credentials) not in sessions:
                only = ExecutionProfile(WhiteListRoundRobinPolicy([node.address]), request_timeout=SECONDS_MAX)
                driver = Driver(
                    [node.address], port=cluster.ports["cql"], schema_metadata_enabled=False,
                    **patient(only, protocol_version=4, auth_provider=PlainTextAuthProvider(*credentials)),
                )
                stack.callback(driver.shutdown)
                sessions[node, credentials] = driver.connect()
            return sessions[node, credentials].execute(text).all()

        yield tell


def check_permissions(guarded, tell):
    """What `jo` may do is the same at each member, whichever has the row."""
    jo = ("jo", "two")
    tell(guarded.nodes[0], "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}")
    tell(guarded.nodes[1], "CREATE TABLE ks.t (k int PRIMARY KEY)")
    for node in guarded.nodes:
        for key in range(4):
            with pytest.raises(Unauthorized, match="no MODIFY permission on <table ks.t>"):
                tell(node, f"INSERT INTO ks.t (k) VALUES ({key})", jo)
    tell(guarded.nodes[1], "GRANT MODIFY ON ks.t TO jo")
    for number, node in enumerate(guarded.nodes):
        tell(node, f"INSERT INTO ks.t (k) VALUES ({number})", jo)
        with pytest.raises(Unauthorized, match="no SELECT permission on <table ks.t>"):
            tell(node, "SELECT k FROM ks.t", jo)
    tell(guarded.nodes[2], "GRANT SELECT ON KEYSPACE ks TO jo")
    for node in guarded.nodes:
        assert len(tell(node, "SELECT k FROM ks.t", jo)) == len(guarded.nodes)


def check_masks(guarded, tell):
    """What `jo` sees of masked columns does not depend on which member has the row, nor on which one is asked."""
    jo = ("jo", "two")
    tell(guarded.nodes[0], "CREATE KEYSPACE one WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    tell(guarded.nodes[0], "CREATE TABLE one.t (k int PRIMARY KEY, v text MASKED WITH DEFAULT)")
    for key in range(8):
        tell(guarded.nodes[1], f"INSERT INTO one.t (k, v) VALUES ({key}, 'sensitive')")
    for permission in ("SELECT", "MODIFY", "SELECT_MASKED"):
        tell(guarded.nodes[2], f"GRANT {permission} ON one.t TO jo")
    for seen in ("****", "sensitive"):
        for node in guarded.nodes:
            assert {tuple(row) for row in tell(node, "SELECT k, v FROM one.t", jo)} == {(key, seen) for key in range(8)}
            for key in range(8):
                assert [tuple(row) for row in tell(node, f"SELECT v FROM one.t WHERE k = {key}", jo)] == [(seen,)]
                condition = f"UPDATE one.t SET v = 'x' WHERE k = {key} IF v = 'no'"
                assert [tuple(row) for row in tell(node, condition, jo)] == [(False, seen)]
                batch = f"BEGIN BATCH {condition}; APPLY BATCH"
                assert [tuple(row) for row in tell(node, batch, jo)] == [(False, key, seen)]
        tell(guarded.nodes[0], "GRANT UNMASK ON KEYSPACE one TO jo")


def check_griddb(guarded):
    """GridDB's clients log in at each member as the same `jo`, and a change acts on their open connections to all."""

    def client(node, *credentials):
        return contextlib.closing(GridClient(node.address, guarded.griddb_port, *credentials))

    def refuses(attempt):
        """Whether a statement is refused for want of a permission."""
        try:
            attempt()
        except Refused as refusal:
            assert refusal.args[0] == GRIDDB_NOT_ALLOWED, refusal
            return True
        return False

    with pytest.raises(Refused, match="incorrect"):
        GridClient(guarded.nodes[0].address, guarded.griddb_port, "jo", "one")
    with client(guarded.nodes[0], "cassandra", "cassandra") as boss, contextlib.ExitStack() as stack:
        container = boss.put_container()
        boss.put(container, 1)
        clients = [stack.enter_context(client(node, "jo", "two")) for node in guarded.nodes]
        assert all(refuses(lambda jo=jo: jo.has(container, 1)) and refuses(lambda jo=jo: jo.put(container, 2)) for jo in clients)
        statement(guarded, guarded.nodes[1], "GRANT SELECT ON public.t TO jo")
        assert all(jo.has(container, 1) and refuses(lambda jo=jo: jo.put(container, 2)) for jo in clients)
        statement(guarded, guarded.nodes[2], "GRANT MODIFY ON public.t TO jo")
        for key, jo in enumerate(clients, 2):
            jo.put(container, key)
        statement(guarded, guarded.nodes[0], "REVOKE SELECT, MODIFY ON public.t FROM jo")
        assert all(refuses(lambda jo=jo: jo.has(container, 1)) and refuses(lambda jo=jo: jo.put(container, 1)) for jo in clients)
        assert all(boss.has(container, key) for key in range(1, 2 + len(clients)))


def test_members_that_start_together_make_one_superuser(start_cluster):
    cluster = start_cluster(0, flags=["--authentication", "password"])
    first = cluster.add(start=False)
    others = [cluster.add(start=False) for _ in range(2)]
    for node in (first, *others):
        node.start(wait=False)
    for node in (first, *others):
        node.wait_ready()
    left = [node for node in cluster.nodes if (node.data_dir / "superuser-password").exists()]
    assert len(left) == 1, left
    password = (left[0].data_dir / "superuser-password").read_text().strip()
    assert all(login(cluster, node, "cassandra", password) and not login(cluster, node, "cassandra", "cassandra") for node in cluster.nodes)
    assert all(password not in node.log() for node in cluster.nodes)


def test_a_role_is_known_everywhere_and_outlives_members(guarded):
    first, second, third = guarded.nodes
    until("the members serve", lambda: all(login(guarded, node, "cassandra", "cassandra") for node in guarded.nodes), 120, 0.2)
    statement(guarded, first, "CREATE ROLE jo WITH PASSWORD = 'one' AND LOGIN = true")
    assert all(login(guarded, node, "jo", "one") for node in guarded.nodes)
    third.kill()
    until("the others decide without it", lambda: succeeds(lambda: statement(guarded, second, "ALTER ROLE jo WITH PASSWORD = 'two'")), 120, 0.2)
    assert login(guarded, first, "jo", "two") and not login(guarded, first, "jo", "one")
    first.kill()
    first.start()
    third.start()
    for node in guarded.nodes:
        assert login(guarded, node, "jo", "two") and not login(guarded, node, "jo", "one"), node
    fourth = guarded.add()
    assert login(guarded, fourth, "jo", "two") and not login(guarded, fourth, "nobody", "cassandra")
    assert [row.role for row in statement(guarded, fourth, "LIST ROLES")] == ["cassandra", "jo"]
    with told(guarded) as tell:
        check_permissions(guarded, tell)
        check_masks(guarded, tell)
    check_griddb(guarded)
    statement(guarded, fourth, "DROP ROLE jo")
    assert not any(login(guarded, node, "jo", "two") for node in guarded.nodes)
