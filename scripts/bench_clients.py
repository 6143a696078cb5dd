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

from bench_machine import ROOT, BenchError, about_this_run, built, need, need_room, pinned, process_cpu_seconds, write_report
from bench_servers import Tarndb

CACHE = ROOT / ".cache"
ROW = "10 fields of 100 bytes, half reads of rows, half updates of one field"
# What a tool must need more than ours, for the goal.
GOAL = 5.0
END_SECONDS_MAX = 60


class Tool:
    """A load generator: how to load, how to run, and how its progress looks."""

    name = ""
    what = ROW
    progress = re.compile(r"$^")

    def __init__(self, options, address: str):
        self.options, self.address = options, address
        self.host, self.port = address.rsplit(":", 1)

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
        command = ["java", *self.options.java, "-cp", f"{CACHE}/ycsb/classes:{CACHE}/ycsb/lib/*", "site.ycsb.Client", phase, "-s",
                   "-db", "tarndb.CqlBinding", "-threads", self.options.in_flight]  # fmt: skip
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
        return ["java", *self.options.java, "-cp", f"{CACHE}/driver-loop:{CACHE}/ycsb/lib/*", "DriverLoop",
                self.address, phase, self.options.rows, self.options.in_flight, self.options.seconds]  # fmt: skip

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
                "-schema", f"keyspace={keyspace}", "-rate", f"threads={self.options.in_flight}", "-log", "interval=1"]  # fmt: skip

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


class Loadgen(Tool):
    """This project's microbenchmark client: one thread, requests encoded once and patched."""

    name = "loadgen, 10 × 100"
    what = "10 columns of 100 bytes, half reads of rows, half writes of rows"
    columns, column_bytes = 10, 100

    def command(self, workload: str, requests: int) -> list:
        return [built("loadgen"), "--address", self.address, "--workload", workload, "--table", f"loadgen{self.columns}.usertable",
                "--keys", self.options.rows, "--columns", self.columns, "--column-bytes", self.column_bytes, "--connections", 1,
                "--depth", self.options.in_flight, "--refill", "each", "--requests", requests,
                "--seconds-max", self.options.seconds]  # fmt: skip

    def load(self):
        return self.command("load", self.options.rows)

    def run(self) -> list:
        return self.command("mixed", 1_000_000_000)


class LoadgenDefault(Loadgen):
    """The same with the rows of cassandra-stress."""

    name = "loadgen, stress's rows"
    what = StressDefault.what
    columns, column_bytes = 5, 34


class Given(Tool):
    """Any other generator: `--given` is its command, in which {address}, {rows}, {in_flight} and {seconds} are filled in. It loads what it
    needs, and ends with a line of JSON with `requests` and `seconds`, or says `operations N` each second."""

    name = "given"
    progress = re.compile(r"^operations (?P<operations>\d+)")

    def run(self) -> list:
        values = {"address": self.address, **{name: getattr(self.options, name) for name in ("rows", "in_flight", "seconds")}}
        return [word.format(**values) for word in shlex.split(self.options.given)]


# Our own come first: what others need is told against them.
TOOLS = {"loadgen": Loadgen, "loadgen-default": LoadgenDefault, "ycsb": Ycsb, "driver": DriverLoop, "stress": StressA, "stress-default": StressDefault,
         "given": Given}  # fmt: skip


def main() -> int:
    options = parse()
    need("util-linux", "taskset")
    need("openjdk-17-jdk-headless", "java")
    tools = [name for name in TOOLS if name in options.only] if options.only else list(TOOLS)
    if not options.stress_classpath:
        print("without --stress-classpath cassandra-stress is left out", file=sys.stderr)
        tools = [name for name in tools if not name.startswith("stress")]
    if not options.given:
        tools = [name for name in tools if name != "given"]
    figures = {"about": about_this_run(), "options": {name: str(value) for name, value in vars(options).items()}, "tools": []}
    with tempfile.TemporaryDirectory(prefix="tarndb-bench-", dir=options.scratch) as scratch:
        need_room(pathlib.Path(scratch), 8 << 30, 4 << 30)
        with Tarndb(pathlib.Path(scratch) / "tarndb", options.server_cpu, "1GiB", "6GiB") as server:
            for name in tools:
                print(f"{name}: loading and running", file=sys.stderr, flush=True)
                figures["tools"].append(measure(TOOLS[name](options, server.address), server, options))
    write_report("clients", figures, markdown(figures))
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--seconds", type=int, default=30, help="of each tool's run")
    parser.add_argument("--warm-up", type=int, default=15, help="seconds of it that the second figure leaves out")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--in-flight", type=int, default=64, help="requests in flight, which are threads for YCSB and cassandra-stress")
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
    return options


