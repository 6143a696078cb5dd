#!/usr/bin/env python3
"""What many nodes would do, from what one core does: the model of docs/internals/scale.md.

    scripts/scale-model.py [--in-flight 128] [--factor 3]

A write costs CPU on the primary's core, on each secondary's, and for exchanges between cores: one frame of writes and its acknowledgement for every other core that a
turn has something for. Costs are measured (scripts/bench-replication.py); how many exchanges a write takes follows from how many requests a turn has and how many nodes
there are to send to.
"""

import argparse

# Microseconds of CPU, loopback, requests in pieces of 8 on 8 connections, 200-byte rows, one core a node.
WRITE = 1.50  # a write on one replica, its request and reply included
READ = 1.00  # a read
SEND = 0.35  # more on the primary for each further replica
APPLY = 0.70  # on each further replica
EXCHANGE = 8.0  # a frame and its acknowledgement, both sides: two pairs of system calls at 3.5 each, and two wake-ups
# What a core gives of itself before latency climbs.
UTILISATION = 0.7
CORES = 8
ROW_BYTES = 200
OVERHEAD_BYTES = 110  # key, header of the record, of the item, of the request


def exchanges(nodes: int, factor: int, in_flight: int) -> float:
    """Exchanges a write: links that a turn with `in_flight` writes uses, each write going to `factor - 1` of the others."""
    others = nodes - 1
    if factor == 1 or others == 0:
        return 0.0
    copies = min(factor - 1, others)
    used = others * (1 - (1 - copies / others) ** in_flight)
    return used / in_flight


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--in-flight", type=int, default=128, help="writes that a core takes in a turn under full load")
    arguments.add_argument("--factor", type=int, default=3)
    arguments = arguments.parse_args()
    factor, in_flight = arguments.factor, arguments.in_flight
    print(f"factor {factor}, {CORES} cores a node at {UTILISATION:.0%}, {in_flight} writes a turn")
    print(f"{'nodes':>6} {'exchanges':>10} {'us a write':>11} {'M writes/s':>11} {'of linear':>10} {'M reads/s':>10} {'GB/s a node: writes':>20} {'reads':>7}")
    base = None
    for nodes in (3, 5, 10, 20, 50, 100, 200, 500, 1000):
        per_write = exchanges(nodes, factor, in_flight)
        cost = WRITE + (factor - 1) * (SEND + APPLY) + per_write * EXCHANGE
        capacity = nodes * CORES * UTILISATION
        writes, reads = capacity / cost, capacity / READ
        base = base or writes / nodes
        write_bytes = writes * 1e6 * (ROW_BYTES + OVERHEAD_BYTES) * factor / nodes / 1e9
        read_bytes = reads * 1e6 * (ROW_BYTES + OVERHEAD_BYTES) / nodes / 1e9
        print(
            f"{nodes:6} {per_write:10.2f} {cost:11.1f} {writes:11.1f} {writes / nodes / base:10.0%} {reads:10.1f} {write_bytes:20.2f} {read_bytes:7.2f}"
        )


if __name__ == "__main__":
    main()
