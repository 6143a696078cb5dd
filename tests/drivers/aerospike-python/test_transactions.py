"""Transactions over several records: committed and aborted, what others see meanwhile, conflicts, clients that die, `kill -9`, wrong input."""

import contextlib
import functools
import itertools
import random
import socket
import struct
import threading
import time

import aerospike
import pytest
from aerospike import exception, predicates
from aerospike_helpers.batch import records as batch
from aerospike_helpers.operations import operations

from conftest import NAMESPACE, connected
from waiting import wait_until, while_it_lives

BLOCKED, MISMATCH, EXPIRED, TOO_MANY, COMMITTED, ABORTED, ALREADY_LOCKED, MONITOR_EXISTS = range(120, 128)
NOT_FOUND, PARAMETER, FORBIDDEN = 2, 4, 22
MONITORS = "<ERO~MRT"
# Bits of messages.
READ, WRITE, GET_ALL, DELETE = 1, 1, 2, 2
VERIFY, ROLL_FORWARD, ROLL_BACK, ON_LOCKING_ONLY = 1, 2, 4, 16
OP_WRITE, INTEGER, BLOB, BOOL, LIST = 2, 1, 4, 17, 20
# Longer than any test waits for its own transaction.
PATIENT_SECONDS = 120

MODULE = """
function put(rec, bin, value)
  rec[bin] = value
  if aerospike:exists(rec) then aerospike:update(rec) else aerospike:create(rec) end
  return 1
end
function get(rec, bin) return rec[bin] end
"""


def begin(seconds=PATIENT_SECONDS):
    transaction = aerospike.Transaction()
    transaction.timeout = min(seconds, PATIENT_SECONDS)
    return transaction


def within(transaction, **policy):
    return {"txn": transaction, **policy}


def bins(client, key, policy=None):
    """What there is of a record; nothing if it is not there."""
    try:
        return client.get(key, policy or {})[2]
    except exception.RecordNotFound:
        return None


def error_of(action):
    try:
        action()
    except exception.AerospikeError as error:
        return error.code
    return 0


def can_be_written(client, key):
    code = error_of(lambda: client.touch(key))
    assert code in (0, NOT_FOUND, BLOCKED)
    return code != BLOCKED


class Raw:
    """Messages as clients do not send them."""

    def __init__(self, endpoint):
        self.socket = socket.create_connection(endpoint, timeout=30)

    def close(self):
        self.socket.close()

    def take(self, count):
        taken = b""
        while len(taken) < count:
            piece = self.socket.recv(count - len(taken))
            assert piece, "the server has closed the connection"
            taken += piece
        return taken

    def ask(self, fields, info=(0, 0, 0, 0), ttl=0, ops=()):
        """The result code and the fields of the reply."""
        body = struct.pack(">BBBBBBIIIHH", 22, *info, 0, 0, ttl, 10_000, len(fields), len(ops))
        for kind, data in fields:
            body += struct.pack(">IB", len(data) + 1, kind) + data
        for code, particle, name, value in ops:
            body += struct.pack(">IBBBB", 4 + len(name) + len(value), code, particle, 0, len(name)) + name + value
        self.socket.sendall(struct.pack(">Q", 2 << 56 | 3 << 48 | len(body)) + body)
        length = struct.unpack(">Q", self.take(8))[0] & 0xFFFFFFFFFFFF
        reply = self.take(length)
        count = struct.unpack(">H", reply[18:20])[0]
        found, rest = {}, reply[22:]
        for _ in range(count):
            size = struct.unpack(">I", rest[:4])[0]
            found[rest[4]] = rest[5 : 4 + size]
            rest = rest[4 + size :]
        return reply[5], found


def about(name, key):
    """Fields of a record; of a monitor, the transaction's number as it is signed."""
    return [(0, NAMESPACE.encode()), (1, name.encode()), (4, bytes(aerospike.calc_digest(NAMESPACE, name, key)))]


