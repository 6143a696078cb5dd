"""A cluster that changes while it is written to: one more node, other replication factors, a node that has lost its disk."""

import shutil

import pytest
from cassandra import ConsistencyLevel

from ledger import TRIES, Ledger
from nodes import until

SLOTS = 4096


def slots_led_by(cluster, node) -> int:
    """How many slots a member is the primary of, or 1: it is in sync there."""
    with cluster.session([node], only=True, consistency=ConsistencyLevel.ONE) as session:
        tokens = session.execute("SELECT tokens FROM system.local").one().tokens
    return len(tokens or ())


def test_a_fourth_node_joins_under_load_and_takes_its_share(cluster):
    ledger = Ledger()
    with ledger.load(cluster, tries=TRIES):
        ledger.wait_for_writes(400)
        joined = cluster.add()
        ledger.wait_for_writes(200)
        until("it leads its share of the slots", lambda: slots_led_by(cluster, joined) >= SLOTS / 4 - 8, 120, 0.5)
    assert not ledger.errors, ledger.errors[:5]
    cluster.settle()
    ledger.check(cluster, consistency=ConsistencyLevel.ALL)
    # What it has been given it can serve without one that had it before.
    cluster.nodes[1].kill()
    ledger.check(cluster)


def test_the_factor_of_a_keyspace_grows_and_shrinks_under_load(start_cluster):
    cluster = start_cluster(5)
    cluster.create(factor=1)
    ledger = Ledger()
    with ledger.load(cluster, tries=TRIES, consistency=ConsistencyLevel.ONE) as session:
        for factor in (2, 5, 3, 1, 5):
            ledger.wait_for_writes(150)
            session.execute(f"ALTER KEYSPACE k WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {factor}}}")
            cluster.settle()
    assert not ledger.errors, ledger.errors[:5]
    ledger.check(cluster, consistency=ConsistencyLevel.ALL)
    cluster.assert_members_agree(ledger.keys)


@pytest.mark.parametrize("lost", [0, pytest.param(2, marks=pytest.mark.long)], ids=["founder", "other"])
def test_a_node_that_has_lost_its_disk_is_replaced(cluster, lost):
    victim = cluster.nodes[lost]
    others = [node for node in cluster.nodes if node is not victim]
    ledger = Ledger()
    with ledger.load(cluster, others):
        ledger.wait_for_writes(300)
        victim.kill()
        shutil.rmtree(victim.data_dir)
        ledger.wait_for_writes(200)
        victim.start("--join", f"{others[0].address}:{cluster.ports['node']}", "--replaces", str(victim.number))
        cluster.settle(others)
        ledger.wait_for_writes(100)
    ledger.check(cluster, others, consistency=ConsistencyLevel.ALL)
    cluster.assert_members_agree(ledger.keys)
