"""`tarndb backup` of a cluster under load, and `tarndb restore` into one of another size."""

import contextlib
import json
import os
import shutil
import subprocess
import threading

from cassandra import ConsistencyLevel

import server as servers
from ledger import PAUSE_S, Ledger
from nodes import FAILURES, running, until

WRITERS = 4
LARGE, LARGE_BYTES = 300, 10_000
REPLICATED = "{{'class': 'SimpleStrategy', 'replication_factor': {}}}"


def tarndb(cluster, *words, nodes=None) -> subprocess.Popen:
    asked = ",".join(node.http() for node in nodes or cluster.running())
    command = [servers.binary(), *(str(word) for word in words), "--http", asked]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen) -> tuple[int, str]:
    out, error = process.communicate(timeout=300)
    return process.returncode, out + error


def must(process: subprocess.Popen) -> str:
    code, said = ended(process)
    assert code == 0, said
    return said


class Chains:
    """Each writer writes one row after the other, in keyspaces with three replicas and with one: what comes later needs what was before."""

    def __init__(self):
        self.written, self.stopping = [0] * WRITERS, threading.Event()

    @staticmethod
    def create(session):
        session.execute(f"CREATE KEYSPACE one WITH replication = {REPLICATED.format(1)}")
        session.execute("CREATE TABLE k.a (id int PRIMARY KEY, n int)")
        session.execute("CREATE TABLE one.b (id int PRIMARY KEY, n int)")
        session.execute("CREATE TABLE k.journal (id int, n int, PRIMARY KEY (id, n))")
        # More than one chunk for each core.
        session.execute("CREATE TABLE k.large (id int PRIMARY KEY, v blob)")
        insert = session.prepare("INSERT INTO k.large (id, v) VALUES (?, ?)")
        for number in range(LARGE):
            session.execute(insert, (number, os.urandom(LARGE_BYTES)))

    @contextlib.contextmanager
    def load(self, cluster):
        with cluster.session() as session:
            texts = (
                "INSERT INTO k.a (id, n) VALUES (?, ?)", "INSERT INTO one.b (id, n) VALUES (?, ?)",
                "INSERT INTO k.journal (id, n) VALUES (?, ?)",
            )
            links = [session.prepare(text) for text in texts]
            for link in links:
                link.is_idempotent = True
            threads = [threading.Thread(target=self._write, args=(session, links, number)) for number in range(WRITERS)]
            with running(threads, self.stopping):
                yield

    def _write(self, session, links, writer: int):
        while not self.stopping.is_set():
            number = self.written[writer] + 1
            for place, link in enumerate(links):
                while not self.stopping.is_set():
                    try:
                        session.execute(link, (writer + 100 * place, number))
                        break
                    except FAILURES:
                        # It may have been done; to do it again does no harm.
                        continue
            self.written[writer] = number
            self.stopping.wait(PAUSE_S)

    def wait(self, count: int):
        wanted = [number + count for number in self.written]
        until("writers go on", lambda: all(number >= want for number, want in zip(self.written, wanted, strict=True)), 120)

    def check(self, cluster):
        with cluster.session(consistency=ConsistencyLevel.ONE) as session:
            def one(text, *values):
                return session.execute(text, values).one()[0] or 0

            for writer in range(WRITERS):
                a = one("SELECT n FROM k.a WHERE id = %s", writer)
                b = one("SELECT n FROM one.b WHERE id = %s", writer + 100)
                last, count = session.execute("SELECT max(n), count(*) FROM k.journal WHERE id = %s", (writer + 200,)).one()
                said = f"writer {writer}: a {a}, b {b}, journal {last} with {count} rows, written {self.written[writer]}"
                assert a - 1 <= b <= a and b - 1 <= last <= b and count == last, said
                assert a <= self.written[writer] + 1, said
            assert one("SELECT count(*) FROM k.large") == LARGE


def bytes_in(directory) -> int:
    return sum(path.stat().st_size for path in directory.glob("*.rows"))


def test_a_backup_under_load_is_one_point_in_time_in_a_cluster_of_another_size(cluster, start_cluster):
    directory, later, resumed = (cluster.directory / name for name in ("backup", "later", "resumed"))
    chains, ledger = Chains(), Ledger()
    with cluster.session() as session:
        chains.create(session)
    with ledger.load(cluster, writers=2), chains.load(cluster):
        chains.wait(20)
        code, said = ended(tarndb(cluster, "backup", "--to", directory, nodes=cluster.nodes[:1]))
        assert code == 2 and "name the HTTP ports of all members" in said, said
        # Whoever leads slots dies in the middle: there is no such backup, and clients do not notice.
        for rate in ("64KiB", "16KiB", "4KiB"):
            slow = tarndb(cluster, "backup", "--to", directory, "--rate-limit", rate)
            until("it has begun", lambda: list(directory.glob("*.rows")) or slow.poll() is not None, 120)  # noqa: B023
            cluster.nodes[2].kill()
            code, said = ended(slow)
            cluster.nodes[2].start()
            cluster.settle()
            if code != 0:
                break
            # It had ended before, for this machine stalled: again more slowly.
            shutil.rmtree(directory)
        assert code != 0, said
        assert not list(directory.iterdir()), said
        chains.wait(20)
        backup = tarndb(cluster, "backup", "--to", directory)
        chains.wait(5)
        must(backup)
        chains.wait(5)
        # Again one dies in the middle, and what is stored stays.
        for rate in ("512KiB", "128KiB", "64KiB"):
            slow = tarndb(cluster, "backup", "--to", resumed, "--resume", "--rate-limit", rate)
            until("rows come", lambda: bytes_in(resumed) > LARGE * LARGE_BYTES / 4 or slow.poll() is not None, 120)  # noqa: B023
            cluster.nodes[1].kill()
            code, said = ended(slow)
            cluster.nodes[1].start()
            cluster.settle()
            if code != 0:
                break
            shutil.rmtree(resumed)
        assert code != 0 and f"What it has stored in {resumed} stays there" in said, said
        # Whoever leads slots is another one now: what is left out does not rest on that.
        chains.wait(5)
        before = bytes_in(resumed)
        said = must(tarndb(cluster, "backup", "--to", resumed, "--resume"))
        assert "going on with the backup that was interrupted after" in said, said
        manifest = json.loads((resumed / "manifest.json").read_text().rsplit("crc32", 1)[0])
        stored = sum(file["bytes"] for attempt in manifest["interrupted"] for file in attempt["files"])
        assert before >= stored > LARGE * LARGE_BYTES / 8, (before, stored)
        chains.wait(5)
        must(tarndb(cluster, "backup", "--to", later, "--incremental-from", directory))
        chains.wait(5)
    assert "is whole: keyspaces k, one, 3 files" in must(subprocess.Popen(
        [servers.binary(), "backup", "verify", str(directory)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ))
    for place in (directory, later, resumed):
        other = start_cluster(2)
        must(tarndb(other, "restore", "--from", place))
        chains.check(other)
