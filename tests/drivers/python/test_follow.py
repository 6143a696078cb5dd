"""`tarndb follow`: two servers, one of which follows the other; kinds of writes, what was there before, `kill -9` of each process, and what is refused."""

import base64
import contextlib
import datetime
import http.client
import itertools
import json
import os
import random
import signal
import ssl
import subprocess

import pytest
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster

import certificates
import server
import two_servers
from conftest import GONE, create_keyspace, names, run_directory, when_back
from patient import patient
from two_servers import assert_equal, stored
from waiting import SECONDS_MAX, wait_until, while_it_lives

CDC = "cdc = {'enabled': true}"


@pytest.fixture(scope="module")
def sides():
    """Two servers of their own."""
    with two_servers.started("follow") as found:
        yield found


@pytest.fixture(scope="module")
def sessions(sides):
    """A session on each."""
    with two_servers.connected(sides) as found:
        create_keyspace(found[0], "k")
        yield found


@pytest.fixture
def table(sessions):
    """A function that makes a table at the source."""

    def create(columns, options=CDC):
        name = f"k.t{next(names)}"
        sessions[0].execute(f"CREATE TABLE {name} ({columns}) WITH {options}")
        return name

    return create


def command(sides, name, *more):
    source, target = (side.state()["cql"] for side in sides)
    return [server.binary(), "follow", "--from", source, "--to", target, "--table", name, *more]


