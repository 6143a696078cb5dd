"""A backup that was killed, or has failed, goes on: what it has stored is not stored again, and what a restore gives is one point in time."""

import itertools
import json
import random
import re
import signal
import threading

import pytest

from conftest import KEYSPACE, PARTS, ROWS, Tool, manifest, of, rows_in, wait_idle, wait_until
from fake_s3 import BUCKET, drop, error, hang, lose
from load import Load

PLACE = f"s3://{BUCKET}/p"
FIXED, FIXED_BYTES = 75, 40_000
RATES = ("2MiB", "512KiB", "128KiB")


def fill(session):
    """Rows of more than one chunk for each of two cores, that do not get smaller."""
    draw = random.Random(5)
    insert = session.prepare("INSERT INTO k.fixed (id, v) VALUES (?, ?)")
    rows = {number: draw.randbytes(FIXED_BYTES) for number in range(FIXED)}
    for row in rows.items():
        session.execute(insert, row)
    return rows


def fixed(session):
    return {row.id: row.v for row in session.execute("SELECT id, v FROM k.fixed")}


def stored(place):
    """Bytes of rows at a directory."""
    return sum(path.stat().st_size for path in place.glob("*.rows"))


def resume_of(place):
    return json.loads((place / "resume.json").read_text().rsplit("crc32", 1)[0])


def ended_in_the_middle(tool, place, end, *words, bytes_least=400_000):
    """Ends a backup to a directory when it has stored so much. One that had ended by itself, for this machine stalled, is followed by a slower one."""
    for rate in RATES:
        before = stored(place)
        slow = tool.start("backup", "--to", place, "--rate-limit", rate, *words)
        wait_until(lambda before=before, slow=slow: stored(place) >= before + bytes_least or slow.poll() is not None)
        end(slow)
        code, said = tool.end(slow)
        if code != 0:
            wait_idle(tool.http)
            return code, said
        for path in place.iterdir():
            path.unlink()
    raise AssertionError("no backup is slow enough")


def killed_in_the_middle(tool, place, *words, **more):
    return ended_in_the_middle(tool, place, lambda slow: slow.kill(), *words, **more)


@pytest.fixture
def source(node):
    """A server with rows, and writers that do not run yet."""
    found = node()
    found.load = Load(found.session)
    found.rows = fill(found.session)
    return found


def test_a_backup_that_is_killed_again_and_again_is_one_point_in_time(source, node, tmp_path):
    tool, load, place = of(source, tmp_path / "tool"), source.load, tmp_path / "backup"
    with load.running():
        load.wait(30)
        killed_in_the_middle(tool, place)
        code, said = tool.run("backup", "--to", place)
        assert code == 1 and "was interrupted after" in said and "give --resume to go on from them, or --restart" in said, said
        code, said = tool.run("backup", "verify", place)
        assert code == 1 and "is no whole backup" in said and "--resume" in said, said
        load.wait(30)
        # While what is there is sealed, and when rows come again.
        slow = tool.start("backup", "--to", place, "--resume", "--rate-limit", "128KiB")
        wait_until(lambda: resume_of(place)["interrupted"] or slow.poll() is not None)
        slow.kill()
        tool.end(slow)
        wait_idle(tool.http)
        sealed = resume_of(place)["interrupted"]
        first = sum(file["rows"] for file in sealed[0]["files"])
        assert len(sealed) == 1 and 0 < first, sealed
        # Rows that are gone since.
        for number in range(0, FIXED, 10):
            source.session.execute("DELETE FROM k.fixed WHERE id = %s", (number,))
            del source.rows[number]
        load.wait(30)
        killed_in_the_middle(tool, place, "--resume", bytes_least=200_000)
        load.wait(30)
        said = tool.must("backup", "--to", place, "--resume")
        assert "going on with the backup that was interrupted after" in said and "of them before it was interrupted" in said, said
        load.wait(30)
        later = tmp_path / "later"
        tool.must("backup", "--to", later, "--incremental-from", place)
    assert not (place / "resume.json").exists() and not (place / "unfinished.json").exists()
    assert "of them before it was interrupted" in tool.must("backup", "verify", place)
    assert "it goes on from" in tool.must("backup", "verify", later)
    found = manifest(place)
    assert found["format"] == 4 and len(found["interrupted"]) == 2
    # Each of the large rows is stored once.
    sizes = sum(file["bytes"] for attempt in (found, *found["interrupted"]) for file in attempt["files"])
    assert sizes < FIXED * (FIXED_BYTES + 200) + 200 * sum(load.written) * 3, sizes
    for one in (place, later):
        target = node()
        of(target, tmp_path / "restore").restore(one)
        load.check(target.session)
        assert fixed(target.session) == source.rows
    code, said = tool.run("backup", "--to", place, "--resume")
    assert code == 1 and "holds a backup already" in said, said


