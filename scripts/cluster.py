#!/usr/bin/env python3
"""Three nodes on this machine for a person to try: `make cluster`. Ctrl-C ends them; the next run goes on with their data.

They listen on 127.0.0.1 to 127.0.0.3, on the same ports, and keep everything in ./tarndb-cluster. Flags of `tarndb start` may follow.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
DIRECTORY = pathlib.Path.cwd() / "tarndb-cluster"
NODE_PORT = 7000
NODES = 3
READY_SECONDS_MAX = 120
END_SECONDS_MAX = 60


class Node:
    """One of the three, and its process."""

    def __init__(self, number: int, flags):
        self.number, self.address = number, f"127.0.0.{number}"
        self.log = DIRECTORY / f"node{number}.log"
        join = [] if number == 1 else ["--join", f"127.0.0.1:{NODE_PORT}"]
        command = [
            binary(), "start", "--data-dir", str(DIRECTORY / f"node{number}"), "--listen", self.address, "--node-port", str(NODE_PORT), *join,
            "--rack", f"rack{number}", "--cores", "1", "--pin", "off", "--memory-limit", "256MiB", "--capacity", "2GiB", *flags,
        ]
        with open(self.log, "ab") as log:
            self.log_start = log.tell()
            # In a session of its own: Ctrl-C is for this program, which ends the nodes one after the other.
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def wait_ready(self):
        """The ready line's words, by name."""
        deadline = time.monotonic() + READY_SECONDS_MAX
        while time.monotonic() < deadline:
            with open(self.log, "rb") as log:
                log.seek(self.log_start)
                said = log.read().decode(errors="replace")
            for line in said.splitlines():
                if line.startswith("tarndb ready"):
                    return dict(word.split("=", 1) for word in line.split() if "=" in word)
            if self.process.poll() is not None:
                raise Failed(f"node {self.number} ended with status {self.process.returncode}; {self.log} says:\n" + "\n".join(said.splitlines()[-10:]))
            time.sleep(0.05)
        raise Failed(f"node {self.number} is not ready after {READY_SECONDS_MAX} s; see {self.log}")

    def end(self) -> bool:
        """Whether it ended in order."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(END_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode == 0


class Failed(Exception):
    """A node did not start; the message says why."""


class Interrupted(Exception):
    """Somebody wants this to end."""


def binary() -> str:
    """The program: TARNDB_TEST_BINARY, or the build of `make run`."""
    return os.environ.get("TARNDB_TEST_BINARY", str(ROOT / "target" / "quick" / "tarndb"))


def interrupted(*_):
    raise Interrupted


def main(flags) -> int:
    DIRECTORY.mkdir(exist_ok=True)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    nodes, status = [], 0
    try:
        # All at once: after a restart a majority is needed before anyone serves.
        nodes.extend(Node(number, flags) for number in range(1, NODES + 1))
        first_http = None
        for node in nodes:
            ready = node.wait_ready()
            first_http = first_http or ready["http"]
            print(f"node {node.number}  cql={ready['cql']}  node={ready['node']}  http={ready['http']}  rack=rack{node.number}  pid={node.process.pid}  log={node.log}", flush=True)
        host, port = ready["cql"].replace(f".{NODES}:", ".1:").rsplit(":", 1)
        print(
            f"connect with:  cqlsh {host} {port}\n"
            "to begin:      CREATE KEYSPACE demo WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3};\n"
            f"see the state: {binary()} status --http {first_http}\n"
            f"kill one:      kill -9 {nodes[-1].process.pid}     (reads and writes go on; Ctrl-C here and `make cluster` bring it back)\n"
            "Ctrl-C ends all three.",
            flush=True,
        )
        while any(node.process.poll() is None for node in nodes):
            for node in nodes:
                if node.process.poll() is not None and node.log:
                    print(f"node {node.number} has ended with status {node.process.returncode}; log={node.log}", flush=True)
                    node.log = None
            time.sleep(0.2)
        status = 1
    except Interrupted:
        print("\nending the nodes", flush=True)
    except Failed as failure:
        print(f"make cluster: {failure}", file=sys.stderr)
        status = 1
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for node in nodes:
        was_killed = node.process.poll() is not None
        if not node.end() and not was_killed:
            print(f"node {node.number} did not end in order: status {node.process.returncode}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
