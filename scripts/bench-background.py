#!/usr/bin/env python3
"""What clients notice of what a node does beside them: latencies at half of what it can do, alone and during backups, a scrub, and a feed of changes.

    scripts/bench-background.py [--binary target/release/tarndb] [--rounds 3] [--mebibytes 512] [--memory 256MiB] [--seconds 20]

The node has CPU 0 to itself. On CPU 1 are the load, before all else, and the commands that take backups and read feeds, for which the rest is. Each round makes a dataset
of which half is in memory, finds out how fast it is read and updated, and measures half of that: alone, during one backup after the other (unlimited), and during one
that is limited to a fortieth of the data a second. A table with a log of its changes can do less: half of what it can do is measured on a table without a log, on one
that keeps changes, and on one whose feed is followed from the oldest change on. Half reads, half updates of uniformly random rows of 1,000 bytes. The node that
scrubs does so from its start, as often as can be asked for: once an hour. Medians over the rounds, and their spread.
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

from bench_cluster import take_turns

ROW_BYTES = 1000
# What a node can do is known when it has as many deltas as it keeps, and reclaims space: seconds after a load it does twice as much.
FASTEST_SECONDS = 60
ADDRESS = ("127.0.0.1", 29042)
HTTP = "127.0.0.1:28080"
TABLE = "tarndb_bench.usertable"
CHANGES = "cdc = {'enabled': true}"
STUDY = """
name = "background"
title = "Requests beside a node's other work"
description = "Half reads, half updates."
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
[[phases]]
kind = "settle"
timeout_s = 600
[[phases]]
kind = "run"
name = "run"
seconds = {seconds}
mix = {{ operations = {{ read = 0.5, update = 0.5 }}, keys = {{ distribution = "uniform" }} }}
events = [{{ at_s = 1, do = "add-node" }}]
"""


class Node:
    """A node with one core on CPU 0."""

    def __init__(self, binary, directory, memory, *flags):
        command = [binary, "start", "--data-dir", directory / "node", "--cores", "1", "--pin", "off", "--memory-limit", memory, "--capacity", "8GiB"]
        command += ["--cql-port", str(ADDRESS[1]), "--cql-shard-aware-port", "29142", "--aerospike-namespaces", "", "--http-port", HTTP.split(":")[1]]
        self.log = (directory / "log").open("w")
        self.process = subprocess.Popen([*command, *flags], stdout=subprocess.PIPE, stderr=self.log, preexec_fn=lambda: take_turns(0))
        if not self.process.stdout.readline().startswith(b"tarndb ready"):
            raise SystemExit(f"the node did not start: {(directory / 'log').read_text()[-800:]}")

    def end(self):
        self.process.terminate()
        self.process.wait(60)
        self.log.close()


class Beside(threading.Thread):
    """A command that is run again and again once `mark` is there, at the lowest priority of CPU 1, until it is ended."""

    def __init__(self, mark, command_of):
        super().__init__()
        self.mark, self.command_of, self.ended, self.done, self.process = mark, command_of, threading.Event(), 0, None

    def run(self):
        while not self.mark.exists() and not self.ended.wait(0.02):
            pass
        while not self.ended.is_set():
            self.process = subprocess.Popen(self.command_of(self.done), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=lambda: take_turns(1, nice=19))
            _, said = self.process.communicate()
            if self.process.returncode and not self.ended.is_set():
                raise SystemExit(f"{self.process.args}: {said.decode()[-800:]}")
            self.done += 1

    def end(self):
        self.ended.set()
        if self.process:
            self.process.terminate()
        self.join()


def run(binary, directory, mark, rows, seconds, *flags, table=""):
    """Loads the node and runs the load against it; gives the run's figures. `mark` is made a second after its beginning."""
    study, out = directory / "study.toml", directory / "report"
    study.write_text(STUDY.format(rows=rows, seconds=seconds))
    shutil.rmtree(out, ignore_errors=True)
    mark.unlink(missing_ok=True)
    target = f"cql://{ADDRESS[0]}:{ADDRESS[1]}" + (f"?table={table}" if table else "")
    command = [binary, "bench", "run", study, "--target", target, "--out", out, "--load-cpus", "1", "--on", f"add-node=touch {mark}", *flags]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=lambda: take_turns(1, nice=-20))
    if done.returncode:
        raise SystemExit(done.stdout[-3000:])
    report = json.loads((out / "report.json").read_text())
    return {phase["name"]: phase for phase in report["targets"][0]["phases"]}["run"]


