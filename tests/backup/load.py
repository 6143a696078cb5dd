"""Writers that make one row follow the other: whether what was restored is of one point in time can be told from the rows alone."""

import contextlib
import threading

from conftest import KEYSPACE, wait_until

WRITERS = 3
# Backups under this load are slow, and what Python computes is most of what it costs.
PAUSE_S = 0.005


class Load:
    """Each writer writes a row after the other, and deletes the tenth before; what comes later needs what was before. `k.fixed` is for rows that nobody writes again."""

    def __init__(self, session):
        self.session, self.written, self.stopping = session, [0] * WRITERS, threading.Event()
        session.execute(KEYSPACE.format("k"))
        session.execute("CREATE TABLE k.a (id int PRIMARY KEY, n int)")
        session.execute("CREATE TABLE k.b (id int PRIMARY KEY, n int) WITH gc_grace_seconds = 0")
        session.execute("CREATE TABLE k.fixed (id int PRIMARY KEY, v blob)")

    def count(self) -> int:
        return sum(self.written)

    def _write(self, writer):
        while not self.stopping.is_set():
            number = self.written[writer] + 1
            self.session.execute("INSERT INTO k.b (id, n) VALUES (%s, %s)", (writer * 1_000_000 + number, number))
            self.session.execute("DELETE FROM k.b WHERE id = %s", (writer * 1_000_000 + number - 10,))
            self.session.execute("INSERT INTO k.a (id, n) VALUES (%s, %s)", (writer, number))
            self.written[writer] = number
            self.stopping.wait(PAUSE_S)

    @contextlib.contextmanager
    def running(self):
        threads = [threading.Thread(target=self._write, args=(writer,)) for writer in range(WRITERS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.stopping.set()
            for thread in threads:
                thread.join()

    def wait(self, count: int):
        """Until each writer has written so many more."""
        until = [one + count for one in self.written]
        wait_until(lambda: all(one >= want for one, want in zip(self.written, until, strict=True)))

    def check(self, session):
        """Whether what a database has is what there was at one moment."""
        last = {row.id: row.n for row in session.execute("SELECT id, n FROM k.a")}
        found = {}
        for row in session.execute("SELECT id, n FROM k.b"):
            found.setdefault(row.id // 1_000_000, set()).add(row.n)
        for writer in range(WRITERS):
            n, there = last[writer], found[writer]
            # After the n-th row of a there is the n-th of b without those up to n - 10; the next one may have begun.
            allowed = [set(range(n - 9, n + 1)), set(range(n - 9, n + 2)), set(range(n - 8, n + 2))]
            assert there in allowed, (writer, n, sorted(there))
