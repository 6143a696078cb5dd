"""Concurrent clients on few registers, recorded for the checker: `checker/main.go` says what a line is.

Timestamps of writes are the primary's, so that it orders them. Values are never written twice.
"""

import contextlib
import itertools
import json
import random
import shutil
import subprocess
import threading
import time

import pytest
from cassandra import ConsistencyLevel, InvalidRequest, Unavailable

import server as servers
from nodes import FAILURES, running

CHECKER = servers.ROOT / ".cache" / "cluster" / "checker"
CHECK_SECONDS_MAX = 600


class History:
    """Operations on registers, begun and ended."""

    def __init__(self, first: int = 0, registers: int = 6):
        self.registers = range(first, first + registers)
        self.operations = []
        self.values = itertools.count(1)
        self.stopping = threading.Event()
        self.failures = []
        self.refused = 0

    @contextlib.contextmanager
    def load(self, cluster, clients: int = 6, seed: int = 1, seconds: float = 2, **options):
        """Clients, each with a driver of its own that by default tries nothing twice, until the block ends."""
        with contextlib.ExitStack() as stack:
            sessions = []
            for _ in range(clients):
                session = stack.enter_context(cluster.session(cluster.nodes, seconds=seconds, **options))
                session.use_client_timestamp = False
                sessions.append(session)
            for register in self.registers:
                sessions[0].execute("INSERT INTO k.t (a, b) VALUES (%s, 0)", (register,), timeout=120)
            threads = [
                threading.Thread(target=self._client, args=(number, session, random.Random(f"{seed}/{number}"))) for number, session in enumerate(sessions)
            ]
            with running(threads, self.stopping):
                yield
        assert not self.failures, self.failures[:5]

    def _client(self, number: int, session, dice):
        statements = {
            "read": session.prepare("SELECT b FROM k.t WHERE a = ?"),
            "write": session.prepare("INSERT INTO k.t (a, b) VALUES (?, ?)"),
            "swap": session.prepare("UPDATE k.t SET b = ? WHERE a = ? IF b = ?"),
        }
        for statement in statements.values():
            statement.consistency_level = ConsistencyLevel.QUORUM
        seen = dict.fromkeys(self.registers, 0)
        while not self.stopping.is_set():
            key, kind = dice.choice(self.registers), dice.choice(("read", "read", "write", "swap"))
            did = {"client": number, "key": key, "kind": kind}
            if kind != "read":
                did["value"] = next(self.values)
            if kind == "swap":
                did["expected"] = seen[key]
            values = {"read": (key,), "write": (key, did.get("value")), "swap": (did.get("value"), key, did.get("expected"))}[kind]
            did["call"] = time.monotonic_ns()
            try:
                row = session.execute(statements[kind], values).one()
            except Unavailable:
                # It says that nothing was done; the checker finds it out when that is not true.
                self.refused += 1
                time.sleep(0.05)
                continue
            except InvalidRequest as refusal:
                self.failures.append(refusal)
                return
            except FAILURES:
                did["known"] = False
            else:
                did |= {"return": time.monotonic_ns(), "known": True}
                if kind == "read":
                    did["seen"] = seen[key] = row.b
                elif kind == "write":
                    seen[key] = did["value"]
                else:
                    did["applied"] = row.applied
                    seen[key] = did["value"] if row.applied else row.b
                    if not row.applied:
                        did["seen"] = row.b
            if did["known"] or kind != "read":
                self.operations.append(did)
            time.sleep(dice.random() * 0.02)

    def assert_all_done(self):
        """Nothing was refused, and no outcome is unknown."""
        unknown = [did for did in self.operations if not did["known"]]
        assert not unknown and not self.refused, (self.refused, unknown[:5])

    def check(self, directory):
        """Fails when it is not linearizable; the file stays then."""
        status, said = check(self.operations, directory / "history.jsonl")
        assert status == 0, said
        known = sum(did["known"] for did in self.operations)
        assert known > 50 * len(self.registers), f"only {known} operations have ended"


def check(operations, path):
    """The checker's verdict: its status, and what it says."""
    if not CHECKER.exists():
        pytest.skip("Go is missing (Debian: golang-go): histories are not checked" if shutil.which("go") is None else f"{CHECKER} was not built")
    path.write_text("".join(json.dumps(did) + "\n" for did in operations))
    done = subprocess.run([CHECKER, path], capture_output=True, text=True, timeout=CHECK_SECONDS_MAX)
    return done.returncode, done.stdout + done.stderr
