#!/usr/bin/env python3
"""Fails on words that this project has replaced: docs/internals/glossary.md has the field's word for each thing.

It reads code, comments, log lines, scripts and documents of the tree that git knows. Decisions and studies tell of the past and are not read;
neither is what comes from others. A line that must have such a word ends with `check-words: allow`.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What is written, as a pattern of whole words in any case or as part of an identifier, and what to write instead.
BANNED = {
    r"(?:re)?fillings?": "rebuild (of a replica), load (of a data set)",
    r"bites?": "chunk",
    r"customers?": "client",
    r"shops?": "a neutral name",
    r"strangers?": "unauthenticated peer",
    r"troubles?": "fault",
    r"weather": "fault (of a link)",
    r"handing[ _]over|handings?[ _]over": "primary transfer",
    r"errands?": "pending statement, task",
    r"stillborn": "failed",
    r"(?:is|are|was|were|be|been) brought": "an active verb: sent, moved, read",
}
SKIPPED = ("third_party/", "docs/decisions/", "docs/studies/", "docs/benchmarks.md", "CHANGELOG.md", "peers/", "scripts/check-words.py")
SUFFIXES = {".rs", ".md", ".py", ".sh", ".toml", ".js", ".go", ".java", ".yml", ".yaml"}
# A word is whole in text, and a part of an identifier: `last_fault`, `LastFault`.
EITHER = "|".join(rf"(?P<w{number}>{pattern})" for number, pattern in enumerate(BANNED))
PATTERN = re.compile(rf"(?<![a-z])(?:{EITHER})(?![a-z])", re.I)


def words(line: str) -> str:
    """The line with identifiers cut into their words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", line).replace("_", " ")


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    instead = list(BANNED.values())
    # Most files have none of these letters in a row, and are not read closer.
    stems = [stem for pattern in BANNED for stem in re.findall(r"[a-z]{4,}", pattern.replace("(?:is|are|was|were|be|been) ", ""))]
    found = 0
    for name in listed:
        path = ROOT / name
        if name.startswith(SKIPPED) or path.suffix not in SUFFIXES or not path.is_file():
            continue
        text = path.read_text(errors="replace")
        low = text.lower()
        if not any(stem in low for stem in stems):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            match = PATTERN.search(words(line))
            if match and not line.rstrip().endswith("check-words: allow"):
                use = instead[int(match.lastgroup[1:])]
                print(f"{name}:{number}: `{match[0]}`: write {use}", file=sys.stderr)
                found += 1
    if found:
        print(f"check-words: {found} lines", file=sys.stderr)
        return 1
    print(f"check-words: none of {len(BANNED)} replaced words")
    return 0


if __name__ == "__main__":
    sys.exit(main())
