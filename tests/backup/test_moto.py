"""Backups to and from an S3 as it should be: moto's server."""

import signal

import pytest

from conftest import PARTS, ROWS, Tool, s3_client, wait_idle, wait_until
from fake_s3 import BUCKET

FILES = ["000.rows", "001.rows", "manifest.json", "schema.json"]


class Place:
    """A prefix of the bucket that is a test's own."""

    def __init__(self, url, prefix):
        self.url, self.client, self.prefix, self.name = url, s3_client(url), prefix, f"s3://{BUCKET}/{prefix}"

    def names(self):
        found = self.client.list_objects_v2(Bucket=BUCKET, Prefix=f"{self.prefix}/").get("Contents", [])
        return sorted(entry["Key"].removeprefix(f"{self.prefix}/") for entry in found)

    def uploads(self):
        return self.client.list_multipart_uploads(Bucket=BUCKET, Prefix=f"{self.prefix}/").get("Uploads", [])

    def parts(self, upload):
        return self.client.list_parts(Bucket=BUCKET, Key=upload["Key"], UploadId=upload["UploadId"]).get("Parts", [])

    def get(self, name):
        return self.client.get_object(Bucket=BUCKET, Key=f"{self.prefix}/{name}")["Body"].read()

    def put(self, name, body):
        self.client.put_object(Bucket=BUCKET, Key=f"{self.prefix}/{name}", Body=body)


@pytest.fixture
def place(moto, request):
    return Place(moto, f"of {request.node.name}/ä&b")


@pytest.fixture
def tool(database, moto, tmp_path):
    return Tool(database.http(), moto, tmp_path)


def test_a_backup_goes_to_s3_in_parts_and_comes_back_whole(tool, place, database):
    code, said = tool.backup(place.name)
    assert code == 0 and f"backed up to {place.name} in " in said, said
    assert place.names() == FILES and not place.uploads()
    # Tags of objects in parts end with their number.
    tags = [place.client.head_object(Bucket=BUCKET, Key=f"{place.prefix}/{name}")["ETag"] for name in FILES[:2]]
    assert all(tag.endswith('-2"') for tag in tags), tags
    assert f"is whole: keyspaces k, 2 files, {ROWS} rows" in tool.must("backup", "verify", place.name)
    database.drop()
    assert f"restored {place.name}" in tool.restore(place.name)
    database.check()
    # Both of these are left as they are.
    for more in ((), ("--restart",)):
        code, said = tool.backup(place.name, *more)
        assert code == 1 and f"{place.name} holds a backup already; name a prefix that is new or empty" in said, said
    assert place.names() == FILES


def test_an_encrypted_backup_of_small_objects(tool, place, database, tmp_path):
    key = tmp_path / "key"
    key.write_text("ab" * 32)
    key.chmod(0o600)
    encrypted = ("--encryption-key-file", key)
    tool.must("backup", "--to", place.name, *encrypted)
    assert place.names() == FILES
    code, said = tool.run("backup", "verify", place.name)
    assert code == 2 and "is encrypted under master key" in said, said
    tool.must("backup", "verify", place.name, *encrypted)
    database.drop()
    tool.restore(place.name, *encrypted)
    database.check()


def test_what_is_not_of_a_backup_is_refused_and_left(tool, place):
    for name in ("letter.txt", "000.rows", "folder/000.rows"):
        place.put(name, b"mine")
        for more in ((), ("--restart",)):
            code, said = tool.backup(place.name, *more)
            assert code == 1 and f"holds {name}, which is no part of a backup" in said, said
        assert place.names() == [name] and place.get(name) == b"mine"
        place.client.delete_object(Bucket=BUCKET, Key=f"{place.prefix}/{name}")


def test_a_prefix_that_a_console_has_made_is_empty(tool, place):
    place.put("", b"")
    code, said = tool.backup(place.name)
    assert code == 0 and place.names() == ["", *FILES], said
    tool.must("backup", "verify", place.name)


