#!/usr/bin/env python3
"""Throughput and latency over time: half reads, half upserts of uniformly random rows on a device that has been written over once.

What is asked of it: throughput by ten seconds varies by no more than 5 % (standard deviation by mean), p99.9 is at most ten times p50,
and no second is without replies. A plot of every second is written beside the report.
"""

import argparse
import math
import pathlib
import statistics
import sys
import tempfile

from bench_device import KEY_BYTES, MIB, RECORD_BYTES, ROW_BYTES
from bench_machine import BenchError, Window, about_this_run, device_of, need, need_room, process_io, run, sentence, target_dir, write_report
from bench_servers import Tarndb

# Seconds of writes between two looks at how much has been written.
WRITE_SECONDS = 10


def main() -> int:
    options = parse()
    need("util-linux", "taskset")
    data_bytes = options.memory_mib * MIB * options.data_times_memory
    keys = data_bytes // (ROW_BYTES + KEY_BYTES + RECORD_BYTES)
    capacity_bytes = int(data_bytes / options.fill)
    with tempfile.TemporaryDirectory(prefix="tarndb-bench-", dir=options.scratch) as scratch:
        scratch = pathlib.Path(scratch)
        need_room(scratch, capacity_bytes + (1 << 30), (options.memory_mib << 20) + (1 << 30))
        device = device_of(scratch)
        server = Tarndb(scratch / "tarndb", options.server_cpu, f"{options.memory_mib}MiB", str(capacity_bytes))
        with server:
            say("loading", keys, "rows")
            server.load(options.load_cpu, 3600, workload="load", keys=keys, depth=16, connections=50, column_bytes=ROW_BYTES)
            passes = write_over(server, options, keys, capacity_bytes)
            say("running for", options.seconds, "s")
            before = process_io(server.pid)
            with Window(server.pid, options.server_cpu) as window:
                load = server.load(
                    options.load_cpu, options.seconds, workload="mixed", keys=keys, requests=1 << 40, refill="each", seed=1_000_000,
                    connections=options.connections, depth=options.depth, column_bytes=ROW_BYTES, intervals=True,
                )  # fmt: skip
            after = process_io(server.pid)
        upserted = load["requests"] / 2 * (ROW_BYTES + KEY_BYTES)
        figures = {
            "about": about_this_run(), "options": {name: str(value) for name, value in vars(options).items()}, "keys": keys, "device": device,
            "memory_peak_bytes": server.memory_peak, "write_passes_of_10_s": passes, "load": load,
            "bytes_written_per_byte_upserted": (after["written_bytes"] - before["written_bytes"]) / upserted,
            "cpu_share": window.share, "foreign_share": window.foreign_share,
        }  # fmt: skip
    figures["results"] = results(load)
    write_report("steady", figures, markdown(figures, options))
    plot = target_dir() / "bench" / "steady.svg"
    plot.write_text(svg(load["intervals"]))
    print("plotted in", plot)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--memory-mib", type=int, default=256, help="TarnDB's --memory-limit")
    parser.add_argument("--data-times-memory", type=int, default=8)
    parser.add_argument("--fill", type=float, default=0.6, help="live data as a part of TarnDB's --capacity")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--depth", type=int, default=4, help="requests in flight on each connection")
    parser.add_argument("--seconds", type=int, default=1800, help="length of the measurement")
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--load-cpu", type=int, default=1)
    parser.add_argument("--scratch", type=pathlib.Path, default=None, help="directory for the data, on the device to be measured")
    return parser.parse_args()


def say(*words) -> None:
    print(*words, file=sys.stderr, flush=True)


def write_over(server: Tarndb, options, keys: int, capacity_bytes: int) -> int:
    """Upserts until as many bytes have been written as the log may have."""
    start, passes = process_io(server.pid)["written_bytes"], 0
    while (written := process_io(server.pid)["written_bytes"] - start) < capacity_bytes:
        say(f"writing the device over: {written / capacity_bytes:.0%}")
        passes += 1
        server.load(
            options.load_cpu, WRITE_SECONDS, workload="writes", keys=keys, requests=1 << 40, refill="each", seed=passes + 1,
            connections=options.connections, depth=options.depth, column_bytes=ROW_BYTES,
        )  # fmt: skip
        if passes > 1000:
            raise BenchError("the device has not been written over after 1,000 runs of writes")
    return passes