def test_an_incremental_backup_goes_on_and_rows_of_tables_made_meanwhile_come_back(source, node, tmp_path):
    tool, full, place = of(source, tmp_path / "tool"), tmp_path / "full", tmp_path / "backup"
    session = source.session
    session.execute("INSERT INTO k.fixed (id, v) VALUES (-1, 0x01)")
    tool.must("backup", "--to", full)
    session.execute("DELETE FROM k.fixed WHERE id = -1")
    source.rows = fill(session)  # Written later: other rows.
    words = ("--incremental-from", full)
    killed_in_the_middle(tool, place, *words)
    session.execute("DELETE FROM k.fixed WHERE id = 7")
    del source.rows[7]
    session.execute("CREATE TABLE k.late (id int PRIMARY KEY, v int)")
    session.execute("INSERT INTO k.late (id, v) VALUES (1, 2)")
    session.execute("DROP TABLE k.a")
    for other, what in (((), "it is incremental from"), (("--incremental-from", full, "--keyspace", "k"), "it is of all keyspaces, and keyspaces k are asked for")):
        code, said = tool.run("backup", "--to", place, "--resume", *other)
        assert code == 2 and what in said and "--restart" in said, said
    tool.must("backup", "--to", place, "--resume", *words)
    assert "it goes on from" in tool.must("backup", "verify", place)
    assert rows_in(place) < FIXED
    target = node()
    of(target, tmp_path / "restore").restore(place)
    assert fixed(target.session) == source.rows
    assert [(row.id, row.v) for row in target.session.execute("SELECT id, v FROM k.late")] == [(1, 2)]


