#!/usr/bin/env python3
"""CPU time per operation over loopback: TarnDB beside Redis, same cores, same values, same pipelining, alternating rounds.

In each round each server starts afresh with empty data, gets every row once, and is warmed up before it is measured; so all meet
the same disturbances of the machine, and none profits from what another left behind. Figures are medians of the rounds.
"""

import argparse
import pathlib
import sys
import tempfile

from bench_machine import BenchError, Window, about_this_run, need, need_room, run, sentence, summary, write_report
from bench_servers import BareLoop, Certificate, Redis, Tarndb

KINDS = ("reads", "writes")
# (name, what is measured on it)
REDIS_LOGGED, REDIS_PLAIN, FLOOR, TARNDB = "redis-everysec", "redis-plain", "bare-loop", "tarndb"
TARNDB_TLS, REDIS_TLS = "tarndb-tls", "redis-tls"
TITLES = {
    TARNDB: "TarnDB",
    REDIS_PLAIN: "Redis, no log",
    REDIS_LOGGED: "Redis, appendonly everysec",
    FLOOR: "bare epoll loop (sockets alone)",
    TARNDB_TLS: "TarnDB, TLS",
    REDIS_TLS: "Redis, no log, TLS",
}
# A server with TLS, and the same one without.
TLS_PAIRS = {TARNDB_TLS: TARNDB, REDIS_TLS: REDIS_PLAIN}
TLS_GOAL = 1.6
# A figure is doubtful when this much of the server's CPU went to others.
FOREIGN_SHARE_MAX = 0.05


def main() -> int:
    options = parse()
    need("redis-server redis-tools util-linux", "redis-server", "redis-benchmark", "redis-cli", "taskset")
    figures = {"about": about_this_run(), "options": {name: str(value) for name, value in vars(options).items()}, "runs": []}
    with tempfile.TemporaryDirectory(prefix="tarndb-bench-", dir=options.scratch) as scratch:
        scratch = pathlib.Path(scratch)
        need_room(scratch, 8 << 30, 3 << 30)
        certificate = Certificate(scratch / "certificate") if set(servers(options)) & set(TLS_PAIRS) else None
        for number in range(options.rounds):
            for server in servers(options):
                print(f"round {number + 1} of {options.rounds}: {server}", file=sys.stderr, flush=True)
                figures["runs"] += measure(start(server, options, scratch, certificate), server, options, number)
    figures["results"] = results(figures["runs"])
    write_report("loopback", figures, markdown(figures))
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 16], help="requests in flight on each connection")
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--value-bytes", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=400_000, help="measured requests at depth 1; three times as many when deeper")
    parser.add_argument("--seconds-max", type=int, default=60, help="bound of each measurement")
    parser.add_argument("--protocol", type=int, default=4, help="version of the CQL native protocol")
    parser.add_argument("--memory-limit", default="1GiB", help="of TarnDB")
    parser.add_argument("--capacity", default="6GiB", help="of TarnDB")
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--load-cpu", type=int, default=1)
    parser.add_argument("--scratch", type=pathlib.Path, default=None, help="directory for the servers' data")
    parser.add_argument("--tls", action="store_true", help="TarnDB and Redis with TLS as well")
    parser.add_argument("--only", choices=sorted(TITLES), nargs="+", help="these servers only")
    return parser.parse_args()


def servers(options) -> list:
    if options.only:
        return [name for name in TITLES if name in options.only]
    return [name for name in TITLES if options.tls or name not in TLS_PAIRS]


def start(name: str, options, scratch: pathlib.Path, certificate: Certificate | None):
    directory = scratch / name
    if name == FLOOR:
        return BareLoop(directory, options.server_cpu)
    certificate = certificate if name in TLS_PAIRS else None
    if is_tarndb(name):
        return Tarndb(directory, options.server_cpu, options.memory_limit, options.capacity, certificate)
    return Redis(directory, options.server_cpu, name == REDIS_LOGGED, certificate)


def is_tarndb(name: str) -> bool:
    return TLS_PAIRS.get(name, name) == TARNDB


