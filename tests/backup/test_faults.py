"""An S3 that lies, stalls and refuses: a clear error or a whole backup, nothing left behind, and an end in time."""

import json
import signal
import threading
import time

import pytest

import certificates
from conftest import KEY, PARTS, ROWS, SECONDS_MAX, SECRET, Tool, wait_until
from fake_s3 import BUCKET, FakeS3, cut, drip, drop, endless, error, flip, garble, hang, lengthen, lose, page, whole, without_extras

PLACE = f"s3://{BUCKET}/p"
NAMES = {f"p/{name}" for name in ("000.rows", "001.rows", "manifest.json", "schema.json")}
WRITING = ["GET list", "PUT unfinished.json", "POST uploads", "PUT part", "POST complete", "HEAD 000.rows", "PUT schema.json", "PUT manifest.json", "GET uploads", "DELETE unfinished.json"]
READING = ["GET manifest.json", "GET schema.json", "HEAD 000.rows", "GET 000.rows"]
PASSING = {
    "500": error(500, "InternalError"), "SlowDown": error(503, "SlowDown"), "502 of a proxy": error(502, ""), "a timeout": error(400, "RequestTimeout"),
    "an error with status 200": error(200, "InternalError"), "dropped": drop, "an answer that is lost": lose, "half of an answer": cut, "hanging": hang,
}


def is_empty(fake):
    return not fake.objects and not fake.uploads


@pytest.mark.parametrize("name", PASSING)
def test_what_passes_is_passed_over(tool, fake, name):
    failure = PASSING[name]
    tool.options[2:] = ["--s3-timeout", "1s" if failure is hang else "60s", "--s3-retry-for", "120s"]

    def meeting(operations):
        # An error with status 200 comes where S3 works for long before it ends; one without a body has no words.
        met = {"an error with status 200": ["POST complete"], "a timeout": [operation for operation in operations if "HEAD" not in operation]}
        return [(operation, failure, 1) for operation in met.get(name, operations) if operation in operations]

    fake.faults = meeting(WRITING)
    code, said = tool.backup(PLACE)
    assert code == 0 and not fake.faults, (said, fake.faults)
    assert set(fake.objects) == NAMES and not fake.uploads
    fake.faults = meeting(READING)
    assert f"{ROWS} rows" in tool.must("backup", "verify", PLACE)
    assert not fake.faults


LASTING = {
    "AccessDenied": (error(403, "AccessDenied"), "allow the key to list the bucket"),
    "ExpiredToken": (error(400, "ExpiredToken"), "the credentials have expired"),
    "NoSuchBucket": (error(404, "NoSuchBucket"), "make the bucket first"),
    "RequestTimeTooSkewed": (error(403, "RequestTimeTooSkewed"), "set this machine's clock"),
    "another region": (error(400, "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"), "give --s3-region eu-west-1"),
    "a region elsewhere": (error(301, "PermanentRedirect", x_amz_bucket_region="eu-north-1"), "give --s3-region eu-north-1"),
    "QuotaExceeded": (error(409, "QuotaExceeded"), "409 QuotaExceeded"),
}


@pytest.mark.parametrize(
    ("name", "operation"), [*((name, "GET list") for name in LASTING), *(("AccessDenied", word) for word in ("PUT unfinished.json", "PUT part", "POST complete", "PUT manifest.json"))]
)
def test_what_does_not_pass_is_said_at_once_and_nothing_is_left(tool, fake, name, operation):
    failure, words = LASTING[name]
    fake.faults = [(operation, failure, 1000)]
    code, said = tool.backup(PLACE)
    assert code == 1 and words in said and PLACE in said, said
    assert is_empty(fake), (fake.objects.keys(), fake.uploads)


@pytest.mark.parametrize("failure", [hang, drip, drop, error(503, "SlowDown")])
@pytest.mark.parametrize("operation", ["GET list", "PUT part"])
def test_what_never_comes_ends_in_time(tool, fake, failure, operation):
    for seconds in (1, 10):
        tool.options[2:] = ["--s3-timeout", f"{seconds}s", "--s3-retry-for", f"{3 * seconds}s"]
        fake.faults = [(operation, failure, 1000)]
        began = time.monotonic()
        code, said = tool.backup(PLACE)
        # A machine that stalls for as long as that may keep it from removing what it has written.
        if is_empty(fake) or time.monotonic() - began < 5 * seconds:
            break
        fake.objects.clear()
        fake.uploads.clear()
    assert code == 1 and "has not done it in" in said and "--s3-retry-for gives it more time" in said, said
    assert is_empty(fake)


