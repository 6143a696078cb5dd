"""The change feed over HTTP (`GET /changes/KEYSPACE/TABLE`): what lines say, how a reader goes on, `kill -9`, slow readers, and what is refused."""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import random
import shlex
import socket
import threading
import time
import urllib.parse

import pytest
from cassandra.concurrent import execute_concurrent_with_args

import server
from conftest import GONE, create_keyspace, names, run_directory, when_back
from waiting import SECONDS_MAX, wait_until

CDC = "cdc = {'enabled': true}"
# Of a table of (p, c), v, w, a map m and a static column s: each kind of change.
EACH_KIND = (
    "INSERT INTO {t} (p, c, v) VALUES (1, 2, 3)",
    "UPDATE {t} USING TTL 1000 SET w = 'x\"\u00e9' WHERE p = 1 AND c = 2",
    "UPDATE {t} SET v = null, m = {{'a': 1, 'b': 2}} WHERE p = 1 AND c = 2",
    "UPDATE {t} SET m = m + {{'d': 4}}, m = m - {{'a'}} WHERE p = 1 AND c = 2",
    "UPDATE {t} SET s = 7 WHERE p = 1",
    "DELETE FROM {t} WHERE p = 1 AND c = 2",
    "DELETE FROM {t} WHERE p = 1 AND c > 3 AND c <= 5",
    "DELETE FROM {t} WHERE p = 1",
)


@pytest.fixture(scope="module")
def http_address():
    """A function that says where operators are served: after a restart, elsewhere."""
    command = os.environ.get("TARNDB_TEST_RESTART")
    if not command:
        pytest.skip("the server under test is not ours")
    directory = pathlib.Path(shlex.split(command)[-1])
    return lambda: server.Server(directory).state()["http"]


@contextlib.contextmanager
def feed(address, name, headers=None, **parameters):
    """The response to a request for the changes of a table."""
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=SECONDS_MAX)
    path = "/changes/" + "/".join(urllib.parse.quote(part, safe="") for part in name.split("."))
    try:
        connection.request("GET", f"{path}?{urllib.parse.urlencode(parameters)}", headers=headers or {})
        with connection.getresponse() as response:
            yield response
    finally:
        connection.close()


def lines(address, name, **parameters):
    """All lines of a feed that ends: changes, and the mark after them."""
    with feed(address, name, **parameters) as response:
        assert response.status == 200, response.read()
        told = [json.loads(line) for line in response.read().splitlines()]
    assert "operation" not in told[-1] and all("operation" in line for line in told[:-1])
    return told[:-1], told[-1]["position"]


def refused(address, name, headers=None, **parameters):
    """The status and the words of a feed that does not begin."""
    with feed(address, name, headers, **parameters) as response:
        return response.status, response.read().decode()


def without(line, *keys):
    return {key: value for key, value in line.items() if key not in keys}


def test_each_kind_of_change(shared_session, table, http_address):
    options = "cdc = {'enabled': true, 'preimage': true, 'postimage': true}"
    name = table("p int, c int, v int, w text, m map<text, int>, s int static, PRIMARY KEY (p, c)", options)
    began = time.time()
    for text in EACH_KIND:
        shared_session.execute(text.format(t=name))
    told, _ = lines(http_address(), name)
    assert [without(line, "time", "id", "position") for line in told] == [
        {"operation": "insert", "key": {"p": 1, "c": 2}, "columns": {"v": 3}, "postimage": {"v": 3}},
        {"operation": "update", "key": {"p": 1, "c": 2}, "ttl": 1000, "columns": {"w": 'x"é'}, "preimage": {}, "postimage": {"v": 3, "w": 'x"é'}},
        {"operation": "update", "key": {"p": 1, "c": 2}, "columns": {"m": {"a": 1, "b": 2}}, "deleted": ["m", "v"], "preimage": {"v": 3},
         "postimage": {"w": 'x"é', "m": {"a": 1, "b": 2}}},
        {"operation": "update", "key": {"p": 1, "c": 2}, "columns": {"m": {"d": 4}}, "removed": {"m": ["a"]}, "preimage": {"m": {"a": 1, "b": 2}},
         "postimage": {"w": 'x"é', "m": {"b": 2, "d": 4}}},
        {"operation": "update", "key": {"p": 1}, "columns": {"s": 7}, "postimage": {"s": 7}},
        {"operation": "delete_row", "key": {"p": 1, "c": 2}, "preimage": {"w": 'x"é', "m": {"b": 2, "d": 4}}},
        {"operation": "delete_range", "key": {"p": 1}, "from": {"columns": {"c": 3}, "inclusive": False}, "to": {"columns": {"c": 5}, "inclusive": True}},
        {"operation": "delete_partition", "key": {"p": 1}},
    ]
    ids = [line["id"] for line in told]
    assert ids == sorted(ids) and len(set(ids)) == len(ids)
    times = [line["time"] for line in told]
    iso = lambda seconds: time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    assert times == sorted(times) and iso(began - 1) <= times[0] <= times[-1] <= iso(time.time() + 1)