def in_its_middle(tool, place, end, started=None):
    """Ends a backup that is under way: where it was, its status, and what it has said. One that had ended by itself, for this machine stalled, is followed by a slower one."""
    started = started or (lambda *words: tool.start(*words))
    for rate in ("8MiB", "2MiB", "512KiB"):
        there = Place(place.url, f"{place.prefix} {rate}")
        slow = started("backup", "--to", there.name, *PARTS, "--rate-limit", rate)
        wait_until(lambda there=there, slow=slow: any(map(there.parts, there.uploads())) or slow.poll() is not None)
        end(slow)
        code, said = tool.end(slow)
        if code != 0:
            break
    return there, code, said


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_backup_removes_what_it_has_written(tool, place, how):
    place, code, said = in_its_middle(tool, place, lambda slow: slow.send_signal(how))
    assert code == 1 and "the backup has ended early: it was interrupted" in said, said
    assert not place.names() and not place.uploads()


@pytest.mark.parametrize("ignored", [signal.SIGHUP, signal.SIGINT])
def test_signals_that_are_ignored_stay_so_and_the_others_are_heard(tool, place, ignored):
    """As under nohup, and of what a script starts in the background."""

    def started(*words):
        before = signal.signal(ignored, signal.SIG_IGN)
        try:
            return tool.start(*words)
        finally:
            signal.signal(ignored, before)

    def end(slow):
        slow.send_signal(ignored)
        slow.send_signal(signal.SIGTERM)

    there, code, said = in_its_middle(tool, place, end, started)
    assert code == 1 and "the backup has ended early: it was interrupted" in said, said
    assert not there.names() and not there.uploads()
    slow = started("backup", "--to", place.name, *PARTS, "--rate-limit", "16MiB")
    wait_until(lambda: place.uploads() or slow.poll() is not None)
    slow.send_signal(ignored)
    code, said = tool.end(slow)
    assert code == 0 and place.names() == FILES, said


def test_a_killed_backup_is_taken_anew_and_leaves_no_parts(tool, place):
    place, code, said = in_its_middle(tool, place, lambda slow: slow.kill())
    assert place.uploads() and place.names() == ["resume.json", "unfinished.json"]
    code, said = tool.backup(place.name)
    assert code == 1 and "holds a backup that was interrupted, or that another" in said and "--restart" in said, said
    code, said = tool.run("backup", "verify", place.name)
    assert code == 1 and f"{place.name} is no whole backup" in said, said
    code, said = tool.backup(place.name, "--restart")
    assert code == 0, said
    assert place.names() == FILES and not place.uploads()


def test_a_killed_backup_goes_on_from_the_parts_that_it_has_sent(tool, place, database):
    place, _, _ = in_its_middle(tool, place, lambda slow: slow.kill())
    wait_idle(tool.http)
    (upload,) = [upload for upload in place.uploads() if place.parts(upload)][:1]
    said = tool.must("backup", "--to", place.name, *PARTS, "--resume")
    assert "going on with the backup that was interrupted after" in said and "of them before it was interrupted" in said, said
    name = upload["Key"].rsplit("/", 1)[-1]
    assert name in place.names() and {"resume.json", "unfinished.json"}.isdisjoint(place.names()) and not place.uploads()
    assert f"{ROWS} rows" in tool.must("backup", "verify", place.name)
    database.drop()
    tool.restore(place.name)
    database.check()


def test_damage_is_found_and_nothing_is_restored(tool, place, tmp_path):
    code, said = tool.backup(place.name)
    assert code == 0, said
    for name in FILES:
        whole = place.get(name)
        middle = len(whole) // 2
        for changed in (whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :], whole[:-1]):
            place.put(name, changed)
            for words in (("backup", "verify", place.name), ("restore", "--from", place.name, "--progress", tmp_path / "p")):
                code, said = tool.run(*words)
                assert code == 1 and f"{name} of the backup is damaged" in said, said
        place.client.delete_object(Bucket=BUCKET, Key=f"{place.prefix}/{name}")
        code, said = tool.run("backup", "verify", place.name)
        assert code == 1 and name in said, said
        place.put(name, whole)
    tool.must("backup", "verify", place.name)


def test_a_bucket_that_is_missing_is_named(tool):
    code, said = tool.backup("s3://no-such-bucket/a")
    assert code == 1 and "404 NoSuchBucket" in said and "make the bucket first, or name another one" in said, said
