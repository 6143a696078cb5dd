"""Members that start with another number of cores: their data is laid out anew, and they come back like members that were away."""

import json

import pytest
from cassandra import ConsistencyLevel

from ledger import Ledger
from nodes import until
from test_operations import SECONDS_MAX, is_healthy


def test_members_change_their_cores_one_after_the_other_under_load(cluster):
    ledger = Ledger()
    one, two, three = cluster.nodes
    with ledger.load(cluster):
        # The second one is not asked before it ends.
        for node, cores, end in ((one, 3, one.terminate), (two, 2, two.kill), (three, 4, three.terminate)):
            ledger.wait_for_writes(150)
            end()
            ledger.wait_for_writes(100)
            node.cores = cores
            node.start()
            until("it is healthy", lambda: all(is_healthy(node) for node in cluster.nodes), SECONDS_MAX, 0.2)
        ledger.wait_for_writes(100)
    ledger.check(cluster, consistency=ConsistencyLevel.ALL)
    cluster.assert_members_agree(ledger.keys)


def test_a_member_that_was_the_last_one_serves_what_it_has_with_other_cores(cluster):
    ledger = Ledger()
    with ledger.load(cluster):
        ledger.wait_for_writes(300)
    # All are away, each laid out anew for another number: nobody else has anything newer.
    for node in cluster.nodes:
        node.kill()
    for node, cores in zip(cluster.nodes, (2, 3, 4), strict=True):
        node.cores = cores
        node.start(wait=False)
    for node in cluster.nodes:
        node.wait_ready()
    cluster.settle()
    ledger.check(cluster, consistency=ConsistencyLevel.ALL)
    cluster.assert_members_agree(ledger.keys)


def test_aerospike_records_are_the_same_with_more_cores_and_with_fewer(start_cluster):
    pytest.importorskip("aerospike", reason="Aerospike's Python client is missing")
    from test_aerospike import client, key

    cluster = start_cluster(1)
    (node,) = cluster.nodes

    def records(reader):
        return {json.dumps(sorted(record.items()), default=repr): meta["gen"] for _, meta, record in reader.scan("test", "rows").results()}

    with client(cluster) as writer:
        for number in range(600):
            writer.put(key(number), {"n": number, "map": {"a": number}, "list": [1, number, "x" * (number % 200)]}, {"ttl": 100_000})
        for number in range(0, 600, 7):
            writer.remove(key(number))
        for number in range(1, 600, 7):
            writer.increment(key(number), "n", 10_000)
        before = records(writer)
        assert len(before) == 600 - 86
    for cores, end in ((3, node.terminate), (5, node.kill), (2, node.terminate)):
        end()
        node.cores = cores
        node.start()
        with client(cluster) as reader:
            assert records(reader) == before, f"records differ with {cores} cores"
