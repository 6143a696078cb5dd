"""TQL, aggregations, time series, queries of several containers."""

from datetime import datetime, timedelta

import pytest

from client import griddb

Type = griddb.Type
SYNTAX = 151_001
BEGIN = datetime(2026, 1, 1)


def rows(container, tql, **options):
    """What a query finds."""
    query = container.query(tql)
    query.set_fetch_options(**options)
    return list(query.fetch())


def aggregate(container, tql, kind):
    """The one value of an aggregation."""
    found = container.query(tql).fetch()
    value = found.next()
    assert found.type == griddb.RowSetType.AGGREGATION_RESULT and not found.has_next()
    return value.get(kind)


@pytest.fixture
def numbers(make):
    """100 rows."""
    container = make(("id", Type.INTEGER), ("text", Type.STRING), ("value", Type.DOUBLE))
    container.multi_put([[number, f"t{number % 10}", number / 2] for number in range(100)])
    return container


def test_conditions_orders_and_limits(numbers):
    assert [row[0] for row in rows(numbers, "select * where id >= 95")] == [95, 96, 97, 98, 99]
    assert [row[0] for row in rows(numbers, "select * where text = 't3' and value > 40 order by id desc")] == [93, 83]
    assert [row[0] for row in rows(numbers, "select * where text like '%9' order by value limit 2 offset 1")] == [19, 29]
    assert rows(numbers, "select * where id < 0") == []
    assert len(rows(numbers, "select *", limit=7)) == 7


def test_a_row_set_knows_its_size_and_columns(numbers):
    found = numbers.query("select * where id < 3").fetch()
    assert (found.size, found.get_column_names()) == (3, ["id", "text", "value"])
    assert found.type is None
    assert (found.next(), found.type) == ([0, "t0", 0.0], griddb.RowSetType.CONTAINER_ROWS)


def test_a_query_in_parts(numbers):
    numbers.multi_put([[number, "x" * 5_000, 0.0] for number in range(1_000)])
    assert [row[0] for row in rows(numbers, "select *", partial=True)] == list(range(1_000))


def test_aggregations(numbers):
    assert aggregate(numbers, "select count(*)", Type.LONG) == 100
    assert aggregate(numbers, "select max(id) where text = 't4'", Type.LONG) == 94
    assert aggregate(numbers, "select avg(value)", Type.DOUBLE) == 24.75
    assert aggregate(numbers, "select sum(id)", Type.LONG) == 4_950
    assert [row[0] for row in rows(numbers, "select max_rows(value)")] == [99]


def test_an_explanation(numbers):
    found = numbers.query("explain select * where id = 1").fetch()
    lines = [line.get() for line in found]
    assert found.type == griddb.RowSetType.QUERY_ANALYSIS and len(lines) > 0
    assert all(len(line) == 6 for line in lines)


def test_what_is_no_tql_is_refused(numbers, refused):
    for wrong in ["select nothing", "select * where", "select * where nowhere = 1"]:
        with pytest.raises(griddb.GSException) as failure:
            numbers.query(wrong).fetch()
        assert 150_000 <= failure.value.get_error_code(0) < 153_000, wrong
        assert failure.value.get_error_stack_size() > 0 and not failure.value.is_timeout
    with refused(SYNTAX):
        numbers.query("select nothing").fetch()


@pytest.fixture
def series(make, name):
    """A value each second."""
    container = make(("at", Type.TIMESTAMP), ("value", Type.DOUBLE), kind=griddb.ContainerType.TIME_SERIES, called=f"{name}_series")
    container.multi_put([[BEGIN + timedelta(seconds=second), float(second)] for second in range(60)])
    return container


def test_rows_of_a_time_series(store, series, name):
    assert store.get_container_info(f"{name}_series").type == griddb.ContainerType.TIME_SERIES
    assert series.get(BEGIN + timedelta(seconds=7)) == [BEGIN + timedelta(seconds=7), 7.0]
    found = rows(series, "select * where at >= TIMESTAMP('2026-01-01T00:00:50Z') and at < TIMESTAMP('2026-01-01T00:00:52Z')")
    assert found == [[BEGIN + timedelta(seconds=second), float(second)] for second in (50, 51)]
    assert [row[1] for row in rows(series, "select * order by at desc limit 1")] == [59.0]


def test_samplings_and_neighbours(series):
    sampled = rows(series, "select time_sampling(value, TIMESTAMP('2026-01-01T00:00:00Z'), TIMESTAMP('2026-01-01T00:00:03Z'), 1500, MILLISECOND)")
    assert [row[1] for row in sampled] == [0.0, 1.5, 3.0]
    assert rows(series, "select time_next(*, TIMESTAMP('2026-01-01T00:00:07.500Z'))")[0][1] == 8.0
    assert rows(series, "select time_prev(*, TIMESTAMP('2026-01-01T00:00:07.500Z'))")[0][1] == 7.0
    assert rows(series, "select time_interpolated(value, TIMESTAMP('2026-01-01T00:00:07.500Z'))")[0][1] == 7.5


def test_averages_by_time(series):
    assert aggregate(series, "select time_avg(value)", Type.DOUBLE) == 29.5
    assert aggregate(series, "select count(*)", Type.LONG) == 60


def test_queries_of_several_containers(store, numbers, series):
    queries = [numbers.query("select * where id < 2"), series.query("select * where value > 58"), numbers.query("select count(*)")]
    store.fetch_all(queries)
    few, last, count = [query.get_row_set() for query in queries]
    assert [row[0] for row in few] == [0, 1]
    assert [row[1] for row in last] == [59.0]
    assert count.next().get(Type.LONG) == 100
    assert queries[0].get_row_set() is None, "it is given once"