def monitor_key(transaction):
    number = transaction.id
    return (NAMESPACE, MONITORS, number - (1 << 64) if number >= 1 << 63 else number)


def monitor_of(transaction):
    return about(*monitor_key(transaction)[1:])


def mark(raw, transaction):
    """Commits, and leaves all else undone."""
    return raw.ask(monitor_of(transaction), (0, WRITE, 0, 0), ops=[(OP_WRITE, BOOL, b"fwd", b"\1")])[0]


@pytest.fixture
def raw(endpoint):
    raw = Raw(endpoint)
    yield raw
    raw.close()


@pytest.fixture
def keys(new_set):
    return [(NAMESPACE, new_set, number) for number in range(8)]


def test_what_is_committed_is_there_at_once(client, keys):
    client.put(keys[0], {"a": 1, "b": 1})
    client.put(keys[1], {"a": 1})
    transaction = begin()
    client.put(keys[0], {"a": 2}, policy=within(transaction))
    client.increment(keys[0], "a", 5, policy=within(transaction))
    client.remove(keys[1], policy=within(transaction))
    client.put(keys[2], {"new": [1, 2]}, policy=within(transaction))
    seen = lambda policy=None: [bins(client, key, policy) for key in keys[:3]]
    assert seen() == [{"a": 1, "b": 1}, {"a": 1}, None], "nobody else sees it"
    assert seen(within(transaction)) == [{"a": 7, "b": 1}, None, {"new": [1, 2]}]
    assert client.batch_read(keys[:3]).batch_records[0].record[2] == {"a": 1, "b": 1}
    assert client.commit(transaction) == aerospike.COMMIT_OK
    assert seen() == [{"a": 7, "b": 1}, None, {"new": [1, 2]}]
    assert client.get(keys[0])[1]["gen"] == 3
    for key in keys[:3]:
        client.put(key, {"free": 1})
    assert client.commit(transaction) == aerospike.COMMIT_ALREADY_COMMITTED


def test_what_is_aborted_never_was(client, keys):
    client.put(keys[0], {"a": 1}, meta={"ttl": 1_000}, policy={"key": aerospike.POLICY_KEY_SEND})
    before = client.get(keys[0])
    transaction = begin()
    client.put(keys[0], {"a": 2, "b": "x" * 100_000}, policy=within(transaction))
    client.put(keys[1], {"a": 2}, policy=within(transaction))
    client.put(keys[0], {"a": 3}, policy=within(transaction))
    assert client.abort(transaction) == aerospike.ABORT_OK
    after = client.get(keys[0])
    assert (after[1]["gen"], after[2]) == (1, {"a": 1}) and after[1]["ttl"] <= before[1]["ttl"]
    assert bins(client, keys[1]) is None
    client.put(keys[0], {"free": 1})
    client.put(keys[1], {"free": 1})
    assert bins(client, keys[1]) == {"free": 1}


def test_a_write_to_a_locked_record_is_refused(client, keys, refused):
    client.put(keys[0], {"a": 1})
    first, second = begin(), begin()
    client.put(keys[0], {"a": 2}, policy=within(first))
    client.put(keys[1], {"a": 2}, policy=within(first))
    writes = [
        lambda policy: client.put(keys[0], {"a": 3}, policy=policy),
        lambda policy: client.put(keys[1], {"a": 3}, policy=policy),
        lambda policy: client.remove(keys[0], policy=policy),
        lambda policy: client.touch(keys[0], policy=policy),
        lambda policy: client.operate(keys[0], [operations.increment("a", 1)], policy=policy),
    ]
    for write in writes:
        for policy in [{}, within(second)]:
            with refused(BLOCKED):
                write(policy)
    with refused(BLOCKED):
        client.get(keys[0], within(second))
    assert client.commit(second) == aerospike.COMMIT_OK
    assert client.commit(first) == aerospike.COMMIT_OK
    assert [bins(client, key) for key in keys[:2]] == [{"a": 2}, {"a": 2}]


