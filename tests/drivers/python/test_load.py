"""What a server is asked for: slow requests and hot partitions, in the system's tables, in its log and over HTTP."""

import base64
import json
import tempfile
import urllib.error
import urllib.request

import pytest
from cassandra import Unauthorized
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args

import server
from conftest import PEER, run_directory
from patient import patient
from waiting import SECONDS_MAX, wait_until

pytestmark = pytest.mark.skipif(bool(PEER), reason="the server under test is not TarnDB")

# Takes some milliseconds; the bound of a call is a million instructions.
SLOW = "CREATE FUNCTION ks.slow(a text) CALLED ON NULL INPUT RETURNS text LANGUAGE lua AS 'for i = 1, 150000 do local x = i * 2 end return a'"


@pytest.fixture(scope="module")
def loaded():
    """A server where a millisecond is slow, with tables `ks.t` and `ks.pairs`."""
    private = server.Server(tempfile.mkdtemp(prefix="load-", dir=run_directory()), [*server.LOGIN_FLAGS, "--slow-query-threshold-ms", "1"])
    private.start()
    with Login(private, "cassandra") as boss:
        boss.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        boss.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v text)")
        boss.execute("CREATE TABLE ks.pairs (a text, b int, c int, v int, PRIMARY KEY ((a, b), c))")
        boss.execute("CREATE TABLE ks.masked (k int MASKED WITH DEFAULT PRIMARY KEY)")
        boss.execute(SLOW)
        boss.execute("INSERT INTO ks.t (k, v) VALUES (1, 'x')")
        boss.execute("CREATE ROLE reader WITH PASSWORD = 'reader' AND LOGIN = true")
        boss.execute("GRANT SELECT ON ks.t TO reader")
        boss.execute("GRANT EXECUTE ON ALL FUNCTIONS TO reader")
    yield private
    private.stop()


class Login:
    """A session of a role, whose password is its name."""

    def __init__(self, private, role):
        host, port = private.state()["cql"].rsplit(":", 1)
        self.cluster = Cluster([host], port=int(port), **patient(auth_provider=PlainTextAuthProvider(role, role), protocol_version=5))

    def __enter__(self):
        return self.cluster.connect()

    def __exit__(self, *_):
        self.cluster.shutdown()


@pytest.fixture(scope="module")
def boss(loaded):
    with Login(loaded, "cassandra") as session:
        yield session


def http(loaded, role, path, body=None):
    """What the HTTP port answers a role."""
    request = urllib.request.Request(f"http://{loaded.state()['http']}{path}", data=body)
    request.add_header("Authorization", "Basic " + base64.b64encode(f"{role}:{role}".encode()).decode())
    with urllib.request.urlopen(request, timeout=SECONDS_MAX) as reply:
        return reply.read().decode()


def load(loaded, role):
    """What the console shows."""
    return json.loads(http(loaded, role, "/api/v1/load"))


def slow(session, text):
    """Slow requests with this in their statement, the latest first."""
    rows = session.execute("SELECT * FROM system_views.slow_queries")
    return sorted((row for row in rows if row.statement and text in row.statement), key=lambda row: row.started_at, reverse=True)


def slow_ones(session, text, count):
    """The same, once there are so many: a core tells of a request after its answer."""
    wait_until(lambda: len(slow(session, text)) >= count)
    return slow(session, text)