def test_damage_is_found_before_and_after_it_is_sealed(source, node, tmp_path):
    tool, place = of(source, tmp_path / "tool"), tmp_path / "backup"
    killed_in_the_middle(tool, place)

    def flip(path, at):
        whole = path.read_bytes()
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])

    longest = max(place.glob("*.rows"), key=lambda path: path.stat().st_size)
    size = longest.stat().st_size
    # Not sealed yet: what follows is stored again.
    flip(longest, size // 2)
    slow = tool.start("backup", "--to", place, "--resume", "--rate-limit", "64KiB")
    wait_until(lambda: resume_of(place)["interrupted"] or slow.poll() is not None)
    slow.kill()
    _, said = tool.end(slow)
    wait_idle(tool.http)
    assert re.search(rf"from byte \d+ on {longest.name} is stored again: \w", said) and "another copy" not in said, said
    sealed = {file["name"]: file["bytes"] for attempt in resume_of(place)["interrupted"] for file in attempt["files"]}
    assert sealed and sealed.get(longest.name, 0) <= size // 2
    # Sealed: it is said, and nothing is made of it.
    name = max(sealed, key=sealed.get)
    flip(place / name, sealed[name] // 2)
    code, said = tool.run("backup", "--to", place, "--resume")
    assert code == 1 and f"the interrupted backup at {place} cannot go on: {name} is damaged at byte" in said and "--restart" in said, said
    flip(place / name, sealed[name] // 2)
    tool.must("backup", "--to", place, "--resume")
    tool.must("backup", "verify", place)
    # What follows what counts is no part of the backup.
    with open(place / name, "ab") as file:
        file.write(b"more")
    tool.must("backup", "verify", place)
    flip(place / name, sealed[name] // 2)
    for words in (("backup", "verify", place), ("restore", "--from", place)):
        code, said = tool.run(*words)
        assert code == 1 and f"{name} of the backup is damaged at byte" in said, said
    flip(place / name, sealed[name] // 2)
    target = node()
    of(target, tmp_path / "restore").restore(place)
    assert fixed(target.session) == source.rows
    # Of what goes on nothing is left when it is taken anew.
    again = tmp_path / "again"
    killed_in_the_middle(tool, again)
    (again / "resume.json").write_text("{}")
    code, said = tool.run("backup", "--to", again, "--resume")
    assert code == 1 and "resume.json is damaged" in said and "--restart" in said, said
    tool.must("backup", "--to", again, "--restart")
    assert sorted(path.name for path in again.iterdir()) == ["000.rows", "001.rows", "manifest.json", "schema.json"]


@pytest.mark.parametrize("how", ["ended", "interrupted", "truncated"])
def test_a_backup_that_fails_keeps_what_it_has_stored_if_that_is_asked_for(source, node, tmp_path, how):
    tool, place = of(source, tmp_path / "tool"), tmp_path / "backup"

    def end(slow):
        match how:
            case "ended":
                tool.must("backup", "end")
            case "interrupted":
                slow.send_signal(signal.SIGTERM)
            case "truncated":
                source.session.execute("TRUNCATE k.b")

    code, said = ended_in_the_middle(tool, place, end, "--resume")
    assert code == 1 and f"What it has stored in {place} stays there: the same command with --resume goes on from it" in said, said
    assert stored(place)
    said = tool.must("backup", "--to", place, "--resume")
    assert "going on with the backup" in said, said
    assert sum(file["rows"] for file in manifest(place)["files"]) < FIXED
    target = node()
    of(target, tmp_path / "restore").restore(place)
    assert fixed(target.session) == source.rows
    # Nothing stays where it is not.
    other = tmp_path / "other"
    code, said = ended_in_the_middle(tool, other, end)
    assert code == 1 and "stays there" not in said and not stored(other), said


def test_of_another_database_nothing_goes_on(source, node, tmp_path):
    tool, place = of(source, tmp_path / "tool"), tmp_path / "backup"
    killed_in_the_middle(tool, place)
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    foreign = node()
    Load(foreign.session)
    code, said = of(foreign, tmp_path / "tool").run("backup", "--to", place, "--resume")
    assert code == 2 and "it has none of the tables of this database" in said, said
    key = tmp_path / "key"
    key.write_text("ab" * 32)
    key.chmod(0o600)
    code, said = tool.run("backup", "--to", place, "--resume", "--encryption-key-file", key)
    assert code == 2 and "the backup is not encrypted" in said, said
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
    slow = tool.start("backup", "--to", place, "--resume", "--rate-limit", "64KiB")
    wait_until(lambda: resume_of(place)["interrupted"] or slow.poll() is not None)
    code, said = tool.run("backup", "--to", place, "--resume")
    assert code == 1 and f"another `tarndb backup` is writing to {place}" in said, said
    slow.kill()
    tool.end(slow)


NOT_DONE, DONE = "not done", "done"
# In this order each comes, once the one before was killed and the next begun.
POINTS = [
    *itertools.product(["PUT unfinished.json", "PUT resume.json"], [NOT_DONE, DONE]),
    ("POST uploads", DONE), ("PUT part", NOT_DONE), ("PUT part", DONE),
    # What the one before has sent is sealed.
    ("GET parts", NOT_DONE), ("POST complete", NOT_DONE), ("POST complete", DONE), *itertools.product(["PUT resume.json"], [NOT_DONE, DONE]),
    *itertools.product(["PUT schema.json", "GET unfinished.json"], [NOT_DONE, DONE]), ("PUT manifest.json", NOT_DONE),
]  # fmt: skip


def killed_at(fake, tool, operation, how, *words):
    """Kills the tool when it has asked S3 for this, which is not done, or done and not answered. What it has said."""
    reached = threading.Event()

    def stop(handler, serve):
        if how == DONE:
            serve()
        reached.set()
        hang(handler, serve)

    fake.faults = [(operation, stop, 1)]
    slow = tool.start("backup", "--to", PLACE, *PARTS, "--resume", *words)
    wait_until(lambda: reached.is_set() or slow.poll() is not None)
    slow.kill()
    code, said = tool.end(slow)
    assert reached.is_set(), (operation, how, code, said)
    fake.faults = []
    wait_idle(tool.http)


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_backup_to_s3_goes_on_wherever_it_was_killed(database, fake, tool, node, tmp_path, encrypted):
    key, other = tmp_path / "key", tmp_path / "other"
    for path, digits in ((key, "ab"), (other, "cd")):
        path.write_text(digits * 32)
        path.chmod(0o600)
    words = ("--encryption-key-file", key) if encrypted else ()
    for operation, how in POINTS:
        killed_at(fake, tool, operation, how, *words)
        assert "p/unfinished.json" in fake.objects or operation == "PUT unfinished.json"
    if encrypted:
        for wrong, what in (((), "is encrypted under master key"), (("--encryption-key-file", other), "is encrypted under master key")):
            code, said = tool.backup(PLACE, "--resume", *wrong)
            assert code == 2 and what in said, said
    fake.asked.clear()
    said = tool.must("backup", "--to", PLACE, *PARTS, "--resume", *words)
    assert "going on with the backup that was interrupted after" in said and "PUT part" not in fake.asked, said
    assert "p/resume.json" not in fake.objects and "p/unfinished.json" not in fake.objects and not fake.uploads
    text = fake.objects["p/manifest.json"].rsplit(b"crc32", 1)[0]
    found = json.loads(text)
    assert found["format"] == 4 and sum(file["rows"] for attempt in (found, *found["interrupted"]) for file in attempt["files"]) == ROWS
    assert not encrypted or len({attempt["encryption"]["wrapped"] for attempt in (found, *found["interrupted"])}) == 1 + len(found["interrupted"])
    tool.must("backup", "verify", PLACE, *words)
    target = node()
    Tool(target.http, fake.url, tmp_path).restore(PLACE, *words)
    assert {row.id: row.v for row in target.session.execute("SELECT id, v FROM k.t")} == database.rows
    # A bit of what an interrupted attempt has stored.
    name = found["interrupted"][0]["files"][0]["name"]
    whole = fake.objects[f"p/{name}"]
    fake.objects[f"p/{name}"] = whole[:50] + bytes([whole[50] ^ 1]) + whole[51:]
    code, said = tool.run("backup", "verify", PLACE, *words)
    assert code == 1 and f"{name} of the backup is damaged at byte 0" in said, said


def test_a_backup_that_is_killed_after_its_manifest_is_whole(fake, tool):
    killed_at(fake, tool, "PUT manifest.json", DONE)
    tool.must("backup", "verify", PLACE)
    code, said = tool.backup(PLACE, "--resume")
    assert code == 1 and "holds a backup already" in said, said


def test_of_two_that_go_on_at_once_one_is_refused(fake, tool):
    killed_at(fake, tool, "POST complete", NOT_DONE)

    def another(handler, serve):
        handler.server.objects["p/unfinished.json"] = b"another's"
        handler.say(serve())

    fake.faults = [("PUT unfinished.json", another, 1)]
    before = dict(fake.objects)
    code, said = tool.backup(PLACE, "--resume")
    assert code == 1 and f"another `tarndb backup` is writing to {PLACE}" in said, said
    assert fake.objects == {**before, "p/unfinished.json": b"another's"}


RESUMING = ["HEAD unfinished.json", "PUT unfinished.json", "GET resume.json", "GET uploads", "GET parts", "POST complete", "GET 000.rows", "PUT resume.json", "DELETE resume.json"]


@pytest.mark.parametrize("failure", [drop, lose, error(503, "SlowDown")])
def test_what_passes_while_a_backup_goes_on_is_passed_over(fake, tool, failure):
    killed_at(fake, tool, "POST complete", NOT_DONE)
    fake.faults = [(operation, failure, 1) for operation in RESUMING]
    code, said = tool.backup(PLACE, "--resume")
    assert code == 0 and not fake.faults, (said, fake.faults)
    tool.must("backup", "verify", PLACE)
