"""Nodes in network namespaces that cannot hear each other, and one whose disk is full."""

import threading
import time

import pytest
from cassandra import ConsistencyLevel, Unavailable

from ledger import Ledger
from nodes import until
from test_failures import FAILOVER_SECONDS_MAX, refused
from cassandra.query import SimpleStatement


def test_a_node_that_is_cut_off_refuses_and_the_others_go_on(cut_cluster):
    cluster = cut_cluster
    minority, *majority = cluster.nodes
    ledger = Ledger()
    with cluster.session([minority], only=True) as its_session:
        with ledger.load(cluster, majority, only=True):
            ledger.wait_for_writes(300)
            cluster.network.cut(minority, majority)
            ledger.wait_for_writes(500)
            insert, select = "INSERT INTO k.t (a, b) VALUES (-1, 1)", "SELECT b FROM k.t WHERE a = 1"
            refusals = [refused(its_session, SimpleStatement(text, consistency_level=ConsistencyLevel.QUORUM)) for text in (insert, select)]
            ledger.wait_for_writes(100)
        ledger.assert_goes_on(FAILOVER_SECONDS_MAX)
        cluster.network.heal(minority, majority)
    cluster.settle()
    ledger.check(cluster, consistency=ConsistencyLevel.ALL)
    cluster.assert_members_agree([-1, *ledger.keys])
    if refusals[0].unknown == 0:
        assert cluster.rows_at(minority, [-1]) == {}, "what was refused was done"


@pytest.mark.parametrize("deaf", [False, pytest.param(True, marks=pytest.mark.long)], ids=["mute", "deaf"])
def test_a_node_that_is_cut_off_one_way_harms_nothing(cut_cluster, deaf):
    """Mute: what it sends gets lost; deaf: what is sent to it."""
    cluster = cut_cluster
    node, *others = cluster.nodes
    ledger = Ledger()
    with ledger.load(cluster, others, only=True):
        ledger.wait_for_writes(300)
        for other in others:
            cluster.network.cut_one_way(*((other, node) if deaf else (node, other)))
        ledger.wait_for_writes(500)
        for other in others:
            cluster.network.heal_one_way(*((other, node) if deaf else (node, other)))
        ledger.wait_for_writes(100)
    ledger.assert_goes_on(FAILOVER_SECONDS_MAX)
    cluster.settle()
    ledger.check(cluster, consistency=ConsistencyLevel.ALL)
    cluster.assert_members_agree(ledger.keys)


def test_lost_packets_lose_no_writes(cut_cluster):
    cluster, ledger, stopping = cut_cluster, Ledger(), threading.Event()
    losing = threading.Thread(target=cluster.network.lose, args=(cluster.nodes, stopping))
    with ledger.load(cluster):
        ledger.wait_for_writes(100)
        losing.start()
        time.sleep(5)
        stopping.set()
        losing.join()
        ledger.wait_for_writes(100)
    cluster.settle()
    ledger.check(cluster, consistency=ConsistencyLevel.ALL)
    cluster.assert_members_agree(ledger.keys)
