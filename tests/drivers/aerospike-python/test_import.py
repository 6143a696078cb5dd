"""`tarndb import` from Aerospike's protocol: two servers, records of all kinds, times to live and keys; `kill -9` of the import and of both servers, the
comparison, and what is refused."""

import contextlib
import os
import socket
import subprocess
import tempfile
import threading
import time

import aerospike
import pytest
from aerospike import exception
from aerospike_helpers import HyperLogLog
from aerospike_helpers.operations import hll_operations, list_operations, map_operations

import certificates
import server
from aerospike_settings import settings
from conftest import EXTERNAL, NAMESPACE, connected
from killed_imports import kill_again_and_again
from waiting import SECONDS_MAX

pytestmark = pytest.mark.skipif(bool(EXTERNAL) and "TARNDB_TEST_RESTART" not in os.environ, reason="the server under test is not TarnDB")

GROUPS = 1024
# No other test writes there.
WHOLE = "whole"


def private_server(name, flags):
    directory = server.ROOT / ".cache" / "run"
    directory.mkdir(parents=True, exist_ok=True)
    return server.Server(tempfile.mkdtemp(prefix=f"aerospike-import-{name}-", dir=directory), flags, memory="256M")


@pytest.fixture(scope="module")
def sides():
    """Two servers of their own: the source, and the target, which has not all of its namespaces."""
    with contextlib.ExitStack() as stack:
        found = []
        for name, namespaces in (("from", f"{NAMESPACE},{WHOLE},other"), ("to", f"{NAMESPACE},{WHOLE}")):
            private = private_server(name, ["--aerospike-namespaces", namespaces])
            private.start()
            stack.callback(private.stop)
            found.append(private)
        yield found


def address(side):
    return side.state()["aerospike"]


@pytest.fixture(scope="module")
def clients(sides):
    """A client of each."""
    with contextlib.ExitStack() as stack:
        found = []
        for side in sides:
            host, port = address(side).rsplit(":", 1)
            client = connected((host, int(port)))
            stack.callback(client.close)
            found.append(client)
        yield found


def command(sides, *words):
    ends = {"--from": f"aerospike://{address(sides[0])}", "--to": address(sides[1])}
    given = {word.split("=")[0] for word in words}
    return [server.binary(), "import", *(f"{flag}={value}" for flag, value in ends.items() if flag not in given), *words]


