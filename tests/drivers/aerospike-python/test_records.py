"""One record: what is put is got, whatever its type; what clients expect of it holds."""

import aerospike
import pytest
from aerospike import KeyOrderedDict
from aerospike_helpers.operations import operations

NEVER = aerospike.TTL_NEVER_EXPIRE

VALUES = {
    "integer": 7,
    "smallest": -(2**63),
    "double": 1.5,
    "string": "tärn",
    "empty": "",
    "blob": b"\x00\x01\xff",
    "yes": True,
    "no": False,
    "list": [1, "a", b"b", 2.5, [None, True], {"k": [1]}],
    "map": {"a": 1, 2: "b", "nested": {"x": [1, 2]}},
    "geo": aerospike.GeoJSON({"type": "Point", "coordinates": [8.5, 47.4]}),
}


def test_values_of_every_type_come_back(client, key):
    client.put(key, VALUES)
    _, meta, bins = client.get(key)
    assert bins.pop("geo").dumps() == VALUES["geo"].dumps()
    assert bins == {name: value for name, value in VALUES.items() if name != "geo"}
    assert type(bins["yes"]) is bool
    assert meta["gen"] == 1


def test_a_bin_may_change_its_type(client, key):
    for generation, value in enumerate(VALUES.values(), 1):
        client.put(key, {"b": value})
        _, meta, bins = client.get(key)
        assert meta["gen"] == generation
        assert getattr(bins["b"], "dumps", lambda: bins["b"])() == getattr(value, "dumps", lambda: value)()


def test_keys_of_every_type(client, new_set):
    keys = ["text", 12, -1, bytearray(b"bytes"), "12"]
    for number, key in enumerate(keys):
        client.put(("test", new_set, key), {"n": number})
    for number, key in enumerate(keys):
        assert client.get(("test", new_set, key))[2] == {"n": number}
    client.put(("test", None, f"{new_set} without a set"), {"n": 9})
    assert client.get(("test", None, f"{new_set} without a set"))[2] == {"n": 9}


def test_select_gives_the_bins_asked_for(client, key):
    client.put(key, {"a": 1, "b": 2, "c": 3})
    assert client.select(key, ["c", "a", "none"])[2] == {"a": 1, "c": 3}
    assert client.select(key, ["none"])[2] == {}


def test_a_missing_record_is_not_found(client, key, refused):
    with refused(2):
        client.get(key)
    with refused(2):
        client.select(key, ["a"])
    with refused(2):
        client.touch(key)
    with refused(2):
        client.remove(key)
    assert client.exists(key)[1] is None


def test_exists_tells_generation_and_time_to_live(client, key):
    client.put(key, {"a": 1}, meta={"ttl": 1000})
    client.put(key, {"a": 1}, meta={"ttl": 1000})
    meta = client.exists(key)[1]
    assert meta["gen"] == 2 and 990 <= meta["ttl"] <= 1000


def test_remove_and_remove_bin(client, key, refused):
    client.put(key, {"a": 1, "b": 2})
    client.remove_bin(key, ["a"])
    assert client.get(key)[2] == {"b": 2}
    client.remove_bin(key, ["b"])
    with refused(2):
        client.get(key)
    client.put(key, {"a": 3})
    client.remove(key, policy={"durable_delete": True})
    with refused(2):
        client.get(key)
    client.put(key, {"a": 4})
    assert client.get(key)[1]["gen"] == 1


@pytest.mark.parametrize(
    "policy, missing, present, left",
    [
        (aerospike.POLICY_EXISTS_IGNORE, None, None, {"a": 1, "b": 2}),
        (aerospike.POLICY_EXISTS_CREATE, None, 5, {"a": 1}),
        (aerospike.POLICY_EXISTS_UPDATE, 2, None, {"a": 1, "b": 2}),
        (aerospike.POLICY_EXISTS_REPLACE, 2, None, {"b": 2}),
        (aerospike.POLICY_EXISTS_CREATE_OR_REPLACE, None, None, {"b": 2}),
    ],
)
def test_existence_policies(client, new_set, refused, policy, missing, present, left):
    for name, record, expected in [("missing", None, missing), ("present", {"a": 1}, present)]:
        key = ("test", new_set, name)
        if record:
            client.put(key, record)
        if expected is None:
            client.put(key, {"b": 2}, policy={"exists": policy})
        else:
            with refused(expected):
                client.put(key, {"b": 2}, policy={"exists": policy})
    assert client.get(key)[2] == left


