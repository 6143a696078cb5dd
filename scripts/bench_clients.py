#!/usr/bin/env python3
"""What load generators cost: client CPU seconds an operation, all against the same server on another CPU.

Each tool loads its own table in a process of its own, then runs for some seconds in a fresh one, whose CPU time is read from /proc at each line of
progress. Two figures come of it: with all that the process did from its start (Java's start-up and compiling included), and of
the time after the warm-up alone. Latencies and rates are not compared here: each tool is bound by its one CPU.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from bench_machine import (
    ROOT, BenchError, about_this_run, built, need, need_room, output_of, pinned, process_cpu_seconds, process_user_and_system_seconds,
    run, summary, write_report,
)  # fmt: skip
from bench_servers import Tarndb

CACHE = ROOT / ".cache"
ROW = "10 fields of 100 bytes, half reads of rows, half updates of one field"
# What a tool must need more than ours, for the goal.
GOAL = 5.0
END_SECONDS_MAX = 60


class Shape(NamedTuple):
    """How many requests a tool has in flight, and on how many connections."""

    name: str
    in_flight: int
    # None: as many as the tool makes unless it is told.
    connections: int | None


class Mark(NamedTuple):
    """A line of a tool's progress."""

    seconds: float
    operations: int
    cpu_seconds: float
    # Of them in the kernel.
    system_seconds: float


DEFAULT = "each as it comes"
# The clients of the studies ycsb-a … f (studies/).
BENCH_CONNECTIONS = 32


def shape(text: str) -> Shape:
    """CONNECTIONSxIN_FLIGHT on each, or `default`: 128 clients."""
    if text == "default":
        return Shape(DEFAULT, 4 * BENCH_CONNECTIONS, None)
    connections, _, each = text.partition("x")
    if not (connections.isdecimal() and each.isdecimal() and int(connections) * int(each) > 0):
        raise argparse.ArgumentTypeError(f"'{text}' is neither `default` nor CONNECTIONSxIN_FLIGHT")
    count = "connection" if connections == "1" else "connections"
    return Shape(f"{connections} {count}, {each} in flight on each", int(connections) * int(each), int(connections))


class Tool:
    """A load generator: how to load, how to run, and how its progress looks."""

    name = ""
    what = ROW
    progress = re.compile(r"$^")
    # Whether it becomes faster while it runs.
    compiles = True

    def __init__(self, options, shape: Shape, address: str, scratch: pathlib.Path):
        self.options, self.shape, self.address, self.scratch = options, shape, address, scratch
        self.host, self.port = address.rsplit(":", 1)

    def driver(self, classpath: str) -> list:
        """A Java machine with the driver 4."""
        pool = [f"-Ddatastax-java-driver.advanced.connection.pool.local.size={self.shape.connections}"] if self.shape.connections else []
        return ["java", *self.options.java, *pool, "-cp", f"{CACHE}/{classpath}:{CACHE}/ycsb/lib/*"]

    def load(self):
        """The command that fills the table; None when there is nothing to fill."""

    def run(self) -> list:
        """The command that is measured."""
        raise NotImplementedError


class Ycsb(Tool):
    """YCSB's client with this project's binding on the Java driver 4 (its own binding for Cassandra is not on Maven Central)."""

    name = "YCSB"
    progress = re.compile(r"(?P<seconds>\d+) sec: (?P<operations>\d+) operations")

    def command(self, phase: str, *properties: str) -> list:
        common = [
            "workload=site.ycsb.workloads.CoreWorkload", f"recordcount={self.options.rows}", "fieldcount=10", "fieldlength=100",
            "requestdistribution=uniform", "readproportion=0.5", "updateproportion=0.5", "status.interval=1",
            "cql.consistency=LOCAL_ONE", f"cql.endpoint={self.address}", *properties,
        ]  # fmt: skip
        command = [*self.driver("ycsb/classes"), "site.ycsb.Client", phase, "-s",
                   "-db", "tarndb.CqlBinding", "-threads", self.shape.in_flight]  # fmt: skip
        return command + [word for assignment in common for word in ("-p", assignment)]

    def load(self):
        return self.command("-load", "cql.create=true")

    def run(self) -> list:
        return self.command("-t", "operationcount=2000000000", f"maxexecutiontime={self.options.seconds}")


