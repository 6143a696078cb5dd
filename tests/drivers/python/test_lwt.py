"""Lightweight transactions: what is applied, and the columns that say why not.

Rows that a transaction is to find are written with an old timestamp: a transaction takes the server's time, a plain write
the driver's, and Cassandra orders the two by them.
"""

import pytest
from cassandra import ConsistencyLevel, InvalidRequest
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import BatchStatement, SimpleStatement


@pytest.fixture
def result(shared_session):
    """A function that gives a conditional statement's one row as a dictionary."""

    def run_conditional(statement, values=None):
        answer = shared_session.execute(statement, values)
        [row] = answer.all()
        return dict(zip(answer.column_names, row))

    return run_conditional


def test_insert_if_not_exists(table, result, run):
    name = table("k int, c int, v text, s int static, PRIMARY KEY (k, c)")
    insert = f"INSERT INTO {name} (k, c, v) VALUES (1, 1, '{{}}') IF NOT EXISTS"
    assert result(insert.format("first")) == {"[applied]": True}
    refused = {"[applied]": False, "k": 1, "c": 1, "s": None, "v": "first"}
    assert result(insert.format("second")) == refused
    assert run(f"SELECT v FROM {name}") == [("first",)]
    assert result(f"DELETE FROM {name} WHERE k = 1 AND c = 1 IF EXISTS") == {"[applied]": True}
    assert result(insert.format("third")) == {"[applied]": True}
    assert run(f"SELECT v FROM {name}") == [("third",)]


def test_update_if_exists(table, result, run):
    name = table("k int PRIMARY KEY, v int")
    assert result(f"UPDATE {name} SET v = 1 WHERE k = 1 IF EXISTS") == {"[applied]": False}
    assert run(f"SELECT * FROM {name}") == []
    run(f"INSERT INTO {name} (k, v) VALUES (1, 0) USING TIMESTAMP 1")
    assert result(f"UPDATE {name} SET v = 1 WHERE k = 1 IF EXISTS") == {"[applied]": True}
    assert run(f"SELECT v FROM {name}") == [(1,)]


def test_delete_if_exists_and_if_condition(table, result, run):
    name = table("k int PRIMARY KEY, v int, w int")
    run(f"INSERT INTO {name} (k, v, w) VALUES (1, 5, 6) USING TIMESTAMP 1")
    assert result(f"DELETE FROM {name} WHERE k = 1 IF v = 4") == {"[applied]": False, "v": 5}
    assert result(f"DELETE w FROM {name} WHERE k = 1 IF v = 5") == {"[applied]": True}
    assert run(f"SELECT v, w FROM {name}") == [(5, None)]
    assert result(f"DELETE FROM {name} WHERE k = 1 IF EXISTS") == {"[applied]": True}
    assert result(f"DELETE FROM {name} WHERE k = 1 IF EXISTS") == {"[applied]": False}


@pytest.mark.parametrize(
    "condition, applied",
    [
        ("v = 5", True), ("v = 6", False), ("v != 6", True), ("v != 5", False),
        ("v > 4", True), ("v > 5", False), ("v >= 5", True), ("v < 5", False), ("v <= 5", True),
        ("v IN (1, 5)", True), ("v IN (1, 2)", False), ("v IN ()", False),
        ("n = null", True), ("n != null", False), ("v = null", False), ("v != null", True),
        ("v = 5 AND t = 'x'", True), ("v = 5 AND t = 'y'", False), ("n = null AND v > 1", True),
        ("l = [1, 2]", True), ("l = [1]", False), ("l[1] = 2", True), ("l[0] = 2", False),
        ("s = {1, 2}", True), ("s != {1}", True), ("m['a'] = 1", True), ("m['a'] > 1", False), ("m['z'] = null", True),
    ],
)
def test_condition_is_judged(table, result, run, condition, applied):
    name = table("k int PRIMARY KEY, v int, n int, t text, l list<int>, s set<int>, m map<text, int>, w int")
    run(f"INSERT INTO {name} (k, v, t, l, s, m) VALUES (1, 5, 'x', [1, 2], {{1, 2}}, {{'a': 1}}) USING TIMESTAMP 1")
    assert result(f"UPDATE {name} SET w = 1 WHERE k = 1 IF {condition}")["[applied]"] is applied
    assert run(f"SELECT w FROM {name}") == [(1 if applied else None,)]


def test_refusal_shows_the_columns_that_were_asked_for(table, result, run):
    name = table("k int PRIMARY KEY, a int, b text, c int")
    run(f"INSERT INTO {name} (k, a, b, c) VALUES (1, 1, 'b', 3) USING TIMESTAMP 1")
    refused = result(f"UPDATE {name} SET c = 4 WHERE k = 1 IF a = 1 AND b = 'z'")
    assert refused == {"[applied]": False, "a": 1, "b": "b"}


def test_condition_on_a_missing_row(table, result, run):
    name = table("k int PRIMARY KEY, v int")
    assert result(f"UPDATE {name} SET v = 1 WHERE k = 1 IF v = 1") == {"[applied]": False}
    assert result(f"UPDATE {name} SET v = 1 WHERE k = 1 IF v = null") == {"[applied]": True}
    assert run(f"SELECT v FROM {name}") == [(1,)]