def run_import(sides, *words, status=0):
    """What it says, once it has ended so."""
    done = subprocess.run(command(sides, *words), capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode == status, (done.returncode, done.stderr)
    return done.stderr


def comparable(bins):
    """The client's values of GeoJSON are equal to themselves only."""
    return {name: repr(value) if isinstance(value, aerospike.GeoJSON) else value for name, value in bins.items()}


def stored(client, namespace, set_name=None):
    """All records by digest: key where it is stored, time to live, bins. Their generations are not kept."""
    scan = client.scan(namespace, set_name)
    records = {bytes(key[3]): (key[1], key[2], meta["ttl"], comparable(bins)) for key, meta, bins in scan.results()}
    return {digest: record for digest, record in records.items() if record[0] != "tarndb_import"}


def assert_equal(clients, namespace, set_name=None):
    source, target = (stored(client, namespace, set_name) for client in clients)
    assert source.keys() == target.keys()
    for digest, (of_set, key, ttl, bins) in source.items():
        other_set, other_key, other_ttl, other_bins = target[digest]
        assert (of_set, key, bins) == (other_set, other_key, other_bins)
        assert abs(ttl - other_ttl) <= 10, (key, ttl, other_ttl)
    return source


KEPT = {"key": aerospike.POLICY_KEY_SEND}
BINS = {
    "int": -5, "big": 2**62, "float": 1.5, "text": "ü", "empty": "", "bytes": bytearray(b"\x00\xff"), "yes": True, "no": False,
    "list": [1, "two", [3.5, None, b"x"], {"k": [1]}], "map": {"b": 1, "a": {"c": [True]}, 7: "seven"},
    "geo": aerospike.GeoJSON({"type": "Point", "coordinates": [1.0, 2.0]}), "foreign": HyperLogLog(b"\0" * 20),
}


def test_records_of_all_kinds_keep_values_keys_and_times_to_live(sides, clients):
    source, target = clients
    source.put((WHOLE, "all", "kept"), BINS, {"ttl": 5_000}, KEPT)
    source.put((WHOLE, "all", "digest only"), BINS)
    source.put((WHOLE, "all", 7), {"n": 1}, {"ttl": aerospike.TTL_NEVER_EXPIRE}, KEPT)
    source.put((WHOLE, "all", bytearray(b"blob")), {"n": 2}, policy=KEPT)
    source.put((WHOLE, None, "no set"), {"n": 3}, policy=KEPT)
    source.put((WHOLE, "all", "gone"), {"n": 4})
    source.remove((WHOLE, "all", "gone"))
    key = (WHOLE, "ordered", 1)
    source.operate(key, [list_operations.list_append("list", value, {"list_order": aerospike.LIST_ORDERED}) for value in (3, 1, 2)])
    source.operate(key, [hll_operations.hll_add("sketch", ["a", "b"], 8, 4)])
    source.operate(key, [map_operations.map_put("map", value, value, {"map_order": aerospike.MAP_KEY_ORDERED}) for value in (3, 1, 2)])
    said = run_import(sides, WHOLE, "--verify")
    assert "6 records copied" in said and "6 records are the same on both sides" in said, said
    assert len(assert_equal(clients, WHOLE)) == 6
    kept = {record[1]: record for record in stored(target, WHOLE).values() if not isinstance(record[1], bytearray)}
    assert {"kept", 7, "no set"} <= kept.keys() and 4_900 < kept["kept"][2] <= 5_000
    assert kept[7][2] == aerospike.TTL_NEVER_EXPIRE
    assert comparable(target.get((WHOLE, "all", "digest only"))[2]) == comparable(BINS)
    # What is ordered stays so: an element goes where the order wants it.
    target.operate(key, [list_operations.list_append("list", 0)])
    assert target.get(key)[2]["list"] == [0, 1, 2, 3]
    # A sketch goes on.
    added = target.operate_ordered(key, [hll_operations.hll_add("sketch", ["b", "c"]), hll_operations.hll_get_count("sketch")])[2]
    assert added == [("sketch", 1), ("sketch", 3)]
    # Both copies again, and each of one set alone.
    assert "6 records copied" in run_import(sides, WHOLE, "--restart", "--verify")
    assert "4 records copied" in run_import(sides, WHOLE, "all", "--verify")
    assert_equal(clients, WHOLE)


def test_what_is_copied_is_not_copied_again_unless_asked_for(sides, clients, new_set):
    source, target = clients
    for number in range(3):
        source.put((NAMESPACE, new_set, number), {"n": number})
    assert "3 records copied" in run_import(sides, NAMESPACE, new_set)
    target.put((NAMESPACE, new_set, 0), {"n": 100, "m": 1})
    target.remove((NAMESPACE, new_set, 1))
    said = run_import(sides, NAMESPACE, new_set)
    assert f"{GROUPS} of {GROUPS} groups" in said and "0 records copied" in said
    assert target.get((NAMESPACE, new_set, 0))[2] == {"n": 100, "m": 1}
    said = run_import(sides, NAMESPACE, new_set, "--restart", "--only-missing")
    assert "1 records copied" in said, said
    assert target.get((NAMESPACE, new_set, 0))[2] == {"n": 100, "m": 1}
    assert target.get((NAMESPACE, new_set, 1))[2] == {"n": 1}
    said = run_import(sides, NAMESPACE, new_set, new_set, "--restart", "--verify")
    assert "3 records copied" in said and "3 records are the same" in said, said
    assert target.get((NAMESPACE, new_set, 0))[2] == {"n": 0}, "a record is written whole"
    # Clocks may differ by minutes: what was copied just now is copied again.
    assert "3 records copied" in run_import(sides, NAMESPACE, new_set, "--changes")


class Proxy:
    """In front of a server: may change what is asked, and what is answered. Remembers information commands."""

    def __init__(self, to):
        self.to, self.commands = to, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                host, port = self.to.rsplit(":", 1)
                server_side = socket.create_connection((host, int(port)))
                for end in (client, server_side):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for change, source, sink in ((self.request, client, server_side), (self.reply, server_side, client)):
                    threading.Thread(target=self.forward, args=(change, source, sink), daemon=True).start()

    def forward(self, change, source, sink):
        with contextlib.suppress(OSError), source.makefile("rb") as stream:
            while header := stream.read(8):
                body = stream.read(int.from_bytes(header[2:], "big"))
                if header[1] == 3:
                    body = change(body)
                elif change == self.request:
                    self.commands.extend(body.decode().split())
                sink.sendall(header[:2] + len(body).to_bytes(6, "big") + body)
            sink.shutdown(socket.SHUT_WR)

    def request(self, body):
        return body

    def reply(self, body):
        return body

    def close(self):
        self.listener.close()


FILTER = 43


class Filtering(Proxy):
    """Remembers the filters of scans."""

    def __init__(self, to):
        self.filters = []
        super().__init__(to)

    def request(self, body):
        """A message of 22 bytes of header, and fields: length, type, data."""
        at = 22
        for _ in range(int.from_bytes(body[18:20], "big")):
            end = at + 4 + int.from_bytes(body[at : at + 4], "big")
            if body[at + 4] == FILTER:
                self.filters.append(body[at + 5 : end])
            at = end
        return body


RECORD_TOO_BIG = 13


class Refusing(Proxy):
    """Says of a batch that its first record is too big, as often as it is told to."""

    def __init__(self, to):
        self.is_batch, self.left = threading.Event(), 0
        super().__init__(to)

    def request(self, body):
        if body[1] & 0x08:
            self.is_batch.set()
        return body

    def reply(self, body):
        if self.left > 0 and self.is_batch.is_set():
            self.left -= 1
            self.is_batch.clear()
            body = body[:5] + bytes([RECORD_TOO_BIG]) + body[6:]
        return body


def test_what_the_target_does_not_take_is_told_on_each_run(sides, clients, new_set):
    clients[0].put((NAMESPACE, new_set, 1), {"n": 1})
    proxy = Refusing(address(sides[1]))
    try:
        # One job: replies are to the last request.
        words = [NAMESPACE, new_set, "--jobs", "1", f"--to={proxy.address}"]
        for _ in range(2):
            proxy.left = 1
            said = run_import(sides, *words, status=1)
            # What was refused is not copied.
            assert "0 records copied" in said, said
            assert "the target does not take it: " in said and "RECORD_TOO_BIG" in said and f"left out: 1 of what {NAMESPACE} has" in said, said
        assert f"{GROUPS - 1} of {GROUPS} groups" in said, said
        assert "1 records copied" in run_import(sides, *words)
        assert f"{GROUPS} of {GROUPS} groups" in run_import(sides, *words)
    finally:
        proxy.close()


def since_ns(expression):
    """The time of `last update ≥ time`, as the protocol's clients write it."""
    assert expression[:5] == b"\x93\x04\x91\x42\xcf" and len(expression) == 13, expression
    return int.from_bytes(expression[5:], "big")


def test_changes_are_asked_for_from_when_the_first_copy_was_begun(sides, clients, new_set):
    source, target = clients
    source.put((NAMESPACE, new_set, 1), {"n": 1})
    proxy = Filtering(address(sides[0]))
    try:
        begun = time.time_ns()
        from_proxy = f"--from=aerospike://{proxy.address}"
        run_import(sides, NAMESPACE, new_set, from_proxy)
        copied = time.time_ns()
        assert not proxy.filters
        assert proxy.commands.count(f"sets/{NAMESPACE}") == 1
        assert [asked for asked in proxy.commands if asked.startswith("sindex")] == [f"sindex-list:ns={NAMESPACE}"]
        source.put((NAMESPACE, new_set, 1), {"n": 2})
        source.put((NAMESPACE, new_set, 2), {"n": 3})
        assert "0 records copied" in run_import(sides, NAMESPACE, new_set, from_proxy)
        changed = time.time_ns()
        said = run_import(sides, NAMESPACE, new_set, from_proxy, "--changes", "--verify")
        assert "2 records are the same" in said and target.get((NAMESPACE, new_set, 1))[2] == {"n": 2}
        # Five minutes are for clocks that differ.
        margin = 300 * 10**9
        assert len(proxy.filters) == GROUPS
        assert len(set(proxy.filters)) == 1
        assert begun - margin - 10**6 <= since_ns(proxy.filters[0]) <= copied - margin
        # The next time only what was changed since then.
        proxy.filters.clear()
        run_import(sides, NAMESPACE, new_set, from_proxy, "--changes")
        assert since_ns(proxy.filters[0]) >= changed - margin - 10**6
    finally:
        proxy.close()


DEVICE_OVERLOAD = 18


class Overloaded(Proxy):
    """Refuses at first each write of since when changes are not copied."""

    def __init__(self, to):
        self.asked, self.refuses = 0, threading.Event()
        super().__init__(to)

    def request(self, body):
        if body[2] & 0x01 and b" began" in body:
            self.asked += 1
            if self.asked % 2 == 1:
                self.refuses.set()
        return body

    def reply(self, body):
        if self.refuses.is_set():
            self.refuses.clear()
            body = body[:5] + bytes([DEVICE_OVERLOAD]) + body[6:]
        return body


def test_what_is_stored_of_the_import_waits_for_an_overloaded_target(sides, clients, new_set):
    clients[0].put((NAMESPACE, new_set, 1), {"n": 1})
    proxies = Filtering(address(sides[0])), Overloaded(address(sides[1]))
    try:
        words = [NAMESPACE, new_set, f"--from=aerospike://{proxies[0].address}", f"--to={proxies[1].address}"]
        for asked, more in ((2, []), (4, ["--changes"])):
            said = run_import(sides, *words, *more)
            assert "DEVICE_OVERLOAD" in said and "trying again" in said and "1 records copied" in said, said
            assert proxies[1].asked == asked
    finally:
        for proxy in proxies:
            proxy.close()


def test_an_import_that_is_killed_goes_on(sides, clients, new_set):
    source, target = clients
    for number in range(20_000):
        source.put((NAMESPACE, new_set, number), {"n": number, "text": "v" * 50}, policy=KEPT)

    def done():
        with contextlib.suppress(exception.AerospikeError):
            keys = [str(key[2]) for key, _, _ in target.scan(NAMESPACE, "tarndb_import").results()]
            return sum(1 for key in keys if f" {new_set} " in key and not key.endswith("began"))
        return 0

    slowly = command(sides, NAMESPACE, new_set, "--jobs", "2", "--max-rows-per-second", "1500")
    kill_again_and_again(slowly, done, GROUPS, ((50, None), (200, sides[1]), (350, sides[0])))
    said = run_import(sides, NAMESPACE, new_set, "--verify")
    assert "goes on where it was" in said and "20000 records are the same" in said
    assert len(assert_equal(clients, NAMESPACE, new_set)) == 20_000


def test_the_comparison_finds_what_differs(sides, clients, new_set):
    source, target = clients
    for number in range(1_000):
        source.put((NAMESPACE, new_set, number), {"n": number, "list": [number]}, {"ttl": 9_000}, KEPT)
    run_import(sides, NAMESPACE, new_set, "--verify")
    key = lambda number: (NAMESPACE, new_set, number)
    target.put(key(1), {"n": "1"})
    target.put(key(2), {"more": 0})
    target.remove(key(3))
    target.put(key(7_000), {"n": 1}, policy=KEPT)
    target.touch(key(4), 20_000)
    said = run_import(sides, NAMESPACE, new_set, "--verify", status=1)
    digest = aerospike.calc_digest(*key(3)).hex()
    for line in (
        f"{NAMESPACE}.{new_set}: not the same: digest ", ", key 1\n", ", key 2\n", f"missing at the target: digest {digest}", "only at the target: digest ",
        ", key 7000\n", "of another time to live: digest ", ", key 4\n", "5 rows",
    ):
        assert line in said, (line, said)
    assert "are the same" not in said


def test_wrong_input(sides, clients, new_set):
    clients[0].put((NAMESPACE, new_set, 1), {"n": 1})
    clients[0].put(("other", new_set, 1), {"n": 1})
    assert f"no namespace nothing; it has {NAMESPACE}" in run_import(sides, "nothing", status=2)
    assert "the target has no namespace other" in run_import(sides, "other", status=1)
    assert f"no set nothing in {NAMESPACE}; it has" in run_import(sides, NAMESPACE, "nothing", status=2)
    assert "--consistency is for CQL only" in run_import(sides, NAMESPACE, "--consistency", "ONE", status=2)
    assert "HOST:PORT, the Aerospike port" in run_import(sides, NAMESPACE, "--to", "cql://127.0.0.1:1", status=2)
    assert "`mysql://` is no database" in run_import(sides, NAMESPACE, "--from", "mysql://127.0.0.1:1", status=2)
    assert "ROLE:PASSWORD" in run_import(sides, NAMESPACE, "--from-login-file", "/nowhere", status=2)
    assert "--restart" in run_import(sides, NAMESPACE, "--restart", "--changes", status=2)
    assert "--only-missing" in run_import(sides, NAMESPACE, "--only-missing", "--changes", status=2)
    assert f"{NAMESPACE}.tarndb_import cannot be imported" in run_import(sides, NAMESPACE, "tarndb_import", status=2)
    port = server.free_port()
    for side, word in (("source", f"--from=aerospike://127.0.0.1:{port}"), ("target", f"--to=127.0.0.1:{port}")):
        said = run_import(sides, NAMESPACE, word, status=1)
        assert f"the {side}: " in said and f"127.0.0.1:{port}" in said, said
    # What listens speaks something else.
    cql = sides[0].state()["cql"]
    assert "the source: " in run_import(sides, NAMESPACE, "--from", f"aerospike://{cql}", status=1)
    words = [server.binary(), "import", "--from", cql, "--to", sides[1].state()["cql"], NAMESPACE, "--changes"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode == 2 and "--changes is for Aerospike only" in done.stderr, done.stderr


@pytest.mark.skipif(certificates.why_not() is not None, reason="no certificates can be made")
def test_the_source_asks_for_a_login_and_tls(sides, clients, new_set, tmp_path):
    authority = certificates.Authority(tmp_path / "certificates")
    private = private_server("guarded", [*server.LOGIN_FLAGS, "--aerospike-namespaces", NAMESPACE, *authority.server_flags(), "--tls", "required"])
    private.start()
    try:
        host, port = address(private).rsplit(":", 1)
        tls, timeout = {"enable": True, "cafile": str(authority.file)}, {"timeout": 20_000}
        config = settings([(host, int(port), "localhost")], tls=tls, user="cassandra", password="cassandra")
        boss = aerospike.client(config).connect()
        try:
            boss.put((NAMESPACE, new_set, 1), {"n": 1})
            boss.admin_create_user("reader", "secret", ["write"], policy=timeout)
            login = tmp_path / "login"
            login.write_text("reader:secret\n")
            login.chmod(0o600)
            pair, trusting = [private, sides[1]], ["--from-ca", str(authority.file), "--from-login-file", str(login)]
            assert "ROLE_VIOLATION" in run_import(pair, NAMESPACE, new_set, *trusting, status=1)
            boss.admin_grant_roles("reader", ["read"], policy=timeout)
            run_import(pair, NAMESPACE, new_set, *trusting, "--verify")
            assert clients[1].get((NAMESPACE, new_set, 1))[2] == {"n": 1}
            assert "not authenticated" in run_import(pair, NAMESPACE, new_set, "--from-ca", str(authority.file), status=1)
            login.write_text("reader:wrong\n")
            login.chmod(0o600)
            said = run_import(pair, NAMESPACE, new_set, *trusting, status=1)
            assert "the source: the server does not let reader in" in said and "INVALID_CREDENTIAL" in said, said
            assert "the source: " in run_import(pair, NAMESPACE, new_set, status=1), "without TLS"
        finally:
            boss.close()
    finally:
        private.stop()
