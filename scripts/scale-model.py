#!/usr/bin/env python3
"""What many nodes would do, from what one core does: the model of docs/internals/scale.md.

    scripts/scale-model.py [--in-flight 128] [--read 1.0] [--factor 3]

A write costs CPU on the primary's core, on each secondary's, and for exchanges between cores: one frame of writes and its acknowledgement for every other core that a
turn has something for. Costs are measured (scripts/bench-replication.py); how many exchanges a write takes follows from how many requests a turn has and how many nodes
there are to send to. Slots lie where the cluster puts them, and the core with the most to do is the limit of all, as every slot has the same load.
"""

import argparse
import collections
import heapq

# Microseconds of CPU, loopback, requests in pieces of 8 on 8 connections, 200-byte rows, one core a node.
WRITE = 1.50  # a write on one replica, its request and reply included
READ = 1.00  # a read
SEND = 0.35  # more on the primary for each further replica
APPLY = 0.70  # on each further replica
EXCHANGE = 8.0  # a frame and its acknowledgement, both sides: two pairs of system calls at 3.5 each, and two wake-ups
# What a core gives of itself before latency climbs.
UTILISATION = 0.7
CORES = 8
SLOTS = 4096
WORD = (1 << 64) - 1
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


def score(slot: int, place: int) -> int:
    """As crates/cluster/src/state/placement.rs ranks the members for a slot."""
    word = (place * 0x9E37_79B9_7F4A_7C15 & WORD) ^ ((slot + 1) * 0xD1B5_4A32_D192_ED03 & WORD)
    word = (word ^ word >> 30) * 0xBF58_476D_1CE4_E5B9 & WORD
    word = (word ^ word >> 27) * 0x94D0_49BB_1331_11EB & WORD
    return word ^ word >> 31


def primaries(replicas: list[list[int]]) -> list[int]:
    """Of each slot, given its replicas in rank: even over cores, as in the same file."""
    load = collections.Counter((ranked[0], core(slot)) for slot, ranked in enumerate(replicas))
    chosen = [ranked[0] for ranked in replicas]
    goes_on = True
    while goes_on:
        goes_on = False
        for slot, ranked in enumerate(replicas):
            least = min(ranked, key=lambda node: load[node, core(slot)])
            if load[least, core(slot)] + 1 < load[chosen[slot], core(slot)]:
                load[chosen[slot], core(slot)] -= 1
                load[least, core(slot)] += 1
                chosen[slot] = least
                goes_on = True
    return chosen


def core(slot: int) -> int:
    return slot * CORES // SLOTS


def loads(nodes: int, factor: int) -> list[tuple[int, int]]:
    """Of how many slots each core that has any is the primary, and a secondary."""
    replicas = [heapq.nlargest(factor, range(1, nodes + 1), key=lambda node: score(slot, node)) for slot in range(SLOTS)]
    found = collections.defaultdict(lambda: [0, 0])
    for slot, (ranked, primary) in enumerate(zip(replicas, primaries(replicas))):
        for node in ranked:
            found[node, core(slot)][node != primary] += 1
    return [tuple(load) for load in found.values()]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--in-flight", type=int, default=128, help="writes that a core takes in a turn under full load")
    arguments.add_argument("--read", type=float, default=READ, help="microseconds of a read")
    arguments.add_argument("--factor", type=int, default=3)
    arguments = arguments.parse_args()
    factor, in_flight, read = arguments.factor, arguments.in_flight, arguments.read
    print(f"factor {factor}, {CORES} cores a node at {UTILISATION:.0%}, {in_flight} writes a turn, {read} us a read")
    print(f"{'':6} {'even load over all cores':>36} | {'slots where they are: the fullest core':>48}")
    print(f"{'nodes':>6} {'us a write':>11} {'M writes/s':>11} {'M reads/s':>12} | {'slots':>5} {'of even':>8} {'M writes/s':>11} {'M reads/s':>10} {'GB/s a node, reads':>19}")
    for nodes in (3, 5, 10, 20, 50, 100, 200, 500, 1000):
        exchange = exchanges(nodes, factor, in_flight) * EXCHANGE
        # Either side has half of an exchange.
        primary = WRITE + (factor - 1) * SEND + exchange / 2
        secondary = APPLY + exchange / 2 / (factor - 1)
        cost = primary + (factor - 1) * secondary
        capacity = nodes * CORES * UTILISATION
        placed = loads(nodes, factor)
        most = max(load[0] for load in placed)
        writes = SLOTS * UTILISATION / max(load[0] * primary + load[1] * secondary for load in placed)
        reads = SLOTS * UTILISATION / (most * read)
        gigabytes = reads * 1e6 * (ROW_BYTES + OVERHEAD_BYTES) / nodes / 1e9
        print(
            f"{nodes:6} {cost:11.1f} {capacity / cost:11.1f} {capacity / read:12.1f} | {most:5} {reads / (capacity / read):8.0%} {writes:11.1f} {reads:10.1f} {gigabytes:19.2f}"
        )


if __name__ == "__main__":
    main()
