"""Secondary indexes and queries by them: what a query gives is what a look at all records gives, whatever becomes of records, indexes and the server."""

import random

import aerospike
import pytest
from aerospike import exception, predicates
from aerospike_helpers import cdt_ctx
from aerospike_helpers.operations import list_operations

from waiting import wait_until, while_it_lives

LIST, KEYS, VALUES = aerospike.INDEX_TYPE_LIST, aerospike.INDEX_TYPE_MAPKEYS, aerospike.INDEX_TYPE_MAPVALUES
NUMERIC, STRING, BLOB = aerospike.INDEX_NUMERIC, aerospike.INDEX_STRING, aerospike.INDEX_BLOB


def info(client, command):
    return client.info_random_node(command).strip().split("\t", 1)[1]


def built(client, *names):
    """Waits until indexes are complete."""
    for name in names:
        wait_until(lambda: "load_pct=100" in info(client, f"sindex/test/{name}"))


def ids(client, new_set, *where, context=None, policy=None, options=None):
    query = client.query("test", new_set)
    query.where(*where, *([context] if context else []))
    found = [bins["id"] for _, _, bins in query.results(policy or {}, options or {})]
    assert len(found) == len(set(found)), "a record comes once"
    return set(found)


@pytest.fixture
def indexed(client, new_set):
    """A set with a record of each number from 0 to 999, and indexes, half of which are there before the records."""
    client.index_integer_create("test", new_set, "n", f"{new_set}_n")
    client.index_list_create("test", new_set, "l", NUMERIC, f"{new_set}_l")
    client.index_map_keys_create("test", new_set, "m", STRING, f"{new_set}_k")
    for n in range(1_000):
        bins = {"id": n, "n": n % 50, "s": f"text {n % 20}", "b": bytes([n % 7, 0]), "l": [n % 10, n % 13, "x"], "m": {f"k{n % 9}": n % 11}}
        client.put(("test", new_set, n), bins)
    client.index_string_create("test", new_set, "s", f"{new_set}_s")
    client.index_blob_create("test", new_set, "b", f"{new_set}_b")
    client.index_map_values_create("test", new_set, "m", NUMERIC, f"{new_set}_v")
    context = [cdt_ctx.cdt_ctx_list_rank(-1)]
    client.index_cdt_create("test", new_set, "r", aerospike.INDEX_TYPE_DEFAULT, NUMERIC, f"{new_set}_r", context)
    yield new_set
    for name in "nlksbvr":
        client.index_remove("test", f"{new_set}_{name}")


def check(client, indexed):
    """What queries of the first thousand records give."""
    of = lambda is_met: {n for n in range(1_000) if is_met(n)}
    assert ids(client, indexed, predicates.equals("n", 7)) == of(lambda n: n % 50 == 7)
    assert ids(client, indexed, predicates.between("n", 10, 19)) == of(lambda n: 10 <= n % 50 <= 19)
    assert ids(client, indexed, predicates.between("n", -(2**63), 2**63 - 1)) == of(lambda n: True)
    assert ids(client, indexed, predicates.equals("n", 50)) == set()
    assert ids(client, indexed, predicates.equals("s", "text 3")) == of(lambda n: n % 20 == 3)
    assert ids(client, indexed, predicates.equals("s", "text")) == set()
    assert ids(client, indexed, predicates.equals("b", bytes([5, 0]))) == of(lambda n: n % 7 == 5)
    assert ids(client, indexed, predicates.contains("l", LIST, 12)) == of(lambda n: n % 13 == 12)
    assert ids(client, indexed, predicates.range("l", LIST, 8, 11)) == of(lambda n: 8 <= n % 10 or 8 <= n % 13 <= 11)
    assert ids(client, indexed, predicates.contains("m", KEYS, "k4")) == of(lambda n: n % 9 == 4)
    assert ids(client, indexed, predicates.contains("m", VALUES, 10)) == of(lambda n: n % 11 == 10)


