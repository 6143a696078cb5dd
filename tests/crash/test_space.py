"""A device that is full, and data larger than memory."""

import hashlib
import os
import pathlib
import re
import time

import pytest
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra.query import BatchStatement, BatchType

from sizes import sized

KEYSPACE = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
MEMORY_LIMIT = 256 << 20
SEGMENT_BYTES = 8 << 20


def memory_bytes_most(pid: int) -> int:
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) << 10


def payload(key: int, size: int) -> bytes:
    """Bytes that tell which key they are of, and that no compression shrinks away."""
    return hashlib.shake_128(key.to_bytes(8, "big")).digest(size)


def insert_all(session, table: str, keys, size: int, concurrency: int = 32):
    """Inserts until all are in or writes are refused; gives the keys that were acknowledged and the refusals."""
    insert = session.prepare(f"INSERT INTO {table} (k, v) VALUES (?, ?)")
    taken, refused = [], []
    keys = list(keys)
    for start in range(0, len(keys), 256):
        chunk = keys[start : start + 256]
        arguments = [(key, payload(key, size)) for key in chunk]
        results = execute_concurrent_with_args(session, insert, arguments, concurrency=concurrency, raise_on_first_error=False)
        for key, (success, outcome) in zip(chunk, results):
            (taken if success else refused).append(key if success else outcome)
        if len(refused) > 20:
            break
    return taken, refused


