"""HyperLogLog bins: operations and expressions on sketches, values that travel through the client, bad input, kill -9."""

import aerospike
import pytest
from aerospike_helpers import HyperLogLog
from aerospike_helpers import expressions as exp
from aerospike_helpers.batch import records as batch
from aerospike_helpers.expressions import hll as hll_exp
from aerospike_helpers.operations import expression_operations as computed
from aerospike_helpers.operations import hll_operations as hll
from aerospike_helpers.operations import operations as op

PARAMETER = 4
BIN_EXISTS = 6
BIN_TYPE = 12
BIN_NOT_FOUND = 17
NOT_APPLICABLE = 26
FOLD = {"flags": aerospike.HLL_WRITE_ALLOW_FOLD}
QUIET = {"flags": aerospike.HLL_WRITE_CREATE_ONLY | aerospike.HLL_WRITE_NO_FAIL}
CREATE = {"flags": aerospike.HLL_WRITE_CREATE_ONLY}
UPDATE = {"flags": aerospike.HLL_WRITE_UPDATE_ONLY}


def names(start, end):
    return [f"name {number}" for number in range(start, end)]


def run(client, key, *operations):
    """The answers in order, each with its bin's name."""
    return [value for _, value in client.operate_ordered(key, list(operations))[2]]


def made(client, key, bin_name, values, *bits):
    """The sketch of some values, as a bin of the record."""
    client.operate(key, [hll.hll_add(bin_name, values, *bits)])
    return client.get(key)[2][bin_name]


def test_values_are_counted_once(client, key):
    added, count, again, bits = run(
        client,
        key,
        hll.hll_add("h", names(0, 10_000), 12),
        hll.hll_get_count("h"),
        hll.hll_add("h", names(0, 10_000)),
        hll.hll_describe("h"),
    )
    assert 0 < added < 10_000 and again == 0 and bits == [12, 0]
    assert abs(count - 10_000) < 10_000 * 5 * 1.04 / 2**6
    assert run(client, key, hll.hll_refresh_count("h"), hll.hll_get_count("h")) == [count, count]
    # A record that has nothing else is one; a bin that is missing has no count.
    assert run(client, key, hll.hll_get_count("none"), hll.hll_describe("none")) == [None, None]
    [_, count] = run(client, key, hll.hll_init("h", 8, 12), hll.hll_get_count("h"))
    assert count == 0
    assert run(client, key, hll.hll_add("h", ["text", b"bytes", 1, 1.5, ["list"], {"map": 1}]), hll.hll_get_count("h")) == [6, 6]


@pytest.mark.parametrize("bits", [(14,), (14, 20)])
def test_sets_are_united_and_compared(client, key, bits):
    left = made(client, key, "left", names(0, 6_000), *bits)
    right = made(client, key, "right", names(2_000, 8_000), *bits)
    assert type(left) is HyperLogLog and type(right) is HyperLogLog
    union, union_count, common, similarity = run(
        client,
        key,
        hll.hll_get_union("left", [right]),
        hll.hll_get_union_count("left", [right]),
        hll.hll_get_intersect_count("left", [right]),
        hll.hll_get_similarity("left", [right]),
    )
    assert abs(union_count - 8_000) < 330
    assert abs(common - 4_000) < 500 and abs(similarity - 0.5) < 0.06
    # What a read gives can be written, and goes on as a sketch.
    client.put(key, {"union": union, "text": "x"})
    assert client.get(key)[2]["union"] == union
    assert run(client, key, hll.hll_get_count("union"), hll.hll_add("union", names(0, 8_000))) == [union_count, 0]
    client.operate(key, [hll.hll_set_union("left", [right])])
    assert client.get(key)[2]["left"] == union


