"""Cassandra's answers, kept in `recorded/`, so that a judge needs no Cassandra.

`scripts.json.gz` has the answers to the hand-written scripts, each with a digest of its steps: a script that has changed must be recorded again.
`cases.json.gz` has generated cases whole, as texts and answers, so that they do not change with the generator.
"""

import gzip
import hashlib
import json
import pathlib

import script
from generate import generate

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS, CASES = HERE / "recorded" / "scripts.json.gz", HERE / "recorded" / "cases.json.gz"
# Seeds that no run starts with by itself.
RECORDED_SEEDS = range(1_000_001, 1_000_051)


def scripts(names=()) -> dict:
    """The steps of the hand-written scripts, by name."""
    paths = {path.stem: path for path in sorted((HERE / "scripts").glob("*.cql"))}
    return {name: script.read(paths[name]) for name in names or paths}


def short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digest(steps: list) -> str:
    return short_digest(script.text_of(steps))


def load(path: pathlib.Path) -> dict:
    return json.loads(gzip.decompress(path.read_bytes())) if path.exists() else {}


def save(path: pathlib.Path, content: dict):
    """Sorted, compact, and the same bytes for the same content."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(content, sort_keys=True, separators=(",", ":")).encode(), 9, mtime=0))


def record_script(name: str, steps: list, answers: list):
    known = {kept: entry for kept, entry in load(SCRIPTS).items() if (HERE / "scripts" / f"{kept}.cql").exists()}
    save(SCRIPTS, {**known, name: {"digest": digest(steps), "answers": answers}})


def record_cases(pair):
    """Runs the cases of RECORDED_SEEDS and keeps the answers of `pair`'s second server."""
    content = {}
    for seed in RECORDED_SEEDS:
        steps = generate(seed)
        content[f"case-{seed}"] = {"script": script.text_of(steps), "answers": pair.run(steps)[1]}
    save(CASES, content)
