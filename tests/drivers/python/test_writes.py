"""INSERT, UPDATE and DELETE: upserts, timestamps, time to live, and what a delete shadows."""

import time

import pytest
from cassandra import InvalidRequest
from cassandra.query import SimpleStatement

from waiting import wait_until


def test_insert_is_an_upsert(table, run):
    name = table("k int PRIMARY KEY, a int, b int")
    run(f"INSERT INTO {name} (k, a, b) VALUES (1, 1, 1)")
    run(f"INSERT INTO {name} (k, a) VALUES (1, 2)")
    assert run(f"SELECT k, a, b FROM {name}") == [(1, 2, 1)]


def test_inserted_row_lives_without_values_but_updated_row_does_not(table, run):
    name = table("k int PRIMARY KEY, v int")
    run(f"INSERT INTO {name} (k) VALUES (1)")
    run(f"UPDATE {name} SET v = null WHERE k = 2")
    run(f"UPDATE {name} SET v = 1 WHERE k = 3")
    run(f"UPDATE {name} SET v = null WHERE k = 3")
    assert run(f"SELECT k, v FROM {name}") == [(1, None)]


def test_later_timestamp_wins_in_either_order(table, run):
    name = table("k int PRIMARY KEY, v text")
    run(f"INSERT INTO {name} (k, v) VALUES (1, 'new') USING TIMESTAMP 2000")
    run(f"INSERT INTO {name} (k, v) VALUES (1, 'old') USING TIMESTAMP 1000")
    assert run(f"SELECT v, writetime(v) FROM {name}") == [("new", 2000)]
    run(f"UPDATE {name} USING TIMESTAMP 3000 SET v = 'newest' WHERE k = 1")
    assert run(f"SELECT v, writetime(v) FROM {name}") == [("newest", 3000)]


def test_timestamps_are_kept_for_each_cell(table, run):
    name = table("k int PRIMARY KEY, a int, b int")
    run(f"INSERT INTO {name} (k, a, b) VALUES (1, 1, 1) USING TIMESTAMP 10")
    run(f"UPDATE {name} USING TIMESTAMP 30 SET a = 3 WHERE k = 1")
    run(f"UPDATE {name} USING TIMESTAMP 20 SET a = 2, b = 2 WHERE k = 1")
    assert run(f"SELECT a, writetime(a), b, writetime(b) FROM {name}") == [(3, 30, 2, 20)]


def test_equal_timestamps_keep_the_larger_value(table, run):
    name = table("k int PRIMARY KEY, v int")
    for order in [(5, 9), (9, 5)]:
        for value in order:
            run(f"INSERT INTO {name} (k, v) VALUES ({order[0]}, {value}) USING TIMESTAMP 100")
    assert sorted(run(f"SELECT k, v FROM {name}")) == [(5, 9), (9, 9)]


def test_drivers_timestamp_decides(shared_session, table, run):
    name = table("k int PRIMARY KEY, v int")
    before = int(time.time() * 1e6)
    run(f"INSERT INTO {name} (k, v) VALUES (1, 1)")
    [(written,)] = run(f"SELECT writetime(v) FROM {name}")
    assert before - 1_000_000 <= written <= int(time.time() * 1e6) + 1_000_000


def test_bound_timestamp_and_ttl(shared_session, table, run):
    name = table("k int PRIMARY KEY, v int")
    insert = shared_session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?) USING TIMESTAMP ? AND TTL ?")
    shared_session.execute(insert, (1, 7, 123_456, 1000))
    [(value, written, left)] = run(f"SELECT v, writetime(v), ttl(v) FROM {name}")
    assert (value, written) == (7, 123_456)
    assert 900 <= left <= 1000


def test_ttl_is_kept_for_each_cell(table, run):
    name = table("k int PRIMARY KEY, a int, b int, c int")
    run(f"INSERT INTO {name} (k, a) VALUES (1, 1)")
    run(f"UPDATE {name} USING TTL 500 SET b = 2 WHERE k = 1")
    run(f"UPDATE {name} USING TTL 5000 SET c = 3 WHERE k = 1")
    [(a, b, c)] = run(f"SELECT ttl(a), ttl(b), ttl(c) FROM {name}")
    assert a is None and 400 <= b <= 500 and 4900 <= c <= 5000


def test_default_time_to_live_applies_unless_overridden(table, run):
    name = table("k int PRIMARY KEY, v int", "default_time_to_live = 800")
    run(f"INSERT INTO {name} (k, v) VALUES (1, 1)")
    run(f"INSERT INTO {name} (k, v) VALUES (2, 1) USING TTL 50")
    run(f"INSERT INTO {name} (k, v) VALUES (3, 1) USING TTL 0")
    left = dict(run(f"SELECT k, ttl(v) FROM {name}"))
    assert 700 <= left[1] <= 800 and left[2] <= 50 and left[3] is None