def test_a_read_that_renews_the_time_to_live_leaves_a_lock(client, keys, refused):
    client.put(keys[0], {"a": 1}, meta={"ttl": 1_000})
    transaction = begin()
    client.put(keys[0], {"a": 2}, policy=within(transaction))
    client.get(keys[0], {"read_touch_ttl_percent": 100})
    with refused(BLOCKED):
        client.put(keys[0], {"a": 3})
    client.commit(transaction)
    assert bins(client, keys[0]) == {"a": 2}


def changes(client, key):
    yield "written", lambda: client.put(key, {"a": 1})
    yield "touched", lambda: client.touch(key)
    yield "deleted", lambda: client.remove(key)
    yield "made again", lambda: (client.remove(key), client.put(key, {"a": 1}))


@pytest.mark.parametrize("number", range(4))
def test_what_was_read_must_not_have_changed(client, keys, number):
    client.put(keys[0], {"a": 1})
    name, change = list(changes(client, keys[0]))[number]
    transaction = begin()
    assert bins(client, keys[0], within(transaction)) == {"a": 1}
    client.put(keys[1], {"a": 2}, policy=within(transaction))
    change()
    assert error_of(lambda: client.commit(transaction)) != 0, name
    assert transaction.state == aerospike.TXN_STATE_ABORTED
    assert bins(client, keys[1]) is None
    assert can_be_written(client, keys[1])


@pytest.mark.parametrize("number", range(2))
def test_a_write_to_what_has_changed_since_it_was_read_is_refused(client, keys, refused, number):
    client.put(keys[0], {"a": 1})
    transaction = begin()
    assert bins(client, keys[number], within(transaction)) == [{"a": 1}, None][number]
    client.put(keys[number], {"a": 2})
    with refused(MISMATCH):
        client.put(keys[number], {"a": 3}, policy=within(transaction))
    client.abort(transaction)
    assert bins(client, keys[number]) == {"a": 2}


@pytest.mark.parametrize("also_deleted", [False, True])
def test_what_was_missing_must_be_missing_all_the_time(client, keys, also_deleted):
    """Also in a set that nobody has written before."""
    transaction = begin()
    assert bins(client, keys[0], within(transaction)) is None
    client.put(keys[1], {"a": 2}, policy=within(transaction))
    client.put(keys[0], {"a": 1})
    if also_deleted:
        client.remove(keys[0])
    assert error_of(lambda: client.commit(transaction)) != 0
    assert bins(client, keys[1]) is None
    again = begin()
    assert (bins(client, keys[0], within(again)) is None) == also_deleted
    client.put(keys[1], {"a": 2}, policy=within(again))
    assert client.commit(again) == aerospike.COMMIT_OK


def test_a_write_that_changes_nothing_is_a_read(client, keys, refused):
    transaction = begin()
    with refused(NOT_FOUND):
        client.remove(keys[0], policy=within(transaction))
    client.put(keys[0], {"a": 1})
    assert error_of(lambda: client.commit(transaction)) != 0


def test_two_that_read_what_the_other_writes_do_not_both_commit(client, keys):
    for key in keys[:2]:
        client.put(key, {"a": 1})
    first, second = begin(), begin()
    bins(client, keys[0], within(first))
    bins(client, keys[1], within(second))
    client.put(keys[1], {"a": 2}, policy=within(first))
    client.put(keys[0], {"a": 2}, policy=within(second))
    assert error_of(lambda: client.commit(first)) != 0, "what it has read is locked"
    assert client.commit(second) == aerospike.COMMIT_OK, "what it has read was locked, and is not any more"
    assert [bins(client, key) for key in keys[:2]] == [{"a": 2}, {"a": 1}]


