"""Reads, writes and swaps of concurrent clients are linearizable, whatever happens to nodes and network; porcupine is the judge."""

import copy
import os
import random
import threading
import time

import pytest

import network
from history import History, check

# Of the long run.
SECONDS = int(os.environ.get("TARNDB_CLUSTER_SECONDS", "180"))


def stop_and_go(cluster, dice):
    """A node hangs for longer than its lease."""
    node = dice.choice(cluster.nodes)
    node.pause()
    time.sleep(3)
    node.resume()


def kill_and_start(cluster, dice):
    node = dice.choice(cluster.nodes)
    node.kill()
    time.sleep(2)
    node.start()


def terminate_and_start(cluster, dice):
    node = dice.choice(cluster.nodes)
    node.terminate()
    node.start()


def cut_off(cluster, dice):
    """A node hears none of the others; clients reach it."""
    node = dice.choice(cluster.nodes)
    others = [other for other in cluster.nodes if other is not node]
    cluster.network.cut(node, others)
    time.sleep(3)
    cluster.network.heal(node, others)


def cut_one_way(cluster, dice):
    sender, receiver = dice.sample(cluster.nodes, 2)
    cluster.network.cut_one_way(sender, receiver)
    time.sleep(3)
    cluster.network.heal_one_way(sender, receiver)


def cut_off_two(cluster, dice):
    """Two hear each other and none of the rest."""
    minority = dice.sample(cluster.nodes, 2)
    majority = [node for node in cluster.nodes if node not in minority]
    for node in minority:
        cluster.network.cut(node, majority)
    time.sleep(3)
    for node in minority:
        cluster.network.heal(node, majority)


def kill_two_and_start(cluster, dice):
    nodes = dice.sample(cluster.nodes, 2)
    for node in nodes:
        node.kill()
    time.sleep(3)
    for node in nodes:
        node.start()


def lose_packets(cluster, dice):
    stopping = threading.Event()
    timer = threading.Timer(3, stopping.set)
    timer.start()
    cluster.network.lose(cluster.nodes, stopping)
    timer.join()


def record(cluster, faults, seed: int = 1) -> History:
    history, dice = History(first=seed % 1000 * 10), random.Random(seed)
    with history.load(cluster, seed=seed):
        time.sleep(1)
        for fault in faults:
            fault(cluster, dice)
            time.sleep(1.5)
    history.check(cluster.directory)
    cluster.settle()
    cluster.assert_members_agree(history.registers)
    return history


def test_histories_under_kills_and_stops_are_linearizable(cluster):
    history = record(cluster, [kill_and_start, stop_and_go, terminate_and_start, kill_and_start])
    doctored = stale_read(history.operations)
    assert check(doctored, cluster.directory / "doctored.jsonl")[0] == 1, "the checker believes anything"


@pytest.mark.long
def test_histories_under_partitions_and_loss_are_linearizable(cut_cluster):
    record(cut_cluster, [cut_off, cut_one_way, lose_packets, kill_and_start, cut_off], seed=2)


@pytest.mark.long
def test_histories_of_five_members_of_which_two_are_gone_are_linearizable(start_cluster):
    why_not = network.why_not()
    if why_not:
        pytest.skip(why_not)
    cluster = start_cluster(5, network=network.Network())
    cluster.create(factor=5)
    record(cluster, [cut_off_two, kill_two_and_start, stop_and_go, cut_off_two], seed=3)


@pytest.mark.long
def test_histories_of_a_long_run_are_linearizable(cut_cluster):
    """One after the other, so that none grows too long for the checker; the seed is printed."""
    deadline, seed = time.monotonic() + SECONDS, int(os.environ.get("TARNDB_SEED", time.time_ns() % 1_000_000))
    while time.monotonic() < deadline:
        print(f"TARNDB_SEED={seed}")
        faults = random.Random(seed).choices([kill_and_start, stop_and_go, terminate_and_start, cut_off, cut_one_way, lose_packets], k=5)
        record(cut_cluster, faults, seed)
        seed += 1


def stale_read(operations):
    """The same history, in which a read that began after an acknowledged write sees what was there before all writes."""
    doctored = copy.deepcopy(operations)
    written = {}
    for did in sorted(doctored, key=lambda did: did["call"]):
        if did["kind"] == "read" and written.get(did["key"], did["call"]) < did["call"]:
            did["seen"] = 0
            return doctored
        if did["kind"] == "write" and did["known"]:
            written.setdefault(did["key"], did["return"])
    raise AssertionError("the history has no such read")


@pytest.mark.parametrize("last_seen, status", [(2, 0), (1, 1), (0, 1)])
def test_the_checker_tells_good_histories_from_bad(tmp_path, last_seen, status):
    """Two writes, one after the other, an unknown one beside them, and a read."""
    operations = [
        {"client": 0, "key": 7, "kind": "write", "value": 1, "call": 1, "return": 2, "known": True},
        {"client": 2, "key": 8, "kind": "write", "value": 9, "call": 1, "known": False},
        {"client": 0, "key": 7, "kind": "swap", "expected": 1, "value": 2, "call": 3, "return": 4, "known": True, "applied": True},
        {"client": 1, "key": 7, "kind": "read", "seen": last_seen, "call": 5, "return": 6, "known": True},
        {"client": 1, "key": 8, "kind": "read", "seen": 9, "call": 5, "return": 6, "known": True},
    ]
    assert check(operations, tmp_path / "history.jsonl")[0] == status
