#!/usr/bin/env python3
"""Judges TarnDB's CQL by Apache Cassandra's: runs the same scripts on both and compares the answers.

    differential.py --ours HOST:PORT --theirs HOST:PORT [--seed N] [--cases N] [--record] [script...]

Runs the scripts of `scripts/` (or those named) and `--cases` generated cases from `--seed` on. What differs and is not in known.toml fails the
run. A generated case that differs is shrunk, printed and saved under .cache/differential/. `--record` keeps Cassandra's answers in `recorded/`.
"""

import argparse
import concurrent.futures
import itertools
import sys
import time

import compare
import recorded
import script
import shrink
from generate import generate
from runner import Runner

HERE = recorded.HERE
SAVED = HERE.parents[1] / ".cache" / "differential"
# One case for each cause is shrunk: its runs take seconds.
SHRUNK_MAX = 12
# Cases at a time: a server waits for its disk in schema changes.
LANES = 3


class Pair:
    """Both servers."""

    def __init__(self, ours: str, theirs: str):
        self.endpoints = (ours, theirs)
        self.statements = 0
        self.keyspaces = itertools.count()

    def run(self, steps: list) -> tuple:
        """The answers of TarnDB and of Cassandra, in a keyspace that neither has had."""
        keyspace = f"ks_{next(self.keyspaces):06x}"
        self.statements += len(steps)
        return tuple(Runner(endpoint, keyspace).run(steps) for endpoint in self.endpoints)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--ours", required=True, metavar="HOST:PORT", help="TarnDB")
    arguments.add_argument("--theirs", required=True, metavar="HOST:PORT", help="Cassandra")
    arguments.add_argument("--seed", type=int, default=1, help="of the first generated case")
    arguments.add_argument("--cases", type=int, default=100)
    arguments.add_argument("--record", action="store_true", help="keep Cassandra's answers")
    arguments.add_argument("scripts", nargs="*", help="names of scripts, without .cql; no cases are generated then")
    options = arguments.parse_args()
    pair, known = Pair(options.ours, options.theirs), compare.read_known(HERE / "known.toml")
    passed, failures, differences, began = 0, [], [], time.monotonic()

    def judged(name: str, steps: list, answers: tuple) -> list:
        """The differences that nothing explains."""
        nonlocal passed
        found = compare.judge(name, steps, *answers, known)
        differences.extend(found)
        new = compare.unexplained(found)
        if new:
            failures.append(name)
        else:
            passed += 1
        return new

    for name, steps in recorded.scripts(options.scripts).items():
        answers = pair.run(steps)
        new = judged(name, steps, answers)
        print(f"{name}: {len(steps)} statements, {len(new)} new differences", flush=True)
        for difference in new:
            print(f"  {difference}", flush=True)
        if options.record:
            recorded.record_script(name, steps, answers[1])
    shrunk = set()
    for case, steps, answers in run_cases(pair, range(options.seed, options.seed + (0 if options.scripts else options.cases))):
        new = judged(f"case {case}", steps, answers)
        if new and new[0].signature() not in shrunk and len(shrunk) < SHRUNK_MAX:
            shrunk.add(new[0].signature())
            report(case, pair, steps, new[0], known)
        if (case - options.seed + 1) % 25 == 0:
            took = time.monotonic() - began
            print(f"{case - options.seed + 1} of {options.cases} cases, {pair.statements} statements, {took:.0f} s, {len(failures)} failed", flush=True)
    if options.record and not options.scripts:
        recorded.record_cases(pair)
    print(f"\n{pair.statements} statements compared in {time.monotonic() - began:.0f} s; differences:\n{compare.table(differences)}")
    if not options.scripts:
        for entry in known:
            if not entry.hits:
                print(f"known.toml: nothing matches any more: {entry.reason}")
    if failures:
        print(f"\nfailed: {', '.join(failures)}")
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


def run_cases(pair: Pair, seeds: range):
    """Yields seed, steps and answers of each case, in order; LANES run at a time, and no more are ahead."""
    with concurrent.futures.ThreadPoolExecutor(LANES) as lanes:
        for first in range(seeds.start, seeds.stop, LANES):
            some = [(case, generate(case)) for case in range(first, min(first + LANES, seeds.stop))]
            for (case, steps), answers in zip(some, lanes.map(pair.run, (steps for _, steps in some))):
                yield case, steps, answers


def report(case: int, pair: Pair, steps: list, difference, known: list):
    """Shrinks a case, prints it and saves it."""
    smaller, difference = shrink.shrink(steps, difference, lambda part: compare.unexplained(compare.judge(f"case {case}", part, *pair.run(part), known)))
    SAVED.mkdir(parents=True, exist_ok=True)
    path = SAVED / f"case-{case}.cql"
    text = script.text_of(smaller)
    path.write_text(text)
    print(f"\ncase {case}: {difference}\nits script, {path.relative_to(SAVED.parents[1])}:\n{text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
