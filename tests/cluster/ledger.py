"""A load of writers on rows of their own, and what its rows may be afterwards.

A writer sends one write after the other with its own growing timestamps, so that a row is either as the last acknowledged write left
it, or as one left it that was tried later and whose outcome is unknown.
"""

import contextlib
import os
import random
import threading
import time

from cassandra import ConsistencyLevel, Unavailable
from cassandra.cluster import EXEC_PROFILE_DEFAULT

from nodes import FAILURES, SETTLE_SECONDS_MAX, running, until

KEYS_PER_WRITER = 150
# Between two operations of a client. What it computes itself is most of what they cost.
PAUSE_S = 0.002 if os.environ.get("TARNDB_TEST_LONG") == "1" else 0.01
# Of a write that nothing may disturb: a node that gets no CPU for a while answers nobody.
TRIES = 5


class Ledger:
    """What was written, acknowledged and refused."""

    def __init__(self, first_key: int = 0):
        self.first_key = first_key
        # The values that a key may have.
        self.possible = {}
        self.errors = []
        self.stale = []
        self.acknowledged = 0
        self.longest_gap_s = 0.0
        # For how long this machine has run nobody, or its disk taken nothing.
        self.stalled_s = 0.0
        self.stopping = threading.Event()

    @contextlib.contextmanager
    def load(self, cluster, nodes=None, writers: int = 4, readers: int = 0, pause: float = PAUSE_S, tries: int = 1, **options):
        """Writes, and reads what was written, until the block ends. What fails so many times in a row is an error."""
        with cluster.session(nodes, **options) as session:
            insert = session.prepare("INSERT INTO k.t (a, b) VALUES (?, ?)")
            select = session.prepare("SELECT b FROM k.t WHERE a = ?")
            insert.is_idempotent = select.is_idempotent = True
            threads = [threading.Thread(target=self._write, args=(session, insert, number, pause, tries)) for number in range(writers)]
            threads += [threading.Thread(target=self._read, args=(session, select, number, pause, tries)) for number in range(readers)]
            threads.append(threading.Thread(target=self._watch, args=(cluster.directory / "probe",)))
            with running(threads, self.stopping):
                yield session

    def _watch(self, path):
        with open(path, "wb", buffering=0) as probe:
            while not self.stopping.is_set():
                began = time.monotonic()
                time.sleep(0.5)
                os.pwrite(probe.fileno(), b".", 0)
                os.fdatasync(probe.fileno())
                took = time.monotonic() - began
                if took > 1:
                    self.stalled_s += took - 0.5

    def assert_goes_on(self, seconds_max: float):
        """No write took longer, but for what the machine stalled: nodes stall one after the other, and take each other for dead meanwhile."""
        assert self.longest_gap_s < seconds_max + 3 * self.stalled_s, (self.longest_gap_s, self.stalled_s)

    def _write(self, session, insert, number: int, pause: float, tries: int):
        keys = [self.first_key + number * KEYS_PER_WRITER + offset for offset in range(KEYS_PER_WRITER)]
        last, value = time.monotonic(), max((max(self.possible.get(key, {0})) for key in keys), default=0)
        while not self.stopping.is_set():
            value += 1
            key = keys[value % len(keys)]
            failures = []
            while len(failures) < tries and not (failures and self.stopping.is_set()):
                try:
                    session.execute(insert, (key, value))
                except Unavailable as refusal:
                    # Nothing of it was done.
                    failures.append(refusal)
                except FAILURES as unknown:
                    failures.append(unknown)
                    self.possible.setdefault(key, {0}).add(value)
                else:
                    self.possible[key] = {value}
                    self.acknowledged += 1
                    break
            if len(failures) == tries:
                self.errors += failures
            now = time.monotonic()
            self.longest_gap_s = max(self.longest_gap_s, now - last)
            last = now
            time.sleep(pause)

    def _read(self, session, select, number: int, pause: float, tries: int):
        # Any replica may answer at ONE.
        is_newest = session.get_execution_profile(EXEC_PROFILE_DEFAULT).consistency_level != ConsistencyLevel.ONE
        dice = random.Random(number)
        while not self.stopping.is_set():
            time.sleep(pause)
            if not self.possible:
                continue
            key = dice.choice(self.keys)
            least = min(self.possible[key])
            failures = []
            while len(failures) < tries and not (failures and self.stopping.is_set()):
                try:
                    row = session.execute(select, (key,)).one()
                except FAILURES as failure:
                    failures.append(failure)
                else:
                    if is_newest and (row.b if row else 0) < least:
                        self.stale.append((key, row, least))
                    break
            if len(failures) == tries:
                self.errors += failures

    def wait_for_writes(self, count: int, seconds_max: float = 120):
        """Until so many more have been acknowledged."""
        goal, deadline = self.acknowledged + count, time.monotonic() + seconds_max
        while self.acknowledged < goal:
            assert time.monotonic() < deadline, f"{self.acknowledged} of {goal} writes acknowledged in {seconds_max} s; the last errors: {self.errors[-3:]}"
            time.sleep(0.01)

    def check(self, cluster, nodes=None, consistency=ConsistencyLevel.QUORUM):
        """Reads every row and compares."""
        assert not self.stale, self.stale[:5]
        rows, unread = {}, list(self.possible)
        with cluster.session(nodes, consistency=consistency) as session:
            select = session.prepare("SELECT b FROM k.t WHERE a = ?")

            def read():
                nonlocal unread
                futures = {key: session.execute_async(select, (key,)) for key in unread}
                unread = []
                for key, future in futures.items():
                    try:
                        rows[key] = future.result().one()
                    except Unavailable:
                        # After a restart a replica counts until its primary rebuilds it, which may be after the cluster has settled.
                        if consistency != ConsistencyLevel.ALL:
                            raise
                        unread.append(key)
                return not unread

            until("every row has all its replicas", read, SETTLE_SECONDS_MAX, 0.1)
        self.compare({key: row.b for key, row in rows.items() if row is not None})

    def compare(self, rows: dict):
        wrong = {key: (rows.get(key, 0), allowed) for key, allowed in self.possible.items() if rows.get(key, 0) not in allowed}
        assert not wrong, f"{len(wrong)} of {len(self.possible)} rows are not as acknowledged (key: (read, possible)): {dict(list(wrong.items())[:5])}"

    @property
    def keys(self):
        return list(self.possible)