class DriverLoop(Tool):
    """The least that a tool on the Java driver can do (scripts/clients/DriverLoop.java)."""

    name = "Java driver loop"
    progress = re.compile(r"operations (?P<operations>\d+)")

    def command(self, phase: str) -> list:
        return [*self.driver("driver-loop"), "DriverLoop", self.address, phase, self.options.rows, self.shape.in_flight,
                self.options.seconds]  # fmt: skip

    def load(self):
        return self.command("load")

    def run(self) -> list:
        return self.command("run")


class Stress(Tool):
    """cassandra-stress, whose classes are given: it is on no package registry."""

    progress = re.compile(r"^total,\s*(?P<operations>\d+),")
    columns = ()

    def command(self, *words) -> list:
        keyspace = "stress_" + re.sub(r"\W", "", self.name.rpartition(",")[2])
        # Its embedded configuration of a Cassandra wants opened modules on a JDK 17.
        opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.lang", "java.io", "java.nio", "sun.nio.ch", "java.util")]
        quiet = f"-Dlogback.configurationFile=file:{ROOT}/scripts/clients/logback.xml"
        return ["java", *self.options.java, *opened, quiet, "-cp", self.options.stress_classpath, "org.apache.cassandra.stress.Stress", *words,
                *self.columns, "-pop", self.population(words), "-node", self.host, "-port", f"native={self.port}",
                "-mode", "native", "cql3", *([f"connectionsPerHost={self.shape.connections}"] if self.shape.connections else []),
                "-schema", f"keyspace={keyspace}", "-rate", f"threads={self.shape.in_flight}", "-log", "interval=1"]  # fmt: skip

    def population(self, words) -> str:
        return f"seq=1..{self.options.rows}" if words[0] == "write" else f"dist=UNIFORM(1..{self.options.rows})"

    def load(self):
        return self.command("write", "no-warmup", f"n={self.options.rows}", "cl=LOCAL_ONE")

    def run(self) -> list:
        return self.command("mixed", "ratio(write=1,read=1)", "no-warmup", f"duration={self.options.seconds}s", "cl=LOCAL_ONE")


class StressA(Stress):
    """The same rows as the others; its updates write all fields."""

    name = "cassandra-stress, 10 × 100"
    what = "10 columns of 100 bytes, half reads of rows, half writes of rows"
    columns = ("-col", "n=FIXED(10)", "size=FIXED(100)")


class StressDefault(Stress):
    """Its own rows."""

    name = "cassandra-stress, its rows"
    what = "5 columns of 34 bytes, half reads of rows, half writes of rows"


class Bench(Tool):
    """`tarndb bench run`, as people have it. It loads in the process that is measured, before the time that counts."""

    name = "tarndb bench"
    progress = re.compile(r"\brun: (?P<operations>[\d,]+) operations")
    compiles = False
    fields, field_bytes, all_fields = 10, 100, False

    def run(self) -> list:
        connections = self.shape.connections or BENCH_CONNECTIONS
        study = self.scratch / "study.toml"
        study.write_text(f"""
name = "client-cost"
title = "What the client costs"
description = "What the client costs"
rows = {{ count = {self.options.rows}, fields = {self.fields}, field_bytes = {self.field_bytes}, values = "text" }}
clients = {{ connections = {connections}, in_flight = {self.shape.in_flight // connections} }}

[[phases]]
kind = "load"

[[phases]]
kind = "run"
seconds = {self.options.seconds}

[phases.mix]
operations = {{ read = 1, update = 1 }}
keys = {{ distribution = "uniform" }}
update_all_fields = {str(self.all_fields).lower()}
""")
        out = tempfile.mkdtemp(dir=self.scratch)
        return [built("tarndb"), "bench", "run", study, "--target", f"cql://{self.address}", "--out", out, "--load-cpus", self.options.load_cpu]


class BenchRows(Bench):
    """The same, writing whole rows as cassandra-stress does."""

    name = "tarndb bench, 10 × 100"
    what = StressA.what
    all_fields = True


class BenchStress(Bench):
    """The same with the rows of cassandra-stress."""

    name = "tarndb bench, stress's rows"
    what = StressDefault.what
    fields, field_bytes, all_fields = 5, 34, True


class ScyllaLoop(Tool):
    """The least that a tool on ScyllaDB's Rust driver can do (tests/drivers/rust/src/bin/scylla_loop.rs). It loads in the process that is measured."""

    name = "scylla crate loop"
    progress = re.compile(r"^operations (?P<operations>\d+)")

    def run(self) -> list:
        return [CACHE / "target-drivers/release/scylla_loop", self.address, self.options.rows, self.shape.in_flight, self.options.seconds,
                self.shape.connections or 0]  # fmt: skip


