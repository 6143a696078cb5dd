"""Batches: logged, unlogged and counter, of simple and prepared statements, one timestamp for all."""

import pytest
from cassandra import InvalidRequest
from cassandra.query import BatchStatement, BatchType, SimpleStatement


@pytest.mark.parametrize("kind", [BatchType.LOGGED, BatchType.UNLOGGED], ids=["logged", "unlogged"])
@pytest.mark.parametrize("version", [3, 4, 5])
def test_batch_writes_all_of_its_statements(connect, table, run, kind, version):
    name = table("k int, c int, v text, PRIMARY KEY (k, c)")
    run(f"INSERT INTO {name} (k, c, v) VALUES (1, 2, 'goes')")
    with connect(protocol_version=version) as session:
        insert = session.prepare(f"INSERT INTO {name} (k, c, v) VALUES (?, ?, ?)")
        batch = BatchStatement(batch_type=kind)
        batch.add(insert, (1, 1, "prepared"))
        batch.add(SimpleStatement(f"INSERT INTO {name} (k, c, v) VALUES (%s, %s, %s)"), (2, 1, "simple"))
        batch.add(SimpleStatement(f"DELETE FROM {name} WHERE k = 1 AND c = 2"))
        batch.add(session.prepare(f"UPDATE {name} SET v = ? WHERE k = ? AND c = ?"), ("updated", 3, 1))
        session.execute(batch)
    assert sorted(run(f"SELECT k, c, v FROM {name}")) == [(1, 1, "prepared"), (2, 1, "simple"), (3, 1, "updated")]


@pytest.mark.parametrize("begin", ["BEGIN BATCH", "BEGIN UNLOGGED BATCH"])
def test_batch_as_one_statement(table, run, begin):
    name = table("k int PRIMARY KEY, v int")
    run(
        f"{begin} INSERT INTO {name} (k, v) VALUES (1, 1); UPDATE {name} SET v = 2 WHERE k = 2;"
        f" DELETE FROM {name} WHERE k = 3 APPLY BATCH"
    )
    assert sorted(run(f"SELECT k, v FROM {name}")) == [(1, 1), (2, 2)]


def test_prepared_batch_text(shared_session, table, run):
    name = table("k int PRIMARY KEY, v int")
    prepared = shared_session.prepare(
        f"BEGIN BATCH INSERT INTO {name} (k, v) VALUES (?, ?) INSERT INTO {name} (k, v) VALUES (?, ?) APPLY BATCH"
    )
    shared_session.execute(prepared, (1, 10, 2, 20))
    assert sorted(run(f"SELECT k, v FROM {name}")) == [(1, 10), (2, 20)]


def test_all_statements_share_one_timestamp(table, run):
    name = table("k int, c int, v int, PRIMARY KEY (k, c)")
    run(
        f"BEGIN BATCH USING TIMESTAMP 777 INSERT INTO {name} (k, c, v) VALUES (1, 1, 1);"
        f" INSERT INTO {name} (k, c, v) VALUES (1, 2, 1); APPLY BATCH"
    )
    assert run(f"SELECT writetime(v) FROM {name}") == [(777,), (777,)]
    run(
        f"BEGIN BATCH INSERT INTO {name} (k, c, v) VALUES (2, 1, 1) USING TIMESTAMP 5;"
        f" INSERT INTO {name} (k, c, v) VALUES (2, 2, 1) USING TIMESTAMP 6; APPLY BATCH"
    )
    assert run(f"SELECT writetime(v) FROM {name} WHERE k = 2") == [(5,), (6,)]
    # Without one, delete and insert of the same row have equal timestamps: the delete wins.
    run(
        f"BEGIN BATCH INSERT INTO {name} (k, c, v) VALUES (3, 1, 1);"
        f" DELETE FROM {name} WHERE k = 3 AND c = 1; APPLY BATCH"
    )
    assert run(f"SELECT v FROM {name} WHERE k = 3") == []