def test_flags_folds_and_refusals(client, key, refused):
    fine = made(client, key, "fine", names(0, 100), 10)
    coarse = made(client, key, "coarse", names(50, 150), 8)
    hashed = made(client, key, "hashed", names(0, 100), 10, 8)
    client.put(key, {"bytes": bytes(fine), "number": 1})
    before = client.get(key)
    for code, operation in [
        (PARAMETER, hll.hll_init("new", 3)),
        (PARAMETER, hll.hll_init("new", 17)),
        (PARAMETER, hll.hll_init("new", 8, 3)),
        (PARAMETER, hll.hll_init("new", 8, 52)),
        (PARAMETER, hll.hll_init("new", 16, 49)),
        (PARAMETER, hll.hll_add("new", names(0, 3), 8, policy=UPDATE)),
        (PARAMETER, hll.hll_add("fine", names(0, 3), 8, policy=FOLD)),
        (PARAMETER, hll.hll_init("fine", 8, policy=FOLD)),
        (BIN_EXISTS, hll.hll_init("fine", 8, policy=CREATE)),
        (BIN_EXISTS, hll.hll_add("fine", names(0, 3), 8, policy=CREATE)),
        (BIN_EXISTS, hll.hll_set_union("fine", [coarse], CREATE)),
        (BIN_NOT_FOUND, hll.hll_init("new", 8, policy=UPDATE)),
        (BIN_NOT_FOUND, hll.hll_set_union("new", [fine], UPDATE)),
        (BIN_NOT_FOUND, hll.hll_refresh_count("new")),
        (BIN_NOT_FOUND, hll.hll_fold("new", 8)),
        (NOT_APPLICABLE, hll.hll_add("new", names(0, 3))),
        (NOT_APPLICABLE, hll.hll_init("new", None)),
        (NOT_APPLICABLE, hll.hll_fold("fine", 12)),
        (NOT_APPLICABLE, hll.hll_fold("hashed", 8)),
        (PARAMETER, hll.hll_fold("fine", 3)),
        (NOT_APPLICABLE, hll.hll_set_union("fine", [coarse])),
        (NOT_APPLICABLE, hll.hll_set_union("hashed", [fine])),
        (PARAMETER, hll.hll_set_union("fine", [])),
        (PARAMETER, hll.hll_get_union("fine", [])),
        (PARAMETER, hll.hll_get_intersect_count("fine", [fine] * 3)),
        (NOT_APPLICABLE, hll.hll_get_similarity("fine", [hashed] * 3)),
        (PARAMETER, hll.hll_get_union("fine", [HyperLogLog(b"no sketch")])),
        (PARAMETER, hll.hll_get_union("fine", [HyperLogLog(bytes(fine)[:-1])])),
        (PARAMETER, hll.hll_get_union("fine", ["text"])),
        (BIN_TYPE, hll.hll_get_count("bytes")),
        (BIN_TYPE, hll.hll_add("number", names(0, 3), 8)),
    ]:
        with refused(code):
            client.operate(key, [op.write("number", 2), operation])
    assert client.get(key) == before
    # What may be refused without a word is.
    assert run(client, key, hll.hll_add("fine", names(0, 200), policy=QUIET), hll.hll_get_count("fine")) == [None, 100]
    # Older clients send sketches as bytes.
    assert run(client, key, hll.hll_get_union_count("fine", [bytes(coarse)]))[0] == pytest.approx(150, abs=40)
    run(client, key, hll.hll_set_union("fine", [coarse], FOLD), hll.hll_set_union("hashed", [fine], FOLD), hll.hll_fold("coarse", 4))
    assert run(client, key, *[hll.hll_describe(name) for name in ("fine", "hashed", "coarse")]) == [[8, 0], [10, 0], [4, 0]]


def test_sketches_of_others_are_kept_as_they_came(client, key, refused):
    """Bytes that no sketch of this server begins with: those of an import from Aerospike, and anything else."""
    foreign = HyperLogLog(b"\0" + b"\1" * 50)
    client.put(key, {"h": foreign})
    for operation in [hll.hll_get_count("h"), hll.hll_add("h", names(0, 3), 8), hll.hll_refresh_count("h"), hll.hll_describe("h")]:
        with refused(NOT_APPLICABLE):
            client.operate(key, [operation])
    value = client.get(key)[2]["h"]
    assert value == foreign and type(value) is HyperLogLog
    # One that is begun anew is ours.
    assert run(client, key, hll.hll_init("h", 8, 0), hll.hll_add("h", names(0, 3)), hll.hll_get_count("h")) == [None, 3, 3]


