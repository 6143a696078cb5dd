"""`kill -9` under load, again and again: every acknowledged write is there, and nothing that nobody asked for.

TARNDB_CRASH_ROUNDS says how often (15 times, a hundred in `make test-long`), TARNDB_CRASH_SEED with which dice; a failure prints both. The time of the kill and the
interleaving of writers are the machine's, so that a seed makes a similar run, not the same.
"""

import itertools
import os
import random
import threading
import time
import urllib.request

import pytest

from load import Load, Statements
from sizes import sized
from waiting import SECONDS_MAX, wait_until

ROUNDS = int(os.environ.get("TARNDB_CRASH_ROUNDS", sized(15, 100)))
SEED = int(os.environ.get("TARNDB_CRASH_SEED", random.SystemRandom().randrange(1 << 32)))
WRITERS = 8


@pytest.mark.sized
def test_acknowledged_writes_survive_kills(node):
    dice = random.Random(SEED)
    load = Load(SEED, WRITERS)
    with node.session() as session:
        load.create(session)
    orderly = 0
    # More of them where this machine writes little before a kill: what is killed before anything was written proves nothing.
    for round_number in itertools.takewhile(lambda done: done < ROUNDS or (done < 10 * ROUNDS and load.acknowledged <= 20 * ROUNDS), itertools.count()):
        seconds = dice.choice((0.03, 0.2, 0.6, 1.2)) * dice.random() + 0.02
        with node.session() as session:
            statements = Statements(session)
            killer = threading.Timer(seconds, node.restart, ["kill"])
            killer.start()
            failures = load.run(statements, round_number)
            killer.join()
        assert not failures, f"seed {SEED}, round {round_number}: {failures[:3]}"
        check(node, load, f"round {round_number}, after a kill")
        if dice.random() < 0.1:
            # What SIGTERM leaves behind must be as good, and the next kill comes on top of it.
            orderly += 1
            node.restart("term")
            check(node, load, f"round {round_number}, after SIGTERM")
    print(f"seed {SEED}: {round_number + 1} kills and {orderly} orderly ends, {load.acknowledged} acknowledged, {load.unknown} unknown")
    assert load.acknowledged > 20 * ROUNDS


def unfinished_batches(node) -> int:
    """As the node tells once a second."""
    with urllib.request.urlopen(f"http://{node.private.state()['http']}/metrics", timeout=SECONDS_MAX) as answer:
        return sum(int(float(line.split()[-1])) for line in answer.read().decode().splitlines() if line.startswith("tarndb_batches_unfinished{"))


def check(node, load, when: str):
    # What was left of logged batches is done as soon as the node has started.
    time.sleep(0.5)
    wait_until(lambda: unfinished_batches(node) == 0)
    with node.session() as session:
        try:
            load.check(session)
        except AssertionError as wrong:
            raise AssertionError(f"TARNDB_CRASH_SEED={SEED} TARNDB_CRASH_ROUNDS={ROUNDS}, {when}: {wrong}") from None