def test_a_reader_goes_on_after_any_line(shared_session, table, http_address):
    name = table("p int, c int, v int, PRIMARY KEY (p, c)", CDC)
    statement = shared_session.prepare(f"INSERT INTO {name} (p, c, v) VALUES (?, ?, ?)")
    execute_concurrent_with_args(shared_session, statement, [(i % 7, i, i) for i in range(60)])
    told, mark = lines(http_address(), name)
    ids = [line["id"] for line in told]
    assert sorted(line["key"]["c"] for line in told) == list(range(60))
    for behind, line in list(enumerate(told))[::6]:
        again, _ = lines(http_address(), name, since=line["position"])
        assert set(ids[behind + 1:]) <= {line["id"] for line in again}
    # After a mark nothing is told twice, as long as few streams have changes.
    assert lines(http_address(), name, since=mark)[0] == []
    shared_session.execute(statement, (3, 100, 1))
    told, mark = lines(http_address(), name, since=mark)
    assert [line["key"]["c"] for line in told] == [100]
    # A few at a time.
    position, seen = "oldest", []
    while True:
        told, position = lines(http_address(), name, since=position, limit=7)
        seen += [line["id"] for line in told]
        if not told:
            break
    assert seen[:60] == ids and len(seen) == 61


def test_a_feed_says_that_others_go_first(shared_session, table, http_address):
    name = table("p int PRIMARY KEY, v int", CDC)
    shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 1)")
    with feed(http_address(), name, follow=1) as response:
        assert json.loads(response.readline())["columns"] == {"v": 1}
        workloads = [row.client_options.get("WORKLOAD") for row in shared_session.execute("SELECT client_options FROM system_views.clients")]
    assert "background" in workloads and None in workloads, workloads


def test_now_begins_with_what_comes(shared_session, table, http_address):
    name = table("p int PRIMARY KEY, v int", CDC)
    shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 1)")
    told, mark = lines(http_address(), name, since="now")
    assert told == []
    shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 2)")
    told, mark = lines(http_address(), name, since=mark)
    assert [line["columns"] for line in told] == [{"v": 2}]

    # Who waits gets what is written meanwhile.
    def write():
        shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 3)")

    writer = threading.Timer(0.3, write)
    writer.start()
    told, _ = lines(http_address(), name, since=mark, wait=SECONDS_MAX)
    writer.join()
    assert [line["columns"] for line in told] == [{"v": 3}]


def test_times_of_clients_do_not_matter(shared_session, table, http_address):
    name = table("p int, c int, v int, PRIMARY KEY (p, c)", CDC)
    mark, seen = "oldest", []
    for number, timestamp in enumerate([10**15, 5, 9 * 10**15, 1]):
        shared_session.execute(f"INSERT INTO {name} (p, c, v) VALUES (1, {number}, 0) USING TIMESTAMP {timestamp}")
        told, mark = lines(http_address(), name, since=mark)
        seen += [line["key"]["c"] for line in told]
    assert seen == [0, 1, 2, 3], "an old time is told after a new one, and nothing twice"