def follow_once(sides, name, *more):
    """Applies what there is."""
    done = subprocess.run(command(sides, name, "--once", *more), capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode == 0, done.stderr
    return done.stderr


def refused(sides, name, *more):
    done = subprocess.run(command(sides, name, "--once", *more), capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode in (1, 2), (done.returncode, done.stderr)
    return done.stderr


COLUMNS = (
    "p int, c int, d int, v int, w text, s set<int>, m map<text, int>, u address, st text static, sm map<int, int> static, PRIMARY KEY (p, c, d)"
)


def random_write(random):
    """A statement on a table with COLUMNS, and its values."""
    p, c, d, v = random.randrange(6), random.randrange(4), random.randrange(4), random.randrange(1000)
    using = random.choice(["", "", f"USING TTL {random.randrange(1000, 9000)}", f"USING TIMESTAMP {random.randrange(2 * 10**15)}"])
    of_row = "p = %s AND c = %s AND d = %s"
    key, no_ttl = (p, c, d), "" if "TTL" in using else using
    return random.choice([
        lambda: (f"INSERT INTO {{t}} (p, c, d, v, w, s, m) VALUES (%s, %s, %s, %s, 'w', {{{v}, 1}}, {{'a': {v}}}) {using}", (*key, v)),
        lambda: (f"INSERT INTO {{t}} (p, c, d) VALUES (%s, %s, %s) {using}", key),
        lambda: (f"UPDATE {{t}} {using} SET v = %s, w = null WHERE {of_row}", (v, *key)),
        lambda: (f"UPDATE {{t}} {using} SET m['b'] = %s, m = m - {{'a'}}, s = s + {{7, {v}}} WHERE {of_row}", (v, *key)),
        lambda: (f"UPDATE {{t}} SET s = s - {{1}}, u.zip = %s WHERE {of_row}", (v, *key)),
        lambda: (f"UPDATE {{t}} SET u = {{street: 'x', zip: %s}}, s = null WHERE {of_row}", (v, *key)),
        lambda: (f"UPDATE {{t}} {using} SET st = 'st', sm[%s] = 1 WHERE p = %s", (v, p)),
        lambda: (f"DELETE v, m['b'], u.street FROM {{t}} {no_ttl} WHERE {of_row}", key),
        lambda: (f"DELETE FROM {{t}} {no_ttl} WHERE {of_row}", key),
        lambda: ("DELETE FROM {t} WHERE p = %s AND c = %s", (p, c)),
        lambda: ("DELETE FROM {t} WHERE p = %s AND c = %s AND d >= %s", (p, c, d)),
        lambda: ("DELETE FROM {t} WHERE p = %s AND c > %s AND c <= %s", (p, min(c, d), max(c, d) + 1)),
        lambda: ("DELETE FROM {t} WHERE p = %s AND (c, d) < (%s, %s)", (p, c, d)),
        lambda: ("DELETE FROM {t} WHERE p = %s", (p,)),
        lambda: ("DELETE st FROM {t} WHERE p = %s", (p,)),
        lambda: (f"BEGIN UNLOGGED BATCH DELETE FROM {{t}} WHERE p = %s AND c = %s; INSERT INTO {{t}} (p, c, d, v) VALUES (%s, %s, %s, %s); APPLY BATCH",
                 (p, c, *key, v)),
    ])()


@pytest.mark.parametrize("order", ["", "WITH CLUSTERING ORDER BY (c DESC, d DESC) AND"])
def test_each_kind_of_write(sides, sessions, order):
    source = sessions[0]
    source.execute("CREATE TYPE IF NOT EXISTS k.address (street text, zip int)")
    name = f"k.t{next(names)}"
    source.execute(f"CREATE TABLE {name} ({COLUMNS}) {order or 'WITH'} {CDC}")
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(5):
        for _ in range(80):
            text, values = random_write(chance)
            source.execute(text.replace("{t}", name), values)
        follow_once(sides, name)
        assert_equal(sessions, name)
    ttls = [sorted((tuple(row) for row in session.execute(f"SELECT p, c, d, TTL(v) FROM {name}")), key=repr) for session in sessions]
    for at_source, at_target in zip(*ttls, strict=True):
        assert at_source[:3] == at_target[:3] and abs((at_source[3] or 0) - (at_target[3] or 0)) <= 5, (at_source, at_target)
    # All of it once more gives the same.
    follow_once(sides, name, "--name", "other")
    assert_equal(sessions, name)
    # The target has no log of its own.
    assert not list(sessions[1].execute("SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'k' AND table_name = %s", (name[2:] + "_scylla_cdc_log",)))


def test_lists_are_replaced_as_a_whole(sides, sessions, table):
    name = table("p int PRIMARY KEY, l list<int>")
    assert "postimage" in refused(sides, name)
    name = table("p int PRIMARY KEY, l list<int>", "cdc = {'enabled': true, 'postimage': true}")
    for text in ("l = [1, 2, 3]", "l = [0] + l", "l = l + [4]", "l[1] = 9", "l = l - [3]"):
        sessions[0].execute(f"UPDATE {name} SET {text} WHERE p = 1")
        follow_once(sides, name)
        assert_equal(sessions, name)
    sessions[0].execute(f"DELETE l FROM {name} WHERE p = 1")
    follow_once(sides, name)
    assert_equal(sessions, name)


def test_rows_that_are_there_before_are_copied(sides, sessions, table):
    name = table("p int, c int, v int, w int, s set<int>, st int static, PRIMARY KEY (p, c)", "comment = 'no log yet'")
    source = sessions[0]
    for number in range(700):
        source.execute(f"INSERT INTO {name} (p, c, v) VALUES (%s, %s, 1) USING TIMESTAMP %s", (number % 9, number, number))
    source.execute(f"UPDATE {name} USING TTL 5000 SET w = 1, s = {{1, 2}} WHERE p = 1 AND c = 1")
    source.execute(f"INSERT INTO {name} (p, st) VALUES (100, 1)")
    # From the future, where no later write of the source reaches it.
    source.execute(f"INSERT INTO {name} (p, c, v) VALUES (1, 10000, 1) USING TIMESTAMP 9000000000000000")
    source.execute(f"ALTER TABLE {name} WITH {CDC}")
    assert "702 rows copied" in follow_once(sides, name, "--copy")
    assert_equal(sessions, name)
    for text in ("DELETE FROM {t} WHERE p = 2", "UPDATE {t} SET v = 5 WHERE p = 1 AND c = 1", "DELETE FROM {t} USING TIMESTAMP 9000000000000001 WHERE p = 1 AND c = 10000"):
        source.execute(text.format(t=name))
    assert "goes on where it was" in follow_once(sides, name, "--copy")
    assert_equal(sessions, name)
    (row,) = sessions[1].execute(f"SELECT TTL(w) FROM {name} WHERE p = 1 AND c = 1")
    assert 4000 < row[0] <= 5000


def test_several_tables_at_once(sides, sessions, table):
    one, other = (table("p int PRIMARY KEY, v int") for _ in range(2))
    for name in (one, other):
        sessions[0].execute(f"INSERT INTO {name} (p, v) VALUES (1, 1)")
    follow_once(sides, one, "--table", other)
    assert_equal(sessions, one)
    assert_equal(sessions, other)
    # One that cannot be followed ends the others, which never end by themselves.
    sessions[0].execute(f"DROP TABLE {other}")
    done = subprocess.run(command(sides, one, "--table", other), capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode == 1 and f"{other}: there is no table" in done.stderr, done.stderr


def test_kills_of_either_side_and_of_the_follower(sides, sessions, table):
    """Writes go on while each of the three processes is killed again and again; in the end the tables are equal, and the lag is small."""
    name = table("p int, c int, v int, PRIMARY KEY (p, c)")
    source, target = sessions
    log = run_directory() / f"follow-{os.getpid()}.log"

    def start():
        with open(log, "ab") as out:
            return subprocess.Popen(command(sides, name, "--interval", "1"), stderr=out, stdin=subprocess.DEVNULL)

    number = 0

    def write(count):
        nonlocal number
        for _ in range(count):
            number += 1
            with contextlib.suppress(GONE):
                source.execute(f"INSERT INTO {name} (p, c, v) VALUES (%s, %s, %s)", (number % 50, number % 7, number))

    def follows():
        """Something that is written now arrives."""
        nonlocal number
        number += 1
        when_back(source, f"INSERT INTO {name} (p, c, v) VALUES (100, 0, %s)", (number,))

        def arrived():
            with contextlib.suppress(*GONE):
                return any(row.v == number for row in target.execute(f"SELECT v FROM {name} WHERE p = 100"))
            return False

        wait_until(arrived)

    follower = start()
    try:
        write(300)
        wait_until(lambda: list(target.execute("SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'k' AND table_name = %s", (name[2:],))))
        follows()
        for _ in range(2):
            write(200)
            follower.send_signal(signal.SIGKILL)
            follower.wait()
            write(200)
            follower = start()
            sides[0].restart("kill")
            write(200)
            follows()
            sides[1].restart("kill")
            write(200)
            follows()
        assert follower.poll() is None, log.read_text()
        wait_until(lambda: stored(source, name) == stored(target, name))

        def lag_is_stored():
            rows = target.execute(f"SELECT lag_ms FROM k.tarndb_follow WHERE follower = 'default' AND source = '{name[2:]}'")
            return any(row.lag_ms is not None and 0 <= row.lag_ms < 10_000 for row in rows)

        wait_until(lag_is_stored)
        wait_until(lambda: "s behind" in log.read_text())
    finally:
        follower.kill()
        follower.wait()
        log.unlink()


@pytest.mark.skipif(certificates.why_not() is not None, reason="no certificates can be made")
def test_over_tls_and_with_log_ins(sides, sessions, tmp_path):
    directory = run_directory() / f"follow-tls-{os.getpid()}"
    private = server.Server(directory, [*server.LOGIN_FLAGS, *server.offered_tls(directory, "required")], memory="256M")
    private.start()
    try:
        authority = str(directory / "certificates" / "ca.pem")
        context = ssl.create_default_context(cafile=authority)
        superuser = (server.ROOT / "tests" / "drivers" / "superuser-password").read_text().strip()
        host, port = private.state()["cql"].rsplit(":", 1)
        cluster = Cluster([host], port=int(port), ssl_context=context, **patient(protocol_version=4, auth_provider=PlainTextAuthProvider("cassandra", superuser)))
        try:
            session = cluster.connect()
            create_keyspace(session, "k")
            name = f"k.t{next(names)}"
            session.execute(f"CREATE TABLE {name} (p int PRIMARY KEY, v int) WITH {CDC}")
            session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 2)")
            session.execute("CREATE ROLE reader WITH PASSWORD = 'secret' AND LOGIN = true")
            login = tmp_path / "login"
            login.write_text("reader:secret\n")
            login.chmod(0o600)
            pair = [private, sides[1]]
            trusting = ["--from-ca", authority, "--from-login-file", str(login)]
            assert "SELECT" in refused(pair, name, *trusting)
            session.execute(f"GRANT SELECT ON {name} TO reader")
            session.execute(f"GRANT SELECT ON {name}_scylla_cdc_log TO reader")
            follow_once(pair, name, *trusting)
            assert [tuple(row) for row in sessions[1].execute(f"SELECT p, v FROM {name}")] == [(1, 2)]
            assert "user and password" in refused(pair, name, "--from-ca", authority)
            login.write_text("reader:wrong\n")
            login.chmod(0o600)
            assert "bad credentials" in refused(pair, name, *trusting)
            # The feed, too.
            host, port = private.state()["http"].rsplit(":", 1)
            connection = http.client.HTTPSConnection(host, int(port), timeout=SECONDS_MAX, context=context)
            basic = base64.b64encode(b"reader:secret").decode()
            connection.request("GET", "/changes/" + name.replace(".", "/"), headers={"Authorization": f"Basic {basic}"})
            told = [json.loads(line) for line in connection.getresponse().read().splitlines()]
            assert [line.get("columns") for line in told] == [{"v": 2}, None]
            connection.close()
        finally:
            cluster.shutdown()
    finally:
        private.stop()


def test_what_is_refused(sides, sessions, table):
    assert "KEYSPACE.TABLE" in refused(sides, "t")
    assert "there is no table k.nothing" in refused(sides, "k.nothing")
    name = table("p int PRIMARY KEY, v int", "comment = ''")
    assert "cdc = {'enabled': true}" in refused(sides, name)
    name = table("p int PRIMARY KEY, v int", "cdc = {'enabled': true, 'delta': 'keys'}")
    assert "delta" in refused(sides, name)
    name = table("p int PRIMARY KEY, v int")
    assert "`since`" in refused(sides, name, "--since", "yesterday")
    assert "HOST:PORT" in refused(sides, name, "--to", "nowhere")
    assert "ROLE:PASSWORD" in refused(sides, name, "--from-login-file", "/nowhere")
    # A column that the target lacks.
    sessions[0].execute(f"INSERT INTO {name} (p, v) VALUES (1, 1)")
    follow_once(sides, name)
    sessions[0].execute(f"ALTER TABLE {name} ADD w int")
    sessions[0].execute(f"INSERT INTO {name} (p, w) VALUES (1, 2)")
    assert "ALTER TABLE" in refused(sides, name)
    sessions[1].execute(f"ALTER TABLE {name} ADD w int")
    follow_once(sides, name)
    assert_equal(sessions, name)
    # A position that is too old.
    sessions[0].execute(f"ALTER TABLE {name} WITH cdc = {{'enabled': true, 'ttl': 1}}")
    wait_until(lambda: subprocess.run(command(sides, name, "--once"), capture_output=True, timeout=SECONDS_MAX).returncode == 1)
    assert "are gone" in refused(sides, name)


def now(session) -> datetime.datetime:
    """The time at a server."""
    return session.execute("SELECT toTimestamp(now()) AS at FROM system.local").one().at


def test_back_to_a_point_in_time(sides, sessions, table, tmp_path):
    """A backup, and after it what was written before somebody's mistake."""
    places = itertools.count()
    # A log tells within a quarter of its time to live that nothing more comes.
    while_it_lives(lambda seconds: go_back(sides, sessions, table, tmp_path / f"backup{next(places)}", seconds), 60)


def go_back(sides, sessions, table, place, seconds):
    source, target = sessions
    name = table("p int, c int, v int, PRIMARY KEY (p, c)", f"cdc = {{'enabled': true, 'ttl': {seconds}}}")
    keyspace_table = name.split(".")
    insert = source.prepare(f"INSERT INTO {name} (p, c, v) VALUES (?, ?, ?)")
    for c in range(100):
        source.execute(insert, (c % 5, c, 1))

    def run(*words):
        done = subprocess.run([server.binary(), *words], capture_output=True, text=True, timeout=SECONDS_MAX)
        assert done.returncode == 0, done.stderr

    since = now(source)
    run("backup", "--to", str(place), "--keyspace", keyspace_table[0], "--http", sides[0].state()["http"])
    for c in range(50, 150):
        source.execute(insert, (c % 5, c, 2))
    source.execute(f"DELETE FROM {name} WHERE p = 3")
    source.execute(f"DELETE FROM {name} WHERE p = 4 AND c > 100")
    wanted = stored(source, name)
    # Milliseconds: what is written from the next one on is later.
    until = now(source) + datetime.timedelta(milliseconds=1)
    wait_until(lambda: now(source) > until)
    source.execute(f"DELETE FROM {name} WHERE p = 1")
    source.execute(insert, (3, 3, 3))

    run("restore", "--from", str(place), "--table", name, "--http", sides[1].state()["http"])
    assert len(stored(target, name)) == 100
    times = [f"{time.isoformat(timespec='milliseconds')}Z" for time in (since, until)]
    for _ in range(2):
        # Again is the same.
        run(*command(sides, name, "--since", times[0], "--until", times[1])[1:])
        assert stored(target, name) == wanted
    assert not list(target.execute(f"SELECT * FROM {keyspace_table[0]}.tarndb_follow WHERE follower = 'default' AND source = '{keyspace_table[1]}'"))
    # Somebody who only follows gets the rest.
    elsewhere = stored(source, name)
    assert elsewhere != wanted
    run(*command(sides, name, "--since", times[0], "--once")[1:])
    assert stored(target, name) == elsewhere


def test_rows_go_back_to_where_they_were_deleted(sides, sessions, table):
    """The end of the way back: what is older than the deletions is there again."""
    source, target = sessions
    name = table("p int, c int, v int, PRIMARY KEY (p, c)")
    for c in range(20):
        source.execute(f"INSERT INTO {name} (p, c, v) VALUES ({c % 5}, {c}, 1)")
    follow_once(sides, name)
    wanted = stored(target, name)
    source.execute(f"DELETE FROM {name} WHERE p = 1")
    source.execute(f"TRUNCATE {name}")
    ends = [side.state()["cql"] for side in sides]
    words = ["import", *name.split("."), "--from", ends[1], "--to", ends[0], "--verify"]
    done = subprocess.run([server.binary(), *words], capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode == 0, done.stderr
    assert stored(source, name) == wanted


def test_times_are_checked(sides, sessions, table):
    name = table("p int PRIMARY KEY, v int")
    assert "in UTC" in refused_without_once(sides, name, "--until", "yesterday")
    assert "--once" in refused(sides, name, "--until", "2026-11-28T14:05:00Z")
    assert "--copy" in refused_without_once(sides, name, "--copy", "--until", "2026-11-28T14:05:00Z")
    assert "a time as" in refused(sides, name, "--since", "2026-11-28")
    assert "are gone" in refused(sides, name, "--since", "2020-01-01T00:00:00Z")


def refused_without_once(sides, name, *more):
    done = subprocess.run(command(sides, name, *more), capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode == 2, (done.returncode, done.stderr)
    return done.stderr
