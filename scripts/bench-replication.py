#!/usr/bin/env python3
"""What a write costs with and without a second replica: CPU time of all nodes together for each write, and for each read.

    scripts/bench-replication.py [--binary target/release/tarndb] [--rounds 3] [--tls]

Two nodes on 127.0.0.1 and 127.0.0.2 share the first CPU; the load has the second. Requests go to the node that is the primary of their
slot, as token-aware drivers send them, in pieces of several requests on each connection: a piece is sent when the replies of the one before are all there.
The goal: a write on two replicas costs at most 2.2 times the CPU time of one on a single replica. With --tls the nodes talk to each other in TLS.
"""

import argparse
import os
import pathlib
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests/cluster"))
from certificates import Authority

SHAPES = [(100, 1), (8, 8), (1, 32)]  # requests a piece, connections
ROWS = 20_000
VALUE_BYTES = 200
OPERATIONS = 1_000_000
MASK = (1 << 64) - 1


def murmur3(key: bytes) -> int:
    """The token of a key: the first half of MurmurHash3 x64 128, whose tail takes bytes as signed."""
    c1, c2, h1, h2 = 0x87C37B91114253D5, 0x4CF5AD432745937F, 0, 0
    rotate = lambda x, r: ((x << r) | (x >> (64 - r))) & MASK

    def final(k):
        for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            k = ((k ^ (k >> 33)) * factor) & MASK
        return k ^ (k >> 33)

    whole = len(key) // 16 * 16
    for at in range(0, whole, 16):
        k1, k2 = struct.unpack_from("<QQ", key, at)
        h1 ^= rotate(k1 * c1 & MASK, 31) * c2 & MASK
        h1 = ((rotate(h1, 27) + h2) * 5 + 0x52DCE729) & MASK
        h2 ^= rotate(k2 * c2 & MASK, 33) * c1 & MASK
        h2 = ((rotate(h2, 31) + h1) * 5 + 0x38495AB5) & MASK
    k1 = k2 = 0
    for index, byte in enumerate(key[whole:]):
        signed = byte - 256 if byte > 127 else byte
        if index < 8:
            k1 ^= signed << 8 * index
        else:
            k2 ^= signed << 8 * (index - 8)
    h2 ^= rotate((k2 & MASK) * c2 & MASK, 33) * c1 & MASK
    h1 ^= rotate((k1 & MASK) * c1 & MASK, 31) * c2 & MASK
    h1, h2 = h1 ^ len(key), h2 ^ len(key)
    h1 = (h1 + h2) & MASK
    h2 = (h2 + h1) & MASK
    h1, h2 = final(h1), final(h2)
    return (h1 + h2) & MASK


def slot_of(token: int) -> int:
    return ((token & MASK) ^ (1 << 63)) >> 52


class Connection:
    """One of CQL, protocol version 4."""

    def __init__(self, address):
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        options = b"\0\1" + b"\0\x0bCQL_VERSION" + b"\0\x053.0.0"
        self.request(1, options)

    def exactly(self, count):
        bytes_ = b""
        while len(bytes_) < count:
            more = self.socket.recv(count - len(bytes_))
            if not more:
                raise SystemExit("the node has closed the connection")
            bytes_ += more
        return bytes_

    def replies(self, count):
        """Takes so many replies, which must be results."""
        buffer, at = b"", 0
        while count:
            while len(buffer) - at < 9 or len(buffer) - at < 9 + struct.unpack_from(">I", buffer, at + 5)[0]:
                buffer, at = buffer[at:] + self.socket.recv(1 << 18), 0
            if buffer[at + 4] != 8:
                raise SystemExit(f"a request failed: {buffer[at : at + 200]!r}")
            at += 9 + struct.unpack_from(">I", buffer, at + 5)[0]
            count -= 1

    def request(self, opcode, body):
        self.socket.sendall(frame(opcode, body))
        head = self.exactly(9)
        body = self.exactly(struct.unpack(">I", head[5:])[0])
        if head[4] == 0:
            raise SystemExit(f"error of the node: {body!r}")
        return body

    def query(self, text):
        return self.request(7, long_string(text) + struct.pack(">HB", 1, 0))

    def prepare(self, text):
        body = self.request(9, long_string(text))
        length = struct.unpack(">H", body[4:6])[0]
        return body[6 : 6 + length]


def frame(opcode, body, stream=0):
    return struct.pack(">BBhBI", 4, 0, stream, opcode, len(body)) + body


def long_string(text):
    return struct.pack(">I", len(text)) + text.encode()


def execute(prepared, values, consistency):
    bound = b"".join(struct.pack(">I", len(value)) + value for value in values)
    return struct.pack(">H", len(prepared)) + prepared + struct.pack(">HBH", consistency, 1, len(values)) + bound


