"""Batches, scans and queries, and what a namespace tells of itself."""

import time

import aerospike
import pytest
from aerospike_helpers.batch import records
from aerospike_helpers.operations import operations as op

from aerospike_settings import settings


@pytest.fixture
def filled(client, new_set):
    """A set with the records 0 to 999."""
    write = records.BatchRecords([records.Write(("test", new_set, n), [op.write("n", n), op.write("s", f"text {n}")]) for n in range(1_000)])
    client.batch_write(write)
    assert all(record.result == 0 for record in write.batch_records)
    return new_set


def test_batch_read(client, filled):
    keys = [("test", filled, n) for n in range(990, 1_010)]
    found = client.batch_read(keys)
    assert [record.result for record in found.batch_records] == [0] * 10 + [2] * 10
    assert [record.record[2]["n"] for record in found.batch_records[:10]] == list(range(990, 1_000))
    some = client.batch_read(keys[:2], ["s"])
    assert [record.record[2] for record in some.batch_records] == [{"s": "text 990"}, {"s": "text 991"}]
    headers = client.batch_read(keys, [])
    assert [record.result for record in headers.batch_records] == [0] * 10 + [2] * 10


def test_batch_of_everything(client, filled):
    key = lambda n: ("test", filled, n)
    batch = records.BatchRecords(
        [
            records.Write(key(0), [op.increment("n", 100)]),
            records.Read(key(1), [op.read("n")]),
            records.Remove(key(2)),
            records.Write(key(3), [op.write("n", 0)], policy={"exists": aerospike.POLICY_EXISTS_CREATE}),
            records.Read(key(5_000), [op.read("n")]),
            records.Write(key(5_001), [op.write("new", 1), op.read("new")]),
            records.Read(("nowhere", "s", 1), [op.read("n")]),
        ]
    )
    client.batch_write(batch)
    results = [record.result for record in batch.batch_records]
    assert results[:6] == [0, 0, 0, 5, 2, 0]
    assert results[6] != 0
    assert client.get(key(0))[2]["n"] == 100
    assert client.exists(key(2))[1] is None
    assert client.get(key(5_001))[2] == {"new": 1}


def test_batch_operate_and_remove(client, filled):
    keys = [("test", filled, n) for n in range(100)]
    done = client.batch_operate(keys, [op.increment("n", 1), op.read("n")])
    assert [record.record[2]["n"] for record in done.batch_records] == list(range(1, 101))
    client.batch_remove(keys)
    left = client.batch_read(keys + [("test", filled, 100)])
    assert [record.result for record in left.batch_records] == [2] * 100 + [0]


def numbers(found):
    return sorted(record[2]["n"] for record in found)


def test_scan_and_query_give_every_record_once(client, filled):
    assert numbers(client.scan("test", filled).results()) == list(range(1_000))
    assert numbers(client.query("test", filled).results()) == list(range(1_000))
    some = client.scan("test", filled)
    some.select("s")
    assert {tuple(record[2]) for record in some.results()} == {("s",)}
    headers = client.query("test", filled).results({}, {"nobins": True})
    assert len(headers) == 1_000 and not any(record[2] for record in headers)
    assert client.scan("test", "no such set").results() == []


def test_scan_of_a_namespace_gives_all_sets(client, filled):
    client.put(("test", None, filled), {"n": 5_000})
    found = [record for record in client.scan("test", None).results() if (record[2] or {}).get("n") is not None]
    assert {5_000} | set(range(1_000)) <= {record[2]["n"] for record in found}


def test_scan_of_some_partitions(client, filled):
    parts = [client.scan("test", filled).results(policy={"partition_filter": {"begin": begin, "count": 1_024}}) for begin in range(0, 4_096, 1_024)]
    assert all(parts)
    assert sorted(n for part in parts for n in numbers(part)) == list(range(1_000))


def test_scan_page_by_page(client, filled):
    pages = client.scan("test", filled)
    pages.paginate()
    found = []
    while not pages.is_done():
        page = pages.results(policy={"max_records": 77})
        assert len(page) <= 77
        found += page
    assert numbers(found) == list(range(1_000))


def test_scan_at_a_pace(client, filled):
    began = time.monotonic()
    assert numbers(client.scan("test", filled).results({"records_per_second": 500})) == list(range(1_000))
    assert 1.8 < time.monotonic() - began


def test_truncate(client, filled):
    client.put(("test", filled + "x", 1), {"n": 1})
    assert client.truncate("test", filled, 0) == 0
    assert client.scan("test", filled).results() == []
    assert numbers(client.scan("test", filled + "x").results()) == [1]
    client.put(("test", filled, 1), {"n": 1})
    assert numbers(client.scan("test", filled).results()) == [1]


def test_information(client, filled):
    def value(name):
        return client.info_random_node(name).strip().split("\t", 1)[1]

    assert "test" in value("namespaces").split(";")
    assert f"set={filled}" in value("sets/test")
    assert "pscans" in value("features")
    assert "nsup-period=" in value("namespace/test")
    assert value("status") == "ok"
    assert len(client.get_nodes()) == 1
    assert client.is_connected()


def test_login_without_users(endpoint):
    open_to_all = aerospike.client(settings([endpoint], user="somebody", password="secret")).connect()
    try:
        assert open_to_all.is_connected()
    finally:
        open_to_all.close()


def test_many_clients_at_once(endpoint, new_set):
    """Each connects, tends and writes on its own."""
    from conftest import connected

    clients = [connected(endpoint) for _ in range(8)]
    for round in range(50):
        for number, one in enumerate(clients):
            one.increment(("test", new_set, "shared"), "n", 1)
            one.put(("test", new_set, number), {"round": round})
    assert clients[0].get(("test", new_set, "shared"))[2] == {"n": 400}
    for one in clients:
        one.close()