def test_expressions_on_sketches(client, new_set):
    keys = [("test", new_set, number) for number in range(10)]
    for number, key in enumerate(keys):
        client.operate(key, [hll.hll_add("h", names(0, 10 * number), 10, 8), op.write("n", number)])
    fifty = client.get(keys[5])[2]["h"]
    bin_ = exp.HLLBin("h")
    for matches, expected in [
        (exp.GE(hll_exp.HLLGetCount(bin_), 65), [7, 8, 9]),
        (exp.GE(hll_exp.HLLGetUnionCount([fifty], bin_), 55), [6, 7, 8, 9]),
        (exp.Eq(hll_exp.HLLGetCount(hll_exp.HLLGetUnion([fifty], bin_)), hll_exp.HLLGetUnionCount([fifty], bin_)), list(range(10))),
        (exp.LE(hll_exp.HLLGetIntersectCount([fifty], bin_), 15), [0, 1]),
        (exp.GE(hll_exp.HLLGetSimilarity([fifty], bin_), 0.9), [5]),
        (exp.Eq(hll_exp.HLLDescribe(bin_), [10, 8]), list(range(10))),
        (exp.Eq(hll_exp.HLLMayContain(names(0, 30), bin_), 1), list(range(3, 10))),
        (exp.GE(hll_exp.HLLGetCount(hll_exp.HLLAdd(None, names(1000, 1030), None, None, bin_)), 115), [9]),
        (exp.Eq(hll_exp.HLLDescribe(hll_exp.HLLInit(None, 8, None, bin_)), [8, 8]), list(range(10))),
        (exp.GE(hll_exp.HLLGetCount(exp.HLLBin("n")), 0), []),
    ]:
        found = client.query("test", new_set).results({"expressions": matches.compile()})
        assert sorted(record[2]["n"] for record in found) == expected
    # What an expression makes of a sketch is written.
    more = hll_exp.HLLAdd(None, names(10, 20), None, None, bin_).compile()
    client.operate(keys[1], [computed.expression_write("h", more)])
    assert client.get(keys[1])[2]["h"] == client.get(keys[2])[2]["h"]


def test_sketches_in_batches_scans_and_lists(client, new_set):
    keys = [("test", new_set, number) for number in range(20)]
    writes = [batch.Write(key, [hll.hll_add("h", names(0, 5 * number), 8, 16)]) for number, key in enumerate(keys)]
    client.batch_write(batch.BatchRecords(writes))
    assert [write.result for write in writes] == [0] * 20
    reads = [batch.Read(key, [hll.hll_get_count("h")]) for key in keys]
    client.batch_write(batch.BatchRecords(reads))
    counts = [read.record[2]["h"] for read in reads]
    assert counts[:3] == [0, 5, 10] and counts == sorted(counts)
    scanned = [bins["h"] for _, _, bins in client.scan("test", new_set).results()]
    assert len(scanned) == 20 and all(type(sketch) is HyperLogLog for sketch in scanned)
    one = client.get(keys[7])[2]["h"]
    client.put(keys[0], {"list": [one, 1]})
    kept = client.get(keys[0])[2]["list"]
    assert kept == [one, 1] and type(kept[0]) is HyperLogLog


@pytest.mark.restart
@pytest.mark.parametrize("how", ["kill", "term"])
def test_sketches_survive_restarts(client, restart, new_set, how):
    keys = [("test", new_set, number) for number in range(30)]
    for number, key in enumerate(keys):
        client.operate(key, [hll.hll_add("h", names(0, 100 * number), 4 + number % 13, [None, 4, 40][number % 3]), op.write("n", number)])
    before = [client.get(key) for key in keys]
    restart(how)
    assert [client.get(key) for key in keys] == before
    for number, key in enumerate(keys):
        assert run(client, key, hll.hll_add("h", names(0, 100 * number)), hll.hll_describe("h")) == [0, [4 + number % 13, [0, 4, 40][number % 3]]]
