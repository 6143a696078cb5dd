#!/usr/bin/env python3
"""What clients notice of it when rows are moved: latencies at half of what two nodes can do, without and while second replicas are filled.

    scripts/bench-migration.py [--binary target/release/tarndb] [--load target/release/tarndb] [--rounds 3] [--mebibytes 64] [--seconds 20]
    scripts/bench-migration.py --primary-alone [--rate 15000] [--mebibytes 256] ...

With --primary-alone the primary of all rows has a CPU to itself. On the other one are the load, before all else, and the replica, for which the rest is: it joins under
load and is filled, which is what is measured, a second at a time; those in which the machine took time from the primary's CPU (steal) count by themselves. Where two CPUs
are all there is that shows what migrations cost a primary's clients; what they cost a replica's does not show.

Otherwise two nodes on 127.0.0.1 and 127.0.0.2 have a CPU each, and the load takes what it needs from both. Each round makes a dataset and finds out how fast it can be read
and updated with two replicas; then at a quarter of that, for the load takes as much as the nodes, it measures latencies, first with one replica, then while the
replication factor goes from 1 to 2 and back, again and again; at last it times one fill without clients. Medians over the rounds, and their spread. The nodes'
memory is so small that all of it was used before anything is measured: memory that is new to a process costs more than anything else here.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request

from bench_cluster import Connection, start_node, start_two, take_turns

ROW_BYTES = 1000
FILL_SECONDS_MAX = 600
STUDY = """
name = "migration"
title = "Rows are moved under load"
description = "Half reads, half updates."
nodes = {nodes}
[rows]
count = {rows}
fields = 10
field_bytes = 100
[clients]
threads = 1
connections = 8
in_flight = 8
[[phases]]
kind = "load"
"""
PHASE = """
[[phases]]
kind = "run"
name = "{name}"
seconds = {seconds}
mix = {{ operations = {{ read = 0.5, update = 0.5 }}, keys = {{ distribution = "uniform" }} }}
"""
EVENT = 'events = [{ at_s = 1, do = "add-node" }]\n'
KEYSPACE = "tarndb_bench"


def run(binary, directory, phases, rows, *flags, nodes=2, cpus=(0, 1), nice=0):
    """A study against the nodes that run; gives its phases by name."""
    study, out = directory / "study.toml", directory / "report"
    study.write_text(STUDY.format(rows=rows, nodes=nodes) + phases)
    shutil.rmtree(out, ignore_errors=True)
    addresses = ",".join(f"127.0.0.{number}:29042" for number in range(1, nodes + 1))
    command = [binary, "bench", "run", study, "--target", f"cql://{addresses}?nodes={nodes}", "--out", out, "--load-cpus", ",".join(map(str, cpus))]
    prepare = lambda: take_turns(*cpus, nice=nice)
    done = subprocess.run([*command, *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=prepare)
    report = json.loads((out / "report.json").read_text())
    if done.returncode or not report["complete"]:
        raise SystemExit(done.stdout[-3000:])
    return {phase["name"]: phase for phase in report["targets"][0]["phases"]}


def wait_whole(factor):
    """Until the nodes say that nothing is missing; gives how long that took."""
    begun = time.monotonic()
    while time.monotonic() < begun + FILL_SECONDS_MAX:
        states = [json.load(urllib.request.urlopen(f"http://127.0.0.{number}:28080/status")) for number in (1, 2)]
        held = [sum(core["primaries"] + core["secondaries"] for core in state["cores"]) for state in states]
        is_calm = all(state["cluster"]["short_slots"] == 0 and not any(core.get("to_wipe") for core in state["cores"]) for state in states)
        if is_calm and sum(held) == 4096 * factor and all(core["learners"] == 0 for state in states for core in state["cores"]):
            return time.monotonic() - begun
        time.sleep(0.02)
    raise SystemExit("the replicas do not get in sync")


def alter(connection, factor):
    replication = f"{{'class': 'SimpleStrategy', 'replication_factor': {factor}}}"
    connection.query(f"ALTER KEYSPACE {KEYSPACE} WITH replication = {replication}")


def fill(connection):
    """Second replicas come, and go again; gives how long it took them to come."""
    alter(connection, 2)
    took = wait_whole(2)
    alter(connection, 1)
    wait_whole(1)
    return took


def percentiles(phase):
    return {
        f"{operation['operation']} {name}": operation["latency"][name]
        for operation in phase["operations"]
        for name in ("p50", "p99", "p999", "max")
    }


def measure(binary, directory, arguments):
    rows = (arguments.mebibytes << 20) // ROW_BYTES
    nodes = start_two(binary, directory, prepare=lambda number: take_turns(number - 1), memory=f"{4 * arguments.mebibytes}MiB")
    try:
        connection = Connection(("127.0.0.1", 29042))
        load = arguments.load or binary
        # The first makes the table.
        run(load, directory, PHASE.format(name="warm", seconds=1), rows)
        alter(connection, 2)
        wait_whole(2)
        fastest = run(load, directory, PHASE.format(name="fastest", seconds=10), rows)["fastest"]["throughput"]
        alter(connection, 1)
        wait_whole(1)
        rate = arguments.rate or int(fastest / 4)
        mark, ended, fills = directory / "mark", threading.Event(), []

        def migrate():
            while not mark.exists() and not ended.is_set():
                time.sleep(0.01)
            while not ended.is_set():
                fills.append(fill(connection))

        thread = threading.Thread(target=migrate)
        thread.start()
        phases = PHASE.format(name="alone", seconds=arguments.seconds) + PHASE.format(name="moving", seconds=arguments.seconds) + EVENT
        done = run(load, directory, phases, rows, "--rate", str(rate), "--on", f"add-node=touch {mark}")
        ended.set()
        thread.join()
        figures = {"rate": rate, "errors": sum(error["count"] for error in done["moving"]["errors"])}
        for name in ("alone", "moving"):
            figures |= {f"{what} {name} us": value for what, value in percentiles(done[name]).items()}
        figures["fill under load s"] = statistics.median(fills)
        figures["fill idle s"] = fill(connection)
        return figures
    finally:
        for node in nodes:
            node.terminate()
        for node in nodes:
            node.wait(timeout=60)


def stolen_s(cpu):
    """How much time the machine under this one has taken from a CPU."""
    fields = next(line for line in pathlib.Path("/proc/stat").read_text().splitlines() if line.startswith(f"cpu{cpu} ")).split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


class Fill(threading.Thread):
    """Has a replica join when `mark` is there. Notes each second how much time was stolen from the primary's CPU, and when the replica began and had everything."""

    def __init__(self, mark, join):
        super().__init__()
        self.mark, self.join_cluster, self.ended = mark, join, threading.Event()
        self.stolen, self.began, self.whole = [], None, None

    def run(self):
        while not self.mark.exists() and not self.ended.wait(0.01):
            pass
        # The mark is made at the phase's first second.
        start, next_at, before = time.monotonic() - 1, time.monotonic(), stolen_s(0)
        joining = None
        while not self.ended.is_set():
            if joining is None:
                joining = threading.Thread(target=self.join_cluster)
                joining.start()
            state = json.load(urllib.request.urlopen("http://127.0.0.1:28080/status"))
            learning = sum(core["to_rebuild"] for core in state["cores"])
            if learning and self.began is None:
                self.began = time.monotonic() - start
            if self.began is not None and not learning and self.whole is None and state["cluster"]["short_slots"] == 0:
                self.whole = time.monotonic() - start
            if time.monotonic() >= next_at:
                next_at, now = next_at + 1, stolen_s(0)
                self.stolen.append((time.monotonic() - start, now - before))
                before = now
            time.sleep(0.1)
        if joining:
            joining.join()