def test_condition_on_a_static_column(table, result, run):
    name = table("k int, c int, s int static, v int, PRIMARY KEY (k, c)")
    run(f"INSERT INTO {name} (k, s) VALUES (1, 1) USING TIMESTAMP 1")
    insert = f"UPDATE {name} SET s = {{}}, v = {{}} WHERE k = 1 AND c = {{}} IF s = {{}}"
    assert result(insert.format(2, 20, 1, 1)) == {"[applied]": True}
    assert result(insert.format(9, 90, 2, 1)) == {"[applied]": False, "s": 2}
    assert run(f"SELECT c, s, v FROM {name}") == [(1, 2, 20)]


@pytest.mark.parametrize("version", [3, 4, 5])
def test_prepared_condition(connect, table, version):
    name = table("k int PRIMARY KEY, v int")
    with connect(protocol_version=version) as session:
        insert = session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?) IF NOT EXISTS")
        swap = session.prepare(f"UPDATE {name} SET v = ? WHERE k = ? IF v = ?")
        assert session.execute(insert, (1, 1)).was_applied
        assert not session.execute(insert, (1, 2)).was_applied
        assert session.execute(swap, (2, 1, 1)).was_applied
        refused = session.execute(swap, (3, 1, 1))
        assert not refused.was_applied
        assert refused.one().v == 2


def test_conditional_batch_is_all_or_nothing(shared_session, table, run):
    name = table("k int, c int, v int, PRIMARY KEY (k, c)")
    run(f"INSERT INTO {name} (k, c, v) VALUES (1, 1, 1) USING TIMESTAMP 1")
    batch = BatchStatement()
    batch.add(f"UPDATE {name} SET v = 2 WHERE k = 1 AND c = 1 IF v = 1")
    batch.add(f"INSERT INTO {name} (k, c, v) VALUES (1, 2, 2) IF NOT EXISTS")
    batch.add(f"INSERT INTO {name} (k, c, v) VALUES (1, 3, 3)")
    assert shared_session.execute(batch).was_applied
    assert run(f"SELECT c, v FROM {name}") == [(1, 2), (2, 2), (3, 3)]
    again = shared_session.execute(batch)
    assert not again.was_applied
    assert {"[applied]", "k", "c", "v"} <= set(again.column_names)
    assert run(f"SELECT c, v FROM {name}") == [(1, 2), (2, 2), (3, 3)]


def test_conditional_batch_over_two_partitions_is_invalid(shared_session, table):
    name = table("k int PRIMARY KEY, v int")
    batch = BatchStatement()
    batch.add(f"INSERT INTO {name} (k, v) VALUES (1, 1) IF NOT EXISTS")
    batch.add(f"INSERT INTO {name} (k, v) VALUES (2, 1) IF NOT EXISTS")
    with pytest.raises(InvalidRequest):
        shared_session.execute(batch)


def test_condition_and_timestamp_do_not_mix(shared_session, table):
    name = table("k int PRIMARY KEY, v int")
    with pytest.raises(InvalidRequest):
        shared_session.execute(f"INSERT INTO {name} (k, v) VALUES (1, 1) IF NOT EXISTS USING TIMESTAMP 5")


def test_condition_may_carry_a_ttl(table, result, run):
    name = table("k int PRIMARY KEY, v int")
    assert result(f"INSERT INTO {name} (k, v) VALUES (1, 1) IF NOT EXISTS USING TTL 1000")["[applied]"]
    [(left,)] = run(f"SELECT ttl(v) FROM {name}")
    assert 900 <= left <= 1000


def test_serial_read_sees_the_last_transaction(shared_session, table, result):
    name = table("k int PRIMARY KEY, v int")
    result(f"INSERT INTO {name} (k, v) VALUES (1, 7) IF NOT EXISTS")
    for level in (ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL):
        statement = SimpleStatement(f"SELECT v FROM {name} WHERE k = 1", consistency_level=level)
        assert shared_session.execute(statement).one().v == 7


def test_one_of_many_concurrent_inserts_wins(shared_session, table, run):
    name = table("k int PRIMARY KEY, v int")
    insert = shared_session.prepare(f"INSERT INTO {name} (k, v) VALUES (1, ?) IF NOT EXISTS")
    results = execute_concurrent_with_args(shared_session, insert, [(number,) for number in range(40)], concurrency=20)
    applied = [number for number, (_, rows) in enumerate(results) if rows.was_applied]
    assert len(applied) == 1
    assert run(f"SELECT v FROM {name}") == [(applied[0],)]


def test_compare_and_set_loses_no_increment(connect, table, run):
    import threading

    name = table("k int PRIMARY KEY, v int")
    run(f"INSERT INTO {name} (k, v) VALUES (1, 0) USING TIMESTAMP 1")
    with connect() as session:
        read = session.prepare(f"SELECT v FROM {name} WHERE k = 1")
        read.consistency_level = ConsistencyLevel.SERIAL
        swap = session.prepare(f"UPDATE {name} SET v = ? WHERE k = 1 IF v = ?")
        failures = []

        def add_ten():
            try:
                done = 0
                value = session.execute(read).one().v
                while done < 10:
                    answer = session.execute(swap, (value + 1, value))
                    done, value = (done + 1, value + 1) if answer.was_applied else (done, answer.one().v)
            except Exception as failure:
                failures.append(failure)

        threads = [threading.Thread(target=add_ten) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []
    assert run(f"SELECT v FROM {name}") == [(40,)]