def test_counter_batch_counts(shared_session, table, run):
    name = table("k int PRIMARY KEY, c counter")
    add = shared_session.prepare(f"UPDATE {name} SET c = c + ? WHERE k = ?")
    batch = BatchStatement(batch_type=BatchType.COUNTER)
    for amount, key in [(1, 1), (2, 1), (5, 2)]:
        batch.add(add, (amount, key))
    shared_session.execute(batch)
    run(f"BEGIN COUNTER BATCH UPDATE {name} SET c = c + 10 WHERE k = 1; UPDATE {name} SET c = c - 1 WHERE k = 2; APPLY BATCH")
    assert sorted(run(f"SELECT k, c FROM {name}")) == [(1, 13), (2, 4)]


def test_counters_and_other_writes_do_not_mix(shared_session, table):
    counters, plain = table("k int PRIMARY KEY, c counter"), table("k int PRIMARY KEY, v int")
    batch = BatchStatement(batch_type=BatchType.LOGGED)
    batch.add(f"UPDATE {counters} SET c = c + 1 WHERE k = 1")
    batch.add(f"INSERT INTO {plain} (k, v) VALUES (1, 1)")
    with pytest.raises(InvalidRequest):
        shared_session.execute(batch)
    assert shared_session.execute(f"SELECT k FROM {plain}").all() == []


def test_broken_statement_writes_nothing_of_the_batch(shared_session, table, run):
    name = table("k int PRIMARY KEY, v int")
    batch = BatchStatement()
    batch.add(f"INSERT INTO {name} (k, v) VALUES (1, 1)")
    batch.add(f"INSERT INTO {name} (k, nope) VALUES (2, 2)")
    with pytest.raises(InvalidRequest):
        shared_session.execute(batch)
    assert run(f"SELECT k FROM {name}") == []


def test_select_in_a_batch_is_invalid(shared_session, table):
    batch = BatchStatement()
    batch.add(f"SELECT * FROM {table('k int PRIMARY KEY')}")
    with pytest.raises(InvalidRequest):
        shared_session.execute(batch)


def test_empty_batch_does_nothing(shared_session):
    shared_session.execute(BatchStatement())
    shared_session.execute("BEGIN BATCH APPLY BATCH")


def test_batch_of_a_thousand_rows_in_a_partition(shared_session, table, run):
    name = table("k int, c int, v int, PRIMARY KEY (k, c)")
    insert = shared_session.prepare(f"INSERT INTO {name} (k, c, v) VALUES (?, ?, ?)")
    batch = BatchStatement(batch_type=BatchType.UNLOGGED)
    for number in range(1000):
        batch.add(insert, (1, number, number))
    shared_session.execute(batch)
    assert run(f"SELECT count(*) FROM {name}") == [(1000,)]


def large_batch(name, session, partitions: int, rows: int, size: int, kind):
    insert = session.prepare(f"INSERT INTO {name} (k, c, v) VALUES (?, ?, ?)")
    batch = BatchStatement(batch_type=kind)
    for k in range(partitions):
        for c in range(rows):
            batch.add(insert, (k, c, "x" * size))
    return batch


@pytest.mark.parametrize("kind", [BatchType.LOGGED, BatchType.UNLOGGED], ids=["logged", "unlogged"])
def test_large_batches_over_several_partitions_are_warned_of_and_refused(shared_session, table, run, kind):
    name = table("k int, c int, v text, PRIMARY KEY (k, c)")

    def warnings(*shape) -> str:
        future = shared_session.execute_async(large_batch(name, shared_session, *shape, kind))
        future.result()
        return " ".join(future.warnings or [])

    assert warnings(2, 1, 1_000) == ""
    assert "exceeding specified threshold of 5120 by" in warnings(2, 1, 4_000)
    with pytest.raises(InvalidRequest, match="Batch too large"):
        warnings(3, 1, 30_000)
    assert run(f"SELECT count(*) FROM {name}") == [(2,)], "nothing of it is done"
    assert warnings(1, 4, 30_000) == "", "one partition may be as large as it likes"
    assert warnings(10, 1, 10) == ""
    assert ("Unlogged batch covering 11 partitions detected" in warnings(11, 1, 10)) == (kind == BatchType.UNLOGGED)
