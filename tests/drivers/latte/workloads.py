#!/usr/bin/env python3
"""Runs latte's schema, load and run on the two workloads here against TARNDB_TEST_CQL and judges its reports.

A run passes when latte made exactly the cycles asked for, without an error or a retry, and received exactly the rows that
the loaded data has for these reads.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CYCLES = 20_000

# workload, functions, rows that a cycle returns (None where a mix decides)
RUNS = [
    ("basic", ["read"], 1),
    ("basic", ["write"], 0),
    ("basic", ["read:0.5", "write:0.5"], None),
    ("wide", ["newest"], 10),
    ("wide", ["range"], 20),
    ("wide", ["newest:0.4", "range:0.3", "write:0.3"], None),
]


def latte(program: str, folder: str, *arguments: str) -> subprocess.CompletedProcess:
    """One call of latte; it writes its log into the folder."""
    command = [program, "--log-dir", folder, *arguments, os.environ["TARNDB_TEST_CQL"]]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900, cwd=folder)


def judge(finished: subprocess.CompletedProcess, report: pathlib.Path, rows_each) -> str:
    """What is wrong with a run; empty when nothing is."""
    if finished.returncode != 0 or not report.exists():
        return f"status {finished.returncode}\n{finished.stdout}"
    result = json.loads(report.read_text())["result"]
    wrong = []
    if result["error_count"] or result["errors"]:
        wrong.append(f"{result['error_count']} errors: {result['errors'][:3]}")
    if result["request_retry_count"]:
        wrong.append(f"{result['request_retry_count']} retries")
    if result["cycle_count"] != CYCLES or result["request_count"] != CYCLES:
        wrong.append(f"{result['cycle_count']} cycles, {result['request_count']} requests instead of {CYCLES}")
    if rows_each is not None and result["row_count"] != rows_each * CYCLES:
        wrong.append(f"{result['row_count']} rows instead of {rows_each * CYCLES}")
    return "; ".join(wrong)


def main(program: str) -> int:
    passed = failed = 0

    def note(name: str, wrong: str):
        nonlocal passed, failed
        print(f"latte {name}: {wrong or 'ok'}", flush=True)
        if wrong:
            failed += 1
        else:
            passed += 1

    with tempfile.TemporaryDirectory(prefix="latte-") as folder:
        for workload in ("basic", "wide"):
            script = str(HERE / f"{workload}.rn")
            for phase in (["schema"], ["load", "--quiet", "--concurrency", "128"]):
                finished = latte(program, folder, *phase, script)
                failure = finished.returncode != 0 or "error" in finished.stdout.lower()
                note(f"{workload} {phase[0]}", finished.stdout if failure else "")
        for number, (workload, functions, rows_each) in enumerate(RUNS):
            report = pathlib.Path(folder) / f"{number}.json"
            chosen = [word for function in functions for word in ("--functions", function)]
            finished = latte(
                program, folder, "run", "--quiet", "--duration", str(CYCLES), "--warmup", "1", "--concurrency", "64",
                *chosen, "--output", str(report), str(HERE / f"{workload}.rn"),
            )
            note(f"{workload} {' '.join(functions)}", judge(finished, report, rows_each))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