def measure(tool: Tool, server: Tarndb, options) -> dict:
    """Loads, runs, and counts."""
    if command := tool.load():
        done = subprocess.run(pinned(options.load_cpu, command), capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            raise BenchError(f"{tool.name} could not load: {(done.stderr + done.stdout).strip()[-800:]}")
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
                marks.append((time.monotonic() - began, int(found["operations"]), process_cpu_seconds(process.pid)))
            except FileNotFoundError:
                break
    used = wait_and_count(process)
    if process.returncode != 0:
        raise BenchError(f"{tool.name} failed with {process.returncode}: {''.join(lines)[-800:]}")
    errors = [line for line in lines if re.search(r"ERROR|Return=(?!OK)\w+|Total errors +: +[1-9]", line)]
    if errors:
        raise BenchError(f"{tool.name} had errors: {errors[0].strip()[:300]}")
    server_cpu = process_cpu_seconds(server.pid) - before
    result = {"name": tool.name, "what": tool.what, "server_cpu_seconds": round(server_cpu, 2), **count(tool, lines, marks, used, options)}
    print(json.dumps(result), file=sys.stderr, flush=True)
    return result


def wait_and_count(process) -> float:
    """CPU seconds of a process from its start to its end, its threads' included."""
    import os

    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def count(tool: Tool, lines: list, marks: list, used: float, options) -> dict:
    """Operations and CPU seconds, of the whole process and after the warm-up."""
    if not marks:
        # No progress is printed and nothing is compiled at run time: one figure is both.
        report = json.loads(lines[-1])
        total = {"operations": report["requests"], "cpu_seconds": used, "seconds": report["seconds"]}
        steady = total
    else:
        total = {"operations": max(mark[1] for mark in marks), "cpu_seconds": used, "seconds": marks[-1][0]}
        inside = [mark for mark in marks if mark[0] >= options.warm_up and mark[0] <= options.seconds]
        if len(inside) < 2:
            raise BenchError(f"{tool.name} told its progress only {len(marks)} times: {''.join(lines)[-500:]}")
        first, last = inside[0], inside[-1]
        steady = {name: last[index] - first[index] for index, name in ((1, "operations"), (2, "cpu_seconds"), (0, "seconds"))}
    for part in (total, steady):
        if part["operations"] == 0 or part["cpu_seconds"] == 0:
            raise BenchError(f"{tool.name} did nothing in its time: {''.join(lines)[-500:]}")
        part["operations_per_cpu_second"] = part["operations"] / part["cpu_seconds"]
        part["cpu_microseconds"] = 1e6 * part["cpu_seconds"] / part["operations"]
    return {"whole": total, "steady": steady}


def markdown(figures: dict) -> str:
    """The report for people."""
    ours = {tool["what"]: tool for tool in figures["tools"] if tool["name"].startswith("loadgen")}
    first = next(iter(ours.values()), None)
    text = ["# What load generators cost", "", *(f"- {name}: {value}" for name, value in figures["about"].items()), "",
            "CPU of the client, an operation; *whole* counts all from the start of the process, *warm* leaves the warm-up out.", "",
            "| client | operations | whole: CPU s | µs | warm: µs | operations/CPU s, warm | ours needs less, warm (whole) |",
            "|---|---|---|---|---|---|---|"]  # fmt: skip
    for tool in figures["tools"]:
        whole, steady = tool["whole"], tool["steady"]
        against = ours.get(tool["what"], first)
        times = "" if against is None or tool in ours.values() else (
            f"{steady['cpu_microseconds'] / against['steady']['cpu_microseconds']:.1f} × "
            f"({whole['cpu_microseconds'] / against['whole']['cpu_microseconds']:.1f} ×)")  # fmt: skip
        text.append(f"| {tool['name']} | {whole['operations']:,} | {whole['cpu_seconds']:.1f} | {whole['cpu_microseconds']:.1f} "
                    f"| {steady['cpu_microseconds']:.1f} | {steady['operations_per_cpu_second']:,.0f} | {times} |")  # fmt: skip
    return "\n".join([*text, "", f"Goal: {GOAL:.0f} × or more against each.", ""])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        sys.exit(f"bench_clients: {error}")
