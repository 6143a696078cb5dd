#!/usr/bin/env python3
"""Half reads, half upserts of uniformly random rows, with data eight times as large as memory: TarnDB beside the device itself.

A read that memory cannot answer is one random read of the device. In alternating rounds fio reads a file on the same file system at
the same depth and with the size of block that TarnDB uses, with and without the sequential writes that an upsert load causes; what
TarnDB has the device read is taken from the device's own counters. Bounded by the device means: its reads come near fio's while its
CPU is not full.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from bench_machine import (
    BenchError, Window, about_this_run, device_counters, device_of, need, need_room, output_of, pinned, process_io, run, sentence,
    summary, write_report,
)  # fmt: skip
from bench_servers import Tarndb

ROW_BYTES = 1000
KEY_BYTES = 16
# Headers of a record and its cells, roughly.
RECORD_BYTES = 64
MIB = 1 << 20


def main() -> int:
    options = parse()
    need("fio util-linux", "fio", "taskset")
    data_bytes = options.memory_mib * MIB * options.data_times_memory
    keys = data_bytes // (ROW_BYTES + KEY_BYTES + RECORD_BYTES)
    figures = {"about": about_this_run(), "options": {name: str(value) for name, value in vars(options).items()}, "runs": [], "fio": []}
    with tempfile.TemporaryDirectory(prefix="tarndb-bench-", dir=options.scratch) as scratch:
        scratch = pathlib.Path(scratch)
        capacity_bytes = int(data_bytes / options.fill)
        need_room(scratch, capacity_bytes + data_bytes + (1 << 30), (options.memory_mib << 20) + (1 << 30))
        device = device_of(scratch)
        fio_file = scratch / "fio.data"
        lay_out(fio_file, data_bytes)
        server = Tarndb(scratch / "tarndb", options.server_cpu, f"{options.memory_mib}MiB", str(capacity_bytes))
        with server:
            say("loading", keys, "rows")
            figures["load"] = server.load(options.load_cpu, 1800, workload="load", keys=keys, depth=16, connections=50, column_bytes=ROW_BYTES)
            say("warming up")
            mixed(server, options, keys, options.seconds, seed=1)
            for number in range(options.rounds):
                say("round", number + 1, "of", options.rounds)
                figures["fio"].append(fio(fio_file, options, writes_mib=0))
                run = measured(server, device, options, keys, seed=number + 2)
                figures["runs"].append(run)
                figures["fio"].append(fio(fio_file, options, writes_mib=max(1, round(run["server_written_bytes_per_second"] / MIB))))
        figures["memory_peak_bytes"] = server.memory_peak
        figures["keys"], figures["device"] = keys, device
    figures["results"] = results(figures)
    write_report("device", figures, markdown(figures, options))
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--memory-mib", type=int, default=256, help="TarnDB's --memory-limit")
    parser.add_argument("--data-times-memory", type=int, default=8)
    parser.add_argument("--fill", type=float, default=0.5, help="live data as a part of TarnDB's --capacity")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--depth", type=int, default=4, help="requests in flight on each connection; fio gets the product")
    parser.add_argument("--block-bytes", type=int, default=4096, help="fio's block: what TarnDB reads for a row")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=15, help="length of each measurement")
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--load-cpu", type=int, default=1)
    parser.add_argument("--scratch", type=pathlib.Path, default=None, help="directory for all data, on the device to be measured")
    return parser.parse_args()


def say(*words) -> None:
    print(*words, file=sys.stderr, flush=True)


def mixed(server: Tarndb, options, keys: int, seconds: int, seed: int) -> dict:
    """Half reads, half upserts; a connection sends a request for each reply."""
    return server.load(
        options.load_cpu, seconds, workload="mixed", keys=keys, requests=1 << 40, refill="each", seed=seed,
        connections=options.connections, depth=options.depth, column_bytes=ROW_BYTES,
    )  # fmt: skip


def measured(server: Tarndb, device: str, options, keys: int, seed: int) -> dict:
    before, own_before = device_counters(device), process_io(server.pid)
    with Window(server.pid, options.server_cpu) as window:
        load = mixed(server, options, keys, options.seconds, seed)
    after, own_after = device_counters(device), process_io(server.pid)
    rate = {name: (after[name] - before[name]) / window.seconds for name in after}
    own = {name: (own_after[name] - own_before[name]) / window.seconds for name in own_after}
    return {
        "requests_per_second": load["requests_per_second"], "p50_us": load["latency_us"]["p50"], "p99_us": load["latency_us"]["p99"],
        "p999_us": load["latency_us"]["p999"], "cpu_share": window.share, "foreign_share": window.foreign_share,
        "cpu_us_per_request": window.cpu_seconds / load["requests"] * 1e6,
        "device_reads_per_second": rate["reads"], "device_writes_per_second": rate["writes"],
        "device_read_bytes_per_second": rate["read_bytes"], "device_written_bytes_per_second": rate["written_bytes"],
        "server_read_bytes_per_second": own["read_bytes"], "server_written_bytes_per_second": own["written_bytes"],
        # Well below 1: other processes use the device, too, and its counters say little.
        "server_share_of_device_reads": own["read_bytes"] / max(1, rate["read_bytes"]),
        "server_bytes_per_upserted_byte": own["written_bytes"] / (load["requests_per_second"] / 2 * (ROW_BYTES + KEY_BYTES)),
    }  # fmt: skip


def lay_out(path: pathlib.Path, size: int) -> None:
    """A file with real blocks: reading holes would be too fast."""
    say("laying out fio's file")
    output_of(["fio", "--name=layout", f"--filename={path}", f"--size={size}", "--rw=write", "--bs=1m", "--direct=1", "--ioengine=psync",
               "--end_fsync=1"], 1800)  # fmt: skip


def fio(path: pathlib.Path, options, writes_mib: int) -> dict:
    """Random reads for a while, if asked for beside sequential writes at a fixed pace; gives reads a second."""
    depth = options.connections * options.depth
    common = [f"--filename={path}", "--direct=1", "--time_based", f"--runtime={options.seconds}", "--output-format=json"]
    writer = None
    if writes_mib:
        # A second file, so that no read waits for a lock on the file.
        other = path.with_suffix(".written")
        writer = subprocess.Popen(
            pinned(options.load_cpu, ["fio", "--name=write", f"--filename={other}", "--size=512m", "--rw=write", "--bs=1m", "--direct=1",
                                      "--ioengine=libaio", "--iodepth=2", f"--rate={writes_mib}m", "--time_based",
                                      f"--runtime={options.seconds}"]),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        started = time.monotonic()
        job = json.loads(output_of(
            pinned(options.server_cpu, ["fio", "--name=read", *common, "--rw=randread", f"--bs={options.block_bytes}", "--ioengine=io_uring",
                                        f"--iodepth={depth}", "--norandommap", "--randrepeat=0"]), options.seconds + 120
        ))["jobs"][0]  # fmt: skip
        took = time.monotonic() - started
    finally:
        if writer is not None:
            writer.terminate()
            writer.wait()
            other.unlink(missing_ok=True)
    if took > options.seconds + 30:
        raise BenchError(f"fio took {took:.0f} s for {options.seconds} s of reads")
    return {"writes_mib": writes_mib, "reads_per_second": job["read"]["iops"], "p50_us": job["read"]["clat_ns"]["percentile"]["50.000000"] / 1e3,
            "p99_us": job["read"]["clat_ns"]["percentile"]["99.000000"] / 1e3, "cpu_share": (job["usr_cpu"] + job["sys_cpu"]) / 100}  # fmt: skip


def results(figures: dict) -> dict:
    alone = [run["reads_per_second"] for run in figures["fio"] if not run["writes_mib"]]
    beside = [run["reads_per_second"] for run in figures["fio"] if run["writes_mib"]]
    found = {name: summary([run[name] for run in figures["runs"]]) for name in figures["runs"][0]}
    found["fio_reads_per_second"], found["fio_reads_beside_writes_per_second"] = summary(alone), summary(beside)
    reads = found["device_reads_per_second"]["median"]
    found["of_fio"] = reads / found["fio_reads_per_second"]["median"]
    found["of_fio_beside_writes"] = reads / found["fio_reads_beside_writes_per_second"]["median"]
    return found


def markdown(figures: dict, options) -> str:
    about, found = figures["about"], figures["results"]

    def row(title: str, name: str, form: str, scale: float = 1.0) -> str:
        of = found[name]
        return f"| {title} | **{of['median'] * scale:{form}}** | {of['least'] * scale:{form}} | {of['most'] * scale:{form}} |"

    lines = [
        f"{sentence(about)}: {figures['keys']:,} rows "
        f"of {ROW_BYTES} bytes, memory limit {options.memory_mib} MiB (peak resident {figures['memory_peak_bytes'] >> 20} MiB), 50/50 uniform, "
        f"{options.connections} connections × {options.depth} in flight, {options.rounds} rounds of {options.seconds} s, device {figures['device']}.",
        "",
        "| | median | least | most |",
        "|---|---|---|---|",
        row("requests/s", "requests_per_second", ",.0f"),
        row("p50 µs", "p50_us", ",.0f"),
        row("p99 µs", "p99_us", ",.0f"),
        row("p99.9 µs", "p999_us", ",.0f"),
        row("server's share of its CPU", "cpu_share", ".0%"),
        row("server CPU µs/request", "cpu_us_per_request", ".2f"),
        row("others' share of that CPU", "foreign_share", ".0%"),
        row("reads of the device/s", "device_reads_per_second", ",.0f"),
        row("read by the server, MiB/s", "server_read_bytes_per_second", ",.0f", 1 / MIB),
        row("written by the server, MiB/s", "server_written_bytes_per_second", ",.0f", 1 / MIB),
        row("bytes written per byte upserted", "server_bytes_per_upserted_byte", ".2f"),
        row("server's share of the bytes read from the device", "server_share_of_device_reads", ".0%"),
        row(f"fio random reads/s, {options.block_bytes}-byte blocks, depth {options.connections * options.depth}", "fio_reads_per_second", ",.0f"),
        row("fio the same beside as many sequential writes", "fio_reads_beside_writes_per_second", ",.0f"),
        "",
        f"TarnDB's reads of the device are **{found['of_fio']:.0%}** of fio's alone and **{found['of_fio_beside_writes']:.0%}** of fio's beside the "
        "same writes. The device's counters include what other processes do.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run(main)
