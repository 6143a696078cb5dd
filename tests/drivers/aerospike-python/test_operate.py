"""Several operations on one record: in order, all or none."""

import aerospike
from aerospike_helpers.operations import list_operations as lists
from aerospike_helpers.operations import map_operations as maps
from aerospike_helpers.operations import operations as op


def test_add_append_prepend(client, key):
    client.increment(key, "n", 5)
    client.increment(key, "n", -2)
    client.put(key, {"s": "b", "d": 1.5, "y": b"1"})
    client.append(key, "s", "c")
    client.prepend(key, "s", "a")
    client.operate(key, [op.increment("d", 0.25), op.append("y", b"2")])
    assert client.get(key)[2] == {"n": 3, "s": "abc", "d": 1.75, "y": b"12"}


def test_types_that_do_not_fit_are_refused_and_nothing_is_written(client, key, refused):
    client.put(key, {"n": 1, "s": "x"})
    for operation in [op.increment("s", 1), op.append("n", "x"), lists.list_append("n", 1), maps.map_put("s", "k", 1)]:
        with refused(12):
            client.operate(key, [op.write("other", 1), operation])
    assert client.get(key)[2] == {"n": 1, "s": "x"}


def test_reads_see_the_writes_before_them(client, key):
    client.put(key, {"n": 1})
    _, meta, bins = client.operate_ordered(key, [op.read("n"), op.increment("n", 10), op.read("n"), op.write("n", 7), op.read("n")])
    assert [value for name, value in bins if value is not None] == [1, 11, 7]
    assert meta["gen"] == 2


def test_touch_delete_and_write_again(client, key, refused):
    with refused(2):
        client.operate(key, [op.touch(), op.write("a", 1)])
    client.put(key, {"a": 1})
    client.operate(key, [op.touch(100), op.read("a")], meta={"ttl": 100})
    assert client.exists(key)[1]["ttl"] <= 100
    _, _, bins = client.operate(key, [op.read("a"), op.delete(), op.write("b", 2)])
    assert bins["a"] == 1
    _, meta, bins = client.get(key)
    assert (bins, meta["gen"]) == ({"b": 2}, 3)
    client.operate(key, [op.delete()])
    with refused(2):
        client.get(key)


def test_generation_policy(client, key, refused):
    client.put(key, {"n": 1})
    policy = {"gen": aerospike.POLICY_GEN_EQ}
    with refused(3):
        client.operate(key, [op.increment("n", 1)], meta={"gen": 2}, policy=policy)
    client.operate(key, [op.increment("n", 1)], meta={"gen": 1}, policy=policy)
    assert client.get(key)[2] == {"n": 2}


def test_lists(client, key):
    client.operate(key, [lists.list_append("l", 3), lists.list_append_items("l", [1, 2]), lists.list_insert("l", 0, 9)])
    assert client.get(key)[2] == {"l": [9, 3, 1, 2]}
    _, _, bins = client.operate_ordered(
        key,
        [
            lists.list_size("l"),
            lists.list_get("l", -1),
            lists.list_get_by_rank("l", 0, aerospike.LIST_RETURN_VALUE),
            lists.list_get_by_value("l", 3, aerospike.LIST_RETURN_INDEX),
            lists.list_remove("l", 0),
            lists.list_increment("l", 0, 10),
            lists.list_pop("l", 1),
            lists.list_sort("l"),
            op.read("l"),
        ],
    )
    values = [value for _, value in bins]
    assert values[:4] == [4, 2, 1, [1]]
    assert values[-1] == [2, 13]


def test_maps(client, key):
    client.operate(key, [maps.map_put("m", "b", 2), maps.map_put_items("m", {"a": 1, "c": 30}), maps.map_increment("m", "c", 3)])
    assert client.get(key)[2] == {"m": {"a": 1, "b": 2, "c": 33}}
    _, _, bins = client.operate_ordered(
        key,
        [
            maps.map_size("m"),
            maps.map_get_by_key("m", "c", aerospike.MAP_RETURN_VALUE),
            maps.map_get_by_rank("m", 0, aerospike.MAP_RETURN_KEY),
            maps.map_get_by_value_range("m", 2, 40, aerospike.MAP_RETURN_COUNT),
            maps.map_remove_by_key("m", "a", aerospike.MAP_RETURN_VALUE),
        ],
    )
    assert [value for _, value in bins] == [3, 33, "a", 2, 1]
    assert client.get(key)[2] == {"m": {"b": 2, "c": 33}}