def test_nobody_there(tool, fake):
    tool.options = ["--s3-endpoint", "http://127.0.0.1:1", "--s3-retry-for", "1s"]
    code, said = tool.backup(PLACE)
    assert code == 1 and "S3 at http://127.0.0.1:1 has not done it" in said and "refused" in said, said


def test_what_cannot_be_removed_is_said_and_goes_with_a_restart(tool, fake):
    denied = error(403, "AccessDenied")
    fake.faults = [("POST complete", denied, 1000), ("DELETE", denied, 1000)]
    code, said = tool.backup(PLACE)
    assert code == 1 and f"`tarndb backup --to {PLACE} --restart` removes them, unless `tarndb backup verify {PLACE}` finds a whole backup" in said and "403 AccessDenied" in said, said
    assert fake.uploads and "p/unfinished.json" in fake.objects
    fake.faults = []
    fake.objects["p2/000.rows"] = b"mine"
    fake.uploads["mine"] = ("p2/000.rows", {})
    fake.uploads["mine too"] = ("p/letter.txt", {})
    code, said = tool.backup(PLACE)
    assert code == 1 and "give --resume to go on from them, or --restart" in said, said
    code, said = tool.backup(PLACE, "--restart")
    assert code == 0, said
    # What others have there is left as it is.
    assert set(fake.objects) == NAMES | {"p2/000.rows"} and set(fake.uploads) == {"mine", "mine too"}


def test_a_backup_that_is_whole_after_all_is_not_called_void(tool, fake):
    """The manifest is stored, its answer is lost, and then S3 takes nothing any more."""
    denied = error(403, "AccessDenied")
    fake.faults = [("PUT manifest.json", lose, 1), ("PUT manifest.json", denied, 1000), ("DELETE", denied, 1000)]
    code, said = tool.backup(PLACE)
    assert code == 1 and "is still there" in said and f"unless `tarndb backup verify {PLACE}` finds a whole backup" in said, said
    fake.faults = []
    tool.must("backup", "verify", PLACE)
    code, said = tool.backup(PLACE, "--restart")
    assert code == 1 and "holds a backup already" in said, said


def test_another_signal_ends_it_at_once(tool, fake):
    tool.options[2:] = ["--s3-timeout", "60s", "--s3-retry-for", "60s"]
    fake.faults = [("PUT part", hang, 1000)]
    slow = tool.start("backup", "--to", PLACE, *PARTS)
    wait_until(lambda: "PUT part" in fake.asked)

    def is_over():
        slow.send_signal(signal.SIGTERM)
        return slow.poll() is not None

    # The first ones are one order.
    wait_until(is_over)
    code, said = tool.end(slow)
    assert code == 128 + signal.SIGTERM and said.count("ending: removing what was written; another signal") == 1, said
    assert "p/unfinished.json" in fake.objects


def test_of_two_backups_that_begin_at_once_one_is_refused(tool, fake):
    def another(handler, serve):
        handler.server.objects["p/unfinished.json"] = b"another's"
        handler.say(serve())

    fake.faults = [("PUT unfinished.json", another, 1)]
    code, said = tool.backup(PLACE)
    assert code == 1 and f"another `tarndb backup` is writing to {PLACE}" in said, said
    assert fake.objects == {"p/unfinished.json": b"another's"}


@pytest.mark.parametrize(("name", "operation"), [("unfinished.json", "PUT schema.json"), ("manifest.json", "PUT manifest.json")])
def test_what_another_backup_has_made_there_meanwhile_is_left(tool, fake, name, operation):
    def taken(handler, serve):
        handler.server.objects[f"p/{name}"] = b"another's"
        handler.say(serve())

    fake.faults = [(operation, taken, 1)]
    code, said = tool.backup(PLACE)
    assert code == 1 and f"another `tarndb backup` is writing to {PLACE}" in said, said
    assert fake.objects[f"p/{name}"] == b"another's" and not fake.uploads
    # Whose marker was replaced does not know what is whose.
    assert ("p/000.rows" in fake.objects) == (name == "unfinished.json")


