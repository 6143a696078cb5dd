"""The fault matrix: every file of a data directory x what can happen to it x who has it x how its node ended.

A cell expects one of
    WORKS           the node starts and has every row
    REPORTS         it starts, every row but a few is there; for these there is an error, or the log and `damaged_records` say that stored data is damaged
    refuses(C, W)   it ends with code C and names W; nothing is written over, so that with the file back it works

Nothing else is right: not a panic, not a row that is gone in silence. TARNDB_TEST_LONG=1 runs all cells; otherwise the files of the shard, and the
first faults of the others, on a single node that was killed.

"Unreadable" and "read-only" must be felt: where the tests run as root the node of such a cell runs as nobody (`setpriv`), who owns the directory.
"""

import concurrent.futures
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import types
import urllib.request

import pytest

import directories
import faults
from directories import Node

LONG = os.environ.get("TARNDB_TEST_LONG", "") not in ("", "0")
WORKERS = int(os.environ.get("TARNDB_TEST_FAULTS_WORKERS", "3"))
WORKS, REPORTS = "works", "reports"
TOPOLOGIES = {"single": (), "member": ("--node-port", "0"), "devices": ()}
ENDINGS = {"ended": signal.SIGTERM, "killed": signal.SIGKILL}
BUFFER, DATA = "shard-0.buffer", "shard-0.data"


def refuses(code: int, *words: str):
    return ("refuses", code, words)


ANYWHERE = {
    faults.missing: WORKS, faults.empty: WORKS, faults.truncated: WORKS, faults.one_bit: WORKS, faults.older: WORKS, faults.of_another: WORKS,
}


def small(name: str) -> dict:
    """A small file that has a second copy: a fault in one of the two costs nothing."""
    return ANYWHERE | {faults.unreadable: WORKS, faults.read_only: WORKS, faults.directory_instead: WORKS}


def data(name: str) -> dict:
    gone = refuses(4, name, "--accept-data-loss")
    return {
        faults.missing: gone, faults.empty: gone, faults.truncated: gone, faults.truncated_at_segment: gone, faults.older: gone,
        faults.of_another: refuses(4, name, "belongs to store"), faults.one_bit: REPORTS, faults.one_bit_of_header: WORKS,
        faults.one_bit_of_checkpoint: WORKS, faults.longer: WORKS, faults.unreadable: refuses(3, name), faults.read_only: refuses(3, name),
        faults.directory_instead: refuses(3, name),
    }


def buffer(ending: str) -> dict:
    """After an orderly end nothing in it is needed; after another one it has the last acknowledged writes."""
    lost = WORKS if ending == "ended" else refuses(4, BUFFER, "--accept-data-loss")
    return {
        faults.missing: lost, faults.empty: lost, faults.truncated: lost, faults.truncated_at_segment: lost, faults.older: lost,
        faults.of_another: lost, faults.one_bit: WORKS if ending == "ended" else REPORTS, faults.longer: refuses(3, BUFFER),
        faults.unreadable: refuses(3, BUFFER), faults.read_only: refuses(3, BUFFER), faults.directory_instead: refuses(3, BUFFER),
    }


LOCK = ANYWHERE | {
    faults.unreadable: refuses(3, "data directory"), faults.read_only: refuses(3, "data directory"), faults.directory_instead: refuses(3, "data directory"),
}


def of_device(name: str) -> dict:
    """A file in the place of a block device: its superblock says whose it is and how long."""
    return data(name) | {
        faults.missing: refuses(3, name), faults.empty: refuses(3, name, "its data is missing"), faults.truncated: refuses(3, name, "give the right device"),
        faults.truncated_at_segment: refuses(3, name, "give the right device"), faults.older: refuses(4, "devices", "--accept-data-loss"),
        faults.of_another: refuses(3, name, "of another store"), faults.one_bit_of_header: WORKS,
    }


def both_copies(name: str) -> dict:
    lost = refuses(4, name)
    return {faults.missing: lost, faults.empty: lost, faults.truncated: lost, faults.one_bit: lost}


def expectations(file: str, ending: str) -> dict:
    name = pathlib.Path(file.split("+")[-1]).name
    if "+" in file:
        return both_copies(name)
    if name == "LOCK":
        return LOCK
    if name == DATA:
        return data(name)
    if name == BUFFER:
        return buffer(ending)
    if name == "device":
        return of_device(name)
    return small(name)


# By topology: which files there are. A file that a directory turns out to have besides fails `test_the_table_has_every_file`.
SMALL = ["identity", "manifest", "schema.json", "truncations-0"]
# `replication-0` is there once a member has written it.
OF_MEMBER = ["identity", "manifest", "schema.json", "metadata-log", "metadata-snapshot", "replication-0"]


def files_of(topology: str) -> list[str]:
    blobs = OF_MEMBER if topology == "member" else SMALL
    copies = [f"{directory}/{blob}" for directory in ("blobs", "blobs-copy") for blob in blobs]
    both = ["layout-copy.toml+layout.toml", *(f"blobs-copy/{blob}+blobs/{blob}" for blob in blobs if blob != "manifest")]
    return ["LOCK", "layout.toml", "layout-copy.toml", *copies, *both, BUFFER, "device" if topology == "devices" else DATA]


FIRST_FAULTS = (faults.missing, faults.one_bit)


def cells():
    for topology, ending in itertools.product(TOPOLOGIES, ENDINGS):
        for file in files_of(topology):
            shard = file in (DATA, BUFFER, "device")
            for fault, expected in expectations(file, ending).items():
                if LONG or (topology == "single" and ending == "killed" and (shard or fault in FIRST_FAULTS)):
                    yield (topology, ending, file, fault), expected


