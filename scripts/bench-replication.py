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
import statistics
import struct
import sys
import tempfile
import time

from bench_cluster import Connection, execute, frame, murmur3, slot_of, start_two

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests/cluster"))
from certificates import Authority

SHAPES = [(100, 1), (8, 8), (1, 32)]  # requests a piece, connections
ROWS = 20_000
VALUE_BYTES = 200
OPERATIONS = 1_000_000


def cpu_seconds(process):
    """What all threads of a process have run for, by the scheduler's own account: /proc/PID/stat counts in hundredths of a second."""
    threads = pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


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
        authority = [Authority(directory / "authority").flags] if arguments.tls else []
        nodes = start_two(arguments.binary, directory, *authority)
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
