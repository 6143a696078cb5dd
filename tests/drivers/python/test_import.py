"""`tarndb import`: two servers, tables of all kinds of columns; timestamps and times to live, `kill -9` of the import and of both servers, the comparison, and
what is refused."""

import contextlib
import os
import ssl
import subprocess

import pytest
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args

import certificates
import server
import two_servers
from conftest import create_keyspace, names, run_directory, when_back
from killed_imports import EndedBefore, kill_again_and_again
from patient import patient
from two_servers import assert_equal, stored
from waiting import SECONDS_MAX, wait_until


@pytest.fixture(scope="module")
def sides():
    """Two servers of their own."""
    with two_servers.started("import") as found:
        yield found


@pytest.fixture(scope="module")
def sessions(sides):
    """A session on each."""
    with two_servers.connected(sides) as found:
        yield found


@pytest.fixture
def keyspace(sessions):
    """A new keyspace of the source."""
    name = f"k{next(names)}"
    create_keyspace(sessions[0], name)
    return name


def command(sides, *words):
    source, target = (side.state()["cql"] for side in sides)
    return [server.binary(), "import", "--from", source, "--to", target, *words]


def run_import(sides, *words, status=0):
    """What it says, once it has ended so."""
    done = subprocess.run(command(sides, *words), capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode == status, (done.returncode, done.stderr)
    return done.stderr


WIDE = (
    "p int, q text, c int, d int, v int, w text, b blob, f double, t timeuuid, n inet, s set<int>, m map<text, int>, l list<int>, u address, fu frozen<address>, "
    "fl frozen<list<int>>, tu tuple<int, text>, ve vector<float, 2>, st text static, sm map<int, int> static, "
    "PRIMARY KEY ((p, q), c, d)) WITH CLUSTERING ORDER BY (c DESC, d ASC"
)
TIMES = "p, q, c, d, writetime(v), writetime(w), writetime(s), writetime(m), writetime(u), writetime(fu), writetime(st), writetime(sm)"


def fill_wide(session, name):  # A row of each kind.
    where = "WHERE p = 1 AND q = 'a' AND c = %s AND d = 1"
    for text, values in [
        (f"INSERT INTO {name} (p, q, c, d, v, w, b, f, t, n, fl, tu, ve, fu) VALUES (1, 'a', 1, 1, 5, '', 0x00ff, 1.5, now(), '::1', [1, 2], (1, null), [1, 2], "
         "{street: 'x', zip: null}) USING TIMESTAMP 1000", ()),
        (f"UPDATE {name} USING TIMESTAMP 2000 SET w = 'later', u = {{street: 'y', zip: 1}} {where}", (1,)),
        (f"UPDATE {name} USING TIMESTAMP 3000 AND TTL 7000 SET v = 6, u.zip = 2, m['ttl'] = 1 {where}", (1,)),
        (f"UPDATE {name} USING TIMESTAMP 4000 SET s = {{1, 2, 3}}, m = m + {{'a': 1, 'b': 2}}, l = [3, 1, 2] {where}", (1,)),
        (f"UPDATE {name} USING TIMESTAMP 5000 SET s = s + {{9}}, m['b'] = 7 {where}", (1,)),
        (f"UPDATE {name} SET l = [0] + l {where}", (1,)),
        (f"DELETE b, s[2], m['a'] FROM {name} {where}", (1,)),
        # A key alone, and a row that only UPDATE has made.
        (f"INSERT INTO {name} (p, q, c, d) VALUES (1, 'a', 2, 1)", ()),
        (f"UPDATE {name} USING TIMESTAMP 77 SET v = 1 {where}", (3,)),
        (f"UPDATE {name} USING TIMESTAMP 78 SET m = {{'only': 1}} {where}", (4,)),
        # Static columns, with rows and without.
        (f"UPDATE {name} USING TIMESTAMP 600 SET st = 'st' WHERE p = 1 AND q = 'a'", ()),
        (f"UPDATE {name} USING TIMESTAMP 700 AND TTL 9000 SET sm = sm + {{1: 2}} WHERE p = 1 AND q = 'a'", ()),
        (f"UPDATE {name} USING TIMESTAMP 800 SET st = 'alone' WHERE p = 2 AND q = ''", ()),
        (f"INSERT INTO {name} (p, q, c, d, v) VALUES (3, 'gone', 1, 1, 1)", ()),
        (f"DELETE FROM {name} WHERE p = 3 AND q = 'gone'", ()),
        (f"INSERT INTO {name} (p, q, c, d, v) VALUES (4, 'ttl', 1, 1, 1) USING TTL 8000", ()),
    ]:
        session.execute(text, values)


def test_columns_of_all_kinds_keep_values_times_and_order(sides, sessions, keyspace):
    source, target = sessions
    source.execute(f"CREATE TYPE {keyspace}.place (x int)")
    source.execute(f"CREATE TYPE {keyspace}.address (street text, zip int)")
    source.execute(f'CREATE TYPE {keyspace}."Ü b" (a frozen<address>, p frozen<place>)')
    wide = f"{keyspace}.wide"
    source.execute(f"CREATE TABLE {wide} ({WIDE}) AND comment = 'it''s wide' AND default_time_to_live = 0")
    source.execute(f'CREATE TABLE {keyspace}."OddName" ("Key" int PRIMARY KEY, "select" text, "a""b" frozen<"Ü b">)')
    source.execute(f"""INSERT INTO {keyspace}."OddName" ("Key", "select", "a""b") VALUES (1, 'x', {{a: {{zip: 1}}, p: {{x: 2}}}})""")
    source.execute(f"CREATE TABLE {keyspace}.keys (p int, c int, PRIMARY KEY (p, c)) WITH default_time_to_live = 5000")
    source.execute(f"INSERT INTO {keyspace}.keys (p, c) VALUES (1, 2)")
    source.execute(f"CREATE TABLE {keyspace}.statics (p int, c int, s int static, PRIMARY KEY (p, c))")
    source.execute(f"INSERT INTO {keyspace}.statics (p, c, s) VALUES (1, 2, 3)")
    source.execute(f"CREATE INDEX by_w ON {wide} (w)")
    source.execute(f"CREATE INDEX by_m ON {wide} (keys(m))")
    source.execute(f"CREATE CUSTOM INDEX by_v ON {wide} (v) USING 'StorageAttachedIndex'")
    source.execute(f"CREATE MATERIALIZED VIEW {keyspace}.by_c AS SELECT p, c FROM {keyspace}.keys WHERE p IS NOT NULL AND c IS NOT NULL PRIMARY KEY (c, p) WITH CLUSTERING ORDER BY (p DESC)")
    fill_wide(source, wide)
    said = run_import(sides, keyspace, "--verify")
    assert "9 rows copied of 4 tables" in said, said
    assert "are the same on both sides" in said
    for name in (wide, f'{keyspace}."OddName"', f"{keyspace}.keys", f"{keyspace}.statics"):
        assert_equal(sessions, name)
    assert_equal(sessions, wide, TIMES)
    assert list(target.execute(f"SELECT l FROM {wide} WHERE p = 1 AND q = 'a' AND c = 1"))[0].l == [0, 3, 1, 2]
    # One by one: a list of some that live for ever and some that do not is more than the driver reads.
    left = "SELECT ttl(v), ttl(w), ttl(u.street), ttl(u.zip), ttl(m['ttl']), ttl(m['b']), ttl(s[1]), ttl(sm[1]), ttl(st) FROM "
    at_source, at_target = ([tuple(ttl or 0 for ttl in row) for row in session.execute(left + wide)] for session in sessions)
    assert len(at_source) == len(at_target) and any(sum(map(bool, row)) == 4 for row in at_source), at_source
    for one, other in zip(at_source, at_target, strict=True):
        assert all(abs(a - b) <= 10 and bool(a) == bool(b) for a, b in zip(one, other, strict=True)), (one, other)
    # The default time to live of a table is for those who write there, and not for what is copied.
    described = [row.create_statement for row in target.execute(f"DESCRIBE {keyspace}.keys")]
    assert "default_time_to_live = 5000" in described[0]
    assert "comment = 'it''s wide'" in list(target.execute(f"DESCRIBE {wide}"))[0].create_statement
    rows = when_back(target, f"SELECT p FROM {wide} WHERE w = 'later'")
    assert [row.p for row in rows] == [1]
    wait_until(lambda: [tuple(row) for row in target.execute(f"SELECT c, p FROM {keyspace}.by_c")] == [(2, 1)])
    # All of it again is the same, lists too.
    run_import(sides, keyspace, "--restart", "--verify")
    assert_equal(sessions, wide)
    assert_equal(sessions, wide, TIMES)


def test_what_the_target_has_newer_stays(sides, sessions, keyspace):
    source, target = sessions
    name = f"{keyspace}.t"
    source.execute(f"CREATE TABLE {name} (p int PRIMARY KEY, v int, w int)")
    run_import(sides, keyspace)
    for p in range(3):
        source.execute(f"INSERT INTO {name} (p, v, w) VALUES ({p}, 1, 1)")
    target.execute(f"UPDATE {name} SET v = 2 WHERE p = 0")
    target.execute(f"DELETE FROM {name} WHERE p = 1")
    # Nothing is copied twice unless it is asked for.
    assert "256 of 256 ranges are copied" in run_import(sides, keyspace)
    run_import(sides, keyspace, "--restart")
    assert stored(target, name, "p, v, w") == ["(0, 2, 1)", "(2, 1, 1)"]
    # A table that is made again is copied again, from wherever.
    target.execute(f"DROP TABLE {name}")
    run_import(sides, keyspace)
    assert_equal(sessions, name)
    source.execute(f"DROP TABLE {name}")
    source.execute(f"CREATE TABLE {name} (p int PRIMARY KEY, v int, w int)")
    source.execute(f"INSERT INTO {name} (p, v, w) VALUES (9, 9, 9)")
    assert "1 rows copied" in run_import(sides, keyspace)
    assert stored(target, name, "p") == ["(0,)", "(1,)", "(2,)", "(9,)"]


def large(session, name, count):
    """A table of many rows."""
    session.execute(f"CREATE TABLE {name} (p int, c int, v text, l list<int>, PRIMARY KEY (p, c))")
    insert = session.prepare(f"INSERT INTO {name} (p, c, v, l) VALUES (?, ?, ?, ?) USING TIMESTAMP ?")
    rows = [(number // 10, number % 10, "v" * 50, [number, 1], 1_000_000 + number) for number in range(count)]
    execute_concurrent_with_args(session, insert, rows, concurrency=100)


def test_an_import_that_is_killed_goes_on(sides, sessions, keyspace):
    source, target = sessions
    for rows_per_second in (1000, 300, 100):
        name = f"{keyspace}.t"
        large(source, name, 20_000)

        def done(keyspace=keyspace):
            with contextlib.suppress(Exception):
                return len(list(target.execute(f"SELECT after FROM {keyspace}.tarndb_import WHERE table_name = 't'")))
            return 0

        slowly = command(sides, keyspace, "--jobs", "2", "--page-rows", "50", "--max-rows-per-second", str(rows_per_second))
        try:
            kill_again_and_again(slowly, done, 256, ((20, None), (60, sides[1]), (80, sides[0])))
            break
        except EndedBefore:
            # Another one, more slowly.
            assert rows_per_second > 100
            keyspace = f"k{next(names)}"
            create_keyspace(source, keyspace)
    said = run_import(sides, keyspace, "--verify")
    assert "goes on where it was" in said and "20000 rows are the same" in said
    assert_equal(sessions, name)
    assert_equal(sessions, name, "p, c, writetime(v)")


def test_the_comparison_finds_what_differs(sides, sessions, keyspace):
    source, target = sessions
    name = f"{keyspace}.t"
    large(source, name, 1_000)
    run_import(sides, keyspace, "--verify")
    target.execute(f"UPDATE {name} SET v = 'changed' WHERE p = 5 AND c = 1")
    target.execute(f"DELETE FROM {name} WHERE p = 6 AND c = 2")
    target.execute(f"INSERT INTO {name} (p, c, v) VALUES (7000, 3, 'more')")
    # The same value at another time.
    target.execute(f"UPDATE {name} USING TIMESTAMP 9000000 SET v = '{'v' * 50}' WHERE p = 8 AND c = 4")
    target.execute(f"UPDATE {name} SET l = [1] WHERE p = 9 AND c = 5")
    said = run_import(sides, keyspace, "--verify", status=1)
    for line in (
        'not the same: "p" = 5 AND "c" = 1', 'missing at the target: "p" = 6 AND "c" = 2', 'only at the target: "p" = 7000 AND "c" = 3',
        'not the same: "p" = 8 AND "c" = 4', 'not the same: "p" = 9 AND "c" = 5', "5 rows",
    ):
        assert line in said, (line, said)


def test_tables_are_chosen_and_what_is_left_out_is_said(sides, sessions, keyspace):
    source, target = sessions
    for name in ("a", "b"):
        source.execute(f"CREATE TABLE {keyspace}.{name} (p int PRIMARY KEY, v int)")
        source.execute(f"INSERT INTO {keyspace}.{name} (p, v) VALUES (1, 1)")
    source.execute(f"CREATE TABLE {keyspace}.logged (p int PRIMARY KEY) WITH cdc = {{'enabled': true}}")
    source.execute(f"CREATE TABLE {keyspace}.counts (p int PRIMARY KEY, n counter)")
    source.execute(f"CREATE TABLE {keyspace}.old (p int PRIMARY KEY, v int) WITH COMPACT STORAGE")
    source.execute(f"CREATE FUNCTION {keyspace}.f (a int) CALLED ON NULL INPUT RETURNS int LANGUAGE lua AS 'return a'")
    run_import(sides, keyspace, "a")
    tables = f"SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{keyspace}'"
    assert sorted(row.table_name for row in target.execute(tables)) == ["a", "tarndb_import"]
    said = run_import(sides, keyspace, status=1)
    assert "left out: table counts: it has counters" in said and "left out: table old: it has COMPACT" in said and "left out: function f" in said
    assert "left out: 3 of" in said
    assert sorted(row.table_name for row in target.execute(tables)) == ["a", "b", "logged", "tarndb_import"]
    assert "cannot be imported: it has counters" in run_import(sides, keyspace, "counts", status=2)


def test_tables_that_are_there_must_be_the_same(sides, sessions, keyspace):
    source, target = sessions
    source.execute(f"CREATE TYPE {keyspace}.u (a int)")
    source.execute(f"CREATE TABLE {keyspace}.t (p int, c int, v int, PRIMARY KEY (p, c))")
    create_keyspace(target, keyspace)
    target.execute(f"CREATE TYPE {keyspace}.u (a int)")
    target.execute(f"CREATE TABLE {keyspace}.t (p int, c int, v int, PRIMARY KEY (p, c)) WITH CLUSTERING ORDER BY (c DESC)")
    assert "column c is int, clustering column, descending, and int, clustering column at the source" in run_import(sides, keyspace, status=1)
    target.execute(f"DROP TABLE {keyspace}.t")
    target.execute(f"CREATE TABLE {keyspace}.t (p int, c int, v text, PRIMARY KEY (p, c))")
    assert "column v is text, and int at the source" in run_import(sides, keyspace, status=1)
    target.execute(f"DROP TABLE {keyspace}.t")
    target.execute(f"ALTER TYPE {keyspace}.u ADD b int")
    assert "type u of the target differs" in run_import(sides, keyspace, status=1)


def test_wrong_input(sides, keyspace):
    assert f"no keyspace {keyspace}x; it has" in run_import(sides, f"{keyspace}x", status=2)
    assert f"no table {keyspace}.nothing" in run_import(sides, keyspace, "nothing", status=2)
    assert "HOST:PORT" in run_import(sides, keyspace, "--from-ca", "/nowhere", "--to", "nowhere", status=2)
    assert "ROLE:PASSWORD" in run_import(sides, keyspace, "--from-login-file", "/nowhere", status=2)
    assert "there is no consistency level `MOST`" in run_import(sides, keyspace, "--consistency", "MOST", status=2)
    assert "--jobs" in run_import(sides, keyspace, "--jobs", "0", status=2)
    port = server.free_port()
    words = ["--from", f"127.0.0.1:{port}", "--to", sides[1].state()["cql"], keyspace]
    done = subprocess.run([server.binary(), "import", *words], capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode == 1 and "the source: " in done.stderr and f"127.0.0.1:{port}" in done.stderr, done.stderr


@pytest.mark.skipif(certificates.why_not() is not None, reason="no certificates can be made")
def test_over_tls_and_with_log_ins(sides, sessions, tmp_path):
    directory = run_directory() / f"import-tls-{os.getpid()}"
    private = server.Server(directory, [*server.LOGIN_FLAGS, *server.offered_tls(directory, "required")], memory="256M")
    private.start()
    try:
        authority = str(directory / "certificates" / "ca.pem")
        superuser = (server.ROOT / "tests" / "drivers" / "superuser-password").read_text().strip()
        host, port = private.state()["cql"].rsplit(":", 1)
        cluster = Cluster(
            [host], port=int(port), ssl_context=ssl.create_default_context(cafile=authority),
            **patient(protocol_version=4, auth_provider=PlainTextAuthProvider("cassandra", superuser)),
        )
        try:
            session = cluster.connect()
            keyspace = f"k{next(names)}"
            create_keyspace(session, keyspace)
            session.execute(f"CREATE TABLE {keyspace}.t (p int PRIMARY KEY, v int)")
            session.execute(f"INSERT INTO {keyspace}.t (p, v) VALUES (1, 2)")
            session.execute("CREATE ROLE reader WITH PASSWORD = 'secret' AND LOGIN = true")
            login = tmp_path / "login"
            login.write_text("reader:secret\n")
            login.chmod(0o600)
            pair, trusting = [private, sides[1]], ["--from-ca", authority, "--from-login-file", str(login)]
            assert "SELECT" in run_import(pair, keyspace, *trusting, status=1)
            session.execute(f"GRANT SELECT ON KEYSPACE {keyspace} TO reader")
            run_import(pair, keyspace, *trusting, "--verify")
            assert [tuple(row) for row in sessions[1].execute(f"SELECT p, v FROM {keyspace}.t")] == [(1, 2)]
            assert "user and password" in run_import(pair, keyspace, "--from-ca", authority, status=1)
            login.write_text("reader:wrong\n")
            login.chmod(0o600)
            assert "bad credentials" in run_import(pair, keyspace, *trusting, status=1)
        finally:
            cluster.shutdown()
    finally:
        private.stop()