def measure(server, name: str, options, number: int) -> list:
    """All measurements of one server in one round."""
    runs = []
    # The log changes nothing for reads, and the bare loop does not look at requests: one kind is enough.
    kinds = {REDIS_LOGGED: ("writes",), FLOOR: ("reads",)}.get(name, KINDS)
    with server:
        if is_tarndb(name):
            server.load(options.load_cpu, options.seconds_max, workload="load", keys=options.keys, depth=16, **shape(options))
        elif name != FLOOR:
            server.fill(options.keys, options.value_bytes)
        for kind in kinds:
            for depth in options.depths:
                requests = options.requests * (1 if depth == 1 else 3)
                one_run(server, name, kind, depth, requests // 8, options, seed=2 * number)
                with Window(server.pid, options.server_cpu) as window:
                    load = one_run(server, name, kind, depth, requests, options, seed=2 * number + 1)
                if load["requests"] < requests:
                    print(f"  {kind} at depth {depth}: only {load['requests']} requests in {options.seconds_max} s", file=sys.stderr)
                runs.append({
                    "server": name, "round": number, "kind": kind, "depth": depth, "requests": load["requests"],
                    "cpu_us_per_request": window.cpu_seconds / load["requests"] * 1e6, "cpu_share": window.share,
                    "foreign_share": window.foreign_share, "requests_per_second": load["requests_per_second"],
                    "p50_us": load["latency_us"]["p50"], "p99_us": load["latency_us"]["p99"],
                })  # fmt: skip
        if isinstance(server, Redis) and "reads" in kinds and server.missed() > 0:
            raise BenchError(f"{server.name}: {server.missed()} reads found no key")
    for run in runs:
        run["memory_peak_bytes"] = server.memory_peak
    return runs


def shape(options) -> dict:
    return {"connections": options.connections, "column_bytes": options.value_bytes, "protocol": options.protocol}


def one_run(server, name: str, kind: str, depth: int, requests: int, options, seed: int) -> dict:
    requests -= requests % (depth * options.connections)
    if is_tarndb(name):
        return server.load(
            options.load_cpu, options.seconds_max, workload=kind, keys=options.keys, depth=depth, requests=requests, seed=seed, **shape(options)
        )
    test = {"reads": "get", "writes": "set"}[kind]
    return server.load(options.load_cpu, options.seconds_max, test, requests, options.keys, options.connections, depth, options.value_bytes)


def results(runs: list) -> list:
    """Medians by server, kind and depth."""
    found = []
    for key in dict.fromkeys((run["kind"], run["depth"], run["server"]) for run in runs):
        of = [run for run in runs if (run["kind"], run["depth"], run["server"]) == key]
        row = dict(zip(("kind", "depth", "server"), key))
        for figure in ("cpu_us_per_request", "requests_per_second", "p50_us", "p99_us", "cpu_share", "foreign_share"):
            row[figure] = summary([run[figure] for run in of])
        row["memory_peak_bytes"] = max(run["memory_peak_bytes"] for run in of)
        found.append(row)
    return found


def find(rows: list, kind: str, depth: int, server: str):
    return next((row for row in rows if (row["kind"], row["depth"], row["server"]) == (kind, depth, server)), None)


def markdown(figures: dict) -> str:
    about, rows = figures["about"], figures["results"]
    options = figures["options"]
    lines = [
        f"{sentence(about)}: "
        f"{options['keys']} keys, {options['value_bytes']}-byte values, {options['connections']} connections, "
        f"medians of {options['rounds']} rounds (least to most).",
        "",
        "| | depth | server | server CPU µs/op | requests/s | p50 µs | p99 µs | server's share of its CPU | others' share | peak MiB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: (row["kind"], row["depth"], list(TITLES).index(row["server"]))):
        cpu = row["cpu_us_per_request"]
        lines.append(
            f"| {row['kind']} | {row['depth']} | {TITLES[row['server']]} | **{cpu['median']:.2f}** ({cpu['least']:.2f}–{cpu['most']:.2f}) "
            f"| {row['requests_per_second']['median']:,.0f} | {row['p50_us']['median']:,.0f} | {row['p99_us']['median']:,.0f} "
            f"| {row['cpu_share']['median']:.0%} | {row['foreign_share']['median']:.0%} | {row['memory_peak_bytes'] >> 20} |"
        )
    lines += ["", "| | depth | TarnDB's CPU time against | ratio of medians | goal |", "|---|---|---|---|---|"]
    for kind in KINDS:
        for depth in dict.fromkeys(row["depth"] for row in rows):
            ours = find(rows, kind, depth, TARNDB)
            yardsticks = [(REDIS_LOGGED, "≤ 1"), (REDIS_PLAIN, "≤ 1 (stretch)")] if kind == "writes" else [(REDIS_PLAIN, "≤ 1")]
            floor_goal = {1: "aim at 1.25", 16: "aim at 2.2"}.get(depth, "")
            for other, goal in [*yardsticks, (FLOOR, floor_goal)]:
                theirs = find(rows, "reads" if other == FLOOR else kind, depth, other)
                if ours and theirs:
                    ratio = ours["cpu_us_per_request"]["median"] / theirs["cpu_us_per_request"]["median"]
                    lines.append(f"| {kind} | {depth} | {TITLES[other]} | **{ratio:.2f}** | {goal} |")
    lines += tls_ratios(rows)
    doubtful = [row for row in rows if row["foreign_share"]["median"] > FOREIGN_SHARE_MAX]
    if doubtful:
        lines += ["", f"{len(doubtful)} figures are doubtful: other processes had more than {FOREIGN_SHARE_MAX:.0%} of the server's CPU."]
    return "\n".join(lines) + "\n"


def tls_ratios(rows: list) -> list:
    """What TLS multiplies each server's CPU time by."""
    lines = []
    for kind, depth in sorted({(row["kind"], row["depth"]) for row in rows}):
        for server, plain in TLS_PAIRS.items():
            with_tls, without = find(rows, kind, depth, server), find(rows, kind, depth, plain)
            if with_tls and without:
                ratio = with_tls["cpu_us_per_request"]["median"] / without["cpu_us_per_request"]["median"]
                goal = f"≤ {TLS_GOAL}" if (server, depth) == (TARNDB_TLS, 16) else ""
                lines.append(f"| {kind} | {depth} | {TITLES[plain]} | **{ratio:.2f}** | {goal} |")
    return ["", "| | depth | CPU time with TLS against without | ratio of medians | goal |", "|---|---|---|---|---|", *lines] if lines else []


if __name__ == "__main__":
    run(main)