class Given(Tool):
    """Any other generator: `--given` is its command, in which {address}, {rows}, {in_flight} and {seconds} are filled in. It loads what it
    needs, and says `operations N` each second."""

    name = "given"
    progress = re.compile(r"^operations (?P<operations>\d+)")

    def run(self) -> list:
        values = {"address": self.address, "in_flight": self.shape.in_flight, "rows": self.options.rows, "seconds": self.options.seconds}
        return [word.format(**values) for word in shlex.split(self.options.given)]


# Our own come first: what others need is told against them.
TOOLS = {"bench": Bench, "ycsb": Ycsb, "driver": DriverLoop, "scylla": ScyllaLoop, "bench-rows": BenchRows, "stress": StressA, "bench-stress": BenchStress,
         "stress-default": StressDefault, "given": Given}  # fmt: skip


def main() -> int:
    options = parse()
    need("util-linux", "taskset")
    need("openjdk-17-jdk-headless", "java")
    tools = [name for name in TOOLS if name in options.only] if options.only else list(TOOLS)
    if not options.stress_classpath:
        print("without --stress-classpath cassandra-stress is left out", file=sys.stderr)
        tools = [name for name in tools if "stress" not in name and name != "bench-rows"]
    if not options.given:
        tools = [name for name in tools if name != "given"]
    figures = {"about": about_this_run(), "options": {name: str(value) for name, value in vars(options).items()}, "runs": []}
    with tempfile.TemporaryDirectory(prefix="tarndb-bench-", dir=options.scratch) as scratch:
        scratch = pathlib.Path(scratch)
        need_room(scratch, 8 << 30, 4 << 30)
        with Tarndb(scratch / "tarndb", options.server_cpu, "1GiB", "6GiB") as server:
            for number in range(options.rounds):
                for shape_ in options.shapes:
                    for name in tools:
                        print(f"round {number + 1} of {options.rounds}: {shape_.name}: {name}", file=sys.stderr, flush=True)
                        figures["runs"].append(measure(TOOLS[name](options, shape_, server.address, scratch), server, options, number))
    figures["results"] = results(figures["runs"])
    write_report("clients", figures, markdown(figures))
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shapes", type=shape, nargs="+", default=[shape(text) for text in ("default", "1x64", "1x128", "32x4", "50x1")],
                        help="CONNECTIONSxIN_FLIGHT, or `default`: 128 clients on as many connections as each tool makes")  # fmt: skip
    parser.add_argument("--seconds", type=int, default=25, help="of each tool's run")
    parser.add_argument("--warm-up", type=int, default=14, help="seconds of it that the second figure leaves out, of what compiles")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--java", nargs="*", default=["-Xms512m", "-Xmx512m"], help="options of the Java machine")
    parser.add_argument("--stress-classpath", help="classes of cassandra-stress: 'CASSANDRA/tools/lib/stress.jar:CASSANDRA/lib/*'")
    parser.add_argument("--given", help="the command of another generator, with {address}, {rows}, {in_flight}, {seconds} filled in")
    parser.add_argument("--only", choices=list(TOOLS), nargs="+", help="these tools only")
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--load-cpu", type=int, default=1)
    parser.add_argument("--scratch", type=pathlib.Path, default=None, help="directory for the server's data")
    options = parser.parse_args()
    if not 0 < options.warm_up < options.seconds:
        parser.error("--warm-up must be shorter than --seconds")
    if options.seconds <= 20:
        parser.error("--seconds must be above 20: `tarndb bench` says how far it is every ten")
    return options


