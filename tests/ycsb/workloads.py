#!/usr/bin/env python3
"""Loads YCSB's table and runs the core workloads A to F over CQL and GridDB's protocol; a small number of operations each.

With `dataintegrity` YCSB writes values that follow from key and field, and compares each value that it reads. A workload
passes when YCSB counted exactly the operations asked for, all of them and all comparisons with the status OK.
"""

import os
import pathlib
import re
import subprocess
import sys

RECORDS = 5_000
OPERATIONS = 5_000
THREADS = 16

# The proportions of YCSB's own workload files.
WORKLOADS = {
    "A": "readproportion=0.5 updateproportion=0.5 requestdistribution=zipfian",
    "B": "readproportion=0.95 updateproportion=0.05 requestdistribution=zipfian",
    "C": "readproportion=1 updateproportion=0 requestdistribution=zipfian",
    "F": "readproportion=0.5 updateproportion=0 readmodifywriteproportion=0.5 requestdistribution=zipfian",
    "D": "readproportion=0.95 updateproportion=0 insertproportion=0.05 requestdistribution=latest",
    "E": "readproportion=0 updateproportion=0 scanproportion=0.95 insertproportion=0.05 requestdistribution=zipfian"
    " maxscanlength=100 scanlengthdistribution=uniform",
}


# By protocol: the binding, and where its server is.
BINDINGS = {
    "CQL": ("tarndb.CqlBinding", "cql", f"cql.endpoint={os.environ['TARNDB_TEST_CQL']}"),
    # A foreign server of CQL has no other protocol.
    "GridDB": ("tarndb.GridDbBinding", "griddb", f"griddb.member={os.environ.get('TARNDB_TEST_GRIDDB', '')}"),
}


def ycsb(cache: pathlib.Path, phase: str, binding: str, properties: str) -> str:
    """One run of YCSB's client; gives all that it printed."""
    common = (
        f"workload=site.ycsb.workloads.CoreWorkload recordcount={RECORDS} operationcount={OPERATIONS}"
        f" dataintegrity=true fieldlengthdistribution=constant fieldcount=10 fieldlength=100 insertorder=hashed"
    )
    command = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", "-cp", f"{cache}/ycsb/classes:{cache}/ycsb/lib/*", "site.ycsb.Client", phase,
               "-db", binding, "-threads", str(THREADS)]
    for assignment in f"{common} {properties}".split():
        command += ["-p", assignment]
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    return finished.stdout + ("" if finished.returncode == 0 else f"\nYCSB ended with status {finished.returncode}\n")


def judge(output: str, operations: int, verified: bool) -> str:
    """What is wrong with a run; empty when nothing is."""
    counts = {}
    for kind, status, number in re.findall(r"^\[([A-Z-]+)\], Return=(\w+), (\d+)", output, re.MULTILINE):
        counts.setdefault(kind, {})[status] = int(number)
    wrong = [f"{kind}: {number} x {status}" for kind, by in counts.items() for status, number in by.items() if status != "OK"]
    if "ended with status" in output:
        wrong.append("YCSB failed")
    done = sum(counts.get(kind, {}).get("OK", 0) for kind in ("READ", "UPDATE", "INSERT", "SCAN"))
    # A read-modify-write counts as a read and an update, and once more under its own name without a status.
    modified = re.search(r"^\[READ-MODIFY-WRITE\], Operations, (\d+)", output, re.MULTILINE)
    done -= int(modified.group(1)) if modified else 0
    if done != operations:
        wrong.append(f"{done} operations instead of {operations}")
    reads = counts.get("READ", {}).get("OK", 0)
    if verified and counts.get("VERIFY", {}).get("OK", 0) != reads:
        wrong.append(f"{counts.get('VERIFY', {})} comparisons of {reads} reads")
    return "; ".join(wrong)


def run(cache: pathlib.Path, protocol: str) -> tuple[int, int]:
    """Loads and runs all workloads; how many have passed and failed."""
    passed = failed = 0
    binding, prefix, place = BINDINGS[protocol]
    runs = {"load": ("-load", f"{prefix}.create=true", RECORDS, False)}
    runs |= {name: ("-t", properties, OPERATIONS, name != "E") for name, properties in WORKLOADS.items()}
    for name, (phase, properties, operations, verified) in runs.items():
        output = ycsb(cache, phase, binding, f"{place} {properties}")
        wrong = judge(output, operations, verified)
        runtime = re.search(r"^\[OVERALL\], RunTime\(ms\), (\d+)", output, re.MULTILINE)
        print(f"{protocol} workload {name}: {wrong or 'ok'}, {operations} operations in {runtime.group(1) if runtime else '?'} ms", flush=True)
        if wrong:
            failed += 1
            print(output)
        else:
            passed += 1
    return passed, failed


def main(cache: str) -> int:
    protocols = ["CQL"] if os.environ.get("TARNDB_TEST_PEER") else list(BINDINGS)
    results = [run(pathlib.Path(cache), protocol) for protocol in protocols]
    passed, failed = (sum(counts) for counts in zip(*results))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
