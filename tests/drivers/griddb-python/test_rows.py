"""Rows: what is put is got, whatever its type."""

from datetime import datetime, timedelta, timezone

import pytest

from client import griddb

Type = griddb.Type
AT = datetime(2026, 11, 29, 5, 30, 1, 250_000)

VALUES = [
    ("BOOL", Type.BOOL, [True, False]),
    ("BYTE", Type.BYTE, [-128, 0, 127]),
    ("SHORT", Type.SHORT, [-32_768, 32_767]),
    ("INTEGER", Type.INTEGER, [-(2**31), 2**31 - 1]),
    ("LONG", Type.LONG, [-(2**63), 2**63 - 1]),
    ("FLOAT", Type.FLOAT, [-1.5, 0.25]),
    ("DOUBLE", Type.DOUBLE, [-1e300, 0.1]),
    ("STRING", Type.STRING, ["", "größe", "x" * 40_000]),
    ("TIMESTAMP", Type.TIMESTAMP, [datetime(1970, 1, 1), AT, datetime(9999, 12, 31, 23, 59, 59)]),
    ("BLOB", Type.BLOB, [bytearray(), bytearray(range(256)) * 400]),
    ("GEOMETRY", Type.GEOMETRY, ["POINT(1 2)", "LINESTRING(0 0,1 1)"]),
]


@pytest.mark.parametrize(("kind", "values"), [(kind, values) for _, kind, values in VALUES], ids=[name for name, _, _ in VALUES])
def test_values_of_every_type_come_back(make, kind, values):
    rows = [[number, value] for number, value in enumerate([*values, None])]
    container = make(("id", Type.INTEGER), ("value", kind))
    container.multi_put(rows[:1])
    assert [container.put(row) for row in rows] == [True] + [False] * len(values)
    for row in rows:
        assert container.get(row[0]) == row
    assert [row[0] for row in container.query("select *").fetch()] == list(range(len(rows)))


def test_times_of_microseconds(make):
    container = make(("id", Type.INTEGER), {"name": "at", "type": Type.TIMESTAMP, "time_unit": griddb.TimeUnit.MICROSECOND})
    at = AT.replace(tzinfo=timezone.utc) + timedelta(microseconds=7)
    container.put([1, at])
    assert container.get(1)[1] == at.replace(tzinfo=None)
    assert [row[0] for row in container.query("select * where at > TIMESTAMP_MS('2026-11-29T05:30:01.250Z')").fetch()] == [1]


@pytest.mark.parametrize(("kind", "keys"), [(Type.STRING, ["a", "ö", ""]), (Type.INTEGER, [-1, 0]), (Type.LONG, [2**40]), (Type.TIMESTAMP, [AT])])
def test_row_keys_of_every_type(make, kind, keys):
    container = make(("key", kind), ("value", Type.LONG))
    for number, key in enumerate(keys):
        assert not container.put([key, number])
        assert container.put([key, number])
        assert container.get(key) == [key, number]
    assert container.remove(keys[0]) and not container.remove(keys[0])
    assert container.get(keys[0]) is None


def test_a_column_that_may_not_be_null(make):
    container = make(("id", Type.INTEGER), {"name": "text", "type": Type.STRING, "option": griddb.TypeOption.NOT_NULL})
    container.put([1, "one"])
    assert container.get(1) == [1, "one"]


def test_many_rows_are_put_at_once(things):
    things.multi_put([[number, f"text {number}"] for number in range(5_000)])
    things.multi_put([[number, "again"] for number in range(2_500)])
    found = list(things.query("select *").fetch())
    assert len(found) == 5_000
    assert (found[2_499], found[2_500]) == ([2_499, "again"], [2_500, "text 2500"])


def test_rows_of_several_containers(store, make, name):
    columns = [("id", Type.INTEGER), ("text", Type.STRING)]
    called = [f"{name}_{number}" for number in range(5)]
    for container in called:
        make(*columns, called=container)
    store.multi_put({container: [[row, container] for row in range(10)] for container in called})
    some = store.create_row_key_predicate(Type.INTEGER)
    some.set_distinct_keys([3, 7, 99])
    found = store.multi_get({container: some for container in called})
    assert found == {container: [[3, container], [7, container]] for container in called}
    assert store.multi_get({called[0]: some, f"{name}_none": some}) == {called[0]: [[3, called[0]], [7, called[0]]]}


def test_a_range_of_row_keys(store, make, name):
    container = make(("id", Type.LONG), ("text", Type.STRING))
    container.multi_put([[number, "x"] for number in range(10)])
    few = store.create_row_key_predicate(Type.LONG)
    few.set_range(8, 100)
    assert store.multi_get({name: few}) == {name: [[8, "x"], [9, "x"]]}


def test_row_keys_of_several_columns_are_asked_for_at_once(store, make, name):
    pairs = make(("a", Type.INTEGER), ("b", Type.STRING), keyed=False, keys=["a", "b"])
    pairs.multi_put([[a, b] for a in (1, 2, 3) for b in ("x", "y")])
    info = store.get_container_info(name)
    keys = []
    for values in ([1, "y"], [3, "x"]):
        keys.append(store.create_row_key(info))
        keys[-1].set(values)
    some = store.create_row_key_predicate(keys[0])
    some.set_distinct_keys(keys)
    assert sorted(store.multi_get({name: some})[name]) == [[1, "y"], [3, "x"]]
    between = store.create_row_key_predicate(keys[0])
    between.set_range(*keys)
    assert store.multi_get({name: between})[name] == [[1, "y"], [2, "x"], [2, "y"], [3, "x"]]


@pytest.mark.restart
def test_what_was_put_survives_a_kill(store, things, restart):
    things.multi_put([[number, "x" * 100] for number in range(1_000)])
    restart("kill")
    # By the same client, which connects again.
    assert len(list(things.query("select *").fetch())) == 1_000
    assert things.put([1, "after"])