def test_batches(client, keys):
    for key in keys[:4]:
        client.put(key, {"a": 1})
    transaction = begin()
    written = client.batch_operate(keys, [operations.write("a", 2)], policy_batch=within(transaction))
    assert [record.result for record in written.batch_records] == [0] * 8
    seen = client.batch_read(keys, policy=within(transaction))
    assert [record.record[2] for record in seen.batch_records] == [{"a": 2}] * 8
    assert [record.result for record in client.batch_read(keys).batch_records] == [0] * 4 + [NOT_FOUND] * 4
    mixed = batch.BatchRecords([batch.Remove(keys[0]), batch.Read(keys[1], [operations.read("a")]), batch.Write(keys[2], [operations.write("b", 3)])])
    client.batch_write(mixed, within(transaction))
    assert [record.result for record in mixed.batch_records] == [0] * 3
    blocked = client.batch_operate(keys[:2], [operations.write("a", 9)])
    assert [record.result for record in blocked.batch_records] == [BLOCKED] * 2
    client.commit(transaction)
    assert [bins(client, key) for key in keys] == [None, {"a": 2}, {"a": 2, "b": 3}] + [{"a": 2}] * 5
    other = begin()
    assert client.batch_remove(keys[1:], policy_batch=within(other)).result == 0
    client.abort(other)
    assert [bins(client, key) for key in keys[3:]] == [{"a": 2}] * 5


def test_scans_and_queries_see_what_is_committed(client, keys, new_set):
    index = f"{new_set}_a"
    for number, key in enumerate(keys[:4]):
        client.put(key, {"a": number})
    client.index_single_value_create(NAMESPACE, new_set, "a", aerospike.INDEX_NUMERIC, index)
    by_index = client.query(NAMESPACE, new_set)
    by_index.where(predicates.between("a", 0, 1_000))
    values = lambda query: sorted(bins["a"] for _, _, bins in query.results())
    wait_until(lambda: values(by_index) == [0, 1, 2, 3])
    transaction = begin()
    client.put(keys[0], {"a": 100}, policy=within(transaction))
    client.remove(keys[1], policy=within(transaction))
    client.put(keys[5], {"a": 105}, policy=within(transaction))
    assert values(by_index) == values(client.query(NAMESPACE, new_set)) == [0, 1, 2, 3]
    of_all = client.query(NAMESPACE, None).results()
    assert not [key for key, _, _ in of_all if key[1] == MONITORS], "monitors are no records of the namespace"
    assert MONITORS not in str(client.info_all(f"sets/{NAMESPACE}"))
    client.commit(transaction)
    assert values(by_index) == values(client.query(NAMESPACE, new_set)) == [2, 3, 100, 105]
    client.index_remove(NAMESPACE, index)


def test_functions(client, keys, tmp_path, refused):
    path = tmp_path / "transactions.lua"
    path.write_text(MODULE)
    client.udf_put(str(path))
    call = lambda key, name, arguments, policy: client.apply(key, "transactions", name, arguments, policy)
    client.put(keys[0], {"a": 1})
    transaction = begin()
    # The second bin is one that the set does not have yet.
    call(keys[0], "put", ["a", 2], within(transaction))
    call(keys[0], "put", ["b", 3], within(transaction))
    call(keys[1], "put", ["a", 4], within(transaction))
    assert call(keys[0], "get", ["a"], within(transaction)) == 2
    with refused(BLOCKED):
        call(keys[0], "put", ["a", 5], {})
    assert [bins(client, key) for key in keys[:2]] == [{"a": 1}, None]
    client.commit(transaction)
    assert [bins(client, key) for key in keys[:2]] == [{"a": 2, "b": 3}, {"a": 4}]
    other = begin()
    call(keys[0], "get", ["a"], within(other))
    client.put(keys[0], {"a": 6})
    assert error_of(lambda: client.commit(other)) != 0, "what a function has read is a read"


def numbered(new_set, attempt, count):
    """Keys that no other attempt has."""
    return [(NAMESPACE, new_set, f"{attempt} {number}") for number in range(count)]