CELLS = dict(cells())


def name_of(cell) -> str:
    topology, ending, file, fault = cell
    return f"{topology}-{ending}-{file.replace('/', '.')}-{fault.__name__}"


# What a test without parameters has in place of them.
NO_CELL = types.SimpleNamespace(params={})


class Templates:
    """Directories that cells copy, made when the first cell needs one."""

    def __init__(self, root: pathlib.Path):
        self.root, self.made = root, {}

    def get(self, topology: str, ending: str) -> dict[str, pathlib.Path]:
        key = (topology, ending)
        if key not in self.made:
            directory, another = self.root / f"{topology}-{ending}", self.root / f"{topology}-{ending}-another"
            made = directories.make(directory, flags_of(topology, directory), ENDINGS[ending])
            directories.make(another, flags_of(topology, another), ENDINGS[ending])
            self.made[key] = {"now": made[0], "older": made[1], "another": another}
        return self.made[key]


def flags_of(topology: str, directory: pathlib.Path) -> list[str]:
    flags = list(TOPOLOGIES[topology])
    return [*flags, "--devices", f"{directory / 'device'}=512MiB"] if topology == "devices" else flags


@pytest.fixture(scope="session")
def outcomes(run_directory, request):
    """What has become of each selected cell; they run side by side, as they mostly wait."""
    asked_for = [item.callspec.params["cell"] for item in request.session.items if "cell" in getattr(item, "callspec", NO_CELL).params]
    templates = Templates(run_directory)
    for topology, ending in {cell[:2]: None for cell in asked_for}:
        templates.get(topology, ending)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        futures = {
            cell: pool.submit(run, templates, run_directory / f"cell-{number}", cell, CELLS[cell]) for number, cell in enumerate(asked_for)
        }
        return {cell: future.exception() for cell, future in futures.items()}


def run(templates: Templates, directory: pathlib.Path, cell, expected):
    topology, ending, file, fault = cell
    template = templates.get(topology, ending)
    nobody = fault in faults.FELT_BY_OTHERS and os.geteuid() == 0
    if nobody and shutil.which("setpriv") is None:
        pytest.skip("root feels no permissions, and there is no setpriv")
    directories.copy(template["now"], directory)
    names = file.split("+")
    if not all(place_of(directory, name).exists() for name in names):
        pytest.skip(f"there is no {file}")
    node = Node(directory, flags_of(topology, directory), nobody)
    try:
        if nobody:
            subprocess.run(["chown", "-R", f"{directories.NOBODY}:{directories.NOBODY}", str(directory)], check=True)
        try:
            for name in names:
                fault(place_of(directory, name), place_of(template["older"], name), place_of(template["another"], name))
        except faults.NotPossible as why:
            pytest.skip(str(why))
        check(node, expected)
        if expected[0] == "refuses" and fault in (faults.missing, faults.truncated, faults.older, faults.empty):
            # With the file back everything is there: the refusal has written nothing over.
            for name in names:
                place_of(directory, name).unlink(missing_ok=True)
                directories.copy(place_of(template["now"], name), place_of(directory, name))
            check(node, WORKS)
    finally:
        node.end(signal.SIGKILL)
    directories.delete(directory)


def place_of(directory: pathlib.Path, file: str) -> pathlib.Path:
    return directory / file if file == "device" else directory / "data" / file


def check(node: Node, expected):
    ended = node.start()
    if expected in (WORKS, REPORTS):
        assert ended is None, f"ended with {ended.code}\n{ended.log[-3000:]}"
        found, failed = directories.read(node)
        wrong = {key: value for key, value in found.items() if directories.all_rows().get(key) != value}
        gone = directories.all_rows().keys() - found.keys()
        assert not wrong, f"rows that nobody wrote: {list(wrong.items())[:5]}"
        log = node.log()
        assert "panicked" not in log
        if expected == WORKS:
            assert not gone and not failed, f"{len(gone)} rows are gone, such as {sorted(gone)[:3]}; {failed} failed\n{log[-3000:]}"
        else:
            assert 1 <= len(gone) <= 3, f"{len(gone)} rows are gone\n{log[-3000:]}"
            with urllib.request.urlopen(f"http://{node.ready['http']}/status", timeout=120) as answer:
                damaged = sum(core["damaged_records"] for core in json.load(answer)["cores"])
            # Whoever asks for the row is told, or the start has said so.
            assert failed >= len(gone) or "stored data is damaged" in log and damaged > 0, log[-3000:]
        node.end(signal.SIGTERM)
        return
    _, code, words = expected
    assert ended is not None, f"it started; expected was {expected}\n{node.log()[-3000:]}"
    assert ended.code == code, f"ended with {ended.code}, expected was {expected}\n{ended.log[-3000:]}"
    assert all(word in ended.log for word in words), f"it does not say {words}\n{ended.log[-3000:]}"


@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_cell(cell, outcomes):
    failure = outcomes[cell]
    if failure is not None:
        raise failure


@pytest.mark.parametrize("topology", TOPOLOGIES if LONG else ["single"])
def test_the_table_has_every_file(topology, run_directory):
    directory = run_directory / f"files-of-{topology}"
    directories.make(directory, flags_of(topology, directory), signal.SIGTERM)
    there = {str(path.relative_to(directory / "data")) for path in (directory / "data").rglob("*") if path.is_file()}
    assert there - set(files_of(topology)) == set(), "a file that no cell of the matrix touches"
