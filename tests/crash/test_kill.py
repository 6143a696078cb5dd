"""`kill -9` under load: every acknowledged write is there, and nothing that nobody asked for.

TARNDB_CRASH_ROUNDS says how often (10), TARNDB_CRASH_SEED with which dice; a failure prints both. The time of the kill and the
interleaving of writers are the machine's, so that a seed makes a similar run, not the same.
"""

import os
import random
import threading

from load import Load, Statements

ROUNDS = int(os.environ.get("TARNDB_CRASH_ROUNDS", "10"))
SEED = int(os.environ.get("TARNDB_CRASH_SEED", random.SystemRandom().randrange(1 << 32)))
WRITERS = 8


def test_acknowledged_writes_survive_kills(node):
    dice = random.Random(SEED)
    load = Load(SEED, WRITERS)
    with node.session() as session:
        load.create(session)
    for round_number in range(ROUNDS):
        seconds = dice.choice((0.05, 0.3, 1.0, 2.0)) * dice.random() + 0.02
        # One in five ends in order: what SIGTERM leaves behind must be as good.
        how = "term" if dice.random() < 0.2 else "kill"
        with node.session() as session:
            statements = Statements(session)
            killer = threading.Timer(seconds, node.restart, [how])
            killer.start()
            failures = load.run(statements, round_number)
            killer.join()
        assert not failures, f"seed {SEED}, round {round_number}: {failures[:3]}"
        with node.session() as session:
            try:
                load.check(session)
            except AssertionError as wrong:
                raise AssertionError(f"TARNDB_CRASH_SEED={SEED} TARNDB_CRASH_ROUNDS={ROUNDS}, round {round_number}, after {how}: {wrong}") from None
    print(f"seed {SEED}: {load.acknowledged} acknowledged, {load.unknown} unknown in {ROUNDS} rounds")
    # A suite that kills before anything was written proves nothing.
    assert load.acknowledged > 20 * ROUNDS