def test_lies_are_found(tool, fake):
    # Stored otherwise than it was sent, and S3 says so: sent again.
    fake.faults = [("PUT part", garble, 2), ("PUT schema.json", garble, 1)]
    code, said = tool.backup(PLACE)
    assert code == 0 and not fake.faults, said
    stored = dict(fake.objects)
    for name in ("000.rows", "schema.json", "manifest.json"):
        fake.faults = [(f"GET {name}", flip, 1000)]
        code, said = tool.run("backup", "verify", PLACE)
        assert code == 1 and f"{name} of the backup is damaged" in said, said
    for operation, failure, words in (
        ("GET 000.rows", whole, "it was asked for bytes"),
        ("HEAD 000.rows", lengthen, "another length"),
        ("GET manifest.json", page, "manifest.json of the backup is damaged"),
    ):
        fake.faults = [(operation, failure, 1000)]
        code, said = tool.run("backup", "verify", PLACE)
        assert code == 1 and words in said, said
    fake.faults = []
    tool.must("backup", "verify", PLACE)
    assert fake.objects == stored
    # An object that is not as long as what was sent is no backup.
    fake.objects.clear()
    fake.faults = [("HEAD 001.rows", lengthen, 1)]
    code, said = tool.backup(PLACE)
    assert code == 1 and "it was not stored whole" in said and is_empty(fake), said


def test_an_object_that_is_replaced_while_it_is_read_is_noticed(tool, fake):
    code, said = tool.backup(PLACE)
    assert code == 0, said

    def replaced(handler, serve):
        handler.server.objects[handler.key] += b"x"
        handler.say(serve())

    fake.faults = [("GET 000.rows", replaced, 1)]
    code, said = tool.run("backup", "verify", PLACE)
    assert code == 1 and "somebody else writes there" in said, said


def test_a_page_instead_of_s3(tool, fake):
    fake.faults = [("GET list", page, 1000)]
    code, said = tool.backup(PLACE)
    assert code == 1 and "is of no use" in said and "no ListBucketResult" in said, said


def test_a_listing_that_does_not_end(tool, fake):
    fake.faults = [("GET list", endless, 10_000)]
    code, said = tool.backup(PLACE)
    assert code == 1 and "its listing has not ended after 1000 pages" in said, said
    # Once the backup is whole, parts that may be left are no reason to fail it.
    fake.faults = [("GET uploads", endless, 10_000)]
    code, said = tool.backup(PLACE)
    assert code == 0 and "the backup is whole; unfinished.json, or parts of uploads, could not be removed" in said, said
    fake.faults = []
    tool.must("backup", "verify", PLACE)


def test_an_s3_without_conditions_and_checksums(tool, fake):
    fake.faults = [("PUT", without_extras, 1000), ("POST", without_extras, 1000)]
    code, said = tool.backup(PLACE)
    assert code == 0 and set(fake.objects) == NAMES, said


def test_restore_goes_on_after_s3_failed(tool, fake, database):
    code, said = tool.backup(PLACE)
    assert code == 0, said
    code, said = tool.run("restore", "--from", PLACE)
    assert code == 2 and "needs --progress FILE" in said, said
    database.drop()
    # The second reading of the file, after everything was verified.
    progress = tool.directory / "progress"

    def later(handler, serve):
        is_late = progress.exists() and json.loads(progress.read_text())["file"] == 1
        error(403, "AccessDenied")(handler, serve) if is_late else handler.say(serve())

    fake.faults = [("HEAD 001.rows", later, 1000)]
    code, said = tool.run("restore", "--from", PLACE, "--progress", progress)
    assert code == 1 and "403" in said and progress.exists(), said
    fake.faults = []
    # Its progress is none of another backup's, whose files may have the same names.
    code, said = tool.backup(f"{PLACE}2")
    assert code == 0, said
    code, said = tool.run("restore", "--from", f"{PLACE}2", "--progress", progress)
    assert code == 1 and "is of a restore of another backup or of other tables" in said and progress.exists(), said
    assert "going on with the restore" in tool.restore(PLACE)
    assert not progress.exists()
    database.check()