def test_a_client_that_dies_holds_nobody_up_for_ever(client, endpoint, new_set):
    def left(seconds):
        keys = numbered(new_set, seconds, 2)
        client.put(keys[0], {"a": 1})
        own = connected(endpoint)
        try:
            transaction = begin(seconds)
            own.put(keys[0], {"a": 2}, policy=within(transaction))
            own.put(keys[1], {"a": 2}, policy=within(transaction))
            own.remove(keys[0], policy=within(transaction))
            assert not can_be_written(client, keys[1])
        finally:
            own.close()
        return keys

    keys = while_it_lives(left, 2)
    wait_until(lambda: can_be_written(client, keys[0]) and can_be_written(client, keys[1]))
    assert [bins(client, key) for key in keys[:2]] == [{"a": 1}, None]


def test_a_client_that_dies_having_committed_has_committed(client, endpoint, raw, new_set):
    def left(seconds):
        keys = numbered(new_set, seconds, 3)
        client.put(keys[0], {"a": 1})
        client.put(keys[1], {"a": 1})
        own = connected(endpoint)
        try:
            transaction = begin(seconds)
            own.put(keys[0], {"a": 2}, policy=within(transaction))
            own.remove(keys[1], policy=within(transaction))
            own.put(keys[2], {"a": 2}, policy=within(transaction))
            assert mark(raw, transaction) == 0
            assert mark(raw, transaction) == COMMITTED
        finally:
            own.close()
        return keys

    keys = while_it_lives(left, 2)
    wait_until(lambda: all(can_be_written(client, key) for key in keys))
    assert [bins(client, key) for key in keys] == [{"a": 2}, None, {"a": 2}]


def test_many_that_are_left_are_ended_whole(client, new_set):
    """So many that whatever is done to a sample of requests is done to some of theirs."""

    def left(number, seconds):
        group = numbered(new_set, f"{number} {seconds}", 6)
        for key in group[:3]:
            client.put(key, {"a": 1})
        transaction = begin(seconds)
        client.remove(group[0], policy=within(transaction))
        for key in group[1:]:
            client.put(key, {"a": 2}, policy=within(transaction))
        if number % 2:
            client.put(monitor_key(transaction), {"fwd": True})
        return group

    groups = [while_it_lives(functools.partial(left, number), 10) for number in range(150)]
    wait_until(lambda: all(can_be_written(client, key) for group in groups for key in group))
    for number, group in enumerate(groups):
        expected = [None, 2, 2, 2, 2, 2] if number % 2 else [1, 1, 1, None, None, None]
        assert [record.record and record.record[2]["a"] for record in client.batch_read(group).batch_records] == expected, number


def test_who_is_late_does_not_commit(client, raw, new_set):
    def begun(seconds):
        keys, transaction = numbered(new_set, seconds, 2), begin(seconds)
        client.put(keys[0], {"a": 2}, policy=within(transaction))
        return keys, transaction

    keys, transaction = while_it_lives(begun, 2)
    wait_until(lambda: can_be_written(client, keys[0]))
    assert mark(raw, transaction) in (ABORTED, EXPIRED)
    for action in [lambda: client.put(keys[1], {"a": 2}, policy=within(transaction)), lambda: client.put(keys[0], {"a": 3}, policy=within(transaction))]:
        assert error_of(action) in (ABORTED, EXPIRED)
    assert error_of(lambda: client.commit(transaction)) != 0
    assert [bins(client, key) for key in keys] == [None, None]


@pytest.mark.restart
@pytest.mark.parametrize("commits", [False, True])
def test_kill_amid_a_transaction_that_nobody_ends(client, restart, endpoint, new_set, commits):
    """Some records are rolled already, in one of the cases."""

    def left(seconds):
        keys = numbered(new_set, seconds, 40)
        for key in keys[:20]:
            client.put(key, {"a": 1})
        transaction, expires = begin(seconds), time.monotonic() + seconds - 1
        for key in keys[:10] + keys[20:]:
            client.put(key, {"a": 2}, policy=within(transaction))
        for key in keys[10:20]:
            client.remove(key, policy=within(transaction))
        if commits:
            with contextlib.closing(Raw(endpoint)) as raw:
                assert mark(raw, transaction) == 0
                number = struct.pack("<Q", transaction.id % (1 << 64))
                for key in keys[::3]:
                    assert raw.ask([*about(new_set, key[2]), (5, number)], (0, WRITE, 0, ROLL_FORWARD))[0] == 0
        return keys, expires

    keys, expires = while_it_lives(left, 5)
    restart("kill")
    locked = not all(can_be_written(client, key) for key in keys)
    assert locked or commits or time.monotonic() > expires
    wait_until(lambda: all(can_be_written(client, key) for key in keys))
    expected = [{"a": 2}] * 10 + [None] * 10 + [{"a": 2}] * 20 if commits else [{"a": 1}] * 20 + [None] * 20
    assert [bins(client, key) for key in keys] == expected


