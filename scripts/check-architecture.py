#!/usr/bin/env python3
"""Fails when a file or function that the documents walk through is gone.

In DOCUMENTS a word in backticks that ends in `.rs` is a file, relative to crates/ or to the repository. One that ends in `()` is a function of the file
named most recently before it in the same paragraph or list; it must be defined there.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Document: whether functions are checked as well as files.
DOCUMENTS = {
    "ARCHITECTURE.md": True,
    "docs/internals/protocols.md": False,
    "docs/decisions/0022-row-images.md": False,
}
# A function that a walk is too coarse to have: fewer than this found means that the parser, not the code, has changed.
FUNCTIONS_MIN = 60


def find(name: str) -> Path | None:
    for base in (ROOT / "crates", ROOT):
        if (base / name).is_file():
            return base / name
    return None


def check(document: str, has_functions: bool) -> tuple[list[str], int]:
    wrong, functions = [], 0
    current: tuple[str, str] | None = None
    for number, line in enumerate((ROOT / document).read_text().splitlines(), 1):
        if line.startswith("#"):
            current = None
        for word in re.findall(r"`([^`]+)`", line):
            where = f"{document}:{number}"
            if re.fullmatch(r"[\w./-]+/[\w./-]+\.rs", word):
                path = find(word)
                current = (word, path.read_text()) if path else None
                if not path and (has_functions or word.startswith("crates/")):
                    wrong.append(f"{where}: there is no file {word}")
            elif has_functions and (name := re.fullmatch(r"(\w+)\(\)", word)):
                functions += 1
                if current is None:
                    wrong.append(f"{where}: `{word}` has no file before it")
                elif not re.search(rf"\bfn {name[1]}\b", current[1]):
                    wrong.append(f"{where}: {current[0]} has no function {name[1]}")
    return wrong, functions


def main() -> int:
    wrong, functions = [], 0
    for document, has_functions in DOCUMENTS.items():
        more, count = check(document, has_functions)
        wrong += more
        functions += count
    if functions < FUNCTIONS_MIN:
        wrong.append(f"only {functions} functions were found in the documents, {FUNCTIONS_MIN} at least are expected")
    for line in wrong:
        print(f"check-architecture: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
