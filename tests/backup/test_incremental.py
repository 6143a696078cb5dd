"""Chains of backups: what a restore gives is what was there at the last cut, whatever became of rows in between."""

import contextlib
import hashlib
import json
import pathlib
import random
import shutil
import signal
import threading
import zlib

from conftest import KEYSPACE, ROWS, SECONDS_MAX, Tool, manifest, of, rows_in, wait_until
from fake_s3 import BUCKET, hang
from load import Load

TABLES = {
    "k.wide": ("(id int, n int, v text, s text static, PRIMARY KEY (id, n))", "id, n, v, s, writetime(v), ttl(v), writetime(s)"),
    "k.narrow": ("(id int PRIMARY KEY, v text, w int, l list<int>, m map<int, text>)", "id, v, w, l, m, writetime(v), writetime(w)"),
    "k.short": ("(id int PRIMARY KEY, v text) WITH gc_grace_seconds = 0", "id, v, writetime(v)"),
    "k.emptied": ("(id int PRIMARY KEY, v text)", "id, v, writetime(v)"),
    "k.again": ("(id int PRIMARY KEY, v text)", "id, v, writetime(v)"),
    "k.dropped": ("(id int PRIMARY KEY, v text)", "id, v, writetime(v)"),
    "k.still": ("(id int PRIMARY KEY, v text)", "id, v, writetime(v)"),
}


def create(session):
    session.execute(KEYSPACE.format("k"))
    for name, (columns, _) in TABLES.items():
        session.execute(f"CREATE TABLE {name} {columns}")
    session.execute("CREATE INDEX ON k.narrow (w)")
    for number in range(60):
        for n in range(5):
            session.execute("INSERT INTO k.wide (id, n, v, s) VALUES (%s, %s, %s, %s)", (number, n, f"v{n}", f"s{n}"))
        session.execute("INSERT INTO k.narrow (id, v, w, l, m) VALUES (%s, %s, %s, %s, %s)", (number, "v", number % 5, [1, 2, 3], {1: "a", 2: "b"}))
        for name in ("short", "emptied", "again", "dropped", "still"):
            session.execute(f"INSERT INTO k.{name} (id, v) VALUES (%s, %s)", (number, name))


def change(session, draw):
    """A day's changes, deletions of each kind among them."""
    for number in draw.sample(range(60), 12):
        match number % 6:
            case 0:
                session.execute("DELETE FROM k.wide WHERE id = %s", (number,))
            case 1:
                session.execute("DELETE FROM k.wide WHERE id = %s AND n > 2", (number,))
            case 2:
                session.execute("DELETE FROM k.wide WHERE id = %s AND n = 1", (number,))
            case 3:
                session.execute("DELETE v FROM k.wide WHERE id = %s AND n = 1", (number,))
                session.execute("DELETE s FROM k.wide WHERE id = %s", (number,))
            case 4:
                session.execute("UPDATE k.wide USING TTL 3600 SET v = 'short-lived' WHERE id = %s AND n = 9", (number,))
                session.execute("INSERT INTO k.short (id, v) VALUES (%s, 'gone') USING TTL 1", (number,))
            case 5:
                session.execute("UPDATE k.narrow SET w = 3, l = l + [4], m[2] = null WHERE id = %s", (number,))
        session.execute("DELETE FROM k.short WHERE id = %s", ((number + 7) % 60,))
        session.execute("DELETE FROM k.narrow WHERE id = %s", ((number + 11) % 60,))
        session.execute("BEGIN BATCH UPDATE k.narrow SET v = 'batch' WHERE id = 200; INSERT INTO k.still (id, v) VALUES (200, 'batch'); APPLY BATCH")
    # What expires has done so when it is looked at.
    wait_until(lambda: all(row.v != "gone" for row in session.execute("SELECT v FROM k.short")))


