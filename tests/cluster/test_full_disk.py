"""A node whose disk is full while the others' are not: what is acknowledged can be read, and the rest is told."""

import contextlib
import shutil
import subprocess

import pytest
from cassandra import ConsistencyLevel

from nodes import FAILURES, succeeds, until
from test_operations import tarndb

VALUE = b"\xa5" * (256 << 10)
# A fifth more than the node's disk takes.
ROWS = 1100
# Less than the member's capacity.
FILE_SYSTEM_BYTES = 400 << 20


def test_a_full_disk_makes_no_answer_wrong(start_cluster):
    cluster = start_cluster(2)
    small = cluster.add(capacity="256MiB")
    cluster.create()
    others = [node for node in cluster.nodes if node is not small]
    acknowledged, refused = set(), 0
    with cluster.session(others, only=True, seconds=15) as session:
        session.execute("CREATE TABLE k.big (a int PRIMARY KEY, b blob)")
        insert = session.prepare("INSERT INTO k.big (a, b) VALUES (?, ?)")
        for first in range(0, ROWS, 8):
            for key, future in [(key, session.execute_async(insert, (key, VALUE))) for key in range(first, first + 8)]:
                try:
                    future.result()
                    acknowledged.add(key)
                except FAILURES:
                    refused += 1
        select = session.prepare("SELECT b FROM k.big WHERE a = ?")
        select.consistency_level = ConsistencyLevel.QUORUM
        for key in sorted(acknowledged):
            until(f"row {key} can be read", lambda key=key: succeeds(lambda: session.execute(select, (key,))), 120, 0.1)
            assert session.execute(select, (key,)).one().b == VALUE, f"row {key} is lost"
    assert len(acknowledged) > 600, f"{len(acknowledged)} rows acknowledged, {refused} refused"
    assert small.is_running, small.log_tail()
    told = tarndb(small, "status")
    assert told.returncode == 1 and "no room" in told.stdout, told.stdout + told.stderr


@pytest.fixture
def own_file_system():
    """A function that gives a node's data directory a small file system of its own."""
    mounted = []

    def mount(node):
        node.data_dir.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={FILE_SYSTEM_BYTES}", "tmpfs", node.data_dir], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
        mounted.append(node)

    yield mount
    for node in mounted:
        node.end()
        subprocess.run(["umount", node.data_dir], check=False)


def fill_up(node):
    """Not a byte is left, for the metadata and the schema neither. The file that takes them."""
    filler = node.data_dir / "filler"
    with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(1 << 16)):
            pass
    assert shutil.disk_usage(node.data_dir).free == 0
    return filler


@pytest.mark.parametrize("restarts", [False, pytest.param(True, marks=pytest.mark.long)], ids=["same-process", "restarted"])
def test_a_full_file_system_stops_nobody_else_and_is_over_once_there_is_room(start_cluster, own_file_system, restarts):
    cluster = start_cluster(2)
    small = cluster.add(start=False)
    own_file_system(small)
    small.start()
    cluster.create()
    others = [node for node in cluster.nodes if node is not small]
    acknowledged = set()

    def write(session, keys):
        insert = session.prepare("INSERT INTO k.t (a, b) VALUES (?, ?)")
        for key in keys:
            until(f"row {key} is written", lambda key=key: succeeds(lambda: session.execute(insert, (key, key))), 120, 0.1)
            acknowledged.add(key)

    with cluster.session(others, only=True, seconds=15) as session:
        write(session, range(200))
        filler = fill_up(small)
        until("the schema is changed", lambda: succeeds(lambda: session.execute("CREATE TABLE IF NOT EXISTS k.later (a int PRIMARY KEY)")), 120, 0.2)
        write(session, range(200, 400))
    assert small.is_running, small.log_tail()
    until("it says why it does not follow", lambda: "no space left on the device" in small.log(), 120, 0.1)
    if restarts:
        small.kill()
    filler.unlink()
    if restarts:
        small.start()
    cluster.settle()
    assert restarts or "there is room again" in small.log()
    for node in cluster.nodes:
        assert cluster.rows_at(node, acknowledged) == {key: key for key in acknowledged}, node
    with cluster.session([small], only=True, consistency=ConsistencyLevel.ONE) as session:
        assert not session.execute("SELECT a FROM k.later").all()


def test_a_member_that_is_alone_serves_on_a_full_file_system_and_takes_no_change_of_the_schema(start_cluster, own_file_system):
    cluster = start_cluster(0)
    node = cluster.add(start=False)
    own_file_system(node)
    node.start()
    cluster.create(factor=1)
    with cluster.session() as session:
        filler = fill_up(node)
        for key in range(100):
            session.execute("INSERT INTO k.t (a, b) VALUES (%s, %s)", (key, key))
        # The first change is what finds the disk full: nobody knows then whether it is made later. The next ones are refused.
        with pytest.raises(FAILURES):
            session.execute("CREATE TABLE k.first (a int PRIMARY KEY)", timeout=120)
        with pytest.raises(FAILURES, match="file system is full"):
            session.execute("CREATE TABLE k.second (a int PRIMARY KEY)", timeout=120)
        for key in range(100, 200):
            session.execute("INSERT INTO k.t (a, b) VALUES (%s, %s)", (key, key))
        assert cluster.rows_at(node, range(200)) == {key: key for key in range(200)}
        filler.unlink()
        until("the schema is changed", lambda: succeeds(lambda: session.execute("CREATE TABLE IF NOT EXISTS k.third (a int PRIMARY KEY)")), 120, 0.2)
    node.kill()
    node.start()
    with cluster.session() as session:
        assert not session.execute("SELECT a FROM k.third").all()
    assert cluster.rows_at(node, range(200)) == {key: key for key in range(200)}
