"""Makes a script that shows a difference smaller: first without statements, then with simpler ones."""

import dataclasses
import re

# Each run makes a keyspace on both servers.
RUNS_MAX = 80
# What a statement may go without, one occurrence at a time.
CLAUSES = [
    re.compile(pattern, re.S)
    for pattern in (
        r" ALLOW FILTERING$", r" LIMIT \S+(?=$| )", r" PER PARTITION LIMIT \S+", r" ORDER BY [^()]*?(?= LIMIT| PER| ALLOW|$)", r" GROUP BY .*?(?= ORDER| LIMIT| PER| ALLOW|$)",
        r" AND TTL \d+", r" AND \w+ (?:[<>]?=|[<>]|CONTAINS(?: KEY)?) (?:'[^']*'|[^\s()\[\]{}]+)(?= |$)", r", [rcs]\d [^,()<>]*(?: static)?(?=[,)])", r" USING TIMESTAMP \d+(?= |$)",
    )
]  # fmt: skip


def shrink(steps: list, difference, differences) -> tuple:
    """The smallest script found and its difference. `differences` runs a script and lists its differences; the first with the same signature
    as `difference` counts."""
    runs = 0

    def shows(part: list):
        nonlocal runs
        if runs >= RUNS_MAX:
            return None
        runs += 1
        return next((found for found in differences(part) if found.signature() == difference.signature()), None)

    steps = steps[: difference.step + 1]
    size = max(1, len(steps) // 2)
    while size >= 1:
        at = 0
        while at < len(steps) - 1:
            # The last step shows the difference.
            smaller = steps[:at] + steps[min(at + size, len(steps) - 1) :]
            if found := shows(smaller):
                steps, difference = smaller, found
            else:
                at += size
        size //= 2
    for index, step in enumerate(steps):
        for clause in CLAUSES:
            for match in reversed(list(clause.finditer(step.statement))):
                simpler = dataclasses.replace(step, statement=step.statement[: match.start()] + step.statement[match.end() :])
                if step.binds and simpler.statement.count("?") != step.statement.count("?"):
                    continue
                if found := shows([*steps[:index], simpler, *steps[index + 1 :]]):
                    step, difference = simpler, found
                    steps = [*steps[:index], simpler, *steps[index + 1 :]]
    return steps, difference
