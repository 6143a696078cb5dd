"""The server under test, what is known, and closing lines that list the differences of each script.

The server is TARNDB_TEST_CQL (host:port); without it a private one is started. Nothing is known of a peer (TARNDB_TEST_PEER): Cassandra must
answer as it did when it was recorded.
"""

import os
import pathlib
import tempfile

import pytest

import compare
import recorded
import server

PEER = os.environ.get("TARNDB_TEST_PEER")
# Differences of all tests of this run.
FOUND = pytest.StashKey[list]()
KNOWN = pytest.StashKey[list]()


def pytest_configure(config):
    config.stash[FOUND] = []
    config.stash[KNOWN] = [] if PEER else compare.read_known(recorded.HERE / "known.toml")


@pytest.fixture(scope="session")
def endpoint():
    """host:port of the server under test."""
    if external := os.environ.get("TARNDB_TEST_CQL"):
        yield external
        return
    runs = server.ROOT / ".cache" / "run"
    runs.mkdir(parents=True, exist_ok=True)
    private = server.Server(pathlib.Path(tempfile.mkdtemp(prefix="differential-", dir=runs)))
    yield private.start()
    private.stop()


@pytest.fixture
def judged(request):
    """Judges answers by those of Cassandra; returns the differences that nothing explains."""

    def judge(name, steps, ours, theirs):
        found = compare.judge(name, steps, ours, theirs, request.config.stash[KNOWN])
        request.config.stash[FOUND].extend(found)
        return compare.unexplained(found)

    return judge


def pytest_terminal_summary(terminalreporter, config):
    if not (found := config.stash[FOUND]):
        return
    terminalreporter.write_line("\ndifferences from Cassandra:")
    terminalreporter.write_line(compare.table(found))
    scripts = sorted({difference.script for difference in found if not difference.script.startswith("case")})
    for name in scripts:
        of_script = [difference for difference in found if difference.script == name]
        terminalreporter.write_line(f"{name}: {len(of_script)}, steps {', '.join(sorted({str(one.step + 1) for one in of_script}, key=int))}")
    if config.args == config.getini("testpaths"):
        for entry in config.stash[KNOWN]:
            if not entry.hits:
                terminalreporter.write_line(f"known.toml: nothing matches any more: {entry.reason}")
