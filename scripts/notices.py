#!/usr/bin/env python3
"""Writes THIRD-PARTY-NOTICES: the licences and copyright notices of everything that is linked into the binary `tarndb`.

    scripts/notices.py            writes the file
    scripts/notices.py --check    fails if it is not what would be written

Which crates are linked is what cargo resolves for `tarndb-server` on Linux, without what only builds or expands macros. Their texts come from the
sources that cargo has on disk: no network. Where a crate may be used under one of several licences, the one named first in CHOICE is taken.
"""

import collections
import difflib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
NOTICES = ROOT / "THIRD-PARTY-NOTICES"
TARGETS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]
# Of several licences the first of these: those whose texts name the holders of the copyright.
CHOICE = ["MIT", "BSD-3-Clause", "BSD-2-Clause", "ISC", "Zlib", "Apache-2.0"]
# How the files of a licence are called, beside those that belong to every choice.
FILES = {
    "MIT": r"MIT",
    "Apache-2.0": r"APACHE",
    "BSD-3-Clause": r"BSD",
    "BSD-2-Clause": r"BSD",
    "ISC": r"ISC",
    "Zlib": r"ZLIB",
    "MPL-2.0": r"MPL",
}
LICENCE = re.compile(r"^(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)([-_.].*)?$", re.IGNORECASE)
# Folders whose licences are of what tests, documents or builds.
SKIPPED = {"tests", "test", "testdata", "benches", "examples", "doc", "docs", "target", "fuzz", "contrib", "programs", "build-aux", "cmake", "go"}
# A text that is another offer of the same sources, not taken.
NOT_TAKEN = re.compile(r"GNU GENERAL PUBLIC LICENSE")
WIDTH = 100


def cargo(*arguments: str) -> str:
    done = subprocess.run(["cargo", *arguments, "--locked", "--offline"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"notices: {done.stderr.strip()}")
    return done.stdout


def linked() -> set:
    """Name and version of each crate that is linked into the binary."""
    crates = set()
    for target in TARGETS:
        tree = cargo("tree", "--package", "tarndb-server", "--edges", "normal,no-proc-macro", "--target", target, "--prefix", "none", "--format", "{p}")
        crates |= {tuple(line.split()[:2]) for line in tree.splitlines() if line and "(proc-macro)" not in line}
    return {(name, version.removeprefix("v")) for name, version in crates if not name.startswith("tarndb-")}


def packages() -> dict:
    """What cargo knows of each crate, by name and version."""
    found = {}
    for target in TARGETS:
        metadata = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", target))
        found |= {(package["name"], package["version"]): package for package in metadata["packages"]}
    return found


def chosen(expression: str) -> list:
    """The licences that are taken of an SPDX expression: one of each group of alternatives, all that are joined by AND."""
    parts = [part.strip("() ") for part in re.split(r"\bAND\b", expression.replace("/", " OR "))]
    taken = []
    for part in parts:
        offered = [one.strip("() ") for one in re.split(r"\bOR\b", part)]
        taken.append(next((one for one in CHOICE if one in offered), offered[0]))
    return taken


def texts(package: dict) -> list:
    """The texts of the licences that are taken, and all notices, from the crate's own files."""
    folder = pathlib.Path(package["manifest_path"]).parent
    taken = chosen(package["license"] or "")
    others = [name for one, name in FILES.items() if one not in taken]
    mine = [FILES[one] for one in taken if one in FILES]
    found = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if not path.is_file() or not LICENCE.match(path.name) or SKIPPED & {part.lower() for part in inside.parts[:-1]} or path.suffix in (".rs", ".py", ".m4"):
            continue
        name = path.name.upper()
        if name.startswith("UNLICENSE") or (any(other in name for other in others) and not any(one in name for one in mine)):
            continue
        text = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip("\n")
        if not NOT_TAKEN.search(text[:400]) and text:
            found.append((inside.as_posix(), "\n".join(line.rstrip() for line in text.splitlines())))
    return found


def standard(licence: str, holders: str) -> str:
    """The text for what brings none along: Apache's as TarnDB's own copy has it, MIT's with the holders of the copyright."""
    if licence == "Apache-2.0":
        return (ROOT / "LICENSE").read_text(encoding="utf-8").strip("\n")
    if licence == "MIT":
        return (ROOT / "third_party/licences/MIT.txt").read_text(encoding="utf-8").strip("\n").replace("{holders}", holders)
    sys.exit(f"notices: a crate of {holders} under {licence} brings no text along, and none is in third_party/licences")


def notices() -> str:
    known = packages()
    used_by = collections.defaultdict(list)
    crates = sorted(linked())
    listed = []
    for key in crates:
        package = known[key]
        name = f"{key[0]} {key[1].split('+')[0]}"
        taken = chosen(package["license"] or "")
        listed.append((name, " and ".join(taken), package.get("repository") or ""))
        found = texts(package)
        if not found:
            holders = ", ".join(re.sub(r" <.*>", "", author) for author in package["authors"]) or f"the authors of {key[0]}"
            found = [("", standard(licence, holders)) for licence in taken]
        for _, text in found:
            used_by[text].append(name)
    extra = [
        ("Rust's standard library", "MIT", "https://github.com/rust-lang/rust", standard("MIT", "The Rust Project Contributors")),
        ("uPlot 1.6.32", "MIT", "https://github.com/leeoniya/uPlot", (ROOT / "third_party/uplot-1.6.32/LICENSE").read_text(encoding="utf-8").strip("\n")),
    ]
    for name, licence, place, text in extra:
        listed.append((name, licence, place))
        used_by[text].append(name)
    lines = [
        "Notices of third parties",
        "",
        "The program tarndb contains these works of others, each under the licence named beside it. The texts follow,",
        "each with the works that it is of. Written by scripts/notices.py from the sources that are built.",
        "",
    ]
    lines += [f"  {name:<32} {licence:<24} {place}".rstrip() for name, licence, place in listed]
    for text, users in sorted(used_by.items(), key=lambda entry: entry[1]):
        lines += ["", "=" * WIDTH]
        lines += wrapped(sorted(set(users)))
        lines += ["-" * WIDTH, "", text]
    return "\n".join(lines) + "\n"


def wrapped(names: list) -> list:
    lines = [""]
    for name in names:
        part = name if name == names[-1] else f"{name},"
        if len(lines[-1]) + 1 + len(part) > WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {part}".strip()
    return lines


def main() -> int:
    wanted = notices()
    if sys.argv[1:] == ["--check"]:
        there = NOTICES.read_text(encoding="utf-8") if NOTICES.exists() else ""
        if there == wanted:
            print(f"notices: THIRD-PARTY-NOTICES is of what is linked ({wanted.count('=' * WIDTH)} texts)")
            return 0
        changes = difflib.unified_diff(there.splitlines(), wanted.splitlines(), "THIRD-PARTY-NOTICES", "what is linked", n=0, lineterm="")
        print(*list(changes)[:20], sep="\n", file=sys.stderr)
        print("notices: THIRD-PARTY-NOTICES is not of what is linked; scripts/notices.py writes it", file=sys.stderr)
        return 1
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    NOTICES.write_text(wanted, encoding="utf-8")
    print(f"notices: {NOTICES.name}: {len(wanted)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