def test_queries_give_all_records_and_no_others(client, indexed):
    # At once, and when the indexes are complete.
    check(client, indexed)
    built(client, *(f"{indexed}_{name}" for name in "nlksbvr"))
    check(client, indexed)


def test_queries_of_bins_pages_and_partitions(client, indexed):
    wanted = {n for n in range(1_000) if n % 50 < 25}
    where = predicates.between("n", 0, 24)
    parts = [ids(client, indexed, where, policy={"partition_filter": {"begin": begin, "count": 1_024}}) for begin in range(0, 4_096, 1_024)]
    assert all(parts) and set.union(*parts) == wanted and sum(map(len, parts)) == len(wanted)
    query = client.query("test", indexed)
    query.select("id")
    query.where(where)
    assert {tuple(record[2]) for record in query.results()} == {("id",)}
    headers = client.query("test", indexed)
    headers.where(where)
    found = headers.results({}, {"nobins": True})
    assert len(found) == len(wanted) and not any(record[2] for record in found)
    for where, wanted in [(where, wanted), (predicates.equals("n", 7), {n for n in range(1_000) if n % 50 == 7})]:
        pages, found = client.query("test", indexed), []
        pages.paginate()
        pages.max_records = 33
        pages.where(where)
        while not pages.is_done():
            page = pages.results()
            assert len(page) <= 33
            found += [record[2]["id"] for record in page]
        assert sorted(found) == sorted(wanted)
    few = client.query("test", indexed)
    few.max_records = 5
    few.where(predicates.between("n", 0, 24))
    assert len(few.results()) == 5


def test_places_within_lists_have_indexes(client, indexed):
    context = [cdt_ctx.cdt_ctx_list_rank(-1)]
    for n in range(60):
        client.put(("test", indexed, n), {"id": n, "r": [n, n - 3, "not a number"[: n % 2]] if n % 2 else [n, n - 3]})
    # Of every other list the highest value is a text.
    assert ids(client, indexed, predicates.between("r", 10, 19), context=context) == set(range(10, 20, 2))
    built(client, f"{indexed}_r")
    assert ids(client, indexed, predicates.between("r", 10, 19), context=context) == set(range(10, 20, 2))


def test_an_index_follows_its_records(client, indexed):
    built(client, *(f"{indexed}_{name}" for name in "nsbl"))
    key = lambda n: ("test", indexed, n)
    client.put(key(7), {"n": "seven"})
    client.put(key(57), {"n": 8})
    client.remove(key(107))
    client.increment(key(6), "n", 1)
    client.remove_bin(key(157), ["n"])
    client.append(key(3), "s", "!")
    client.operate(key(0), [list_operations.list_append("l", 77)])
    sevens = {n for n in range(1_000) if n % 50 == 7} - {7, 57, 107, 157} | {6}
    assert ids(client, indexed, predicates.equals("n", 7)) == sevens
    assert 57 in ids(client, indexed, predicates.equals("n", 8))
    assert 3 not in ids(client, indexed, predicates.equals("s", "text 3")) and ids(client, indexed, predicates.equals("s", "text 3!")) == {3}
    assert ids(client, indexed, predicates.contains("l", LIST, 77)) == {0}
    # A type that has no index in this set.
    with pytest.raises(exception.IndexNotFound):
        ids(client, indexed, predicates.equals("n", "seven"))

    def found_while_it_lives(seconds):
        client.put(key(2_000), {"id": 2_000, "n": 7}, meta={"ttl": seconds})
        assert 2_000 in ids(client, indexed, predicates.equals("n", 7))

    while_it_lives(found_while_it_lives, 2)
    wait_until(lambda: client.exists(key(2_000))[1] is None)
    assert ids(client, indexed, predicates.equals("n", 7)) == sevens
    client.truncate("test", indexed, 0)
    assert ids(client, indexed, predicates.between("n", 0, 100)) == set()
    client.put(key(1), {"id": 1, "n": 7})
    assert ids(client, indexed, predicates.equals("n", 7)) == {1}