def cpu_seconds(process):
    """What all threads of a process have run for, by the scheduler's own account: /proc/PID/stat counts in hundredths of a second."""
    threads = pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def start(binary, directory, authority):
    nodes = []
    for number in (1, 2):
        command = [binary, "start", "--data-dir", directory / f"node{number}", "--listen", f"127.0.0.{number}"]
        command += ["--cql-port", "29042", "--cql-shard-aware-port", "29142", "--aerospike-namespaces", "", "--http-port", "28080"]
        command += ["--node-port", "27000", "--cores", "1", "--pin", "off", "--memory-limit", "1GiB", "--capacity", "4GiB"]
        command += ["--join", "127.0.0.1:27000"] if number > 1 else []
        command += authority.flags(f"127.0.0.{number}") if authority else []
        log = (directory / f"node{number}.log").open("w")
        nodes.append(subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=lambda: os.sched_setaffinity(0, {0})))
        deadline = time.monotonic() + 30
        while "tarndb ready" not in (directory / f"node{number}.log").read_text():
            if time.monotonic() > deadline:
                raise SystemExit(f"node {number} does not become ready: {directory}")
            time.sleep(0.1)
    time.sleep(2)
    return nodes


def wait_in_sync(connection, keyspace, factor):
    """Until every replica is in sync: a write at ALL of each of many keys is not refused."""
    prepared = connection.prepare(f"INSERT INTO {keyspace}.t (k, v) VALUES (?, ?)")
    for number in range(500):
        deadline = time.monotonic() + 30
        while True:
            connection.socket.sendall(frame(10, execute(prepared, [b"probe%d" % number, b""], 5)))
            head = connection.exactly(9)
            connection.exactly(struct.unpack(">I", head[5:])[0])
            if head[4] == 8:
                break
            if time.monotonic() > deadline:
                raise SystemExit("the replicas do not get in sync")
            time.sleep(0.05)


def measure(nodes, connections, frames, depth):
    pieces = [b"".join(frame(10, body, at) for at, body in enumerate(frames[i : i + depth])) for i in range(0, ROWS - depth + 1, depth)]

    def run(operations):
        done = 0
        while done < operations:
            for number, connection in enumerate(connections):
                connection.socket.sendall(pieces[(done // depth + number) % len(pieces)])
            for connection in connections:
                connection.replies(depth)
            done += depth * len(connections)
        return done

    run(OPERATIONS // 10)
    before = [cpu_seconds(node) for node in nodes]
    done = run(OPERATIONS)
    return [(cpu_seconds(node) - start) / done * 1e6 for node, start in zip(nodes, before)]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--binary", default="target/release/tarndb")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--tls", action="store_true", help="TLS between the nodes")
    arguments = arguments.parse_args()
    os.sched_setaffinity(0, {1})
    directory = pathlib.Path(tempfile.mkdtemp(prefix="tarndb-replication-"))
    nodes = []
    try:
        nodes = start(arguments.binary, directory, Authority(directory / "authority") if arguments.tls else None)
        first = Connection(("127.0.0.1", 29042))
        prepared = {}
        for factor in (1, 2):
            replication = f"{{'class': 'SimpleStrategy', 'replication_factor': {factor}}}"
            first.query(f"CREATE KEYSPACE f{factor} WITH replication = {replication}")
            first.query(f"CREATE TABLE f{factor}.t (k text PRIMARY KEY, v blob)")
            wait_in_sync(first, f"f{factor}", factor)
            insert = first.prepare(f"INSERT INTO f{factor}.t (k, v) VALUES (?, ?)")
            prepared[factor] = insert, first.prepare(f"SELECT v FROM f{factor}.t WHERE k = ?")
        tokens = re.findall(rb"-?\d{15,20}", first.query("SELECT tokens FROM system.local"))
        slots = {slot_of(int(token)) for token in tokens}
        keys = (b"user%012d" % number for number in range(10 * ROWS))
        keys = [key for key in keys if slot_of(murmur3(key)) in slots][:ROWS]
        value = os.urandom(VALUE_BYTES)
        print(f"{'requests a piece x connections':32} {'factor 1':>10} {'factor 2':>10} {'ratio':>7}   (us of CPU, both nodes; medians)")
        for depth, count in SHAPES:
            connections = [Connection(("127.0.0.1", 29042)) for _ in range(count)]
            for what in ("write", "read"):
                costs = {1: [], 2: []}
                for _ in range(arguments.rounds):
                    for factor in (1, 2):
                        insert, select = prepared[factor]
                        if what == "write":
                            frames = [execute(insert, [key, value], 4) for key in keys]
                        else:
                            frames = [execute(select, [key], 4) for key in keys]
                        costs[factor].append(sum(measure(nodes, connections, frames, depth)))
                one, two = (statistics.median(costs[factor]) for factor in (1, 2))
                spread = " ".join(f"{min(costs[f]):.2f}-{max(costs[f]):.2f}" for f in (1, 2))
                print(f"{what:6} {depth:4} x {count:<20} {one:10.2f} {two:10.2f} {two / one:7.2f}   spread {spread}", flush=True)
    finally:
        for node in nodes:
            node.terminate()
        for node in nodes:
            node.wait(timeout=30)
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
