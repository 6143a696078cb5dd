"""Containers: made, found, described, changed, dropped; their partitions; who gets in."""

import http.server
import json
import threading

import pytest

from client import griddb

OTHER_CLUSTER = 10_053
NO_DATABASE = 10_087
OTHER_SCHEMA = 60_016
COLUMNS = [["id", griddb.Type.INTEGER], ["text", griddb.Type.STRING]]


def test_a_container_is_found_as_it_was_made(store, make, name):
    make(("id", griddb.Type.LONG), ("text", griddb.Type.STRING), ("value", griddb.Type.DOUBLE))
    info = store.get_container_info(name.upper())
    assert (info.name, info.type, info.row_key) == (name, griddb.ContainerType.COLLECTION, True)
    assert [column[:2] for column in info.column_info_list] == [["id", griddb.Type.LONG], ["text", griddb.Type.STRING], ["value", griddb.Type.DOUBLE]]
    assert store.get_container(name).type == griddb.ContainerType.COLLECTION


def test_a_container_that_is_not_there_is_none(store, name):
    assert store.get_container(name) is None
    # What is not there is dropped already.
    store.drop_container(name)


def test_a_dropped_container_is_gone(store, things, name):
    store.drop_container(name)
    assert store.get_container(name) is None


def test_columns_are_added_where_it_is_allowed(store, things, name, refused):
    things.put([1, "one"])
    wider = griddb.ContainerInfo(name, [*COLUMNS, ["number", griddb.Type.LONG]])
    with refused(OTHER_SCHEMA):
        store.put_container(wider)
    changed = store.put_container(wider, True)
    assert changed.get(1)[:2] == [1, "one"]
    assert len(store.get_container_info(name).column_info_list) == 3


def test_row_keys_of_several_columns(store, make, name):
    pairs = make(("a", griddb.Type.INTEGER), ("b", griddb.Type.STRING), ("v", griddb.Type.LONG), keyed=False, keys=["a", "b"])
    info = store.get_container_info(name)
    assert info.row_key_column_list() == ["a", "b"]
    pairs.multi_put([[a, b, a * 10] for a in (1, 2) for b in ("x", "y")])
    key = store.create_row_key(info)
    key.set([2, "x"])
    assert (key.get(), pairs.get(key)) == ([2, "x"], [2, "x", 20])
    # The client itself fails to remove by such a key.
    with pytest.raises(griddb.GSException):
        pairs.remove(key)


def test_without_a_row_key_rows_come_in_their_order(make):
    log = make(("line", griddb.Type.STRING), keyed=False)
    assert [log.put([line]) for line in "cab"] == [False] * 3
    assert [row for row in log.query("select *").fetch()] == [["c"], ["a"], ["b"]]


def test_indexes_come_and_go(things):
    things.multi_put([[number, f"text {number % 3}"] for number in range(30)])
    things.create_index("text", griddb.IndexType.TREE, "by_text")
    both = griddb.IndexInfo(["text", "id"], "both", griddb.IndexType.TREE)
    things.create_index(both, griddb.IndexType.TREE)
    assert len(list(things.query("select * where text = 'text 1'").fetch())) == 10
    things.drop_index("text", griddb.IndexType.TREE, "by_text")
    things.drop_index(both)
    assert len(list(things.query("select * where text = 'text 1'").fetch())) == 10


def test_partitions_have_the_names_of_their_containers(store, things, name):
    partitions = store.partition_info
    assert partitions.partition_count == 128
    at = partitions.get_partition_index_of_container(name)
    assert 0 <= at < 128
    assert name in partitions.get_container_names(at, 0)
    assert len(partitions.get_container_names(at, 0, 1)) == 1
    assert partitions.get_container_count(at) == len(partitions.get_container_names(at, 0))


def test_an_affinity_gives_the_partition(store, make, name):
    make(("id", griddb.Type.INTEGER), called=f"{name}@7")
    assert store.partition_info.get_partition_index_of_container(f"{name}@7") == 7
    assert f"{name}@7" in store.partition_info.get_container_names(7, 0)


def test_another_cluster_and_an_unknown_database_are_refused(connect, things, refused):
    for keywords, code in [({"cluster_name": "another"}, OTHER_CLUSTER), ({"database": "not_there"}, NO_DATABASE)]:
        with refused(code):
            connect(**keywords).get_container("x")


def test_a_refused_log_in_disturbs_no_other_client(connect, store, make, name, refused):
    # Clients of one process take connections from one pool.
    for number in range(5):
        with refused(OTHER_CLUSTER):
            connect(cluster_name="another").get_container("x")
        made = make(("id", griddb.Type.INTEGER), called=f"{name}_{number}")
        assert not made.put([number])


def test_the_client_says_what_it_cannot_do_itself(store, things):
    with pytest.raises(griddb.GSException):
        things.put([1, 2])
    with pytest.raises(griddb.GSException):
        store.drop_container(7)


@pytest.fixture
def provider(member):
    """Tells over HTTP where the one member is."""
    host, port = member.rsplit(":", 1)
    address = {"address": host, "port": int(port)}
    members = json.dumps([{"cluster": address, "transaction": address}]).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(members)))
            self.end_headers()
            self.wfile.write(members)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listener.server_address[1]}/members"
        listener.shutdown()


def test_a_provider_tells_where_the_members_are(connect, provider, things, name):
    things.put([1, "one"])
    assert connect(notification_member=None, notification_provider=provider).get_container(name).get(1) == [1, "one"]