def test_what_indexes_there_are_is_told(client, indexed):
    lines = {line.split(":")[1].split("=")[1]: line for line in info(client, "sindex-list:ns=test").split(";")}
    expected = f"ns=test:indexname={indexed}_k:set={indexed}:bin=m:type=string:indextype=mapkeys:context=null:state="
    assert lines[f"{indexed}_k"].startswith(expected)
    assert "context=khH/" in lines[f"{indexed}_r"]
    assert info(client, f"sindex-exists:ns=test;indexname={indexed}_n") == "true"
    assert info(client, f"sindex-exists:ns=test;indexname={indexed}_none") == "false"
    assert info(client, f"sindex-stat:ns=test;indexname={indexed}_n").startswith("load_pct=")


def test_indexes_that_cannot_be_are_refused(client, new_set, refused):
    query = client.query("test", new_set)
    query.where(predicates.equals("n", 1))
    with refused(201):
        query.results()
    with refused(201):
        client.index_remove("test", f"{new_set}_n")
    client.index_integer_create("test", new_set, "n", f"{new_set}_n")
    assert client.index_integer_create("test", new_set, "n", f"{new_set}_n") == 0
    with refused(200):
        client.index_integer_create("test", new_set, "n", f"{new_set}_other")
    with refused(200):
        client.index_string_create("test", new_set, "n", f"{new_set}_n")
    with refused(16):
        info(client, f"sindex-create:ns=test;set={new_set};indexname={new_set}_e;exp=kQ==;type=numeric;bin=n")
    with refused(20):
        client.index_integer_create("nowhere", new_set, "n", f"{new_set}_x")
    with refused(205):
        info(client, f"sindex-create:ns=test;set={new_set};indexname={'i' * 256};indexdata=n,NUMERIC")
    client.index_remove("test", f"{new_set}_n")
    with refused(201):
        query.results()


def test_an_index_of_records_without_a_set(client, new_set):
    bin = new_set[-14:]
    client.index_integer_create("test", None, bin, f"{new_set}_none")
    client.put(("test", None, new_set), {bin: 1, "id": 1})
    client.put(("test", new_set, new_set), {bin: 1, "id": 2})
    try:
        assert ids(client, None, predicates.equals(bin, 1)) == {1}
    finally:
        client.index_remove("test", f"{new_set}_none")


@pytest.mark.restart
@pytest.mark.parametrize("how", ["kill", "term"])
def test_indexes_survive(client, restart, indexed, how):
    restart(how)
    check(client, indexed)
    built(client, *(f"{indexed}_{name}" for name in "nlksbvr"))
    check(client, indexed)


@pytest.mark.restart
def test_a_model_survives_a_kill_amid_writes_and_backfill(client, restart, new_set):
    """Random writes, some before and some after an index, and kills: the index shows what the records have, nothing else."""
    rng, model = random.Random(5), {}
    name = f"{new_set}_n"
    try:
        for round in range(3):
            for _ in range(700):
                n = rng.randrange(300)
                kind = rng.randrange(8)
                if kind == 0 and n in model:
                    client.remove(("test", new_set, n))
                    model.pop(n)
                    continue
                value = rng.randrange(10) if kind < 6 else f"text {n}"
                client.put(("test", new_set, n), {"id": n, "n": value})
                model[n] = value
            if round == 0:
                client.index_integer_create("test", new_set, "n", name)
            restart("kill")
            for value in range(10):
                assert ids(client, new_set, predicates.equals("n", value)) == {n for n, has in model.items() if has == value}
            assert ids(client, new_set, predicates.between("n", 3, 6)) == {n for n, has in model.items() if has in (3, 4, 5, 6)}
        built(client, name)
        assert ids(client, new_set, predicates.between("n", 0, 9)) == {n for n, has in model.items() if not isinstance(has, str)}
    finally:
        client.index_remove("test", name)
