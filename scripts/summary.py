#!/usr/bin/env python3
"""Closing lines of `make test` and `make test-long`: what each runner counted, and the sum.

    summary.py TITLE SUITES LOG...

SUITES has the results of the driver suites, one line each; a LOG is what `cargo test` printed, of which the "test result:" lines count.
"""

import pathlib
import re
import sys


def counted(text: str, word: str) -> int:
    """The sum of all numbers that stand before a word."""
    return sum(int(number) for number in re.findall(rf"(\d+) {word}", text))


def main(title: str, suites: str, *cargo_logs: str) -> int:
    lines = []
    for log in map(pathlib.Path, cargo_logs):
        results = "\n".join(line for line in log.read_text(errors="replace").splitlines() if line.startswith("test result:"))
        lines.append(f"{log.stem.removeprefix('stage-'):<17} {counted(results, 'passed')} passed, {counted(results, 'failed')} failed")
    lines += pathlib.Path(suites).read_text(errors="replace").splitlines()
    whole = "\n".join(lines)
    print(whole)
    skipped = counted(whole, "skipped") + len(re.findall("skipped: a tool is missing", whole))
    failed = counted(whole, "failed")
    print(f"{title}: {counted(whole, 'passed')} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
