"""Runs cqlsh against TARNDB_TEST_CQL (host:port) with commands on its standard input."""

import os
import re
import shlex
import subprocess
import tempfile

import pytest

import server

HOST, PORT = os.environ["TARNDB_TEST_CQL"].rsplit(":", 1)
KEYSPACE = "shell"


class Output:
    """What one run of cqlsh printed and how it ended."""

    def __init__(self, finished):
        # cqlsh remarks that it was made for another release, and that others may see what it was given; that is no answer of the server's.
        remarks = r"WARNING: cqlsh was built against .*\n+|Warning: Using a password .*\n+Recommendation: .*\n*"
        self.out = re.sub(remarks, "", finished.stdout)
        self.errors = re.sub(remarks, "", finished.stderr).strip()
        self.status = finished.returncode

    def lines(self):
        """The printed lines without blanks at their ends; empty ones left out."""
        return [line.strip() for line in self.out.splitlines() if line.strip()]


@pytest.fixture(scope="session")
def cqlsh(tmp_path_factory):
    """A function that runs commands in cqlsh and gives its Output; it fails on an error unless told otherwise."""
    home = tmp_path_factory.mktemp("home")
    (home / "cqlshrc").touch()

    def run(commands, *arguments, keyspace=KEYSPACE, place=(HOST, PORT), fails=False):
        uses = ["-k", keyspace] if keyspace else []
        finished = subprocess.run(
            [os.environ["TARNDB_CQLSH"], "--no-color", "--disable-history", "--connect-timeout=120", "--request-timeout=120",
             "--cqlshrc", str(home / "cqlshrc"), *uses, *arguments, *place],
            input=commands.rstrip().rstrip(";") + ";\n", text=True, capture_output=True, timeout=300, cwd=home, env={**os.environ, "HOME": str(home)},
        )
        output = Output(finished)
        if not fails:
            assert output.errors == "" and output.status == 0, f"{output.errors[:2000]}\n{output.out[:2000]}"
        return output

    return run


@pytest.fixture(scope="session", autouse=True)
def keyspace(cqlsh):
    """The keyspace of all tests here, empty at the start."""
    replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    cqlsh(f"DROP KEYSPACE IF EXISTS {KEYSPACE}; CREATE KEYSPACE {KEYSPACE} WITH replication = {replication};", keyspace=None)
    yield
    cqlsh(f"DROP KEYSPACE {KEYSPACE};", keyspace=None)


@pytest.fixture(scope="module")
def guarded():
    """Host and port of a server of its own, which asks for a name and a password."""
    runs = server.ROOT / ".cache" / "run"
    runs.mkdir(parents=True, exist_ok=True)
    private = server.Server(tempfile.mkdtemp(prefix="cqlsh-", dir=runs), server.LOGIN_FLAGS)
    yield private.start().rsplit(":", 1)
    private.stop()


@pytest.fixture(scope="session")
def restart():
    """A function that ends the server with `kill` or `term` and returns once it is ready again."""
    command = os.environ.get("TARNDB_TEST_RESTART")
    if not command:
        pytest.skip("the server under test is not ours to restart")
    return lambda how: subprocess.run([*shlex.split(command), how], check=True, stdout=subprocess.DEVNULL, timeout=300)
