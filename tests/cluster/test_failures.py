"""Nodes that die, stop, come back or do not: what is acknowledged stays, and what cannot be promised is refused."""

import time

import pytest
from cassandra import ConsistencyLevel, Unavailable
from cassandra.query import SimpleStatement

from ledger import Ledger
from nodes import FAILURES, succeeds, until

# By design 3 s (crates/sim/tests/failover.rs); the rest is for a machine that does much else.
FAILOVER_SECONDS_MAX = 12


@pytest.mark.parametrize("victim", [0, pytest.param(2, marks=pytest.mark.long)], ids=["leader", "other"])
def test_a_killed_node_loses_nothing_and_comes_back(cluster, victim):
    """The founder leads the metadata until it dies; every node is the primary of a third of the slots and a secondary of the rest."""
    dead, *others = [cluster.nodes[victim], *(node for node in cluster.nodes if node is not cluster.nodes[victim])]
    ledger = Ledger()
    with ledger.load(cluster, others):
        ledger.wait_for_writes(500)
        dead.kill()
        ledger.wait_for_writes(500)
    ledger.assert_goes_on(FAILOVER_SECONDS_MAX)
    ledger.check(cluster)
    with ledger.load(cluster, others):
        dead.start()
        ledger.wait_for_writes(300)
    assert cluster.settle() < 120
    ledger.check(cluster, consistency=ConsistencyLevel.ALL)
    cluster.assert_members_agree(ledger.keys)


def test_a_stopped_node_answers_nothing_stale(cluster):
    """It is asked alone the moment that it goes on: others have written meanwhile."""
    stopped, *others = cluster.nodes
    keys = range(300)
    with cluster.session([stopped], only=True, seconds=20) as its_session, cluster.session(others, only=True, seconds=20) as session:
        select = its_session.prepare("SELECT b FROM k.t WHERE a = ?")
        insert = session.prepare("INSERT INTO k.t (a, b) VALUES (?, ?)")
        for key in keys:
            session.execute(insert, (key, 1))
        stopped.pause()
        for key in keys:
            its_session.execute_async(select, (key,))
        time.sleep(5)
        for key in keys:
            # The others may not have taken over yet.
            until(f"key {key} is written", lambda key=key: succeeds(lambda: session.execute(insert, (key, 2))), 120)
        # The first were asked before the writes, and may be answered either way; these may not.
        asked = [(key, its_session.execute_async(select, (key,))) for key in keys]
        stopped.resume()
        for key, future in asked:
            try:
                assert future.result().one().b == 2, f"key {key} is stale"
            except FAILURES:
                pass
    cluster.settle()
    cluster.assert_members_agree(keys)


def test_one_of_three_refuses_and_three_serve_again(cluster):
    ledger = Ledger()
    with ledger.load(cluster):
        ledger.wait_for_writes(300)
    alone, *others = cluster.nodes
    for node in others:
        node.kill()
    with cluster.session([alone], only=True) as session:
        for text in ("INSERT INTO k.t (a, b) VALUES (-1, 1)", "SELECT b FROM k.t WHERE a = 1"):
            refusal = refused(session, SimpleStatement(text, consistency_level=ConsistencyLevel.QUORUM))
            assert refusal.required_replicas == 2 and refusal.alive_replicas < 2, refusal
    for node in others:
        node.start()
    cluster.settle()
    ledger.check(cluster, consistency=ConsistencyLevel.ALL)
    with ledger.load(cluster):
        ledger.wait_for_writes(100)


def refused(session, statement) -> Unavailable:
    """The refusal; timeouts may come first, while the node does not know yet that it is alone, but never a result. How many came is its `unknown`."""
    found, unknown = [], 0

    def attempt():
        nonlocal unknown
        try:
            session.execute(statement)
        except Unavailable as refusal:
            found.append(refusal)
        except FAILURES:
            unknown += 1
        else:
            raise AssertionError(f"a node without a majority has done it: {statement}")
        return found

    until("it is refused", attempt, 120)
    found[0].unknown = unknown
    return found[0]


def test_three_killed_at_once_lose_nothing(cluster):
    ledger = Ledger()
    with ledger.load(cluster, seconds=1):
        ledger.wait_for_writes(800)
        for node in cluster.nodes:
            node.kill()
    for node in cluster.nodes:
        node.start(wait=False)
    for node in cluster.nodes:
        node.wait_ready()
    cluster.settle()
    ledger.check(cluster, consistency=ConsistencyLevel.ALL)
    cluster.assert_members_agree(ledger.keys)


@pytest.mark.long
def test_two_of_five_die_at_once_and_nothing_is_lost(start_cluster):
    cluster = start_cluster(5)
    cluster.create(factor=5)
    ledger = Ledger()
    with ledger.load(cluster, cluster.nodes[2:]):
        ledger.wait_for_writes(300)
        for node in cluster.nodes[:2]:
            node.kill()
        ledger.wait_for_writes(600)
    ledger.check(cluster)
    for node in cluster.nodes[:2]:
        node.start()
    cluster.settle()
    ledger.check(cluster, consistency=ConsistencyLevel.ALL)
    cluster.assert_members_agree(ledger.keys)