def test_cell_and_row_expire(table, run):
    name = table("k int PRIMARY KEY, v int, w int")
    run(f"INSERT INTO {name} (k, v) VALUES (1, 1) USING TTL 1")
    run(f"INSERT INTO {name} (k, w) VALUES (2, 2)")
    run(f"UPDATE {name} USING TTL 1 SET v = 1 WHERE k = 2")
    wait_until(lambda: not run(f"SELECT v FROM {name} WHERE k = 1") and run(f"SELECT v FROM {name} WHERE k = 2") == [(None,)])
    assert run(f"SELECT k, v, w FROM {name}") == [(2, None, 2)]
    run(f"INSERT INTO {name} (k, v) VALUES (1, 5)")
    assert sorted(run(f"SELECT k, v FROM {name}")) == [(1, 5), (2, None)]


def test_row_delete_shadows_older_writes_only(table, run):
    name = table("k int, c int, v int, PRIMARY KEY (k, c)")
    run(f"DELETE FROM {name} USING TIMESTAMP 100 WHERE k = 1 AND c = 1")
    run(f"INSERT INTO {name} (k, c, v) VALUES (1, 1, 1) USING TIMESTAMP 100")
    run(f"INSERT INTO {name} (k, c, v) VALUES (1, 2, 1) USING TIMESTAMP 100")
    assert run(f"SELECT c, v FROM {name}") == [(2, 1)]
    run(f"INSERT INTO {name} (k, c, v) VALUES (1, 1, 2) USING TIMESTAMP 101")
    assert run(f"SELECT c, v FROM {name}") == [(1, 2), (2, 1)]


def test_cell_delete_shadows_older_writes_only(table, run):
    name = table("k int PRIMARY KEY, a int, b int")
    run(f"INSERT INTO {name} (k, a, b) VALUES (1, 1, 1) USING TIMESTAMP 10")
    run(f"DELETE a FROM {name} USING TIMESTAMP 20 WHERE k = 1")
    run(f"UPDATE {name} USING TIMESTAMP 15 SET a = 2, b = 2 WHERE k = 1")
    assert run(f"SELECT a, b FROM {name}") == [(None, 2)]
    run(f"UPDATE {name} USING TIMESTAMP 25 SET a = 3 WHERE k = 1")
    assert run(f"SELECT a, b FROM {name}") == [(3, 2)]


@pytest.mark.parametrize(
    "condition, left",
    [
        ("c > 3", [0, 1, 2, 3]),
        ("c >= 3", [0, 1, 2]),
        ("c < 3", [3, 4, 5, 6, 7, 8, 9]),
        ("c <= 3", [4, 5, 6, 7, 8, 9]),
        ("c > 2 AND c < 8", [0, 1, 2, 8, 9]),
        ("c >= 2 AND c <= 8", [0, 1, 9]),
        ("c IN (0, 5, 77)", [1, 2, 3, 4, 6, 7, 8, 9]),
    ],
)
def test_range_delete_removes_exactly_its_slice(table, run, condition, left):
    name = table("k int, c int, v int, PRIMARY KEY (k, c)")
    for clustering in range(10):
        run(f"INSERT INTO {name} (k, c, v) VALUES (1, {clustering}, 0) USING TIMESTAMP 10")
    run(f"DELETE FROM {name} USING TIMESTAMP 20 WHERE k = 1 AND {condition}")
    assert [c for (c,) in run(f"SELECT c FROM {name} WHERE k = 1")] == left
    for clustering in range(10):
        run(f"INSERT INTO {name} (k, c, v) VALUES (1, {clustering}, 0) USING TIMESTAMP 15")
    assert [c for (c,) in run(f"SELECT c FROM {name} WHERE k = 1")] == left
    run(f"INSERT INTO {name} (k, c, v) VALUES (1, 5, 0) USING TIMESTAMP 30")
    assert [c for (c,) in run(f"SELECT c FROM {name} WHERE k = 1")] == sorted({*left, 5})


def test_prefix_delete_removes_all_below_it(table, run):
    name = table("k int, a int, b int, PRIMARY KEY (k, a, b)")
    for a in range(3):
        for b in range(3):
            run(f"INSERT INTO {name} (k, a, b) VALUES (1, {a}, {b})")
    run(f"DELETE FROM {name} WHERE k = 1 AND a = 1")
    run(f"DELETE FROM {name} WHERE k = 1 AND a = 2 AND b > 0")
    assert run(f"SELECT a, b FROM {name}") == [(0, 0), (0, 1), (0, 2), (2, 0)]


def test_partition_delete_shadows_rows_and_statics(table, run):
    name = table("k int, c int, s int static, v int, PRIMARY KEY (k, c)")
    run(f"INSERT INTO {name} (k, c, s, v) VALUES (1, 1, 1, 1) USING TIMESTAMP 10")
    run(f"INSERT INTO {name} (k, c, s, v) VALUES (2, 1, 1, 1) USING TIMESTAMP 10")
    run(f"DELETE FROM {name} USING TIMESTAMP 20 WHERE k = 1")
    run(f"INSERT INTO {name} (k, c, s, v) VALUES (1, 2, 2, 2) USING TIMESTAMP 15")
    assert run(f"SELECT k, c, s, v FROM {name}") == [(2, 1, 1, 1)]
    run(f"INSERT INTO {name} (k, c, v) VALUES (1, 3, 3) USING TIMESTAMP 25")
    assert run(f"SELECT c, s, v FROM {name} WHERE k = 1") == [(3, None, 3)]


