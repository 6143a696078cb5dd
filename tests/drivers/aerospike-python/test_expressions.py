"""Expressions and operations on bits: filters of all kinds of requests, operations that read and write what an expression gives."""

import aerospike
import pytest
from aerospike_helpers import expressions as exp
from aerospike_helpers.batch import records as batch
from aerospike_helpers.expressions import arithmetic, list as list_exp
from aerospike_helpers.operations import bitwise_operations as bits
from aerospike_helpers.operations import expression_operations as computed
from aerospike_helpers.operations import operations as op

FILTERED_OUT = 27
N_IS_ONE = exp.Eq(exp.IntBin("n"), 1).compile()


@pytest.fixture
def keys(client, new_set):
    """Ten records: n is their number."""
    all_keys = [("test", new_set, number) for number in range(10)]
    for number, key in enumerate(all_keys):
        client.put(key, {"n": number, "s": f"row {number}", "l": list(range(number))}, policy={"key": aerospike.POLICY_KEY_SEND})
    return all_keys


def test_a_filter_decides_about_single_records(client, keys, refused):
    policy = {"expressions": N_IS_ONE}
    assert client.get(keys[1], policy)[2]["n"] == 1
    assert client.exists(keys[1], policy)[1] is not None
    client.put(keys[1], {"other": 1}, policy=policy)
    client.operate(keys[1], [op.increment("other", 1)], policy=policy)
    for request in [
        lambda: client.get(keys[2], policy),
        lambda: client.exists(keys[2], policy),
        lambda: client.put(keys[2], {"other": 1}, policy=policy),
        lambda: client.operate(keys[2], [op.increment("n", 1)], policy=policy),
        lambda: client.remove(keys[2], policy=policy),
    ]:
        with refused(FILTERED_OUT):
            request()
    assert client.get(keys[2])[2] == {"n": 2, "s": "row 2", "l": [0, 1]}
    client.remove(keys[1], policy=policy)
    with refused(2):
        client.get(keys[1], policy)
    # Where no record is, there is nothing to filter.
    client.put(keys[1], {"n": 5}, policy=policy)
    with refused(FILTERED_OUT):
        client.get(keys[1], policy)


def test_filters_of_batches_and_scans(client, keys, new_set):
    small = exp.LT(exp.IntBin("n"), 4).compile()
    results = [record.result for record in client.batch_read(keys, policy={"expressions": small}).batch_records]
    assert results == [0] * 4 + [FILTERED_OUT] * 6
    # A record's own filter goes before the batch's.
    reads = [batch.Read(key, [op.read("n")], policy={"expressions": N_IS_ONE} if number < 2 else None) for number, key in enumerate(keys)]
    client.batch_write(batch.BatchRecords(reads), {"expressions": small})
    assert [read.result for read in reads] == [FILTERED_OUT, 0, 0, 0] + [FILTERED_OUT] * 6
    writes = [batch.Write(key, [op.increment("n", 100)], policy={"expressions": N_IS_ONE}) for key in keys]
    client.batch_write(batch.BatchRecords(writes))
    assert [write.result for write in writes] == [FILTERED_OUT, 0] + [FILTERED_OUT] * 8
    query = client.query("test", new_set)
    found = [record[2]["n"] for record in query.results({"expressions": exp.GE(exp.IntBin("n"), 7).compile()})]
    assert sorted(found) == [7, 8, 9, 101]
    for matches, count in [
        (exp.CmpRegex(aerospike.REGEX_ICASE, "^ROW [0-2]$", exp.StrBin("s")), 3),
        (exp.Eq(list_exp.ListSize(None, exp.ListBin("l")), 3), 1),
        (exp.And(exp.KeyExists(), exp.Eq(exp.SetName(), new_set)), 10),
        (exp.GT(exp.LastUpdateTime(), 0), 10),
        (exp.Eq(exp.TTL(), -1), 10),
        (exp.Eq(exp.DigestMod(1), 0), 10),
        (exp.BinExists("none"), 0),
        (exp.Eq(exp.IntBin("none"), 1), 0),
        (exp.Or(exp.Eq(exp.IntBin("none"), 1), exp.Eq(exp.KeyInt(), 3)), 1),
    ]:
        assert len(client.query("test", new_set).results({"expressions": matches.compile()})) == count


def test_expressions_are_read_and_written(client, keys, refused):
    double = arithmetic.Add(exp.IntBin("n"), exp.IntBin("n")).compile()
    none = exp.IntBin("none").compile()
    _, _, bins = client.operate(keys[3], [computed.expression_read("double", double)])
    assert bins == {"double": 6}
    _, _, bins = client.operate(
        keys[3], [computed.expression_write("twice", double), op.increment("n", 1), computed.expression_read("double", double)]
    )
    assert bins["double"] == 8
    assert client.get(keys[3])[2]["twice"] == 6
    for wrong in [computed.expression_read("x", none), computed.expression_write("x", none)]:
        with refused(26):
            client.operate(keys[3], [op.write("y", 1), wrong])
    no_fail = aerospike.EXP_WRITE_EVAL_NO_FAIL
    client.operate(keys[3], [computed.expression_write("x", none, no_fail)])
    with refused(6):
        client.operate(keys[3], [computed.expression_write("twice", double, aerospike.EXP_WRITE_CREATE_ONLY)])
    with refused(17):
        client.operate(keys[3], [computed.expression_write("x", double, aerospike.EXP_WRITE_UPDATE_ONLY)])
    nil = exp.Val(None).compile()
    client.operate(keys[3], [computed.expression_write("twice", nil, aerospike.EXP_WRITE_ALLOW_DELETE)])
    assert client.get(keys[3])[2] == {"n": 4, "s": "row 3", "l": [0, 1, 2]}


def test_what_is_no_expression_is_refused(client, keys, refused):
    for wrong in [exp.Eq(exp.IntBin("n"), "text"), arithmetic.Add(exp.IntBin("n"), exp.FloatBin("f")), exp.IntBin("n")]:
        with refused(4):
            client.get(keys[0], {"expressions": wrong.compile()})
    # No GeoJSON.
    with refused(4):
        client.get(keys[0], {"expressions": exp.CmpGeo(exp.GeoBin("g"), aerospike.geojson('{"type": "Point", "coordinates": [0]}')).compile()})


def test_bits(client, key, refused):
    client.put(key, {"b": bytearray([0b0000_0001, 0b0100_0010])})
    _, _, bins = client.operate_ordered(
        key,
        [
            bits.bit_resize("b", 4),
            bits.bit_set("b", 16, 8, 1, bytearray([0b1010_1010])),
            bits.bit_not("b", 0, 8),
            bits.bit_lshift("b", 16, 8, 1),
            bits.bit_add("b", 24, 8, 5, False, aerospike.BIT_OVERFLOW_FAIL),
            bits.bit_count("b", 0, 32),
            bits.bit_get_int("b", 24, 8, False),
            bits.bit_lscan("b", 0, 32, False),
            bits.bit_get("b", 8, 16),
        ],
    )
    assert [value for _, value in bins if value is not None] == [14, 5, 7, b"\x42\x54"]
    assert client.get(key)[2] == {"b": b"\xfe\x42\x54\x05"}
    with refused(26):
        client.operate(key, [bits.bit_get("b", 32, 1)])
    with refused(26):
        client.operate(key, [bits.bit_add("b", 24, 8, 255, False, aerospike.BIT_OVERFLOW_FAIL)])
    with refused(17):
        client.operate(key, [bits.bit_not("none", 0, 1)])
    assert client.get(key)[2] == {"b": b"\xfe\x42\x54\x05"}