def test_credentials_come_from_files_and_are_read_again(tool, fake, tmp_path):
    file = tmp_path / "keys"

    def write(key, secret):
        file.write_text(f"[other]\naws_access_key_id = x\naws_secret_access_key = y\n[mine]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\naws_session_token = t\n")
        file.chmod(0o600)

    def renewed(handler, serve):
        write(KEY, SECRET)
        error(400, "ExpiredToken")(handler, serve)

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        del tool.environment[name]
    code, said = tool.backup(PLACE)
    assert code == 2 and "there are no credentials for S3" in said and ".aws/credentials" in said, said
    named = ("--s3-credentials-file", file, "--s3-profile", "mine")
    fake.keys["OLD"] = "old"
    write("OLD", "old")
    fake.faults = [("PUT part", renewed, 1)]
    code, said = tool.backup(PLACE, *named)
    assert code == 0 and not fake.faults, said
    write(KEY, "not-the-secret")
    code, said = tool.run("backup", "verify", PLACE, *named)
    assert code == 1 and "the secret key is another one's" in said and "not-the-secret" not in said, said
    write("NOBODY", "nothing")
    code, said = tool.run("backup", "verify", PLACE, *named)
    assert code == 1 and "InvalidAccessKeyId" in said, said
    file.chmod(0o644)
    code, said = tool.run("backup", "verify", PLACE, *named)
    assert code == 2 and "chmod 600 it" in said, said
    tool.environment |= {"AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_PROFILE": "none"}
    file.chmod(0o600)
    code, said = tool.run("backup", "verify", PLACE)
    assert code == 2 and "it has no profile [none]" in said, said


def test_credentials_that_expire_are_renewed_for_all_streams(tool, fake, tmp_path):
    """Two streams send with those that have expired, and one hears of it when the other has read them again."""
    file, both, renewed = tmp_path / "keys", threading.Barrier(2, timeout=SECONDS_MAX), threading.Event()
    expired = error(400, "ExpiredToken")

    def write(key, secret):
        file.write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n")
        file.chmod(0o600)

    def first(handler, serve):
        both.wait()
        write(KEY, SECRET)
        expired(handler, serve)

    def second(handler, serve):
        both.wait()
        assert renewed.wait(SECONDS_MAX)
        expired(handler, serve)

    def again(handler, serve):
        assert KEY in handler.headers["authorization"]
        renewed.set()
        handler.say(serve())

    fake.keys["OLD"] = "old"
    write("OLD", "old")
    tool.options[2:] = ["--s3-timeout", "60s", "--s3-retry-for", "60s"]
    fake.faults = [("PUT part", first, 1), ("PUT part", second, 1), ("PUT part", again, 1)]
    code, said = tool.backup(PLACE, "--s3-credentials-file", file)
    assert code == 0 and not fake.faults and set(fake.objects) == NAMES, said


def test_tls_trusts_who_is_named_and_nobody_else(database, tmp_path):
    if certificates.why_not():
        pytest.skip(certificates.why_not())
    authority = certificates.Authority(tmp_path / "authority")
    with FakeS3({KEY: SECRET}, authority.issue("s3", "IP:127.0.0.1")).serving() as fake:
        tool = Tool(database.http(), fake.url, tmp_path)
        ca = ("--s3-ca", authority.file)
        code, said = tool.backup(PLACE, *ca)
        assert code == 0 and set(fake.objects) == NAMES, said
        tool.must("backup", "verify", PLACE, *ca)
        begun = len(fake.asked)
        tool.environment["SSL_CERT_FILE"] = str(certificates.Authority(tmp_path / "other").file)
        code, said = tool.run("backup", "verify", PLACE)
        assert code == 1 and "is of no use" in said and "--s3-ca" in said and len(fake.asked) == begun, said
        # With both.
        tool.must("backup", "verify", PLACE, *ca)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--s3-endpoint", "http://s3.example.com"), "--s3-insecure"),
        (("--s3-endpoint", "https://me:hidden@s3.example.com"), "names and passwords do not belong there"),
        (("--s3-region", "a/b"), "no name of a region"),
        (("--s3-part-size", "1MiB"), "parts of 5MiB to 5GiB"),
        (("--s3-retry-for", "0s"), "at least 1s"),
        (("--s3-ca", "/nowhere"), "/nowhere cannot be used"),
    ],
)
def test_a_wrong_command_line(database, tmp_path, words, said):
    tool = Tool(database.http(), "https://127.0.0.1:1", tmp_path)
    tool.options = [] if "--s3-endpoint" in words else ["--s3-endpoint", "https://127.0.0.1:1"]
    code, answer = tool.run("backup", "--to", PLACE, *words)
    assert code == 2 and said in answer and "hidden" not in answer, answer


def test_places_that_are_none(tool):
    for place in ("s3://", "s3://Upper/a", "s3://backups//a"):
        code, said = tool.backup(place)
        assert code == 2 and "it is no s3://BUCKET/PREFIX" in said, said