def test_generation_policies(client, key, refused):
    equal, greater = {"gen": aerospike.POLICY_GEN_EQ}, {"gen": aerospike.POLICY_GEN_GT}
    client.put(key, {"a": 1})
    with refused(3):
        client.put(key, {"a": 2}, meta={"gen": 7}, policy=equal)
    client.put(key, {"a": 2}, meta={"gen": 1}, policy=equal)
    with refused(3):
        client.put(key, {"a": 3}, meta={"gen": 2}, policy=greater)
    client.put(key, {"a": 3}, meta={"gen": 9}, policy=greater)
    with refused(3):
        client.remove(key, meta={"gen": 1}, policy=equal)
    assert client.get(key)[1]["gen"] == 3
    client.remove(key, meta={"gen": 3}, policy=equal)


def test_time_to_live(client, key):
    def ttl():
        return client.exists(key)[1]["ttl"]

    client.put(key, {"a": 1})
    assert ttl() == NEVER, "the namespace's default is for ever"
    client.put(key, {"a": 1}, meta={"ttl": 100})
    assert 95 <= ttl() <= 100
    client.put(key, {"a": 1}, meta={"ttl": aerospike.TTL_DONT_UPDATE})
    assert 90 <= ttl() <= 100
    client.touch(key, 1000)
    assert 990 <= ttl() <= 1000
    client.touch(key, NEVER)
    assert ttl() == NEVER


def test_records_expire(client, key, refused):
    client.put(key, {"a": 1}, meta={"ttl": 1})
    while client.exists(key)[1] is not None:
        pass
    with refused(2):
        client.get(key)


def test_a_key_that_was_sent_is_compared_and_given_by_scans(client, new_set, refused):
    send = {"key": aerospike.POLICY_KEY_SEND}
    client.put(("test", new_set, "user"), {"a": 1}, policy=send)
    client.put(("test", new_set, 17), {"a": 2}, policy=send)
    keys = {record[0][2] for record in client.scan("test", new_set).results()}
    assert keys == {"user", 17}
    assert client.get(("test", new_set, "user"), policy=send)[2] == {"a": 1}


def test_a_record_is_read_by_its_digest_alone(client, key, refused):
    client.put(key, {"n": 1, "s": "text"})
    digest = aerospike.calc_digest(*key)
    alone = ("test", None, None, digest)
    assert client.get(alone)[2] == {"n": 1, "s": "text"}
    assert client.select(alone, ["n"])[2] == {"n": 1}
    assert client.exists(alone)[1]["gen"] == 1
    assert client.operate(alone, [operations.read("s")])[2] == {"s": "text"}
    other = bytearray(digest)
    other[-1] ^= 1
    unknown = ("test", None, None, other)
    assert client.exists(unknown)[1] is None
    found = client.batch_read([alone, unknown, key]).batch_records
    assert [record.result for record in found] == [0, 2, 0]
    assert [record.record[2] for record in found[::2]] == [{"n": 1, "s": "text"}] * 2
    # In another set it is not; and writes without a set's name are about records without a set.
    with refused(2):
        client.get(("test", f"{key[1]}_other", None, digest))
    with refused(2):
        client.remove(alone)
    client.put(alone, {"n": 2})
    assert (client.get(alone)[2], client.get(key)[2]["n"]) == ({"n": 2}, 1)
    client.remove(alone)
    assert client.get(alone)[2]["n"] == 1


def test_wrong_requests_are_refused(client, key, refused):
    with refused(20):
        client.get(("nowhere", "s", 1))
    with refused(21):
        client.put(key, {"a name of 16 chr": 1})
    with refused(4):
        client.put(key, {"a": 1}, meta={"ttl": 20 * 365 * 86_400})


def test_large_records(client, key, refused):
    for size in [1_000, 100_000, 1_000_000]:
        client.put(key, {"b": b"x" * size})
        assert client.get(key)[2]["b"] == b"x" * size
    with refused(13):
        client.put(key, {"b": b"x" * 30_000_000})
    assert len(client.get(key)[2]["b"]) == 1_000_000


def test_compressed_requests(client, key):
    client.put(key, {"s": "x" * 50_000}, policy={"compress": True})
    assert client.get(key, policy={"compress": True})[2]["s"] == "x" * 50_000


def test_linearizable_reads_see_the_last_write(client, key):
    for mode in [aerospike.POLICY_READ_MODE_SC_LINEARIZE, aerospike.POLICY_READ_MODE_SC_ALLOW_REPLICA]:
        for value in range(20):
            client.put(key, {"a": value})
            assert client.get(key, policy={"read_mode_sc": mode})[2] == {"a": value}


def test_ordered_maps_stay_ordered(client, key):
    client.put(key, {"m": KeyOrderedDict({"z": 1, "a": 2})})
    assert client.get(key)[2]["m"] == {"a": 2, "z": 1}
