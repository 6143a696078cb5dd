#!/usr/bin/env python3
"""A restart without a checkpoint, one shard on one core, beside the device itself.

In alternating rounds restart_bench scans the file of a shard, and fio reads as many bytes of it in order, a segment at a time with as many in
flight as a scan has. Bounded by the device means: the ratio is near one. The scan's time on its core says what a record costs, and how many
shards a device can feed.
"""

import argparse
import json
import pathlib
import re
import sys
import tempfile

from bench_machine import BenchError, about_this_run, built, need, need_room, output_of, pinned, run, sentence, summary, write_report

# What recovery reads at a time, and how many of them.
SEGMENT_BYTES = 8 << 20
SEGMENTS_AHEAD = 3
SCAN = re.compile(r"^without a checkpoint +([\d.]+) s \( *([\d.]+) s on the core\): .* (\d+) records read, +(\d+) MiB", re.MULTILINE)


def main() -> int:
    options = parse()
    need("fio util-linux", "fio", "taskset")
    figures = {"about": about_this_run(), "options": {name: str(value) for name, value in vars(options).items()}, "scans": [], "fio": []}
    bench = built("examples/restart_bench")
    with tempfile.TemporaryDirectory(prefix="tarndb-bench-", dir=options.scratch) as scratch:
        path = pathlib.Path(scratch) / "shard.data"
        need_room(scratch, options.rows * 320 + (1 << 30), 2 << 30)
        print("loading", file=sys.stderr, flush=True)
        filled = output_of(pinned(options.cpu, [bench, path, options.rows]), 1800)
        print(filled, file=sys.stderr, flush=True)
        for number in range(options.rounds):
            print("round", number + 1, "of", options.rounds, file=sys.stderr, flush=True)
            figures["fio"].append(fio(path, options.cpu))
            figures["scans"].append(scan(bench, path, options.cpu))
    found = {name: summary([run[name] for run in figures["scans"]]) for name in figures["scans"][0]}
    found["fio_mib_per_second"] = summary(figures["fio"])
    found["of_fio"] = summary([run["mib_per_second"] / alone for run, alone in zip(figures["scans"], figures["fio"])])
    figures["results"] = found
    write_report("restart", figures, markdown(figures, options))
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of 200 bytes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--scratch", type=pathlib.Path, default=None, help="directory for all data, on the device to be measured")
    return parser.parse_args()


def scan(bench: str, path: pathlib.Path, cpu: int) -> dict:
    printed = output_of(pinned(cpu, [bench, path, "scan"]), 600)
    found = SCAN.search(printed)
    if not found:
        raise BenchError(f"restart_bench printed {printed!r}")
    seconds, on_core, records, mib = (float(field) for field in found.groups())
    return {"seconds": seconds, "mib_per_second": mib / seconds, "mib_per_core_second": mib / on_core, "ns_per_record": on_core / records * 1e9}


def fio(path: pathlib.Path, cpu: int) -> float:
    """MiB/s of one pass over the file."""
    command = ["fio", "--name=read", f"--filename={path}", "--readonly", "--rw=read", f"--bs={SEGMENT_BYTES}", "--direct=1", "--ioengine=io_uring",
               f"--iodepth={SEGMENTS_AHEAD}", "--output-format=json"]  # fmt: skip
    job = json.loads(output_of(pinned(cpu, command), 600))["jobs"][0]
    return job["read"]["bw_bytes"] / (1 << 20)


def markdown(figures: dict, options) -> str:
    about, found = figures["about"], figures["results"]

    def row(title: str, name: str, form: str) -> str:
        of = found[name]
        return f"| {title} | **{of['median']:{form}}** | {of['least']:{form}} | {of['most']:{form}} |"

    lines = [
        f"{sentence(about)}: {options.rows:,} rows of 200 bytes "
        f"in one shard, {options.rounds} rounds.",
        "",
        "| | median | least | most |",
        "|---|---|---|---|",
        row("scan of the log, s", "seconds", ".2f"),
        row("scan, MiB/s", "mib_per_second", ",.0f"),
        row("scan, MiB in a second on the core", "mib_per_core_second", ",.0f"),
        row("time on the core, ns a record", "ns_per_record", ".0f"),
        row("fio in order, MiB/s", "fio_mib_per_second", ",.0f"),
        row("scan / fio", "of_fio", ".0%"),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run(main)
