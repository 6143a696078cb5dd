"""Aerospike's protocol in a cluster, with its Python client: who has which partition, requests that come to the wrong member, failures."""

import base64
import contextlib
import itertools
import random
import socket
import subprocess
import threading
import time
import urllib.request

import pytest

import history
import server
from ledger import PAUSE_S
from nodes import running, until
from waiting import while_it_lives

aerospike = pytest.importorskip("aerospike", reason="Aerospike's Python client is missing")
exception = pytest.importorskip("aerospike.exception")
expressions = pytest.importorskip("aerospike_helpers.expressions")
predicates = pytest.importorskip("aerospike.predicates")

NAMESPACE, SET = "test", "rows"
PARTITIONS = 4096
# Figures of /metrics are up to a second old.
FIGURES_SECONDS_MAX = 1.2
# Of a client that waits for a failover instead of telling of it.
PATIENT = {"total_timeout": 120_000, "socket_timeout": 5_000, "max_retries": 1_000, "sleep_between_retries": 50}
# Nothing is done twice, and nothing hidden.
PLAIN = {"total_timeout": 30_000, "socket_timeout": 30_000, "max_retries": 0}
KINDS = ["read", "write", "operate", "remove", "batch", "scan", "query"]


def client(cluster, nodes=None, policy=PATIENT):
    hosts = [(node.address, cluster.ports["aerospike"]) for node in nodes or cluster.running()]
    config = {"hosts": hosts, "policies": {**{kind: policy for kind in KINDS}, "info": {"timeout": 30_000}}, "tend_interval": 250}
    return contextlib.closing(connected(config))


def connected(config):
    """A client, which by itself gives a node a second to answer."""
    found = []
    until("a node takes the client in", lambda: without_error(lambda: found.append(aerospike.client(config).connect()) or True), 120, 0.2)
    return found[-1]


def key(number: int):
    return (NAMESPACE, SET, number)


@pytest.fixture
def cluster(start_cluster):
    """Three nodes with a namespace whose records have two replicas."""
    cluster = start_cluster()
    with client(cluster) as writer:
        until("every member is a peer of the others", lambda: len(writer.get_nodes()) == 3, 120)

        def has_put():
            writer.put(key(0), {"n": 0})
            return True

        # The client may know a node before its partitions.
        until("the client knows where records belong", lambda: without_error(has_put), 120)
    settle(cluster)
    return cluster


def info(cluster, node, command: str) -> str:
    """What one node says."""
    with client(cluster, [node]) as asker:
        return asker.info_single_node(command, named(asker, node)).split("\t", 1)[1].strip()


def named(asker, node) -> str:
    """The name by which clients know a node."""
    found = [member["node_name"] for member in asker.get_node_names() if member["address"] == node.address]
    assert found, f"the client does not know {node}"
    return found[0]


def settle(cluster, nodes=None):
    """Waits until members agree that every partition is where it should be."""
    nodes = nodes or cluster.running()

    def is_stable():
        said = {info(cluster, node, f"cluster-stable:size={len(nodes)};ignore-migrations=false") for node in nodes}
        return len(said) == 1 and not said.pop().startswith("ERROR")

    until("the cluster is stable", lambda: without_error(is_stable), 120, 0.2)


def without_error(attempt):
    try:
        return attempt()
    except (exception.AerospikeError, AssertionError):
        return None