def test_several_partitions_are_deleted_by_in(table, run):
    name = table("k int PRIMARY KEY, v int")
    for key in range(5):
        run(f"INSERT INTO {name} (k, v) VALUES ({key}, 0)")
    run(f"DELETE FROM {name} WHERE k IN (1, 3, 99)")
    assert sorted(run(f"SELECT k FROM {name}")) == [(0,), (2,), (4,)]


def test_update_reaches_several_rows_by_in(table, run):
    name = table("k int, c int, v int, PRIMARY KEY (k, c)")
    run(f"UPDATE {name} SET v = 7 WHERE k IN (1, 2) AND c IN (3, 4)")
    assert sorted(run(f"SELECT k, c, v FROM {name}")) == [(1, 3, 7), (1, 4, 7), (2, 3, 7), (2, 4, 7)]


def test_collections_change_in_place(table, run):
    name = table("k int PRIMARY KEY, l list<int>, s set<int>, m map<text, int>")
    run(f"INSERT INTO {name} (k, l, s, m) VALUES (1, [1, 2], {{1, 2}}, {{'a': 1}})")
    run(f"UPDATE {name} SET l = l + [3], s = s + {{3}}, m = m + {{'b': 2}} WHERE k = 1")
    run(f"UPDATE {name} SET l = [0] + l, s = s - {{1}}, m['c'] = 3 WHERE k = 1")
    run(f"UPDATE {name} SET l[1] = 10, m = m - {{'a'}} WHERE k = 1")
    [(items, members, entries)] = run(f"SELECT l, s, m FROM {name}")
    assert (items, set(members), dict(entries)) == ([0, 10, 2, 3], {2, 3}, {"b": 2, "c": 3})
    run(f"DELETE l[0], m['b'] FROM {name} WHERE k = 1")
    run(f"UPDATE {name} SET l = l - [2] WHERE k = 1")
    [(items, entries)] = run(f"SELECT l, m FROM {name}")
    assert (items, dict(entries)) == ([10, 3], {"c": 3})
    run(f"UPDATE {name} SET s = {{9}}, m = null WHERE k = 1")
    [(members, entries)] = run(f"SELECT s, m FROM {name}")
    assert (set(members), entries) == ({9}, None)


def test_replaced_collection_forgets_older_elements_only(table, run):
    name = table("k int PRIMARY KEY, s set<int>")
    run(f"UPDATE {name} USING TIMESTAMP 30 SET s = s + {{3}} WHERE k = 1")
    run(f"UPDATE {name} USING TIMESTAMP 10 SET s = s + {{1}} WHERE k = 1")
    run(f"UPDATE {name} USING TIMESTAMP 20 SET s = {{2}} WHERE k = 1")
    [(members,)] = run(f"SELECT s FROM {name}")
    assert set(members) == {2, 3}


def test_list_index_out_of_bounds_is_invalid(table, run):
    name = table("k int PRIMARY KEY, l list<int>")
    run(f"INSERT INTO {name} (k, l) VALUES (1, [1])")
    with pytest.raises(InvalidRequest):
        run(f"UPDATE {name} SET l[1] = 10 WHERE k = 1")
    assert run(f"SELECT l FROM {name}") == [([1],)]


def test_truncate_empties_the_table_and_it_stays_usable(table, run):
    name = table("k int PRIMARY KEY, v int")
    for key in range(100):
        run(f"INSERT INTO {name} (k, v) VALUES ({key}, 0)")
    run(f"TRUNCATE {name}")
    assert run(f"SELECT k FROM {name}") == []
    run(f"INSERT INTO {name} (k, v) VALUES (1, 1)")
    run(f"TRUNCATE TABLE {name}")
    assert run(f"SELECT k FROM {name}") == []


def test_statement_keeps_its_consistency_levels(shared_session, table):
    from cassandra import ConsistencyLevel as level

    name = table("k int PRIMARY KEY, v int")
    for consistency in (level.ONE, level.QUORUM, level.ALL, level.LOCAL_QUORUM, level.LOCAL_ONE):
        statement = SimpleStatement(f"INSERT INTO {name} (k, v) VALUES (1, 1)", consistency_level=consistency)
        shared_session.execute(statement)
        read = SimpleStatement(f"SELECT v FROM {name} WHERE k = 1", consistency_level=consistency)
        assert shared_session.execute(read).one().v == 1
    shared_session.execute(
        SimpleStatement(f"INSERT INTO {name} (k, v) VALUES (2, 1)", consistency_level=level.ANY)
    )
