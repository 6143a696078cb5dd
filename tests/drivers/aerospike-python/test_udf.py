"""Functions of users on records: registered, told of, applied to one record and to many, ended when they take too much, and there after `kill -9`."""

import base64
import socket
import struct
import threading

import aerospike
import pytest
from aerospike import exception

MODULE = """
local exports = {}

function get(rec, bin) return rec[bin] end

function put(rec, bin, value)
  rec[bin] = value
  if aerospike:exists(rec) then aerospike:update(rec) else aerospike:create(rec) end
  return record.numbins(rec)
end

function echo(rec, ...) return list{...} end

function same(rec, value) return value end

function add(rec, bin, by)
  rec[bin] = (rec[bin] or 0) + by
  if aerospike:exists(rec) then aerospike:update(rec) else aerospike:create(rec) end
  return rec[bin]
end

function drop(rec) return aerospike:remove(rec) end

function about(rec)
  return map{ gen = record.gen(rec), ttl = record.ttl(rec), set = record.setname(rec), key = record.key(rec),
              digest = record.digest(rec), names = list(record.bin_names(rec)), exists = aerospike:exists(rec) }
end

function live(rec, seconds)
  record.set_ttl(rec, seconds)
  return aerospike:update(rec)
end

function half(rec)
  rec.a = 100
  aerospike:update(rec)
  error("1001:no more")
end

function forever(rec)
  rec.a = 100
  aerospike:update(rec)
  while true do end
end

function eat(rec)
  local all = list()
  while true do list.append(all, ("x"):rep(1000) .. list.size(all)) end
end

function large(rec) return put(rec, "a", ("x"):rep(2000000)) end

function say(rec, text) info("said: %s", text) return 1 end
"""


def info(endpoint, command):
    """The value of a command, as it is: the client takes some for failures."""
    body = command.encode() + b"\n"
    with socket.create_connection(endpoint, timeout=30) as connection, connection.makefile("rb") as replies:
        connection.sendall(struct.pack(">Q", 2 << 56 | 1 << 48 | len(body)) + body)
        length = struct.unpack(">Q", replies.read(8))[0] & (1 << 48) - 1
        return replies.read(length).decode().strip("\n").split("\t", 1)[1]


def register(endpoint, name, source):
    content = base64.b64encode(source.encode()).decode()
    return info(endpoint, f"udf-put:filename={name};content={content};content-len={len(content)};udf-type=LUA;")


@pytest.fixture(scope="module")
def module(endpoint):
    assert register(endpoint, "tested.lua", MODULE) == "ok"
    yield "tested"
    assert info(endpoint, "udf-remove:filename=tested.lua") == "ok"


def bins(client, key):
    return client.get(key)[2]


def test_modules_are_registered_and_taken_away(client, endpoint, tmp_path):
    path = tmp_path / "mine.lua"
    path.write_text("function one(rec) return 1 end\n")
    client.udf_put(str(path), 0)
    assert "mine.lua" in [udf["name"] for udf in client.udf_list()]
    assert client.udf_get("mine.lua") == path.read_text()
    assert client.apply(("test", "udf", 1), "mine", "one", []) == 1
    assert register(endpoint, "mine.lua", "function one(rec) return 2 end") == "ok"
    assert client.apply(("test", "udf", 1), "mine", "one", []) == 2, "the new one takes the place of the one before"
    client.udf_remove("mine.lua")
    assert "mine.lua" not in [udf["name"] for udf in client.udf_list()]
    assert info(endpoint, "udf-remove:filename=mine.lua") == "error=file_not_found"
    assert info(endpoint, "udf-get:filename=mine.lua") == "error=not_found"
    with pytest.raises(exception.UDFError):
        client.apply(("test", "udf", 1), "mine", "one", [])


def test_what_is_no_module_is_refused(endpoint):
    answer = register(endpoint, "broken.lua", "function f()\n  return (\nend")
    fields = dict(pair.split("=", 1) for pair in answer.split(";"))
    assert fields["error"] == "compile_error" and fields["file"] == "broken.lua" and fields["line"] == "3"
    assert b"near 'end'" in base64.b64decode(fields["message"])
    for command in (
        "udf-put:filename=x.lua;content=%%;content-len=2;udf-type=LUA;",
        "udf-put:filename=x.lua;content=eA==;content-len=9;udf-type=LUA;",
        "udf-put:filename=x.lua;content=eA==;content-len=4;udf-type=C;",
        "udf-put:content=eA==;content-len=4;udf-type=LUA;",
        "udf-put:filename=;content=eA==;content-len=4;udf-type=LUA;",
        f"udf-put:filename={'x' * 200};content=eA==;content-len=4;udf-type=LUA;",
        "udf-remove:",
    ):
        assert info(endpoint, command).startswith("ERROR:4:"), command
    assert register(endpoint, "large.lua", "--" + "x" * (128 << 10)).startswith("ERROR:4:")
    assert "large.lua" not in info(endpoint, "udf-list")


