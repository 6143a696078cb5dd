"""What statements of SQL put on disk where memory is too small: right answers, a limit, and nothing that stays."""

import os
import pathlib
import tempfile

import pytest
from cassandra.concurrent import execute_concurrent_with_args

import server
from conftest import PEER, run_directory
from test_sql import address, begin, refused, rows, tested  # noqa: F401: fixtures
from waiting import wait_until

pytestmark = pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB")

# 1,000 bytes each, in no order, without an end.
LARGE = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c ORDER BY hex(randomblob(500))"


@pytest.fixture
def private():
    """Makes a server with flags of its own."""
    made = []

    def make(*flags):
        made.append(server.Server(tempfile.mkdtemp(prefix="spill-", dir=run_directory()), flags))
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.stop()


def open_files(of):
    """The files of SQL that a server has open, and what is in their directory."""
    pid, found = of.state()["pid"], []
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(link)
        except FileNotFoundError:
            continue
        if "/sql-spill/" in target:
            assert target.endswith(" (deleted)") or pathlib.Path(target).stat().st_mode & 0o77 == 0, target
            found.append(target)
    return found


def names(of):
    directory = of.directory / "data" / "sql-spill"
    assert directory.stat().st_mode & 0o777 == 0o700
    return [path.name for path in directory.iterdir()]


def test_sorts_and_groups_larger_than_memory_are_right(table, shared_session, address, tested):  # noqa: F811
    name = table("id int PRIMARY KEY, v text, k int")
    insert = shared_session.prepare(f"INSERT INTO {name} (id, v, k) VALUES (?, ?, ?)")
    given = [(number, f"{number * 7919 % 4_001:05}" * 160, number % 7) for number in range(4_000)]
    execute_concurrent_with_args(shared_session, insert, given, raise_on_first_error=True)
    # 320 MB in the sorts.
    hundred = f"(SELECT t.*, n FROM {name} t, (WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c LIMIT 100) SELECT n FROM c))"
    expected = [number for number, *_ in sorted(given, key=lambda row: row[1]) for _ in range(100)]
    assert [row[0] for row in rows(address, f"SELECT id FROM {hundred} ORDER BY v, n", timeout_ms=300_000)] == expected
    grouped = f"SELECT COUNT(*), MIN(c), MAX(c), SUM(s) FROM (SELECT v || n AS g, COUNT(*) AS c, SUM(k) AS s FROM {hundred} GROUP BY g)"
    assert rows(address, grouped, timeout_ms=300_000) == [[400_000, 1, 1, 100 * sum(k for _, _, k in given)]]
    assert open_files(tested) == [] and names(tested) == []


def test_the_limit_is_said(private):
    small = private("--sql-spill-limit", "32MiB")
    http = small.state()["http"]
    status, text = refused(http, LARGE)
    assert status == 507 and "32 MiB" in text and "sql_spill_limit" in text
    assert open_files(small) == [] and names(small) == [] and rows(http, "SELECT 1") == [[1]]


def test_without_a_limit_there_is_memory_alone(private):
    without = private("--sql-spill-limit", "0")
    status, text = refused(without.state()["http"], LARGE)
    assert status == 507 and "256 MiB" in text and "memory" in text
    assert not (without.directory / "data" / "sql-spill").exists()


def test_nothing_stays_of_a_statement_that_is_stopped(private):
    stopped = private()
    http = stopped.state()["http"]
    assert refused(http, LARGE, timeout_ms=2_000)[0] == 408
    wait_until(lambda: open_files(stopped) == [])
    left = begin(http, LARGE, timeout_ms=3_600_000)
    # A file has a name for a moment.
    wait_until(lambda: open_files(stopped) != [] and names(stopped) == [])
    left.close()
    wait_until(lambda: open_files(stopped) == [])
    killed = begin(http, LARGE, timeout_ms=3_600_000)
    wait_until(lambda: open_files(stopped) != [] and names(stopped) == [])

    def leave_one():
        assert names(stopped) == []
        (stopped.directory / "data" / "sql-spill" / "3").write_bytes(b"of a process that died as it made the file")

    stopped.restart("kill", leave_one)
    killed.close()
    assert open_files(stopped) == [] and names(stopped) == []
    assert rows(stopped.state()["http"], "SELECT 1") == [[1]]


def test_an_encrypted_node_spills_too(private, tmp_path):
    key = tmp_path / "key"
    key.write_text("5a" * 32 + "\n")
    key.chmod(0o600)
    encrypted = private("--encryption-key-file", str(key))
    counted = LARGE.replace("SELECT n FROM c ORDER BY", "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY").replace("hex(randomblob(500))", "hex(randomblob(500))) FROM c)")
    counted = counted.replace("SELECT n + 1 FROM c)", "SELECT n + 1 FROM c LIMIT 60000)")
    assert rows(encrypted.state()["http"], counted) == [[60_000]]