def results(load: dict) -> dict:
    replies = [interval["replies"] for interval in load["intervals"]]
    tens = [sum(replies[at : at + 10]) / 10 for at in range(0, len(replies) - 9, 10)]
    if len(tens) < 2:
        raise BenchError("too short: at least twenty seconds are needed")
    latency = load["latency_us"]
    return {
        "variation": statistics.pstdev(tens) / statistics.mean(tens), "least_10_s": min(tens), "most_10_s": max(tens),
        "tail": latency["p999"] / latency["p50"], "least_second": min(replies), "silent_seconds": replies.count(0),
    }  # fmt: skip


def markdown(figures: dict, options) -> str:
    about, load, found = figures["about"], figures["load"], figures["results"]
    latency = load["latency_us"]
    rows = [
        ("requests/s", f"{load['requests_per_second']:,.0f}", ""),
        ("requests/s by ten seconds: standard deviation / mean", f"{found['variation']:.1%}", "≤ 5 %"),
        ("requests/s by ten seconds: least, most", f"{found['least_10_s']:,.0f}, {found['most_10_s']:,.0f}", ""),
        ("replies in the worst second", f"{found['least_second']:,}", "> 0"),
        ("p50, p99, p99.9, most, ms", ", ".join(f"{latency[name] / 1e3:.2f}" for name in ("p50", "p99", "p999", "most")), ""),
        ("p99.9 / p50", f"{found['tail']:.1f}", "≤ 10"),
        ("bytes written per byte upserted", f"{figures['bytes_written_per_byte_upserted']:.2f}", ""),
        ("server's share of its CPU, others' share", f"{figures['cpu_share']:.0%}, {figures['foreign_share']:.0%}", ""),
        ("peak resident", f"{figures['memory_peak_bytes'] >> 20} MiB of {options.memory_mib} MiB", "≤ 110 %"),
    ]
    lines = [
        f"{sentence(about)}: {figures['keys']:,} rows of "
        f"{ROW_BYTES} bytes, {options.fill:.0%} of the log, 50/50 uniform, {options.connections} connections × {options.depth} in flight, "
        f"{load['seconds']:.0f} s after the log had been written over once, device {figures['device']}.",
        "",
        "| | figure | goal |",
        "|---|---|---|",
        *(f"| {title} | **{figure}** | {goal} |" for title, figure, goal in rows),
    ]
    return "\n".join(lines) + "\n"


def svg(intervals: list) -> str:
    """Two panels over time: replies a second, and latencies on a logarithmic scale."""
    width, height, left, gap = 1000, 220, 80, 50
    count = len(intervals)

    def x(second: int) -> float:
        return left + second * (width - left - 10) / max(1, count - 1)

    def line(values: list, y, colour: str) -> str:
        points = " ".join(f"{x(second):.1f},{y(value):.1f}" for second, value in enumerate(values))
        return f'<polyline fill="none" stroke="{colour}" stroke-width="1" points="{points}"/>'

    def text(at_x: float, at_y: float, what: str, anchor: str = "end", colour: str = "#333") -> str:
        return f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}" fill="{colour}">{what}</text>'

    replies = [interval["replies"] for interval in intervals]
    top = max(replies) * 1.1 or 1
    parts = [line(replies, lambda value: 20 + height * (1 - value / top), "#1f6fb2")]
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = 20 + height * (1 - share)
        parts += [f'<line x1="{left}" x2="{width - 10}" y1="{y}" y2="{y}" stroke="#ddd"/>', text(left - 6, y + 4, f"{top * share:,.0f}")]
    parts.append(text(left, 14, "replies in each second", "start"))
    base = 20 + height + gap
    series = {"p50": "#2a9d4a", "p99": "#e08e0b", "p999": "#c0392b", "most": "#999"}
    values = {name: [max(1.0, interval["latency_us"][name]) for interval in intervals] for name in series}
    low = math.floor(math.log10(min(min(each) for each in values.values())))
    high = math.ceil(math.log10(max(max(each) for each in values.values()))) or 1

    def y_log(value: float) -> float:
        return base + height * (1 - (math.log10(value) - low) / max(1, high - low))

    for power in range(low, high + 1):
        y = y_log(10**power)
        parts += [f'<line x1="{left}" x2="{width - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>', text(left - 6, y + 4, f"{10**power / 1e3:g} ms")]
    parts += [line(values[name], y_log, colour) for name, colour in series.items()]
    parts.append(text(left, base - 6, "latency of each second:", "start"))
    parts += [text(left + 150 + 60 * at, base - 6, name, "start", colour) for at, (name, colour) in enumerate(series.items())]
    bottom = base + height + 18
    parts += [text(x(at), bottom, f"{at} s", "middle") for at in range(0, count, max(1, count // 10))]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bottom + 10}" font-family="sans-serif" font-size="11">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    run(main)