def test_a_chain_gives_the_rows_of_each_cut(node, tmp_path):
    source = node()
    session, tool, draw = source.session, of(source, tmp_path / "tool"), random.Random(11)
    create(session)
    tables = {name: columns for name, (_, columns) in TABLES.items()}
    places, wanted = [], []

    def take():
        place = tmp_path / f"backup-{len(places)}"
        tool.must("backup", "--to", place, *(("--incremental-from", places[-1]) if places else ()))
        places.append(place)
        wanted.append((dict(tables), source.rows(tables)))

    take()
    change(session, draw)
    take()
    assert 0 < rows_in(places[1]) < rows_in(places[0]) / 2
    # Those that are there once more come back with other ids, and with fewer rows.
    session.execute("TRUNCATE k.emptied")
    session.execute("INSERT INTO k.emptied (id, v) VALUES (1, 'first')")
    session.execute("DROP TABLE k.dropped")
    del tables["k.dropped"]
    session.execute("DROP TABLE k.again")
    session.execute("CREATE TABLE k.again (id int PRIMARY KEY, v text)")
    session.execute("INSERT INTO k.again (id, v) VALUES (1, 'again')")
    session.execute(KEYSPACE.format("later"))
    session.execute("CREATE TABLE later.t (id int PRIMARY KEY, v text)")
    session.execute("INSERT INTO later.t (id, v) VALUES (1, 'later')")
    tables["later.t"] = "id, v, writetime(v)"
    take()
    # A restart, after which tombstones may be purged, and rows that come back as they were.
    source.restart()
    session, tool = source.session, of(source, tmp_path / "tool")
    change(session, draw)
    take()
    take()
    assert rows_in(places[4]) == 0
    said = tool.must("backup", "verify", places[4])
    assert said.count("it goes on from") == 4 and f"it goes on from {places[0]}: " in said, said
    for place, (names, rows) in zip(places, wanted, strict=True):
        target = node()
        of(target, tmp_path / "restore").restore(place)
        found = target.rows(names)
        for name, expected in rows.items():
            assert found[name] == expected, (place, name)
    # Of one table.
    target = node()
    of(target, tmp_path / "restore").restore(places[4], "--table", "k.narrow")
    assert target.rows({"k.narrow": tables["k.narrow"]}) == {name: wanted[4][1][name] for name in ("k.narrow", "index")}


def test_a_chain_under_load_is_one_point_in_time(node, tmp_path):
    source = node()
    tool, load = of(source, tmp_path / "tool"), Load(source.session)
    for number in range(200):
        source.session.execute("INSERT INTO k.fixed (id, v) VALUES (%s, %s)", (number, bytes(2000)))
    places, before = [], []
    with load.running():
        for number in range(4):
            before.append(load.count())
            load.wait(30)
            places.append(tmp_path / f"backup-{number}")
            tool.must("backup", "--to", places[-1], *(("--incremental-from", places[-2]) if number else ()))
    # Of what was written meanwhile, which is more where a backup takes longer.
    assert rows_in(places[3]) < max(5000, 3 * (load.count() - before[2]))
    for place in (places[1], places[3]):
        target = node()
        of(target, tmp_path / "restore").restore(place)
        load.check(target.session)
        assert target.session.execute("SELECT count(*) FROM k.fixed").one()[0] == 200


def test_links_that_are_missing_changed_or_of_others_are_refused(node, tmp_path):
    source = node()
    session, tool = source.session, of(source, tmp_path / "tool")
    session.execute(KEYSPACE.format("k"))
    session.execute("CREATE TABLE k.t (id int PRIMARY KEY, v text)")
    chain = tmp_path / "chain"
    chain.mkdir()
    full, first, second = (chain / name for name in ("full", "first", "second"))
    for number, (place, before) in enumerate(((full, None), (first, full), (second, first))):
        session.execute("INSERT INTO k.t (id, v) VALUES (%s, 'v')", (number,))
        tool.must("backup", "--to", place, *(("--incremental-from", before) if before else ()))
    other = tmp_path / "other"
    tool.must("backup", "--to", other)
    for words in (("backup", "verify", second), ("restore", "--from", second, "--progress", tmp_path / "p"), ("backup", "--to", tmp_path / "third", "--incremental-from", second)):
        full.rename(tmp_path / "aside")
        code, said = tool.run(*words)
        assert code == 1 and f"{first} goes on from the backup that was at {full}, which is not there: {full} has no manifest.json; put" in said, said
        shutil.copytree(other, full)
        code, said = tool.run(*words)
        assert code == 1 and f"{full} holds another backup" in said, said
        shutil.rmtree(full)
        (tmp_path / "aside").rename(full)
    file = next(path for path in sorted(full.glob("*.rows")) if path.stat().st_size)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    code, said = tool.run("backup", "verify", second)
    assert code == 1 and f"{full}, which the backup goes on from: {file.name} of the backup is damaged" in said, said
    file.write_bytes(whole)
    # Moved together they find each other, wherever the first ones are now.
    moved = tmp_path / "moved"
    chain.rename(moved)
    shutil.copytree(other, tmp_path / "chain" / "full")
    assert "it goes on from" in tool.must("backup", "verify", moved / "second")
    # Another database, and none at all.
    foreign = node()
    foreign.session.execute(KEYSPACE.format("k"))
    foreign.session.execute("CREATE TABLE k.t (id int PRIMARY KEY, v text)")
    code, said = of(foreign, tmp_path / "tool").run("backup", "--to", tmp_path / "x", "--incremental-from", moved / "full")
    assert code == 2 and "has none of the tables of this database" in said and not (tmp_path / "x").exists(), said
    code, said = tool.run("backup", "--to", tmp_path / "x", "--incremental-from", tmp_path / "nothing")
    assert code == 1 and "nothing is no whole backup" in said, said


