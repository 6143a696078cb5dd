"""What operators do on a day of maintenance shows drivers with their own retry policies no error, and does nothing twice."""

import contextlib
import os
import shutil
import threading
import time

import pytest
from cassandra import ConsistencyLevel, InvalidRequest
from cassandra.policies import RetryPolicy

import server as servers
from history import History
from ledger import Ledger
from nodes import FAILURES, running, until
from test_java import JavaDriver
from test_operations import SECONDS_MAX, is_healthy, member, status, tarndb

OLDER = os.environ.get("TARNDB_OLDER_BINARY")
LONG_VECTORS_SINCE = 23
ANALYZERS_SINCE = 24


class Tally:
    """Increments of counters and appends to lists: what is done twice shows."""

    WRITERS = 2

    def __init__(self):
        self.acknowledged = [0] * self.WRITERS
        self.errors = []
        self.stopping = threading.Event()

    @contextlib.contextmanager
    def load(self, cluster):
        with cluster.session(retries=RetryPolicy, seconds=60) as session:
            session.execute("CREATE TABLE k.counters (a int PRIMARY KEY, n counter)")
            session.execute("CREATE TABLE k.lists (a int PRIMARY KEY, l list<int>)")
            count = session.prepare("UPDATE k.counters SET n = n + 1 WHERE a = ?")
            append = session.prepare("UPDATE k.lists SET l = l + ? WHERE a = ?")
            threads = [threading.Thread(target=self._write, args=(session, count, append, key)) for key in range(self.WRITERS)]
            with running(threads, self.stopping):
                yield

    def _write(self, session, count, append, key: int):
        while not self.stopping.is_set():
            try:
                session.execute(count, (key,))
                session.execute(append, ([self.acknowledged[key]], key))
            except FAILURES as failure:
                self.errors.append(failure)
                return
            self.acknowledged[key] += 1
            time.sleep(0.005)

    def check(self, cluster):
        assert not self.errors, self.errors
        assert min(self.acknowledged) > 50, self.acknowledged
        with cluster.session() as session:
            for key, count in enumerate(self.acknowledged):
                assert session.execute(f"SELECT n FROM k.counters WHERE a = {key}").one().n == count
                assert session.execute(f"SELECT l FROM k.lists WHERE a = {key}").one().l == list(range(count))


@contextlib.contextmanager
def load_without_errors(cluster):
    """Writers, readers, compare-and-set, counters and lists; the block's end finds all of it done once, and nothing failed."""
    ledger, tally, history = Ledger(), Tally(), History(first=1_000_000)
    with (
        tally.load(cluster), history.load(cluster, clients=4, retries=RetryPolicy, seconds=60),
        ledger.load(cluster, readers=2, retries=RetryPolicy, seconds=60),
    ):  # fmt: skip
        yield ledger
        until("all have done enough", lambda: tally.errors or (min(tally.acknowledged) > 50 and len(history.operations) > 60 * len(history.registers)), 120)
    assert not ledger.errors, ledger.errors[:5]
    history.assert_all_done()
    cluster.settle()
    ledger.check(cluster, consistency=ConsistencyLevel.ALL)
    tally.check(cluster)
    history.check(cluster.directory)


def assert_drivers_know(cluster, nodes):
    """A driver that loses a member from its list closes the connections there, with what is under way on them: its policy may do that once more elsewhere."""
    for node in nodes:
        with cluster.session([node]) as session:
            session.cluster.refresh_nodes()
            assert {host.address for host in session.cluster.metadata.all_hosts()} == {node.address for node in nodes}, f"by {node}"


def restart_in_turn(cluster, progress, binary: str = servers.binary()):
    for node in cluster.nodes:
        progress()
        replace(cluster, node, binary, progress)


def replace(cluster, node, binary: str, progress=lambda: None):
    node.terminate()
    progress()
    node.binary = binary
    node.start()
    cluster.settle()
    until("it is healthy", lambda: is_healthy(node), SECONDS_MAX, 0.2)


def test_a_rolling_restart(cluster):
    with load_without_errors(cluster) as ledger:
        restart_in_turn(cluster, lambda: ledger.wait_for_writes(100))
    cluster.assert_members_agree(ledger.keys)


@pytest.mark.skipif(not OLDER, reason="TARNDB_OLDER_BINARY names the program of a release before this one")
def test_an_older_release_is_replaced_a_member_at_a_time(start_cluster):
    cluster = start_cluster(binary=OLDER)
    cluster.create()
    older = status(cluster.nodes[0])["cluster"]["protocol_version"]
    with load_without_errors(cluster) as ledger:
        restart_in_turn(cluster, lambda: ledger.wait_for_writes(100))
    cluster.assert_members_agree(ledger.keys)
    newer = {status(node)["cluster"]["protocol_version"] for node in cluster.nodes}
    assert len(newer) == 1 and newer.pop() >= older


def older_cluster(start_cluster, since: int):
    """A cluster of the older release with a keyspace, unless that release knows what came with version `since` of the nodes' protocol."""
    cluster = start_cluster(binary=OLDER)
    cluster.create()
    if status(cluster.nodes[0])["cluster"]["protocol_version"] >= since:
        pytest.skip("that release knows it")
    return cluster


def make_once_the_last_is_replaced(cluster, create: str, refusals: str):
    """Replaces member after member; the statement is refused until the last one is."""
    *first, last = cluster.nodes
    for node in first:
        replace(cluster, node, servers.binary())
        with cluster.session() as session, pytest.raises(InvalidRequest, match=refusals):
            session.execute(create)
    replace(cluster, last, servers.binary())
    with cluster.session() as session:
        session.execute(create)