def measure_primary(binary, directory, arguments):
    """What clients of a primary notice while its replica is filled."""
    rows, load = (arguments.mebibytes << 20) // ROW_BYTES, arguments.load or binary
    memory = f"{max(4 * arguments.mebibytes, 256)}MiB"
    nodes = [start_node(binary, directory, 1, prepare=lambda: take_turns(0), memory=memory)]
    join = lambda: nodes.append(start_node(binary, directory, 2, prepare=lambda: take_turns(1, nice=19), memory=memory))
    fill = Fill(directory / "mark", join)
    aside = {"nodes": 1, "cpus": (1,), "nice": -20}
    try:
        time.sleep(1)
        run(load, directory, PHASE.format(name="warm", seconds=30), rows, **aside)
        alter(Connection(("127.0.0.1", 29042)), 2)
        fill.start()
        phases = PHASE.format(name="alone", seconds=arguments.seconds) + PHASE.format(name="moving", seconds=arguments.seconds) + EVENT
        done = run(load, directory, phases, rows, "--rate", str(arguments.rate or 15_000), "--on", f"add-node=touch {fill.mark}", **aside)
    finally:
        fill.ended.set()
        if fill.ident:
            fill.join()
        for node in nodes:
            node.terminate()
        for node in nodes:
            node.wait(timeout=60)
    if fill.began is None:
        raise SystemExit("the replica was not begun to be filled")
    # It may take longer than there are seconds: what it takes is what is left of a CPU.
    whole = fill.whole or arguments.seconds
    moving = [second for second in done["moving"]["timeline"] if fill.began + 1 <= second["second"] <= whole]
    is_stolen = lambda second: any(stolen > 0 and at - 1.1 <= second["second"] <= at + 1.1 for at, stolen in fill.stolen)
    figures = {
        "errors": sum(error["count"] for error in done["moving"]["errors"]), "fill under load s": whole - fill.began, "filled": int(fill.whole is not None),
        "seconds moving": len(moving), "of them stolen": sum(map(is_stolen, moving)),
    }  # fmt: skip
    groups = {"alone": done["alone"]["timeline"][1:-1], "moving": moving, "moving, none stolen": [second for second in moving if not is_stolen(second)]}
    for name, seconds in groups.items():
        for operation in ("read", "update"):
            for percentile in ("p50", "p99"):
                values = [second["operations"][operation][percentile] for second in seconds if operation in second["operations"]]
                figures[f"{operation} {percentile} {name} us"] = statistics.median(values) if values else 0.0
            figures[f"{operation} seconds with p99 over 1 ms, {name}"] = sum(second["operations"][operation]["p99"] > 1000 for second in seconds)
    print("p99 of reads by second, us:", *(f"{round(second['operations']['read']['p99'])}{'s' if is_stolen(second) else ''}" for second in moving), flush=True)
    return figures


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--binary", default="target/release/tarndb")
    arguments.add_argument("--load", help="the binary whose bench is the load, if it is another one than that of the nodes")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--mebibytes", type=int, default=64)
    arguments.add_argument("--seconds", type=int, default=20)
    arguments.add_argument("--rate", type=int, help="requests a second, instead of a quarter of what the nodes can do")
    arguments.add_argument("--primary-alone", action="store_true", help="the primary has a CPU to itself; its replica joins under load")
    arguments = arguments.parse_args()
    os.sched_setaffinity(0, {0, 1})
    rounds = []
    for _ in range(arguments.rounds):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="tarndb-migration-"))
        try:
            rounds.append((measure_primary if arguments.primary_alone else measure)(arguments.binary, directory, arguments))
        finally:
            shutil.rmtree(directory)
        print(json.dumps({name: round(value, 1) for name, value in rounds[-1].items()}), flush=True)
    for name in rounds[0]:
        values = [figures[name] for figures in rounds]
        print(f"{name:48} {statistics.median(values):12.1f}   {min(values):.1f} to {max(values):.1f}")


if __name__ == "__main__":
    main()