@pytest.mark.restart
def test_a_transaction_goes_on_after_a_kill(client, restart, keys):
    client.put(keys[0], {"a": 1})
    transaction = begin()
    bins(client, keys[0], within(transaction))
    client.put(keys[1], {"a": 2}, policy=within(transaction))
    restart("kill")
    assert bins(client, keys[1], within(transaction)) == {"a": 2}
    client.put(keys[2], {"a": 2}, policy=within(transaction))
    assert client.commit(transaction) == aerospike.COMMIT_OK
    assert [bins(client, key) for key in keys[:3]] == [{"a": 1}, {"a": 2}, {"a": 2}]


def test_a_transaction_writes_4096_records_at_most(client, new_set):
    keys = [(NAMESPACE, new_set, number) for number in range(4_097)]
    transaction = begin()
    assert client.batch_operate(keys, [operations.write("a", 1)], policy_batch=within(transaction)).result == TOO_MANY
    assert client.query(NAMESPACE, new_set).results() == []
    transaction = begin()
    written = client.batch_operate(keys[:4_096], [operations.write("a", 1)], policy_batch=within(transaction))
    assert {record.result for record in written.batch_records} == {0}
    assert error_of(lambda: client.put(keys[4_096], {"a": 1}, policy=within(transaction))) == TOO_MANY
    assert client.commit(transaction) == aerospike.COMMIT_OK
    assert len(client.query(NAMESPACE, new_set).results()) == 4_096


def test_transfers_keep_the_sum(client, endpoint, new_set):
    """Four clients move money between six accounts; a fifth adds them up in transactions, and what it is told together was so at one time."""
    accounts = [(NAMESPACE, new_set, number) for number in range(6)]
    for account in accounts:
        client.put(account, {"money": 100})
    done, sums, failures = threading.Event(), [], []
    moved = itertools.count()

    def transfer(own, seed):
        dice = random.Random(seed)
        for _ in range(60):
            one, other = dice.sample(accounts, 2)
            transaction = begin(30)
            try:
                has = own.get(one, within(transaction))[2]["money"]
                gets = own.get(other, within(transaction))[2]["money"]
                own.put(one, {"money": has - 1}, policy=within(transaction))
                own.put(other, {"money": gets + 1}, policy=within(transaction))
                own.commit(transaction)
                next(moved)
            except exception.AerospikeError:
                own.abort(transaction) if transaction.state == aerospike.TXN_STATE_OPEN else None

    def add_up(own):
        while not done.is_set() or not sums:
            transaction = begin(30)
            try:
                total = sum(own.get(account, within(transaction))[2]["money"] for account in accounts)
                own.commit(transaction)
                sums.append(total)
            except exception.AerospikeError:
                pass

    def run(work, *arguments):
        own = connected(endpoint)
        try:
            work(own, *arguments)
        except BaseException as error:
            failures.append(error)
        finally:
            own.close()

    writers = [threading.Thread(target=run, args=(transfer, seed)) for seed in range(4)]
    reader = threading.Thread(target=run, args=(add_up,))
    for thread in [*writers, reader]:
        thread.start()
    for thread in writers:
        thread.join(240)
        assert not thread.is_alive()
    done.set()
    reader.join(60)
    assert not reader.is_alive() and not failures, failures
    assert next(moved) > 0 and set(sums) == {600}
    wait_until(lambda: all(can_be_written(client, account) for account in accounts))
    assert sum(bins(client, account)["money"] for account in accounts) == 600


