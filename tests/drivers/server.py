#!/usr/bin/env python3
"""A private TarnDB server for one run of a driver suite: start, restart, stop.

The state of a server is a directory: its data, its log, and `state.json` with the process id and the ports. All commands
are given that directory, so that a suite in any language can ask for a restart by running a command:

    server.py start   DIR [login|tls] start on free ports with empty data, TLS for who wants it; prints host:port of CQL. With `login` clients have to log in, with `tls` to speak that
    server.py restart DIR kill|term   end the process (SIGKILL or SIGTERM) and start it again on the same data and ports
    server.py address DIR NAME        print host:port of another listener, named as in the ready line: `aerospike`, `griddb`, `griddb-sql`
    server.py stop    DIR             end the process and delete its data; the log stays when the process died by itself

Invariants: only the process that this directory names is ever signalled; a start returns once the server has printed its
ready line; ports stay the same over a restart.
"""

import json
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

import certificates

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Flags of the ports that suites use, and their names in the ready line.
PORTS = {
    "--cql-port": "cql", "--cql-shard-aware-port": "shard-aware", "--aerospike-port": "aerospike", "--griddb-port": "griddb",
    "--griddb-sql-port": "griddb-sql",
}
START_ATTEMPTS = 3
START_SECONDS_MAX = 180
STOP_SECONDS_MAX = 180


def free_port() -> int:
    """A port that nobody listens on, below those that the kernel gives to outgoing connections: a driver that reconnects to a
    dead server on such a port can be given that very port for its own end, and keeps the server from coming back."""
    while True:
        port = random.randrange(10_000, 30_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


class ServerFailed(Exception):
    """The server did not start or did not stop; the message ends with the last lines of its log."""


def binary() -> str:
    """The program under test: TARNDB_TEST_BINARY, or the build of `make run`."""
    return os.environ.get("TARNDB_TEST_BINARY", str(ROOT / "target" / "quick" / "tarndb"))


class Server:
    """One server process and its directory; `flags` are given to `tarndb start` after the usual ones."""

    def __init__(self, directory, flags=(), memory=None):
        # Absolute: the server runs in this directory, and a restart may be asked for from anywhere.
        self.directory = pathlib.Path(directory).resolve()
        self.flags = flags
        self.memory = memory or os.environ.get("TARNDB_TEST_MEMORY", "512M")
        self.state_path = self.directory / "state.json"
        self.log_path = self.directory / "server.log"

    def state(self) -> dict:
        """What `start` wrote down: pid, cql, aerospike and griddb (host:port each), and every key=value of the ready line."""
        return json.loads(self.state_path.read_text())

    def start(self) -> str:
        """Starts a server on free ports with an empty data directory and returns CQL's host:port."""
        self.directory.mkdir(parents=True, exist_ok=True)
        attempts = START_ATTEMPTS
        while True:
            ports = set()
            while len(ports) < len(PORTS):
                ports.add(free_port())
            try:
                return self._launch(*ports)
            except ServerFailed as failure:
                attempts -= 1
                # Somebody else may have taken a port since it was free.
                if attempts == 0 or "Address already in use" not in str(failure):
                    raise

    def restart(self, how: str, between=None) -> str:
        """Ends the server with SIGKILL (`kill`) or SIGTERM (`term`) and starts it on the same data and ports; calls `between` in between."""
        state = self.state()
        self._end(state["pid"], {"kill": signal.SIGKILL, "term": signal.SIGTERM}[how])
        if between is not None:
            between()
        # A listener that is switched off has no port.
        return self._launch(*(int(state.get(name, ":0").rsplit(":", 1)[1]) for name in PORTS.values()))

    def stop(self):
        """Ends the server and deletes its directory. Raises if the process had already died by itself."""
        if not self.state_path.exists():
            return
        pid = self.state()["pid"]
        if not alive(pid):
            raise ServerFailed(f"the server (pid {pid}) had died before it was stopped\n{self.log_tail()}")
        self._end(pid, signal.SIGTERM)
        shutil.rmtree(self.directory)

    def log_tail(self) -> str:
        """The last lines that the server printed."""
        return "".join(self.log_path.read_text(errors="replace").splitlines(keepends=True)[-40:])

    def _launch(self, *ports: int) -> str:
        command = [
            binary(), "start",
            "--data-dir", str(self.directory / "data"),
            "--listen", "127.0.0.1",
            *(word for flag, port in zip(PORTS, ports, strict=True) if self._has(flag) for word in (flag, str(port))),
            "--http-port", "0",
            "--cores", os.environ.get("TARNDB_TEST_CORES", "2"),
            "--memory-limit", self.memory,
            *self.flags,
        ]
        with open(self.log_path, "ab") as log:
            log_start = log.tell()
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory, start_new_session=True
            )
        ready = self._wait_ready(process, log_start)
        self.state_path.write_text(json.dumps({**ready, "pid": process.pid}))
        return ready["cql"]

    def _has(self, flag: str) -> bool:
        """Whether the server has this port: SQL's is not there where clients log in by certificates alone."""
        return flag != "--griddb-sql-port" or "certificate" not in self.flags

    def _wait_ready(self, process, log_start: int) -> dict:
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            with open(self.log_path, "rb") as log:
                log.seek(log_start)
                for line in log.read().decode(errors="replace").splitlines(keepends=True):
                    if line.startswith("tarndb ready") and line.endswith("\n"):
                        return dict(word.split("=", 1) for word in line.split() if "=" in word)
            if process.poll() is not None:
                raise ServerFailed(f"the server ended with status {process.returncode}\n{self.log_tail()}")
            time.sleep(0.02)
        self._end(process.pid, signal.SIGKILL)
        raise ServerFailed(f"no ready line within {START_SECONDS_MAX} s\n{self.log_tail()}")

    def _end(self, pid: int, how: signal.Signals):
        if not alive(pid):
            raise ServerFailed(f"the server (pid {pid}) had died by itself\n{self.log_tail()}")
        descriptor = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(descriptor, how)
            if not select.select([descriptor], [], [], STOP_SECONDS_MAX)[0]:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                raise ServerFailed(f"{how.name} did not end the server within {STOP_SECONDS_MAX} s\n{self.log_tail()}")
        finally:
            os.close(descriptor)


