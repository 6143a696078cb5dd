#!/usr/bin/env python3
"""Closing lines of `make test`: what each runner counted, and the sum.

Reads the log of `cargo test` (its "test result:" lines) and the results of the driver suites (one line each).
"""

import re
import sys


def counted(text: str, word: str) -> int:
    """The sum of all numbers that stand before a word."""
    return sum(int(number) for number in re.findall(rf"(\d+) {word}", text))


def main(cargo_log: str, suites: str) -> int:
    cargo = "\n".join(line for line in open(cargo_log, errors="replace") if line.startswith("test result:"))
    lines = [f"{'cargo test':<17} {counted(cargo, 'passed')} passed, {counted(cargo, 'failed')} failed"]
    lines += [line.rstrip("\n") for line in open(suites, errors="replace")]
    print("\n".join(lines))
    whole = "\n".join(lines)
    skipped = counted(whole, "skipped") + len(re.findall("skipped: a tool is missing", whole))
    failed = counted(whole, "failed")
    print(f"make test: {counted(whole, 'passed')} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