def test_wrong_input(client, raw, keys, new_set):
    client.put(keys[0], {"a": 1})
    transaction = begin()
    client.put(keys[1], {"a": 2}, policy=within(transaction))
    number = struct.pack("<Q", transaction.id % (1 << 64))
    record, locked, value = about(new_set, 0), about(new_set, 1), (OP_WRITE, INTEGER, b"a", bytes(8))
    write = lambda *fields, info4=0, about=record: raw.ask([*about, *fields], (0, WRITE, 0, info4), ops=[value])[0]
    assert write((5, number)) == PARAMETER, "without a deadline"
    assert write((5, number), (6, struct.pack("<I", 1))) == EXPIRED
    assert write((5, number), (6, struct.pack("<I", 0xFFFFFFFF))) == PARAMETER, "a deadline in a hundred years"
    assert write((5, number), (6, b"12345")) != 0
    assert write(info4=32) == PARAMETER
    assert raw.ask(monitor_of(transaction), (0, WRITE, 0, 0), ops=[(OP_WRITE, INTEGER, b"id", bytes(8))])[0] == MONITOR_EXISTS
    version = lambda fields, info: raw.ask(fields, info)[1].get(3)
    read = version([*record, (5, number)], (READ | GET_ALL, 0, 0, 0))
    assert len(read) == 7
    assert raw.ask([*record, (3, read)], (READ | 32, 0, 64, VERIFY))[0] == 0
    assert raw.ask([*record, (3, bytes(7))], (READ | 32, 0, 64, VERIFY))[0] == MISMATCH
    assert raw.ask(record, (READ | 32, 0, 64, VERIFY))[0] == PARAMETER, "no version to verify"
    assert raw.ask([*locked, (3, read)], (READ | 32, 0, 64, VERIFY))[0] == BLOCKED
    assert raw.ask(record, (0, WRITE, 0, ROLL_FORWARD))[0] == PARAMETER, "nobody's"
    assert raw.ask([*locked, (5, bytes(8))], (0, WRITE, 0, ROLL_FORWARD))[0] == 0, "another's: nothing to do"
    assert not can_be_written(client, keys[1])
    soon = struct.pack("<I", int(time.time()) - 1_262_304_000 + 100)
    assert write((5, number), (6, soon), info4=ON_LOCKING_ONLY, about=locked) == ALREADY_LOCKED
    assert raw.ask([(0, NAMESPACE.encode()), (1, new_set.encode()), (5, number)], (READ | GET_ALL, 0, 0, 0))[0] == PARAMETER, "a scan"
    monitor = about(MONITORS, 77)
    made = lambda ttl, ops: raw.ask(monitor, (0, WRITE, 0, 0), ttl=ttl, ops=ops)
    identity = (OP_WRITE, INTEGER, b"id", struct.pack(">q", 77))
    assert made(121, [identity])[0] == PARAMETER, "too long"
    assert made(0xFFFFFFFF, [identity])[0] == PARAMETER
    assert made(0, [(OP_WRITE, INTEGER, b"other", bytes(8))])[0] == PARAMETER
    assert made(0, [(OP_WRITE, BOOL, b"fwd", b"\1")])[0] == EXPIRED, "there is none to be committed"
    code, fields = made(100, [identity])
    assert (code, len(fields[6])) == (0, 4)
    assert made(100, [identity])[0] == MONITOR_EXISTS
    assert raw.ask(monitor, (0, WRITE | DELETE, 0, 0))[0] == 0
    assert raw.ask(monitor, (0, WRITE | DELETE, 0, 0))[0] == NOT_FOUND
    assert client.abort(transaction) == aerospike.ABORT_OK
    assert [bins(client, key) for key in keys[:2]] == [{"a": 1}, None]
    assert raw.ask([*record, (5, b"short")], (READ | GET_ALL, 0, 0, 0))[0] == PARAMETER
