#!/usr/bin/env python3
"""What it costs to run where io_uring is forbidden: TarnDB with threads for its disk beside TarnDB with io_uring, in memory and on the device.

In each round each of the two starts afresh, once with rows that are all in memory, and once with data that is eight times as large as
it; both meet the same disturbances of the machine. Figures are medians of the rounds.
"""

import argparse
import pathlib
import sys
import tempfile

from bench_machine import Window, about_this_run, need, need_room, run, sentence, summary, write_report
from bench_servers import Tarndb

ROW_BYTES = 1000
MIB = 1 << 20
RING, THREADS = "io_uring", "threads"
# (title, whether in memory, workload)
LOADS = {
    "reads, in memory": (True, "reads"),
    "writes, in memory": (True, "writes"),
    "reads, from the device": (False, "reads"),
    "writes, to rows on the device": (False, "writes"),
}


def main() -> int:
    options = parse()
    need("util-linux", "taskset")
    figures = {"about": about_this_run(), "options": {name: str(value) for name, value in vars(options).items()}, "runs": []}
    with tempfile.TemporaryDirectory(prefix="tarndb-bench-", dir=options.scratch) as scratch:
        scratch = pathlib.Path(scratch)
        need_room(scratch, 8 << 30, 2 << 30)
        for number in range(options.rounds):
            for path in (RING, THREADS):
                for in_memory in (True, False):
                    print(f"round {number + 1} of {options.rounds}: {path}, {'memory' if in_memory else 'device'}", file=sys.stderr, flush=True)
                    figures["runs"] += measure(scratch, path, in_memory, options, number)
    figures["results"] = results(figures["runs"])
    write_report("threads", figures, markdown(figures))
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory-mib", type=int, default=256, help="TarnDB's --memory-limit where data is eight times as large")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--depth", type=int, default=16, help="requests in flight on each connection")
    parser.add_argument("--seconds", type=int, default=10, help="length of each measurement")
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--load-cpu", type=int, default=1)
    parser.add_argument("--scratch", type=pathlib.Path, default=None, help="directory for all data, on the device to be measured")
    return parser.parse_args()


def measure(scratch: pathlib.Path, path: str, in_memory: bool, options, number: int) -> list:
    """All loads of one kind of data on one server."""
    memory_mib = 1024 if in_memory else options.memory_mib
    keys = 100_000 if in_memory else options.memory_mib * MIB * 8 // (ROW_BYTES + 80)
    shape = {"keys": keys, "connections": options.connections, "depth": options.depth, "column_bytes": ROW_BYTES}
    runs = []
    # Twice what the rows take, so that reclaiming has little to do.
    capacity = 4 << 30 if in_memory else keys * (ROW_BYTES + 80) * 2
    with Tarndb(scratch / "tarndb", options.server_cpu, f"{memory_mib}MiB", str(capacity), forbids_io_uring=path == THREADS) as server:
        server.load(options.load_cpu, 1800, workload="load", **shape)
        for title, (of_memory, workload) in LOADS.items():
            if of_memory != in_memory:
                continue

            def load(seconds, seed):
                flags = {"workload": workload, "requests": 1 << 40, "refill": "each", "seed": seed}
                return server.load(options.load_cpu, seconds, **flags, **shape)

            load(max(1, options.seconds // 4), 2 * number)
            with Window(server.pid, options.server_cpu) as window:
                done = load(options.seconds, 2 * number + 1)
            runs.append({
                "load": title, "path": path, "round": number, "requests_per_second": done["requests_per_second"],
                "cpu_us_per_request": window.cpu_seconds / done["requests"] * 1e6, "cpu_share": window.share,
                "foreign_share": window.foreign_share, "p50_us": done["latency_us"]["p50"], "p99_us": done["latency_us"]["p99"],
            })  # fmt: skip
    return runs


def results(runs: list) -> list:
    """Medians by load and path."""
    found = []
    for load, path in dict.fromkeys((run["load"], run["path"]) for run in runs):
        of = [run for run in runs if (run["load"], run["path"]) == (load, path)]
        figures = ("cpu_us_per_request", "requests_per_second", "p50_us", "p99_us", "cpu_share", "foreign_share")
        found.append({"load": load, "path": path, **{figure: summary([run[figure] for run in of]) for figure in figures}})
    return found


def markdown(figures: dict) -> str:
    options = figures["options"]
    lines = [
        f"{sentence(figures['about'])}: rows of {ROW_BYTES} bytes, {options['connections']} connections with {options['depth']} requests in flight "
        f"each, medians of {options['rounds']} rounds of {options['seconds']} s (least to most).",
        "",
        "| | disk through | server CPU µs/request | requests/s | p50 ms | p99 ms | server's share of its CPU | others' share |",
        "|---|---|---|---|---|---|---|---|",
    ]
    median = {}
    for row in figures["results"]:
        cpu, rate = row["cpu_us_per_request"], row["requests_per_second"]
        median[row["load"], row["path"]] = (cpu["median"], rate["median"])
        lines.append(
            f"| {row['load']} | {row['path']} | **{cpu['median']:.2f}** ({cpu['least']:.2f}–{cpu['most']:.2f}) "
            f"| {rate['median']:,.0f} ({rate['least']:,.0f}–{rate['most']:,.0f}) | {row['p50_us']['median'] / 1e3:,.2f} | {row['p99_us']['median'] / 1e3:,.2f} "
            f"| {row['cpu_share']['median']:.0%} | {row['foreign_share']['median']:.0%} |"
        )
    lines += ["", "| threads against io_uring | CPU a request | requests/s |", "|---|---|---|"]
    for load in LOADS:
        (cpu, rate), (of_cpu, of_rate) = median[load, THREADS], median[load, RING]
        lines.append(f"| {load} | **{cpu / of_cpu:.2f}** | {rate / of_rate:.2f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run(main)