def test_a_follower_sees_each_row_s_changes_in_order_through_kills(shared_session, table, http_address, restart):
    """Eight writers, `kill -9` in the middle: a follower that reconnects has every acknowledged write, each row's in order."""
    name = table("p int, c int, v int, PRIMARY KEY (p, c)", CDC)
    statement = shared_session.prepare(f"UPDATE {name} SET v = ? WHERE p = ? AND c = 0")
    acknowledged, stop, done = {}, threading.Event(), threading.Event()
    seen, ids, positions = {}, set(), ["oldest"]

    def write(writer):
        number = 0
        while not stop.is_set():
            number += 1
            try:
                shared_session.execute(statement, (number, writer))
                acknowledged[writer] = number
            except GONE:
                # It may have been done: what is read later tells.
                pass

    def follow():
        while not done.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException, json.JSONDecodeError, server.ServerFailed):
                with feed(http_address(), name, since=positions[-1], follow=1, heartbeat=1) as response:
                    assert response.status in (200, 503), response.read()
                    for line in response if response.status == 200 else ():
                        line = json.loads(line)
                        assert "error" not in line or line["code"] == 503, line
                        if "operation" in line and line["id"] not in ids:
                            row, value = line["key"]["p"], line["columns"]["v"]
                            assert value > seen.get(row, 0), (row, value, seen.get(row))
                            seen[row] = value
                            ids.add(line["id"])
                        positions.append(line.get("position", positions[-1]))
                        if done.is_set():
                            return

    failed = []

    def checked(work):
        def run(*arguments):
            try:
                work(*arguments)
            except BaseException as error:
                failed.append(error)
                raise

        return run

    threads = [threading.Thread(target=checked(write), args=(writer,)) for writer in range(8)]
    follower = threading.Thread(target=checked(follow))
    for thread in [*threads, follower]:
        thread.start()
    wait_until(lambda: failed or sum(seen.values()) > 500)
    restart("kill")
    reached = sum(seen.values())
    wait_until(lambda: failed or sum(seen.values()) > reached + 500)
    stop.set()
    for thread in threads:
        thread.join()
    wait_until(lambda: failed or all(seen.get(writer, 0) >= number for writer, number in acknowledged.items()))
    done.set()
    follower.join()
    assert not failed, failed
    stored = {row.p: row.v for row in when_back(shared_session, f"SELECT p, v FROM {name}")}
    assert stored == seen


def test_a_slow_reader_holds_up_nobody(shared_session, table, http_address):
    """40 MiB wait for one who reads nothing; the server takes little memory for it, answers others, and goes on when it reads."""
    name = table("p int, c int, v blob, PRIMARY KEY (p, c)", CDC)
    statement = shared_session.prepare(f"INSERT INTO {name} (p, c, v) VALUES (?, ?, ?)")
    values = [(i % 40, i, random.randbytes(20_000)) for i in range(2_000)]
    execute_concurrent_with_args(shared_session, statement, values, concurrency=20)
    host, port = http_address().rsplit(":", 1)
    before = resident_bytes(http_address())
    with socket.create_connection((host, int(port)), timeout=SECONDS_MAX) as slow:
        keyspace, table_name = name.split(".")
        slow.sendall(f"GET /changes/{keyspace}/{table_name}?follow=1 HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        file = slow.makefile("rb", buffering=1 << 20)
        assert file.readline().startswith(b"HTTP/1.1 200 OK")
        assert lines(http_address(), name, limit=3)[0], "others are served"
        assert resident_bytes(http_address()) < before + (32 << 20)
        # It reads after all.
        told = 0
        for line in file:
            assert b'"complete_until"' not in line or told == len(values)
            told += line.startswith(b'{"operation"')
            if told == len(values):
                break
        assert told == len(values)


def resident_bytes(address):
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=SECONDS_MAX)
    try:
        connection.request("GET", "/api/v1/overview")
        return json.loads(connection.getresponse().read())["process"]["resident_bytes"]
    finally:
        connection.close()


def test_what_is_gone_is_said(shared_session, table, http_address):
    name = table("p int PRIMARY KEY, v int", CDC)
    shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 1)")
    _, mark = lines(http_address(), name)
    # Changes live shorter now: soon the position is older than they live.
    shared_session.execute(f"ALTER TABLE {name} WITH cdc = {{'enabled': true, 'ttl': 1}}")
    answers = []
    wait_until(lambda: answers.append(refused(http_address(), name, since=mark)) or answers[-1][0] != 200)
    assert answers[-1][0] == 410 and "since=oldest" in answers[-1][1], answers[-1]
    shared_session.execute(f"ALTER TABLE {name} WITH cdc = {{'enabled': true, 'ttl': 1000}}")
    assert refused(http_address(), name, since=mark)[0] == 200, "it is younger than that"
    # Another log of the same name.
    shared_session.execute(f"DROP TABLE {name}")
    status, text = refused(http_address(), name, since=mark)
    assert (status, text) == (404, f"there is no table {name}\n")
    shared_session.execute(f"CREATE TABLE {name} (p int PRIMARY KEY, v int) WITH {CDC}")
    status, text = refused(http_address(), name, since=mark)
    assert status == 410 and "another log" in text


def test_a_feed_ends_with_its_table(shared_session, table, http_address):
    name = table("p int PRIMARY KEY, v int", CDC)
    shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 1)")
    with feed(http_address(), name, follow=1) as response:
        assert json.loads(response.readline())["operation"] == "insert"
        shared_session.execute(f"DROP TABLE {name}")
        last = json.loads(response.readline())
        assert last["code"] == 404 and response.read() == b""