def measure(binary, directory, arguments):
    rows = (arguments.mebibytes << 20) // ROW_BYTES
    figures, mark = {}, directory / "mark"
    node = Node(binary, directory, arguments.memory, "--scrub-interval-hours", "0")
    try:
        rate = arguments.rate or int(run(binary, directory, mark, rows, FASTEST_SECONDS)["throughput"] / 2)
        figures["rate"] = rate

        def measured(name, beside=None, table="", rate=rate):
            if beside:
                beside.start()
            try:
                phase = run(binary, directory, mark, rows, arguments.seconds, "--rate", str(rate), table=table)
            finally:
                if beside:
                    beside.end()
                    figures[f"{name}: times"] = beside.done
            for operation in phase["operations"]:
                for percentile in ("p50", "p99", "p999"):
                    figures[f"{name}: {operation['operation']} {percentile} us"] = operation["latency"][percentile]
            figures[f"{name}: errors"] = sum(error["count"] for error in phase["errors"])

        def backup(*flags):
            def command(number):
                shutil.rmtree(directory / f"backup{number - 1}", ignore_errors=True)
                return [binary, "backup", "--to", directory / f"backup{number}", "--restart", "--http", HTTP, *flags]

            return Beside(mark, command)

        measured("alone")
        measured("backup", backup())
        measured("limited backup", backup("--rate-limit", f"{max(1, arguments.mebibytes // 40)}MiB"))
        measured("alone again")
        kept = arguments.rate or int(run(binary, directory, mark, rows, FASTEST_SECONDS, table=CHANGES)["throughput"] / 2)
        figures["rate of a table with a log"] = kept
        measured("no changes are kept", rate=kept)
        measured("changes are kept", table=CHANGES, rate=kept)
        follow = ["curl", "-sN", f"http://{HTTP}/changes/{TABLE.replace('.', '/')}?follow=1"]
        measured("feed", Beside(mark, lambda _: follow), CHANGES, kept)
        node.end()
        node = Node(binary, directory, arguments.memory, "--scrub-interval-hours", "1")
        measured("scrub")
    finally:
        node.end()
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--binary", default="target/release/tarndb", type=pathlib.Path)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--mebibytes", default=512, type=int)
    parser.add_argument("--memory", default="256MiB")
    parser.add_argument("--seconds", default=20, type=int)
    parser.add_argument("--rate", type=int, help="requests a second, instead of half of what the node can do")
    parser.add_argument("--scratch", help="where data and backups are kept")
    arguments = parser.parse_args()
    binary, rounds = arguments.binary.resolve(), []
    for number in range(arguments.rounds):
        with tempfile.TemporaryDirectory(prefix="tarndb-bench-", dir=arguments.scratch) as directory:
            rounds.append(measure(binary, pathlib.Path(directory), arguments))
            print(f"round {number + 1} of {arguments.rounds}: {json.dumps(rounds[-1])}", flush=True)
    print(f"\n{os.uname().release}, {arguments.rounds} rounds: median (least to most)")
    for what in rounds[0]:
        values = [figures[what] for figures in rounds if what in figures]
        print(f"{what:40} {statistics.median(values):12,.1f} ({min(values):,.1f} to {max(values):,.1f})")


if __name__ == "__main__":
    main()
