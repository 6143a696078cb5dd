"""Runs `tarndb bench` and reads what it leaves."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

import server as servers
from sizes import pytest_collection_modifyitems, pytest_configure  # noqa: F401

SECONDS_MAX = 600


class Run:
    """A process of `tarndb bench` and its directory."""

    def __init__(self, *arguments, cwd, stderr=subprocess.PIPE, env=None):
        self.cwd = pathlib.Path(cwd)
        command = [servers.binary(), "bench", *map(str, arguments)]
        self.process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=stderr, env=env, text=True)

    def end(self):
        """Waits; itself, with `code`, `out` and `err`."""
        self.out, self.err = self.process.communicate(timeout=SECONDS_MAX)
        self.code = self.process.returncode
        return self

    def interrupt(self):
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def wait_for_line(self, text):
        """Reads progress until a line holds `text`."""
        started = time.monotonic()
        for line in self.process.stderr:
            if text in line:
                return
            assert time.monotonic() - started < SECONDS_MAX, line
        raise AssertionError(f"it ended without saying {text!r}")


@pytest.fixture
def bench(tmp_path):
    """`tarndb bench` with a directory of the test's own; processes that a failing test leaves are ended."""
    runs = []

    def start(*arguments, **options):
        runs.append(Run(*arguments, cwd=tmp_path, **options))
        return runs[-1]

    yield start
    for run in runs:
        if run.process.poll() is None:
            run.process.kill()
            run.process.communicate()


@pytest.fixture
def study(tmp_path):
    """Writes a study; its path."""

    def write(phases, rows=2000, tables=1, name="small", rows_more=None, **more):
        lines = [f'name = "{name}"', 'title = "small"', 'description = "for a test"']
        lines += [f"{key} = {value}" for key, value in more.items()]
        lines += ["[rows]", f"count = {rows}", f"tables = {tables}", "fields = 3", "field_bytes = 40"]
        lines += [f"{key} = {value}" for key, value in (rows_more or {}).items()]
        lines += ["[clients]", "connections = 4", "in_flight = 4"]
        for phase in phases:
            lines += ["[[phases]]", *(f"{key} = {value}" for key, value in phase.items())]
        path = tmp_path / f"{name}.toml"
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def report_of(directory):
    """report.json."""
    return json.loads((pathlib.Path(directory) / "report.json").read_text())


def phase_of(report, name, target=0):
    """A phase of a target's report."""
    return next(phase for phase in report["targets"][target]["phases"] if phase["name"] == name)


@pytest.fixture
def private_server(tmp_path):
    """A TarnDB server that is not the tool's."""
    server = servers.Server(tmp_path / "server")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def guarded_server(tmp_path):
    """One that asks for a name and a password."""
    server = servers.Server(tmp_path / "guarded", servers.LOGIN_FLAGS)
    server.start()
    yield server
    server.stop()


def kill(server):
    """kill -9, by the process id that the server's directory names, which then has no process to stop any more."""
    os.kill(server.state()["pid"], signal.SIGKILL)
    server.state_path.unlink()