def test_logging_that_stops_is_said(shared_session, table, http_address):
    name = table("p int PRIMARY KEY, v int", CDC)
    shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 1)")
    shared_session.execute(f"ALTER TABLE {name} WITH cdc = {{'enabled': false}}")
    with feed(http_address(), name) as response:
        told = [json.loads(line) for line in response.read().splitlines()]
    assert [line.get("operation") for line in told] == ["insert", None] and told[-1]["logging"] is False


def test_what_is_refused(shared_session, table, http_address):
    name = table("p int PRIMARY KEY, v int")
    address = http_address()
    status, text = refused(address, name)
    assert status == 409 and f"ALTER TABLE {name} WITH cdc" in text
    assert refused(address, "system.local")[0] in (404, 409)
    assert refused(address, "nowhere.t") == (404, "there is no table nowhere.t\n")
    assert refused(address, f"{name}.x")[0] == 400
    shared_session.execute(f"ALTER TABLE {name} WITH {CDC}")
    for wrong in ({"since": "yesterday"}, {"since": ""}, {"follow": "yes"}, {"limit": "0"}, {"limit": "-1"}, {"heartbeat": "x"}, {"from": "oldest"}):
        status, text = refused(address, name, **wrong)
        assert status == 400 and next(iter(wrong)) in text, (wrong, text)
    mark = lines(address, name)[1]
    for damaged in (mark[:-1], mark[1:], mark[:10] + ("y" if mark[10] == "x" else "x") + mark[11:], "A" * len(mark), mark * 30):
        assert refused(address, name, since=damaged)[0] == 400
    other = table("p int PRIMARY KEY, v int", CDC)
    assert refused(address, other, since=mark)[0] == 410, "a position of another table's log"
    assert refused(address, name, headers={"Host": "evil.example"})[0] == 403
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=SECONDS_MAX)
    connection.request("POST", "/changes/" + name.replace(".", "/"))
    assert connection.getresponse().status == 405
    connection.close()


def test_more_feeds_than_there_is_room_for_are_refused(shared_session, table, http_address):
    name = table("p int PRIMARY KEY, v int", CDC)
    shared_session.execute(f"INSERT INTO {name} (p, v) VALUES (1, 1)")
    with contextlib.ExitStack() as open_feeds:
        for _ in range(100):
            response = open_feeds.enter_context(feed(http_address(), name, follow=1))
            if response.status != 200:
                break
            assert json.loads(response.readline())["operation"] == "insert"
        assert response.status == 503 and "feeds are read here already" in response.read().decode()
    # Places of those who have gone are free soon.
    wait_until(lambda: refused(http_address(), name)[0] == 200)


def test_log_ins_and_permissions():
    directory = run_directory() / f"changes-{os.getpid()}-{next(names)}"
    private = server.Server(directory, flags=server.LOGIN_FLAGS)
    host, port = private.start().rsplit(":", 1)
    from cassandra.auth import PlainTextAuthProvider
    from cassandra.cluster import Cluster

    from patient import patient

    superuser = (pathlib.Path(server.__file__).parent / "superuser-password").read_text().strip()
    cluster = Cluster([host], port=int(port), **patient(protocol_version=4, auth_provider=PlainTextAuthProvider("cassandra", superuser)))
    try:
        session = cluster.connect()
        create_keyspace(session, "k")
        session.execute(f"CREATE TABLE k.t (p int PRIMARY KEY, v int) WITH {CDC}")
        session.execute("INSERT INTO k.t (p, v) VALUES (1, 2)")
        session.execute("CREATE ROLE reader WITH PASSWORD = 'secret' AND LOGIN = true")
        address = private.state()["http"]
        login = {"Authorization": "Basic " + base64.b64encode(b"reader:secret").decode()}
        assert refused(address, "k.t")[0] == 401
        assert refused(address, "k.t", {"Authorization": "Basic " + base64.b64encode(b"reader:other").decode()})[0] == 401
        status, text = refused(address, "k.t", login)
        assert status == 403 and "SELECT" in text, text
        session.execute("GRANT SELECT ON k.t TO reader")
        assert refused(address, "k.t", login)[0] == 403, "the log is a table of its own"
        session.execute("GRANT SELECT ON k.t_scylla_cdc_log TO reader")
        with feed(address, "k.t", login, follow=1) as response:
            assert json.loads(response.readline())["columns"] == {"v": 2}
            session.execute("REVOKE SELECT ON k.t_scylla_cdc_log FROM reader")
            assert json.loads(response.readline())["code"] == 403, "at once, for a feed that is being read, too"
    finally:
        cluster.shutdown()
        private.stop()