def held(cluster, node) -> list[set]:
    """By replica, the partitions that a node says it holds."""
    value = info(cluster, node, "replicas")
    _, described = value.split(":", 1)
    regime, count, *bitmaps = described.split(",")
    assert int(regime) > 0 and int(count) == len(bitmaps)
    decoded = [base64.b64decode(bitmap) for bitmap in bitmaps]
    return [{p for p in range(PARTITIONS) if bits[p // 8] & (0x80 >> p % 8)} for bits in decoded]


def forwarded(cluster, nodes=None) -> int:
    """How many requests members have sent on to others."""
    while True:
        began = time.monotonic()
        time.sleep(FIGURES_SECONDS_MAX)
        total = sum(metric(node, "tarndb_cluster_requests_forwarded_total") for node in nodes or cluster.running())
        # They are older where this machine stalls.
        if time.monotonic() - began < 2 * FIGURES_SECONDS_MAX:
            return total


def metric(node, name: str) -> int:
    http = next(word.split("=", 1)[1] for word in node.log(since_start=True).split() if word.startswith("http="))
    with urllib.request.urlopen(f"http://{http}/metrics", timeout=60) as reply:
        lines = reply.read().decode().splitlines()
    return sum(int(float(line.rsplit(" ", 1)[1])) for line in lines if line.startswith(name))


def test_members_have_the_same_modules_and_apply_them(cluster):
    source = b"function add(rec, bin, n) rec[bin] = (rec[bin] or 0) + n if not aerospike:exists(rec) then aerospike:create(rec) else aerospike:update(rec) end return rec[bin] end"
    content = base64.b64encode(source).decode()
    command = f"udf-put:filename=shared.lua;content={content};content-len={len(content)};udf-type=LUA;"
    assert info(cluster, cluster.nodes[1], command) == "ok"
    listed = {info(cluster, node, "udf-list") for node in cluster.nodes}
    assert len(listed) == 1 and "shared.lua" in listed.pop(), "once it is acknowledged every member has it"
    with client(cluster) as caller:
        # Records of all members, and a bin that none has had.
        assert [caller.apply(key(n), "shared", "add", ["made", n]) for n in range(100)] == list(range(100))
        records = caller.batch_apply([key(n) for n in range(100)], "shared", "add", ["other", 1]).batch_records
        assert [record.result for record in records] == [0] * 100
        # Each member does its part of a job, and tells of it.
        job = caller.scan_apply(NAMESPACE, SET, "shared", "add", ["job", 7])

        def told(node):
            return dict(pair.split("=", 1) for pair in info(cluster, node, f"query-show:trid={job}").split(":"))

        until("every member has done its part", lambda: all(told(node)["status"] == "done(ok)" for node in cluster.nodes), 120)
        parts = [int(told(node)["recs-succeeded"]) for node in cluster.nodes]
        assert sum(parts) == 100 and min(parts) > 0, parts
        assert [caller.get(key(n))[2]["job"] for n in range(100)] == [7] * 100
        cluster.nodes[0].kill()
        assert [caller.apply(key(n), "shared", "add", ["made", 1], PATIENT) for n in range(100)] == [n + 1 for n in range(100)]


class Rows:
    """Writers of records of their own, and what the records may be afterwards."""

    def __init__(self, writers: int = 4, keys: int = 100):
        self.writers, self.keys = writers, keys
        self.acknowledged, self.errors, self.longest_gap_s = 0, [], 0.0
        # By key: the last acknowledged value, and the last that was tried.
        self.last, self.tried = {}, {}

    @contextlib.contextmanager
    def load(self, cluster, policy=PATIENT):
        stopping = threading.Event()

        def write(number: int):
            value, began = max(self.tried.values(), default=0), time.monotonic()
            while not stopping.is_set():
                value += 1
                row = 1_000_000 * (number + 1) + value % self.keys
                self.tried[row] = value
                try:
                    writer.put(key(row), {"n": value})
                except exception.AerospikeError as error:
                    self.errors.append(error)
                else:
                    self.last[row] = value
                    self.acknowledged += 1
                now = time.monotonic()
                self.longest_gap_s, began = max(self.longest_gap_s, now - began), now
                time.sleep(PAUSE_S)

        with client(cluster, policy=policy) as writer:
            threads = [threading.Thread(target=write, args=(number,)) for number in range(self.writers)]
            with running(threads, stopping):
                yield writer

    def wait_for_writes(self, count: int):
        goal = self.acknowledged + count
        until(f"{count} writes are acknowledged", lambda: self.acknowledged >= goal, 120)

    def check(self, cluster):
        with client(cluster) as reader:
            self.check_with(reader)

    def check_with(self, reader):
        """No acknowledged write is lost, and nothing is there that nobody wrote."""
        for row, last in sorted(self.last.items()):
            found = reader.get(key(row))[2]["n"]
            assert last <= found <= self.tried[row], f"row {row} is {found}; {last} was acknowledged, {self.tried[row]} tried"


def test_clients_know_who_has_which_partition(cluster):
    parts = [held(cluster, node) for node in cluster.nodes]
    for replica in range(2):
        assert sorted(p for part in parts for p in part[replica]) == list(range(PARTITIONS)), "each partition has each replica once"
    for part in parts:
        assert not part[0] & part[1] and 1_000 < len(part[0]) < 1_700
    with client(cluster) as writer:
        before = forwarded(cluster)
        for number in range(1, 500):
            writer.put(key(number), {"n": number})
            assert writer.get(key(number))[2] == {"n": number}
        assert [record.result for record in writer.batch_read([key(n) for n in range(500)]).batch_records] == [0] * 500
        assert forwarded(cluster) - before < 5, "requests go to the primary at once"
    said = info(cluster, cluster.nodes[0], f"namespace/{NAMESPACE}")
    for expected in ["ns_cluster_size=3", "replication-factor=2", "effective_replication_factor=2", "unavailable_partitions=0"]:
        assert expected in said.split(";")


def test_any_member_serves_every_record(cluster):
    """A client that believes that one member has everything, as the cluster's first version said."""
    node = cluster.nodes[1]
    with client(cluster) as writer:
        for number in range(60):
            writer.put(key(number), {"n": number})
        before = forwarded(cluster, [node])
        with socket.create_connection((node.address, cluster.ports["aerospike"]), 60) as raw:
            for number in range(60):
                digest = bytes(aerospike.calc_digest(NAMESPACE, SET, number))
                assert ask(raw, digest, 3, 0, []) == (0, {"n": number})
                assert ask(raw, digest, 0, 1, [(5, 1, b"n", (1_000).to_bytes(8, "big"))])[0] == 0
        assert 20 < forwarded(cluster, [node]) - before < 120
        for number in range(60):
            assert writer.get(key(number))[2] == {"n": number + 1_000}


def test_a_reply_that_is_too_long_to_be_sent_on_is_refused(cluster):
    """One that is longer than what members say to each other at once."""
    first, second = cluster.nodes[:2]
    of_second = held(cluster, second)[0]
    number = next(number for number in itertools.count(1) if partition(number) in of_second)
    digest = bytes(aerospike.calc_digest(NAMESPACE, SET, number))
    with client(cluster) as writer:
        writer.put(key(number), {"big": bytearray(1_000_000)})
        for node, code in [(second, 0), (first, 1)]:
            with socket.create_connection((node.address, cluster.ports["aerospike"]), 60) as raw:
                assert ask(raw, digest, 1, 0, [(1, 0, b"big", b"")] * 20)[0] == code
        assert len(writer.get(key(number))[2]["big"]) == 1_000_000
        assert all(node.is_running for node in cluster.nodes)


def ask(raw, digest: bytes, info1: int, info2: int, operations):
    """A request on one record; gives the result code, and the bins as integers."""
    fields = [(0, NAMESPACE.encode()), (1, SET.encode()), (4, digest)]
    body = bytes([22, info1, info2, 0, 0, 0]) + bytes(12) + len(fields).to_bytes(2, "big") + len(operations).to_bytes(2, "big")
    for kind, data in fields:
        body += (len(data) + 1).to_bytes(4, "big") + bytes([kind]) + data
    for code, particle, name, value in operations:
        body += (4 + len(name) + len(value)).to_bytes(4, "big") + bytes([code, particle, 0, len(name)]) + name + value
    raw.sendall((2 << 56 | 3 << 48 | len(body)).to_bytes(8, "big") + body)
    head = receive(raw, 8)
    reply = receive(raw, int.from_bytes(head[2:], "big"))
    at, bins = 22, {}
    for _ in range(int.from_bytes(reply[20:22], "big")):
        length = int.from_bytes(reply[at:at + 4], "big")
        name_bytes = reply[at + 7]
        name = reply[at + 8:at + 8 + name_bytes].decode()
        bins[name] = int.from_bytes(reply[at + 8 + name_bytes:at + 4 + length], "big")
        at += 4 + length
    return reply[5], bins


def receive(raw, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = raw.recv(count - len(data))
        assert more, "the node has closed the connection"
        data += more
    return data


MONITORS = "<ERO~MRT"


def begin(seconds: int):
    transaction = aerospike.Transaction()
    transaction.timeout = seconds
    return transaction


def monitor(transaction):
    number = transaction.id
    return (NAMESPACE, MONITORS, number - (1 << 64) if number >= 1 << 63 else number)


def is_free(writer, record) -> bool:
    """Whether no transaction has locked a record."""
    try:
        writer.touch(record)
    except exception.RecordNotFound:
        return True
    except exception.AerospikeError:
        return False
    return True


@pytest.mark.long
def test_transactions_that_are_left_end_as_they_were_to_while_a_member_dies(cluster):
    """Each has records and a monitor anywhere; every other one was committed, and none of its records was told."""
    firsts = itertools.count(1_000, 200)

    def leave(seconds: int):
        """Transactions that live so long, none of which is told to end."""
        first = next(firsts)
        groups = [[key(first + 10 * number + n) for n in range(6)] for number in range(16)]
        for number, group in enumerate(groups):
            for record in group[:3]:
                writer.put(record, {"a": 1})
            transaction = begin(seconds)
            for record in group[1:]:
                writer.put(record, {"a": 2}, policy={"txn": transaction, **PATIENT})
            writer.remove(group[0], policy={"txn": transaction, **PATIENT})
            if number % 2:
                writer.put(monitor(transaction), {"fwd": True})
        assert not any(is_free(writer, record) for record in groups[0])
        return groups

    with client(cluster) as writer:
        groups = while_it_lives(leave, 20)
        cluster.nodes[0].kill()
        until("nothing is locked", lambda: all(is_free(writer, record) for group in groups for record in group), 300, 0.5)
        for number, group in enumerate(groups):
            found = [record.record and record.record[2]["a"] for record in writer.batch_read(group).batch_records]
            assert found == ([None, 2, 2, 2, 2, 2] if number % 2 else [1, 1, 1, None, None, None]), number


def test_transfers_keep_the_sum_while_a_member_dies(cluster):
    accounts = [key(2_000 + number) for number in range(8)]
    moved, stop = itertools.count(), threading.Event()
    enough = threading.Event()

    def transfer(seed: int):
        dice = random.Random(seed)
        with client(cluster) as own:
            while not stop.is_set():
                transaction = begin(5)
                policy = {"txn": transaction, **PATIENT}
                try:
                    one, other = dice.sample(accounts, 2)
                    has, gets = (own.get(account, policy)[2]["n"] for account in (one, other))
                    own.put(one, {"n": has - 1}, policy=policy)
                    own.put(other, {"n": gets + 1}, policy=policy)
                    own.commit(transaction)
                    if next(moved) in (30, 80):
                        enough.set()
                except exception.AerospikeError:
                    without_error(lambda: own.abort(transaction))

    with client(cluster) as writer:
        for account in accounts:
            writer.put(account, {"n": 100})
        threads = [threading.Thread(target=transfer, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        try:
            for act in [cluster.nodes[1].kill, lambda: None]:
                assert enough.wait(240)
                enough.clear()
                act()
        finally:
            stop.set()
        for thread in threads:
            thread.join(240)
            assert not thread.is_alive()
        until("nothing is locked", lambda: all(is_free(writer, account) for account in accounts), 120, 0.2)
        assert sum(writer.get(account)[2]["n"] for account in accounts) == 800


def test_batches_and_scans_go_over_members(cluster):
    with client(cluster) as writer:
        for number in range(2_000):
            writer.put(key(number), {"n": number, "name": f"row {number}"})
        read = writer.batch_read([key(number) for number in range(2_500)]).batch_records
        assert [(record.result, record.record and record.record[2]["n"]) for record in read[:2_000]] == [(0, n) for n in range(2_000)]
        assert all(record.result == 2 for record in read[2_000:])
        small = expressions.LT(expressions.IntBin("n"), 300).compile()
        read = writer.batch_read([key(number) for number in range(2_000)], policy={"expressions": small}).batch_records
        assert [record.result for record in read] == [0] * 300 + [27] * 1_700
        found = sorted(record[2]["n"] for record in writer.query(NAMESPACE, SET).results({"expressions": small}))
        assert found == list(range(300))
        writer.index_single_value_create(NAMESPACE, SET, "n", aerospike.INDEX_NUMERIC, "rows_by_n")
        query = writer.query(NAMESPACE, SET)
        query.where(predicates.between("n", 250, 349))
        assert sorted(record[2]["n"] for record in query.results()) == list(range(250, 350)), "right while the index is being made"
        loaded = lambda: all("load_pct=100" in said for _, said in writer.info_all("sindex-stat:namespace=test;indexname=rows_by_n").values())
        until("the index is complete on all members", loaded, 120)
        assert sorted(record[2]["n"] for record in query.results()) == list(range(250, 350))
        assert sorted(record[2]["n"] for record in query.results({"expressions": small})) == list(range(250, 300))
        writer.index_remove(NAMESPACE, "rows_by_n")
        removed = writer.batch_remove([key(number) for number in range(0, 100)])
        assert all(record.result == 0 for record in removed.batch_records)
        found = sorted(record[2]["n"] for record in writer.query(NAMESPACE, SET).results())
        assert found == list(range(100, 2_000)), "each record once"
        query = writer.query(NAMESPACE, SET)
        query.max_records = 170
        query.paginate()
        pages = []
        while not query.is_done():
            pages.extend(record[2]["n"] for record in query.results())
        assert sorted(pages) == list(range(100, 2_000))
        writer.truncate(NAMESPACE, SET, 0)
        until("the set is empty", lambda: not writer.query(NAMESPACE, SET).results(), 120)


def test_a_member_dies_and_returns_and_no_acknowledged_write_is_lost(cluster):
    victim = cluster.nodes[2]
    rows = Rows()
    with rows.load(cluster):
        rows.wait_for_writes(500)
        rows.longest_gap_s = 0.0
        victim.kill()
        rows.wait_for_writes(1_000)
        assert rows.longest_gap_s < 30, "writes go on"
        rows.check(cluster)
        victim.start()
        settle(cluster)
        rows.wait_for_writes(500)
    assert not rows.errors, rows.errors[:3]
    rows.check(cluster)
    parts = [held(cluster, node) for node in cluster.nodes]
    assert sorted(p for part in parts for p in part[0]) == list(range(PARTITIONS))
    # The others alone have everything, too.
    with client(cluster) as reader:
        cluster.nodes[0].kill()
        rows.check_with(reader)


class Counter:
    """Increments that are never sent twice: what is done twice shows."""

    def __init__(self, number: int):
        self.key = key(number)
        self.done, self.unknown, self.refused = 0, 0, []

    @contextlib.contextmanager
    def load(self, cluster):
        stopping = threading.Event()

        def add(writer):
            while not stopping.is_set():
                try:
                    writer.increment(self.key, "n", 1, policy=PLAIN)
                except exception.AerospikeError as error:
                    self.refused.append(error)
                    self.unknown += bool(error.in_doubt)
                else:
                    self.done += 1

        with client(cluster, policy=PLAIN) as writer:
            with running([threading.Thread(target=add, args=(writer,))], stopping):
                yield

    def check(self, cluster):
        with client(cluster) as reader:
            found = reader.get(self.key)[2]["n"]
        assert self.done <= found <= self.done + self.unknown, f"{found}; {self.done} done, {self.unknown} unknown: {self.refused[:3]}"


@contextlib.contextmanager
def single(directory):
    """A server by itself, and a client of it."""
    private = server.Server(directory, memory="256M")
    private.start()
    try:
        host, port = private.state()["aerospike"].rsplit(":", 1)
        config = {"hosts": [(host, int(port))], "policies": {kind: PATIENT for kind in KINDS}}
        with contextlib.closing(connected(config)) as its_client:
            yield private.state()["aerospike"], its_client
    finally:
        private.stop()


def importing(source: str, target: str, *words) -> subprocess.Popen:
    command = [server.binary(), "import", "--from", f"aerospike://{source}", "--to", target, NAMESPACE, SET, *words]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def said(process: subprocess.Popen) -> str:
    _, text = process.communicate(timeout=300)
    assert process.returncode == 0, text
    return text


def test_an_import_goes_into_a_cluster_and_out_of_it_while_a_member_dies(cluster, tmp_path):
    first, victim = cluster.nodes[0], cluster.nodes[2]
    address = f"{first.address}:{cluster.ports['aerospike']}"
    with client(cluster) as writer:
        writer.remove(key(0))
    with single(tmp_path / "from") as (source, filler):
        for number in range(3_000):
            filler.put(key(number), {"n": number}, policy={"key": aerospike.POLICY_KEY_SEND})
        text = said(importing(source, address, "--verify"))
        assert "3000 records copied" in text and "3000 records are the same" in text, text
    with single(tmp_path / "to") as (target, reader):
        process = importing(address, target, "--jobs", "2", "--max-rows-per-second", "1000")
        try:
            until("it copies", lambda: len(reader.scan(NAMESPACE, SET).results()) > 500, 120, 0.1)
            victim.kill()
            text = said(process)
        finally:
            process.kill()
        text = said(importing(address, target, "--verify"))
        assert "1024 of 1024 groups" in text and "3000 records are the same" in text, text
        assert {record[0][2] for record in reader.scan(NAMESPACE, SET).results()} == set(range(3_000))


@pytest.mark.long
def test_a_rolling_restart_loses_nothing_and_does_nothing_twice(cluster):
    rows, counter = Rows(), Counter(7)
    with rows.load(cluster), counter.load(cluster):
        for node in cluster.nodes:
            rows.wait_for_writes(300)
            node.terminate()
            rows.wait_for_writes(300)
            node.start()
            settle(cluster)
        rows.wait_for_writes(300)
    assert not rows.errors, rows.errors[:3]
    rows.check(cluster)
    counter.check(cluster)
    assert counter.done > 300


class Registers:
    """Clients that read, write, and replace what they have read, each request sent once; for the checker of histories."""

    KEYS = range(5_000_000, 5_000_006)
    POLICY = {"total_timeout": 3_000, "socket_timeout": 3_000, "max_retries": 0}
    IF_UNCHANGED = POLICY | {"gen": aerospike.POLICY_GEN_EQ}

    def __init__(self):
        self.operations, self.values, self.stopping = [], itertools.count(1), threading.Event()

    @contextlib.contextmanager
    def load(self, cluster, clients: int = 6):
        with contextlib.ExitStack() as stack:
            # Each with connections of its own.
            members = [stack.enter_context(client(cluster, cluster.nodes, self.POLICY)) for _ in range(clients)]
            for number in self.KEYS:
                members[0].put(key(number), {"n": 0}, policy=PATIENT)
            threads = [threading.Thread(target=self._client, args=(number, member)) for number, member in enumerate(members)]
            with running(threads, self.stopping):
                yield

    def _client(self, number: int, member):
        dice, seen = random.Random(number), {}
        while not self.stopping.is_set():
            register, kind = dice.choice(self.KEYS), dice.choice(("read", "read", "write", "swap"))
            if kind == "swap" and register not in seen:
                kind = "read"
            did = {"client": number, "key": register, "kind": kind}
            if kind != "read":
                did["value"] = next(self.values)
            did["call"] = time.monotonic_ns()
            try:
                if kind == "read":
                    _, described, bins = member.get(key(register))
                    did["seen"] = bins["n"]
                    seen[register] = (bins["n"], described["gen"])
                elif kind == "write":
                    member.put(key(register), {"n": did["value"]})
                else:
                    did["expected"], generation = seen.pop(register)
                    member.put(key(register), {"n": did["value"]}, {"gen": generation}, self.IF_UNCHANGED)
                    did["applied"] = True
            except exception.AerospikeError as error:
                if not error.in_doubt or kind == "read":
                    time.sleep(0.02)
                    continue
                did["known"] = False
            else:
                did |= {"return": time.monotonic_ns(), "known": True}
            self.operations.append(did)
            time.sleep(dice.random() * 0.02)


def test_what_clients_see_is_linearizable_while_members_hang_and_die(cluster):
    registers = Registers()
    with registers.load(cluster):
        for victim in cluster.nodes[1:]:
            victim.pause()
            time.sleep(3)
            victim.resume()
            settle(cluster)
            victim.kill()
            time.sleep(2)
            victim.start()
            settle(cluster)
    status, said = history.check(registers.operations, cluster.directory / "history.jsonl")
    assert status == 0, said
    assert sum(did["known"] for did in registers.operations) > 1_000


def test_without_a_majority_nothing_is_served(cluster):
    first, others = cluster.nodes[0], cluster.nodes[1:]
    own = held(cluster, first)[0]
    number = next(number for number in itertools.count() if partition(number) in own)
    with client(cluster) as writer:
        writer.put(key(number), {"n": 1})
        for node in others:
            node.kill()

        unknown = 0

        def is_refused(attempt) -> bool:
            nonlocal unknown
            try:
                attempt()
            except exception.AerospikeError as error:
                unknown += error.code != 11
                return error.code == 11
            raise AssertionError("a node without a majority has answered")

        # Once it refuses writes its lease is over, and it must refuse reads.
        until("writes are refused", lambda: is_refused(lambda: writer.put(key(number), {"n": 2}, policy=PLAIN)), 120)
        reads = unknown
        until("reads are refused", lambda: is_refused(lambda: writer.get(key(number), policy=PLAIN)), 120)
        unknown = reads
        for node in others:
            node.start()
        settle(cluster)
        assert writer.get(key(number))[2]["n"] in ((1, 2) if unknown else (1,))


def partition(number: int) -> int:
    digest = aerospike.calc_digest(NAMESPACE, SET, number)
    return int.from_bytes(digest[:2], "little") % PARTITIONS


def test_a_namespace_has_the_replicas_that_cql_gives_it(cluster):
    with client(cluster) as writer, cluster.session() as session:
        session.execute(f"ALTER KEYSPACE {NAMESPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 3}}")
        settle(cluster)
        assert all(len(held(cluster, node)) == 3 for node in cluster.nodes)
        for number in range(100):
            writer.put(key(number), {"n": number})
        relaxed = {"read_mode_sc": aerospike.POLICY_READ_MODE_SC_ALLOW_REPLICA, "replica": aerospike.POLICY_REPLICA_ANY}
        before = forwarded(cluster)
        for number in range(100):
            until("replicas have the record", lambda number=number: writer.get(key(number), policy=relaxed)[2] == {"n": number}, 120)
        assert forwarded(cluster) - before < 5, "replicas answer themselves"