def test_a_full_device_refuses_writes_and_nothing_else(start_node):
    """Reads go on, deletions and TRUNCATE make room, and none of it needs a restart."""
    node = start_node(flags=("--capacity", "256MiB"))
    size = 64 << 10
    with node.session() as session:
        session.execute(KEYSPACE)
        session.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v blob)")
        session.execute("CREATE TABLE ks.other (k int PRIMARY KEY, v blob)")
        taken, refused = insert_all(session, "ks.t", range(5_000), size)
        assert refused, "256 MiB held 312 MiB"
        assert len(taken) * size > 100 << 20, f"a device of 256 MiB was full after {len(taken) * size >> 20} MiB"
        for failure in refused:
            assert "device full" in str(failure), repr(failure)
        read = session.prepare("SELECT v FROM ks.t WHERE k = ?")
        for key in taken[:: len(taken) // 200]:
            assert session.execute(read, (key,)).one().v == payload(key, size), key

        # After a kill the node starts, although it is full, and has everything.
        node.restart("kill")
    with node.session() as session:
        read = session.prepare("SELECT v FROM ks.t WHERE k = ?")
        for key in taken[:: len(taken) // 200]:
            assert session.execute(read, (key,)).one().v == payload(key, size), key

        # Deletions are taken even now, and make room.
        delete = session.prepare("DELETE FROM ks.t WHERE k = ?")
        gone = taken[: len(taken) // 2]
        results = execute_concurrent_with_args(session, delete, [(key,) for key in gone], concurrency=32, raise_on_first_error=False)
        failed = [outcome for success, outcome in results if not success]
        assert not failed, f"{len(failed)} deletions were refused: {failed[0]!r}"
        eventually_written(session, "ks.other", range(400), size)
        for key in taken[len(taken) // 2 :][::50]:
            assert session.execute(read, (key,)).one().v == payload(key, size), key
        for key in gone[::50]:
            assert session.execute(read, (key,)).one() is None, key

        # Full again, and TRUNCATE.
        insert_all(session, "ks.other", range(10_000, 15_000), size)
        session.execute("TRUNCATE ks.other")
        eventually_written(session, "ks.other", range(400), size)
        for key in taken[len(taken) // 2 :][::50]:
            assert session.execute(read, (key,)).one().v == payload(key, size), key


def eventually_written(session, table: str, keys, size: int, seconds_max: float = 120):
    """Defragmentation gives the room of what was deleted back, which takes it a moment."""
    deadline = time.monotonic() + seconds_max
    keys = list(keys)
    while True:
        taken, refused = insert_all(session, table, keys, size)
        if not refused:
            break
        keys = [key for key in keys if key not in set(taken)]
        assert time.monotonic() < deadline, f"writes are still refused: {refused[0]!r}"
        time.sleep(0.1)


def test_overwriting_for_ever_needs_no_more_room_than_the_rows(start_node):
    """Ten times the capacity goes through, in rows that are a third of it."""
    node = start_node(flags=("--capacity", "256MiB"))
    size = 64 << 10
    with node.session() as session:
        session.execute(KEYSPACE)
        session.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v blob)")
        insert = session.prepare("INSERT INTO ks.t (k, v) VALUES (?, ?)")
        for round_number in range(int(os.environ.get("TARNDB_CRASH_OVERWRITES", "8"))):
            arguments = [(key, payload(key + round_number, size)) for key in range(1_000)]
            results = execute_concurrent_with_args(session, insert, arguments, concurrency=32, raise_on_first_error=False)
            failed = [outcome for success, outcome in results if not success]
            assert not failed, f"round {round_number}: {len(failed)} writes failed: {failed[0]!r}"
        read = session.prepare("SELECT v FROM ks.t WHERE k = ?")
        for key in range(0, 1_000, 10):
            assert session.execute(read, (key,)).one().v == payload(key + round_number, size)


@pytest.mark.long
def test_data_larger_than_memory_is_readable_and_memory_stays_bounded(start_node):
    """600 MiB of rows at a limit of 256 MiB: by key, by scan, and after a kill."""
    node = start_node(flags=("--capacity", "2GiB"))
    size, count = 48 << 10, 12_800
    with node.session() as session:
        session.execute(KEYSPACE)
        session.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v blob)")
        taken, refused = insert_all(session, "ks.t", range(count), size)
        assert len(taken) == count, f"{len(refused)} writes failed: {refused[0]!r}"
        read_by_key(session, count, size)
        assert_memory_bounded(node)
        node.restart("kill")
    with node.session() as session:
        read_by_key(session, count, size)
        read_by_scan(session, count, size)
        assert_memory_bounded(node)


def assert_memory_bounded(node):
    most = memory_bytes_most(node.pid)
    assert most <= MEMORY_LIMIT + MEMORY_LIMIT // 10, f"the process had {most >> 20} MiB, its limit is {MEMORY_LIMIT >> 20} MiB"


def read_by_key(session, count: int, size: int):
    read = session.prepare("SELECT v FROM ks.t WHERE k = ?")
    keys = list(range(0, count, 7))
    for key, (success, rows) in zip(keys, execute_concurrent_with_args(session, read, [(key,) for key in keys], concurrency=32)):
        assert success and rows.one().v == payload(key, size), key


def read_by_scan(session, count: int, size: int):
    session.default_fetch_size = 100
    seen = set()
    for row in session.execute("SELECT k, v FROM ks.t"):
        if row.k % 16 == 0:
            assert row.v == payload(row.k, size), row.k
        assert row.k not in seen, f"row {row.k} came twice"
        seen.add(row.k)
    assert len(seen) == count


@pytest.mark.sized
def test_memory_stays_bounded_through_recovery_load_and_defragmentation(start_node):
    """Twice, or nearly five times, the limit in rows of 2,000 bytes; each life of the process is measured: loading, recovery from the checkpoint,
    overwriting, and recovery by a scan of the whole log, when there is no checkpoint."""
    # Batches of 64 rows are over what is warned of and refused otherwise.
    batches = ("--batch-size-warn-threshold", "1MiB", "--batch-size-fail-threshold", "1MiB", "--unlogged-batch-across-partitions-warn-threshold", "64")
    node = start_node(flags=("--capacity", sized("2GiB", "4GiB"), *batches))
    size, count = 2_000, sized(256_000, 600_000)
    with node.session() as session:
        session.execute(KEYSPACE)
        session.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v blob)")
        insert_in_batches(session, "ks.t", range(count), size)
    assert_memory_bounded(node)
    node.restart("kill")
    with node.session() as session:
        read_some(session, "ks.t", range(0, count, count // 500), size)
        # Half of everything is dead then, and segments are reclaimed.
        insert_in_batches(session, "ks.t", range(0, count, 2), size)
    assert_memory_bounded(node)
    removed = []
    node.restart("kill", between=lambda: removed.append(remove_checkpoints(node.data_dir)))
    assert recovered_from(node) == {"log"}, f"{removed[0]} segments of checkpoints were removed"
    assert_memory_bounded(node)
    with node.session() as session:
        read_some(session, "ks.t", range(0, count, count // 500), size)
        insert_in_batches(session, "ks.t", range(1, count, 4), size)
    assert_memory_bounded(node)


def insert_in_batches(session, table: str, keys, size: int, rows: int = 64):
    """Many small rows, a batch a statement: the client is the slow part."""
    insert = session.prepare(f"INSERT INTO {table} (k, v) VALUES (?, ?)")
    keys = list(keys)

    def batches():
        for start in range(0, len(keys), rows):
            batch = BatchStatement(BatchType.UNLOGGED)
            for key in keys[start : start + rows]:
                batch.add(insert, (key, payload(key, size)))
            yield batch, None

    failed = [outcome for success, outcome in execute_concurrent(session, batches(), concurrency=16, raise_on_first_error=False) if not success]
    assert not failed, f"{len(failed)} batches failed: {failed[0]!r}"


def read_some(session, table: str, keys, size: int):
    read = session.prepare(f"SELECT v FROM {table} WHERE k = ?")
    keys = list(keys)
    for key, (success, rows) in zip(keys, execute_concurrent_with_args(session, read, [(key,) for key in keys], concurrency=32)):
        assert success and rows.one().v == payload(key, size), key


def remove_checkpoints(data_dir: pathlib.Path) -> int:
    """Blanks the headers of all segments that hold parts of a checkpoint; how many there were."""
    removed = 0
    for path in data_dir.glob("shard-*.data"):
        with open(path, "r+b") as file:
            for offset in range(0, path.stat().st_size, SEGMENT_BYTES):
                file.seek(offset)
                header = file.read(16)
                if header[:8] == b"TARNSEG1" and header[14] == 3:
                    file.seek(offset)
                    file.write(bytes(4096))
                    removed += 1
    return removed


def recovered_from(node) -> set:
    """What the shards say that they have started from, the last time."""
    lines = node.log.read_text(errors="replace").rpartition(" starting ")[2].splitlines()
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    return {re.search(r'from="?(\w+)', line)[1] for line in plain if "recovered" in line}
