#!/usr/bin/env python3
"""What clients notice of it when rows are moved: latencies at half of what two nodes can do, without and while second replicas are filled.

    scripts/bench-migration.py [--binary target/release/tarndb] [--load target/release/tarndb] [--rounds 3] [--mebibytes 64] [--seconds 20]

Two nodes on 127.0.0.1 and 127.0.0.2 have a CPU each, and the load takes what it needs from both. Each round makes a dataset and finds out how fast it can be read
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

from bench_cluster import Connection, start_two, take_turns

ROW_BYTES = 1000
FILL_SECONDS_MAX = 600
STUDY = """
name = "migration"
title = "Rows are moved under load"
description = "Half reads, half updates."
nodes = 2
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


def run(binary, directory, phases, rows, *flags):
    """A study against the nodes that run; gives its phases by name."""
    study, out = directory / "study.toml", directory / "report"
    study.write_text(STUDY.format(rows=rows) + phases)
    shutil.rmtree(out, ignore_errors=True)
    command = [binary, "bench", "run", study, "--target", "cql://127.0.0.1:29042,127.0.0.2:29042?nodes=2", "--out", out, "--load-cpus", "0,1"]
    done = subprocess.run([*command, *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=lambda: take_turns(0, 1))
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


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--binary", default="target/release/tarndb")
    arguments.add_argument("--load", help="the binary whose bench is the load, if it is another one than that of the nodes")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--mebibytes", type=int, default=64)
    arguments.add_argument("--seconds", type=int, default=20)
    arguments.add_argument("--rate", type=int, help="requests a second, instead of a quarter of what the nodes can do")
    arguments = arguments.parse_args()
    os.sched_setaffinity(0, {0, 1})
    rounds = []
    for _ in range(arguments.rounds):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="tarndb-migration-"))
        try:
            rounds.append(measure(arguments.binary, directory, arguments))
        finally:
            shutil.rmtree(directory)
        print(json.dumps({name: round(value, 1) for name, value in rounds[-1].items()}), flush=True)
    for name in rounds[0]:
        values = [figures[name] for figures in rounds]
        print(f"{name:24} {statistics.median(values):12.1f}   {min(values):.1f} to {max(values):.1f}")


if __name__ == "__main__":
    main()