def test_values_of_all_types_go_in_and_come_out(client, module, key):
    values = [1, -(1 << 63), 1.5, "text", "", b"\0\xff", True, None, [1, "x", [2.5, None, b"b"]], {"k": 1, 2: [3], b"b".hex(): {"x": None}}]
    assert client.apply(key, module, "echo", values) == values
    for value in values:
        assert client.apply(key, module, "same", [value]) == value
    for number, value in enumerate(values):
        client.apply(key, module, "put", [f"bin{number}", value])
    stored = bins(client, key)
    assert stored == {f"bin{number}": value for number, value in enumerate(values) if value is not None}
    for number, value in enumerate(values):
        assert client.apply(key, module, "get", [f"bin{number}"]) == value
    geo = aerospike.GeoJSON({"type": "Point", "coordinates": [1.0, 2.0]})
    client.put(key, {"geo": geo})
    assert client.apply(key, module, "get", ["geo"]).unwrap() == geo.unwrap()
    assert client.apply(key, module, "echo", []) == []


def test_a_record_is_made_changed_and_removed(client, module, key, refused):
    about = client.apply(key, module, "about", [])
    assert (about["exists"], about["gen"], about["names"]) == (False, 0, [])
    assert client.apply(key, module, "put", ["a", 1]) == 1
    assert client.apply(key, module, "put", ["b", [1]]) == 2
    about = client.apply(key, module, "about", [], {"key": aerospike.POLICY_KEY_SEND})
    assert (about["exists"], about["gen"], about["set"], about["key"], about["names"]) == (True, 2, key[1], "key", ["a", "b"])
    assert about["digest"] == aerospike.calc_digest(*key)
    assert client.get(key)[1]["gen"] == 2, "to look at a record does not change it"
    client.apply(key, module, "put", ["a", None])
    assert bins(client, key) == {"b": [1]}
    assert client.apply(key, module, "live", [100]) == 0
    assert 90 <= client.get(key)[1]["ttl"] <= 100
    assert 90 <= client.apply(key, module, "about", [])["ttl"] <= 100
    assert client.apply(key, module, "drop", []) == 0
    assert client.apply(key, module, "drop", []) == -2, "it is gone"
    with refused(2):
        client.get(key)
    # The last bin takes the record along.
    client.apply(key, module, "put", ["a", 1])
    client.apply(key, module, "put", ["a", None])
    with refused(2):
        client.get(key)


def test_one_that_fails_changes_nothing(client, module, key, refused):
    client.put(key, {"a": 1})
    for function in ("half", "forever", "eat"):
        with refused(100):
            client.apply(key, module, function, [])
        assert bins(client, key) == {"a": 1}, function
    with pytest.raises(exception.UDFError) as raised:
        client.apply(key, module, "half", [])
    assert "tested.lua" in raised.value.msg and "1001:no more" in raised.value.msg
    with refused(13):
        client.apply(key, module, "large", [])
    for package, function in (("none", "get"), (module, "none")):
        with refused(100):
            client.apply(key, package, function, [])
    assert bins(client, key) == {"a": 1}
    assert client.get(key)[1]["gen"] == 1
    with refused(100):
        client.apply(key, module, "put", ["a name of a bin that is too long", 1])


def test_others_are_served_beside_functions_that_run_for_ever(client, module, key, new_set):
    client.put(key, {"a": 1})
    failures = []

    def loop():
        for _ in range(20):
            try:
                client.apply(key, module, "forever", [])
                failures.append("a function that runs for ever has ended")
            except exception.UDFError:
                pass

    threads = [threading.Thread(target=loop) for _ in range(3)]
    for thread in threads:
        thread.start()
    served = 0
    while any(thread.is_alive() for thread in threads) or served < 100:
        client.put(("test", new_set, served % 50), {"n": served})
        served += 1
    for thread in threads:
        thread.join()
    assert not failures and bins(client, key) == {"a": 1}


def test_calls_on_one_record_come_one_after_the_other(client, module, key):
    def add():
        for _ in range(200):
            client.apply(key, module, "add", ["n", 1])

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bins(client, key) == {"n": 800}


def test_filters_hold(client, module, key, refused):
    from aerospike_helpers import expressions as exp

    client.put(key, {"a": 1})
    wrong = exp.Eq(exp.IntBin("a"), 2).compile()
    with refused(27):
        client.apply(key, module, "put", ["a", 5], {"expressions": wrong})
    right = exp.Eq(exp.IntBin("a"), 1).compile()
    client.apply(key, module, "put", ["a", 5], {"expressions": right})
    assert bins(client, key) == {"a": 5}


def test_batches_apply_functions(client, module, new_set):
    keys = [("test", new_set, n) for n in range(300)]
    batch = client.batch_apply(keys, module, "put", ["fresh", {"x": [1]}])
    assert (batch.result, [record.result for record in batch.batch_records]) == (0, [0] * 300)
    assert {str(bins(client, key)) for key in keys} == {str({"fresh": {"x": [1]}})}
    for key in keys[:3]:
        client.put(key, {"a": 1})
    records = client.batch_apply(keys[:3], module, "half", []).batch_records
    assert [record.result for record in records] == [100] * 3
    assert [bins(client, key)["a"] for key in keys[:3]] == [1] * 3


def test_modules_and_what_they_wrote_survive_kill(client, endpoint, module, restart, new_set):
    keys = [("test", new_set, n) for n in range(50)]
    for key in keys:
        client.apply(key, module, "add", ["n", 7])
    before = info(endpoint, "udf-list")
    restart("kill")
    assert info(endpoint, "udf-list") == before
    assert [bins(client, key) for key in keys] == [{"n": 7}] * 50
    assert [client.apply(key, module, "add", ["n", 1]) for key in keys] == [8] * 50