@pytest.mark.skipif(not OLDER, reason="TARNDB_OLDER_BINARY names the program of a release before this one")
def test_vectors_that_an_older_release_does_not_know_wait_for_the_last_member(start_cluster):
    cluster = older_cluster(start_cluster, LONG_VECTORS_SINCE)
    create = "CREATE TABLE k.long (a int PRIMARY KEY, v vector<float, 70000>)"
    # The second is what older members say.
    refusals = "once every member of the cluster runs a program that knows such|may have at most 65535 dimensions"
    make_once_the_last_is_replaced(cluster, create, refusals)
    with cluster.session() as session:
        session.execute("INSERT INTO k.long (a, v) VALUES (1, %s)", ([0.5] * 70_000,))
        assert session.execute("SELECT v FROM k.long").one().v == [0.5] * 70_000


@pytest.mark.skipif(not OLDER, reason="TARNDB_OLDER_BINARY names the program of a release before this one")
def test_indexes_that_an_older_release_cannot_keep_wait_for_the_last_member(start_cluster):
    cluster = older_cluster(start_cluster, ANALYZERS_SINCE)
    with cluster.session() as session:
        session.execute("CREATE TABLE k.texts (a int PRIMARY KEY, v text)")
        session.execute("INSERT INTO k.texts (a, v) VALUES (1, 'one,two')")
    create = (
        "CREATE CUSTOM INDEX ON k.texts (v) USING 'org.apache.cassandra.index.sasi.SASIIndex'"
        " WITH OPTIONS = {'analyzer_class': 'org.apache.cassandra.index.sasi.analyzer.DelimiterAnalyzer'}"
    )
    # The second is what older members say.
    refusals = "once every member of the cluster runs a program that knows how|A SASI index that takes texts apart is not supported"
    make_once_the_last_is_replaced(cluster, create, refusals)
    with cluster.session() as session:
        session.execute("INSERT INTO k.texts (a, v) VALUES (2, 'two')")
        assert sorted(row.a for row in session.execute("SELECT a FROM k.texts WHERE v LIKE 'two'")) == [1, 2]


def test_a_member_is_drained_and_removed(start_cluster):
    cluster = start_cluster()
    cluster.create(factor=2)
    one, two, three = cluster.nodes
    with load_without_errors(cluster) as ledger:
        ledger.wait_for_writes(200)
        drained = tarndb(one, "drain", "3", "--wait")
        assert drained.returncode == 0, drained.stderr
        ledger.wait_for_writes(100)
        three.terminate()
        removed = tarndb(two, "remove", "3")
        assert (removed.returncode, removed.stdout) == (0, "member 3 is removed\n"), removed.stderr
        until("the others know it", lambda: member(one, 3) is None and member(two, 3) is None, SECONDS_MAX, 0.2)
        ledger.wait_for_writes(100)


@pytest.mark.long
def test_a_member_is_replaced_by_one_with_an_empty_disk(cluster):
    third = cluster.nodes[2]
    with load_without_errors(cluster) as ledger:
        ledger.wait_for_writes(200)
        third.terminate()
        shutil.rmtree(third.data_dir)
        ledger.wait_for_writes(100)
        third.start("--replaces", "3")
        cluster.settle()
        until("it is healthy", lambda: is_healthy(third), SECONDS_MAX, 0.2)
        ledger.wait_for_writes(100)
    cluster.assert_members_agree(ledger.keys)


@pytest.mark.long
def test_a_fourth_node_joins_and_the_first_one_goes(cluster):
    """The first leads the metadata's group."""
    with load_without_errors(cluster) as ledger:
        ledger.wait_for_writes(100)
        joined = cluster.add()
        assert_drivers_know(cluster, cluster.nodes)
        until("it is healthy", lambda: is_healthy(joined), SECONDS_MAX, 0.2)
        ledger.wait_for_writes(100)
        first = cluster.nodes[0]
        drained = tarndb(joined, "drain", "1", "--wait")
        assert drained.returncode == 0, drained.stderr
        assert_drivers_know(cluster, cluster.nodes)
        first.terminate()
        ledger.wait_for_writes(100)


@pytest.mark.long
def test_a_rolling_restart_under_the_java_driver(cluster):
    with JavaDriver(cluster) as application, cluster.session(retries=RetryPolicy) as session:
        application.wait_ready()
        restart_in_turn(cluster, lambda: application.progress(session, 100))
        lines = application.end()
    counted = application.counted()
    assert not any(line.startswith("error") for line in lines), lines
    assert counted["unknown"] == 0 and counted["wrong"] == 0 and counted["coordinators"] == 3, lines


@pytest.mark.parametrize("going", [0, pytest.param(2, marks=pytest.mark.long)], ids=["leader", "other"])
def test_the_others_of_two_replicas_go_on_when_one_is_ended(start_cluster, going):
    """At ONE, as the driver's default is: two replicas need both for QUORUM."""
    cluster = start_cluster()
    cluster.create(factor=2)
    ledger = Ledger()
    with ledger.load(cluster, readers=2, retries=RetryPolicy, consistency=ConsistencyLevel.ONE):
        ledger.wait_for_writes(100)
        cluster.nodes[going].terminate()
        ledger.wait_for_writes(300)
        cluster.nodes[going].start()
        cluster.settle()
        ledger.wait_for_writes(100)
    assert not ledger.errors, ledger.errors[:5]
    ledger.check(cluster, consistency=ConsistencyLevel.ALL)