# Clients have to log in; the first superuser's name is its password.
LOGIN_FLAGS = ["--authentication", "password", "--superuser-password-file", str(pathlib.Path(__file__).resolve().parent / "superuser-password")]


def offered_tls(directory, how: str = "optional") -> list[str]:
    """Flags by which a suite's clients may speak TLS, or have to, on the same ports; `certificates/ca.pem` in the directory is what they trust."""
    place = pathlib.Path(directory).resolve() / "certificates"
    if certificates.why_not():
        return []
    if not place.exists():
        return [*certificates.Authority(place).server_flags(), "--tls", how]
    return ["--tls-certificate", str(place / "server.pem"), "--tls-key", str(place / "server.key"), "--tls", how]


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended but was not waited for does not."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except FileNotFoundError:
        return False
    return fields[0] not in ("Z", "X")


def main(arguments) -> int:
    match arguments:
        case ["start", directory]:
            print(Server(directory, offered_tls(directory)).start())
        case ["start", directory, "login"]:
            print(Server(directory, [*LOGIN_FLAGS, "--aerospike-namespaces", "test"]).start())
        case ["start", directory, "tls"]:
            print(Server(directory, offered_tls(directory, "required")).start())
        case ["restart", directory, ("kill" | "term") as how]:
            print(Server(directory, offered_tls(directory)).restart(how))
        case ["address", directory, name]:
            print(Server(directory).state()[name])
        case ["stop", directory]:
            Server(directory).stop()
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ServerFailed as failure:
        sys.exit(f"server.py: {failure}")