def measure(tool: Tool, server: Tarndb, options, number: int) -> dict:
    """Loads, runs, and counts."""
    if command := tool.load():
        output_of(pinned(options.load_cpu, command), 300)
    before = process_cpu_seconds(server.pid)
    process = subprocess.Popen(pinned(options.load_cpu, tool.run()), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    began = time.monotonic()
    lines, marks = [], []
    for line in process.stdout:
        lines.append(line)
        if time.monotonic() - began > options.seconds + END_SECONDS_MAX:
            process.kill()
            raise BenchError(f"{tool.name} did not end in time")
        if found := tool.progress.search(line):
            try:
                user, system = process_user_and_system_seconds(process.pid)
                marks.append(Mark(time.monotonic() - began, int(found["operations"].replace(",", "")), user + system, system))
            except FileNotFoundError:
                break
    used = wait_and_count(process)
    if process.returncode != 0:
        raise BenchError(f"{tool.name} failed with {process.returncode}: {''.join(lines)[-800:]}")
    errors = [line for line in lines if re.search(r"ERROR|Return=(?!OK)\w+|Total errors +: +[1-9]|, [1-9]\d* errors", line)]
    if errors:
        raise BenchError(f"{tool.name} had errors: {errors[0].strip()[:300]}")
    server_cpu = process_cpu_seconds(server.pid) - before
    result = {"name": tool.name, "what": tool.what, "shape": tool.shape.name, "round": number, "server_cpu_seconds": round(server_cpu, 2),
              **count(tool, lines, marks, used, options)}  # fmt: skip
    print(json.dumps(result), file=sys.stderr, flush=True)
    return result


def wait_and_count(process) -> float:
    """CPU seconds of a process from its start to its end, its threads' included."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def count(tool: Tool, lines: list, marks: list, used: float, options) -> dict:
    """Operations and CPU seconds, of the whole process and after the warm-up."""
    inside = [mark for mark in marks if not tool.compiles or options.warm_up <= mark.seconds <= options.seconds]
    if len(inside) < 2:
        raise BenchError(f"{tool.name} told its progress only {len(marks)} times: {''.join(lines)[-500:]}")
    first, last = inside[0], inside[-1]
    # Ours says how far it is every ten seconds only: what follows the last of them is left out.
    whole = (max(mark.operations for mark in marks), used) if tool.compiles else (last.operations, last.cpu_seconds)
    found = {"whole": whole, "steady": (last.operations - first.operations, last.cpu_seconds - first.cpu_seconds)}
    for name, (operations, cpu_seconds) in found.items():
        if operations == 0 or cpu_seconds == 0:
            raise BenchError(f"{tool.name} did nothing in its time: {''.join(lines)[-500:]}")
        found[name] = {"operations": operations, "cpu_seconds": cpu_seconds, "cpu_microseconds": 1e6 * cpu_seconds / operations}
    kernel_seconds = last.system_seconds - first.system_seconds
    found["kernel"] = {"cpu_microseconds": 1e6 * kernel_seconds / found["steady"]["operations"]}
    return found


def results(runs: list) -> list:
    """By shape and tool: medians and extremes, and how much less ours needs, round by round."""
    found = []
    ours = {(run["shape"], run["round"], run["what"]): run for run in runs if run["name"].startswith(Bench.name)}
    for shape_, name in dict.fromkeys((run["shape"], run["name"]) for run in runs):
        of = [run for run in runs if (run["shape"], run["name"]) == (shape_, name)]
        row = {"shape": shape_, "name": name}
        row["kernel"] = summary([run["kernel"]["cpu_microseconds"] for run in of])
        for part in ("whole", "steady"):
            row[part] = summary([run[part]["cpu_microseconds"] for run in of])
            against = [(run, ours.get((shape_, run["round"], run["what"]))) for run in of]
            times = [run[part]["cpu_microseconds"] / our[part]["cpu_microseconds"] for run, our in against if our and our is not run]
            row[f"{part}_times"] = summary(times) if times else None
        found.append(row)
    return found


def markdown(figures: dict) -> str:
    """The report for people."""

    def cell(of, form: str, unit: str = "") -> str:
        return f"{of['median']:{form}}{unit} ({of['least']:{form}} – {of['most']:{form}})" if of else ""

    text = ["# What load generators cost", "", *(f"- {name}: {value}" for name, value in figures["about"].items()), "",
            "CPU of the client, µs an operation, medians with least and most; *whole* counts all from the start of the process, *warm* leaves "
            "the warm-up out.", "",
            "| clients | tool | whole | warm | in the kernel of it | operations/CPU s, warm | ours needs less, warm | whole |",
            "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for row in figures["results"]:
        rate = 1e6 / row["steady"]["median"]
        text.append(f"| {row['shape']} | {row['name']} | {cell(row['whole'], '.2f')} | {cell(row['steady'], '.2f')} "
                    f"| {row['kernel']['median']:.2f} | {rate:,.0f} "
                    f"| {cell(row['steady_times'], '.1f', ' ×')} | {cell(row['whole_times'], '.1f', ' ×')} |")  # fmt: skip
    return "\n".join([*text, "", f"Goal: {GOAL:.0f} × or more against each.", ""])


if __name__ == "__main__":
    run(main)