def test_slow_requests_are_told_without_their_values(loaded, boss):
    with Login(loaded, "reader") as session:
        session.execute("SELECT ks.slow((text)'s3cret') AS told FROM ks.t WHERE k = 1")
        row = slow_ones(boss, "AS told", 1)[0]
        assert row.statement == "SELECT ks.slow((text)?) AS told FROM ks.t WHERE k = ?"
        assert (row.keyspace_name, row.table_name, row.username, row.protocol, row.kind) == ("ks", "t", "reader", "cql", "read")
        assert row.client == "127.0.0.1" and row.client_port > 0 and 1_000 <= row.duration_us < SECONDS_MAX * 1_000_000

        prepared = session.prepare("SELECT ks.slow(v) AS ready FROM ks.t WHERE k = ?")
        # On each core, as the one that owns the row or not.
        for _ in range(20):
            session.execute(prepared, (1,))
        rows = slow_ones(boss, "AS ready", 20)
        assert len(rows) == 20 and {row.statement for row in rows} == {"SELECT ks.slow(v) AS ready FROM ks.t WHERE k = ?"}
        assert {(row.table_name, row.username) for row in rows} == {("t", "reader")}
        assert all(row.waited_for for row in rows)

        shown = load(loaded, "cassandra")["slow"]
        assert [row["role"] for row in shown if row["statement"] and "AS ready" in row["statement"]] == ["reader"] * 20
        with pytest.raises(Unauthorized):
            session.execute("SELECT * FROM system_views.slow_queries")
        with pytest.raises(urllib.error.HTTPError) as refusal:
            load(loaded, "reader")
        assert refusal.value.code == 403
    # Some lines a second; which of the statements had them depends on how long those took that made the tables.
    wait_until(lambda: "a slow request" in loaded.log_path.read_text(errors="replace"))
    assert "s3cret" not in loaded.log_path.read_text(errors="replace")


def test_the_threshold_changes_at_once(loaded, boss):
    try:
        http(loaded, "cassandra", "/settings/slow_query_threshold_ms", b"0")
        boss.execute("SELECT ks.slow(v) AS unseen FROM ks.t WHERE k = 1")
        assert not slow(boss, "AS unseen")
        http(loaded, "cassandra", "/settings/slow_query_threshold_ms", b"1")
        boss.execute("SELECT ks.slow(v) AS seen_again FROM ks.t WHERE k = 1")
        assert len(slow_ones(boss, "AS seen_again", 1)) == 1
        assert boss.execute("SELECT value FROM system_views.settings WHERE name = 'slow_query_threshold_ms'").one().value == "1"
    finally:
        http(loaded, "cassandra", "/settings/slow_query_threshold_ms", b"1")
    assert "tarndb_slow_requests_total{core=" in http(loaded, "cassandra", "/metrics")


def test_hot_partitions_are_found_among_others(loaded, boss):
    read = boss.prepare("SELECT v FROM ks.t WHERE k = ?")
    write = boss.prepare("INSERT INTO ks.pairs (a, b, c, v) VALUES (?, ?, ?, ?)")
    masked = boss.prepare("SELECT k FROM ks.masked WHERE k = ?")
    asked = {
        ("t", "4242"): (read, [(4242,) if number % 2 else (number,) for number in range(8_000)]),
        ("pairs", "'it''s', 7"): (write, [("it's", 7, number, 1) for number in range(4_000)]),
        ("masked", "****"): (masked, [(99,)] * 4_000),
    }
    for (table, key), (statement, values) in asked.items():
        hottest, rounds = ask_until_hot(loaded, boss, table, statement, values)
        assert hottest.partition_key == key and 0 < hottest.share < 1 and hottest.requests_per_second > 0
        assert 1 <= hottest.samples <= 60 * rounds


def ask_until_hot(loaded, boss, table, statement, values):
    """What is counted is of the last ten to twenty seconds, in which a busy machine may do little."""
    for rounds in range(1, 11):
        execute_concurrent_with_args(boss, statement, values)
        found = list(boss.execute("SELECT * FROM system_views.hot_partitions WHERE keyspace_name = 'ks' AND table_name = %s", (table,)))
        hottest = max(found, key=lambda row: row.samples, default=None)
        if hottest and (table, hottest.partition_key) in {(row["table"], row["partition_key"]) for row in load(loaded, "cassandra")["hot"]}:
            return hottest, rounds
    raise AssertionError(f"nothing is hot in {table}: {found}")