def has_heard(process, how):
    """Whether it has taken a signal."""
    try:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True  # It has ended.
    return not int(status.split("ShdPnd:")[1].split()[0], 16) >> (how - 1) & 1


def test_an_interruption_ends_the_second_reading_of_a_chain(node, fake, tmp_path):
    source = node()
    source.session.execute(KEYSPACE.format("k"))
    source.session.execute("CREATE TABLE k.t (id int PRIMARY KEY, v text)")
    for number in range(100):
        source.session.execute("INSERT INTO k.t (id, v) VALUES (%s, 'v')", (number,))
    tool = Tool(source.http, fake.url, tmp_path)
    full, second = f"s3://{BUCKET}/full", f"s3://{BUCKET}/second"
    tool.must("backup", "--to", full)
    source.session.execute("TRUNCATE k.t")
    tools, started, asked = [], threading.Event(), fake.asked

    def read(handler, serve):
        assert started.wait(SECONDS_MAX)
        if "GET 001.rows" in asked and tools:
            asked.clear()
            slow = tools.pop()
            slow.send_signal(signal.SIGTERM)
            wait_until(lambda: has_heard(slow, signal.SIGTERM))
        handler.say(serve())

    asked.clear()
    fake.faults = [("GET 000.rows", read, 2)]
    slow = tool.start("backup", "--to", second, "--incremental-from", full)
    tools.append(slow)
    started.set()
    code, said = tool.end(slow)
    assert code == 1 and "the backup has ended early: it was interrupted" in said, said
    assert not fake.faults and "GET 001.rows" not in asked
    assert {name.split("/")[0] for name in fake.objects} == {"full"}


def test_a_chain_in_s3_is_encrypted_and_a_killed_restore_of_it_goes_on(database, fake, tool, tmp_path, node):
    key = tmp_path / "key"
    key.write_text("cd" * 32)
    key.chmod(0o600)
    encrypted = ("--encryption-key-file", key)
    full, second = f"s3://{BUCKET}/full", f"s3://{BUCKET}/second"
    tool.must("backup", "--to", full, *encrypted)
    changed = {number: b"changed" for number in range(0, ROWS, 3)}
    for number in changed:
        database.session.execute("INSERT INTO k.t (id, v) VALUES (%s, %s)", (number, b"changed"))
        database.session.execute("DELETE FROM k.t WHERE id = %s", (number + 1,))
    try:
        tool.must("backup", "--to", second, "--incremental-from", full, *encrypted)
        wanted = {number: changed.get(number, row) for number, row in database.rows.items() if number % 3 != 1}
    finally:
        for row in database.rows.items():
            database.session.execute("INSERT INTO k.t (id, v) VALUES (%s, %s)", row)
    target = node()
    other = Tool(target.http, fake.url, tmp_path)
    progress = tmp_path / "progress"

    def is_late():
        with contextlib.suppress(FileNotFoundError):
            return json.loads(progress.read_text())["file"] >= 3
        return False

    def held(handler, serve):
        hang(handler, serve) if is_late() else handler.say(serve())

    # It gets no further than this, however late it is killed.
    fake.faults = [("*", held, 1_000_000)]
    slow = other.start("restore", "--from", second, "--progress", progress, *encrypted, "--rate-limit", "2MiB")
    try:
        wait_until(lambda: is_late() or slow.poll() is not None)
    finally:
        slow.kill()
        slow.communicate()
    fake.faults = []
    assert "going on with the restore" in other.restore(second, *encrypted)
    assert {row.id: row.v for row in target.session.execute("SELECT id, v FROM k.t")} == wanted
    # A link of another chain does not open, whatever the manifest says.
    other = f"s3://{BUCKET}/other"
    tool.must("backup", "--to", other, *encrypted)
    whole, name = dict(fake.objects), "second/manifest.json"
    fake.objects["full/manifest.json"] = whole["other/manifest.json"]
    code, said = tool.run("backup", "verify", second, *encrypted)
    assert code == 1 and f"{full} holds another backup" in said, said
    digests = [hashlib.sha256(whole[f"{place}/manifest.json"]).hexdigest().encode() for place in ("full", "other")]
    assert digests[0] in whole[name]
    text = whole[name].replace(*digests).rsplit(b"crc32", 1)[0]
    fake.objects[name] = text + f"crc32 {zlib.crc32(text):08x}\n".encode()
    code, said = tool.run("backup", "verify", second, *encrypted)
    assert code == 1 and "schema.json of the backup is damaged" in said and "the manifest was changed" in said, said
    fake.objects.update(whole)
    tool.must("backup", "verify", second, *encrypted)
    del fake.objects["full/manifest.json"]
    code, said = tool.run("backup", "verify", second, *encrypted)
    assert code == 1 and f"{second} goes on from the backup that was at {full}" in said, said
