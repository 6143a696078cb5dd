#![allow(clippy::unwrap_used)]

use super::*;
use crate::container::{Catalog, Container, ContainerChange};
use crate::name::ContainerName;
use crate::row::{RowSet, StoredRow};
use crate::schema::{ColumnDefinition, Definition, ElementType, Kind};
use crate::{ErrorCode, GridError, PUBLIC_DATABASE, encode_key};
use base::Rng;
use model::Schema;
use model::row::{RowView, RowWriter, Stamp};
use std::ops::Bound;
use std::sync::Arc;

const NOW_MS: i64 = 1_700_000_000_000;
const MEMORY_MAX: usize = 1 << 20;

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn column(name: &str, element: ElementType, is_array: bool) -> ColumnDefinition {
    ColumnDefinition { name: name.to_owned(), element, is_array, is_not_null: false }
}

fn container(kind: Kind, mut columns: Vec<ColumnDefinition>, key_len: usize) -> Arc<Container> {
    columns[..key_len].iter_mut().for_each(|column| column.is_not_null = true);
    let definition = Definition { name: ContainerName::parse("Plant1"), partition: 5, kind, columns, key_len };
    let changed = ContainerChange::Put(definition.clone()).apply(&Schema::empty(), PUBLIC_DATABASE, 1).unwrap().unwrap();
    let mut catalog = Catalog::default();
    catalog.follow(&changed.schema);
    Arc::clone(catalog.by_name(&changed.schema, PUBLIC_DATABASE, &definition.name).unwrap())
}

fn row(container: &Container, cells: &[Option<Vec<u8>>]) -> (Vec<u8>, Vec<u8>) {
    let (mut key, mut bytes) = (Vec::new(), Vec::new());
    let mut writer = RowWriter::new(&mut bytes, Stamp::at(1), true, None);
    for (position, cell) in cells.iter().enumerate() {
        if position < container.definition.key_len {
            encode_key(container.definition.columns[position].element, cell.as_ref().unwrap(), &mut key).unwrap();
        } else if let Some(cell) = cell {
            writer.value(Container::column_id(position), Stamp::at(1), cell);
        }
    }
    writer.finish();
    (key, bytes)
}

/// A collection of id, name, size, temperature, flag, numbers, select.
fn people() -> (Arc<Container>, Rows) {
    let columns = vec![
        column("Id", ElementType::Integer, false),
        column("name", ElementType::String, false),
        column("size", ElementType::Long, false),
        column("temperature", ElementType::Double, false),
        column("flag", ElementType::Bool, false),
        column("numbers", ElementType::Integer, true),
        column("select", ElementType::Short, false),
    ];
    let container = container(Kind::Collection, columns, 1);
    let people = [
        (1_i32, Some("Ada"), Some(10_i64), 1.5_f64, true),
        (2, Some("bob"), Some(-3), 2.5, false),
        (3, Some("10%"), None, -3.89, true),
        (4, None, Some(10), f64::NAN, false),
        (5, Some("größe"), Some(7), -0.23, true),
    ];
    let of = |(id, name, size, temperature, flag): (i32, Option<&str>, Option<i64>, f64, bool)| {
        let mut numbers = (id - 1).to_be_bytes().to_vec();
        for number in 1..id {
            numbers.extend_from_slice(&4_i32.to_be_bytes());
            numbers.extend_from_slice(&(number * 10).to_be_bytes());
        }
        let cells = [
            Some(id.to_be_bytes().to_vec()),
            name.map(|name| name.as_bytes().to_vec()),
            size.map(|size| size.to_be_bytes().to_vec()),
            Some(temperature.to_be_bytes().to_vec()),
            Some(vec![u8::from(flag)]),
            Some(numbers),
            Some((id as i16).to_be_bytes().to_vec()),
        ];
        row(&container, &cells)
    };
    let rows = people.into_iter().map(of).collect();
    (container, rows)
}

/// The time series of the TQL reference: times, voltage, a text, an integer that is null once.
fn plant() -> (Arc<Container>, Rows) {
    let columns = vec![
        column("at", ElementType::Timestamp, false),
        column("voltage", ElementType::Double, false),
        column("label", ElementType::String, false),
        column("level", ElementType::Integer, false),
    ];
    let container = container(Kind::TimeSeries, columns, 1);
    let of = |(second, voltage, level): (i64, f64, Option<i32>)| {
        let cells = [
            Some((second * 1_000).to_be_bytes().to_vec()),
            Some(voltage.to_be_bytes().to_vec()),
            Some(format!("at {second}").into_bytes()),
            level.map(|level| level.to_be_bytes().to_vec()),
        ];
        row(&container, &cells)
    };
    let rows = [(0, 4.0, Some(0)), (10, 3.0, Some(100)), (20, 2.0, None), (40, 1.0, Some(7))].into_iter().map(of).collect();
    (container, rows)
}

fn is_in(range: &KeyRange, key: &[u8]) -> bool {
    let is_after = match &range.lower {
        Bound::Included(lower) => key >= &lower[..],
        Bound::Excluded(lower) => key > &lower[..],
        Bound::Unbounded => true,
    };
    is_after
        && match &range.upper {
            Bound::Included(upper) => key <= &upper[..],
            Bound::Excluded(upper) => key < &upper[..],
            Bound::Unbounded => true,
        }
}

fn run(container: &Container, rows: &Rows, select: Select) -> Result<Answer, GridError> {
    let range = select.key_range(container);
    let mut order: Vec<_> = rows.iter().filter(|(key, _)| is_in(&range, key)).collect();
    assert!(!range.is_empty() || order.is_empty());
    if select.is_descending() {
        order.reverse();
    }
    let mut execution = Execution::new(select, container, MEMORY_MAX)?;
    for (key, bytes) in order {
        if execution.push(&StoredRow { container, clustering: key, view: RowView::new(bytes) })?.is_break() {
            break;
        }
    }
    execution.finish()
}

/// First column, then one more column's eight bytes, of rows that are fixed enough.
fn keys(container: &Container, rows: &RowSet) -> Vec<i64> {
    let mut bytes = Vec::new();
    rows.write(&mut bytes);
    let layout = crate::row::Layout::of(&container.definition.columns);
    let number = if container.is_time_series() { 0 } else { 8 };
    let size = number + layout.fixed_bytes;
    let at = number + if layout.variable_columns > 0 { 8 } else { 0 } + layout.null_bytes;
    let key = |row: usize| {
        let bytes = &bytes[row * size + at..];
        match container.definition.columns[0].element {
            ElementType::Integer => i64::from(i32::from_le_bytes(*bytes.first_chunk().unwrap())),
            _ => i64::from_le_bytes(*bytes.first_chunk().unwrap()) / 1_000,
        }
    };
    (0..rows.rows() as usize).map(key).collect()
}

fn keys_of(container: &Container, rows: &Rows, select: Select) -> Vec<i64> {
    match run(container, rows, select).unwrap() {
        Answer::Rows(rows) => keys(container, &rows),
        Answer::Aggregate(_) => panic!("rows are expected"),
    }
}

#[test]
fn conditions_select_rows() {
    let (container, rows) = people();
    let cases: &[(&str, &[i64])] = &[
        ("SELECT *", &[1, 2, 3, 4, 5]),
        ("select * from plant1;", &[1, 2, 3, 4, 5]),
        ("SELECT * FROM \"PLANT1\" WHERE ID = 2", &[2]),
        ("SELECT * WHERE id > 1 AND 4 >= id", &[2, 3, 4]),
        ("SELECT * WHERE id > 3 AND id < 2", &[]),
        ("SELECT * WHERE id <> 3 AND id != 5", &[1, 2, 4]),
        ("SELECT * WHERE id > 3000000000", &[]),
        ("SELECT * WHERE id < 3000000000 LIMIT 2 OFFSET 1", &[2, 3]),
        ("SELECT * WHERE id = 1 OR id = 5", &[1, 5]),
        ("SELECT * WHERE id >= 4.5", &[5]),
        ("SELECT * WHERE flag", &[1, 3, 5]),
        ("SELECT * WHERE NOT flag XOR id = 1", &[1, 2, 4]),
        ("SELECT * WHERE flag = FALSE", &[2, 4]),
        ("SELECT * WHERE size IS NULL", &[3]),
        ("SELECT * WHERE size IS NOT NULL AND NOT size = 10", &[2, 5]),
        ("SELECT * WHERE size = NULL", &[]),
        ("SELECT * WHERE NOT (size = NULL)", &[]),
        ("SELECT * WHERE name LIKE '_da'", &[1]),
        ("SELECT * WHERE name LIKE '%b%'", &[2]),
        ("SELECT * WHERE name NOT LIKE '%b%'", &[1, 3, 5]),
        ("SELECT * WHERE name LIKE '10$%' ESCAPE '$'", &[3]),
        ("SELECT * WHERE name LIKE ''", &[]),
        ("SELECT * WHERE CHAR_LENGTH(name) = 5", &[5]),
        ("SELECT * WHERE UPPER(name) = 'BOB' AND LOWER('X') = 'x'", &[2]),
        ("SELECT * WHERE SUBSTRING(name, 2) = 'da' OR SUBSTRING(name, 1, 2) = 'bo'", &[1, 2]),
        ("SELECT * WHERE CONCAT(name, '!') = '!' OR 'it''s' = 'its'", &[4]),
        ("SELECT * WHERE name || 'x' = 'bobx'", &[2]),
        ("SELECT * WHERE -size + 2 * 3 % 4 = 5 - 0", &[2]),
        ("SELECT * WHERE (id + 1) / 2 = 3", &[5]),
        ("SELECT * WHERE ROUND(temperature) = 3 OR FLOOR(temperature) = -4 OR CEILING(temperature) = 0", &[2, 3, 5]),
        ("SELECT * WHERE temperature = NAN", &[4]),
        ("SELECT * WHERE temperature > 2", &[2, 4]),
        ("SELECT * WHERE temperature > -INF AND temperature < INF", &[1, 2, 3, 5]),
        ("SELECT * WHERE ARRAY_LENGTH(numbers) >= 3 AND ELEMENT(2, numbers) = 30", &[4, 5]),
        ("SELECT * WHERE \"select\" = 4", &[4]),
        ("SELECT * WHERE TO_EPOCH_MS(NOW()) = 1700000000000 AND id = 1", &[1]),
        ("SELECT * ORDER BY id DESC LIMIT 2", &[5, 4]),
        ("SELECT * ORDER BY size, id DESC", &[2, 5, 4, 1, 3]),
        ("SELECT * ORDER BY size DESC, id LIMIT 2 OFFSET 1", &[1, 4]),
        ("SELECT * ORDER BY name", &[3, 1, 2, 5, 4]),
        ("SELECT * LIMIT 0", &[]),
        ("SELECT * ORDER BY name LIMIT 0", &[]),
        ("SELECT MAX_ROWS(size)", &[1, 4]),
        ("SELECT MIN_ROWS(size) WHERE id <> 2", &[5]),
    ];
    for (text, expected) in cases {
        let select = parse(text, &container, NOW_MS).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(keys_of(&container, &rows, select), *expected, "{text}");
    }
}

#[test]
fn aggregations_give_one_value() {
    let (people, people_rows) = people();
    let (plant, plant_rows) = plant();
    use AggregateResult::{Double, Long, Timestamp};
    let cases = [
        (&people, &people_rows, "SELECT COUNT(*)", Some(Long(5))),
        (&people, &people_rows, "SELECT count(*) WHERE id > 100", Some(Long(0))),
        (&people, &people_rows, "SELECT MAX(size)", Some(Long(10))),
        (&people, &people_rows, "SELECT MIN(temperature)", Some(Double(-3.89))),
        (&people, &people_rows, "SELECT SUM(size)", Some(Long(24))),
        (&people, &people_rows, "SELECT SUM(size) WHERE id = 3", None),
        (&people, &people_rows, "SELECT AVG(size)", Some(Double(6.0))),
        (&plant, &plant_rows, "SELECT SUM(voltage)", Some(Double(10.0))),
        (&plant, &plant_rows, "SELECT VARIANCE(voltage)", Some(Double(1.25))),
        (&plant, &plant_rows, "SELECT STDDEV(voltage)", Some(Double(1.25_f64.sqrt()))),
        (&plant, &plant_rows, "SELECT MAX(at)", Some(Timestamp(40_000))),
        (&plant, &plant_rows, "SELECT TIME_AVG(voltage)", Some(Double(2.25))),
        (&plant, &plant_rows, "SELECT TIME_AVG(voltage) WHERE at = TO_TIMESTAMP_MS(10000)", Some(Double(3.0))),
        (&plant, &plant_rows, "SELECT MIN(level) WHERE at > TIMESTAMP('1970-01-01T00:00:00Z')", Some(Long(7))),
    ];
    for (container, rows, text, expected) in cases {
        let select = parse(text, container, NOW_MS).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(!select.for_rows());
        match run(container, rows, select).unwrap() {
            Answer::Aggregate(value) => assert_eq!(value, expected, "{text}"),
            Answer::Rows(_) => panic!("{text}: one value is expected"),
        }
    }
    let select = Select::time_aggregate(&plant, 10_000, 20_000, Some(1), Aggregation::Average).unwrap();
    let Answer::Aggregate(value) = run(&plant, &plant_rows, select).unwrap() else { panic!("one value is expected") };
    assert_eq!(value.map(|value| (value.element(), value.bytes())), Some((ElementType::Double, 2.5_f64.to_le_bytes())));
}

#[test]
fn time_series_select_by_time() {
    let (container, rows) = plant();
    let time = |second: i64| format!("TIMESTAMP('1970-01-01T00:00:{second:02}.000Z')");
    let cases: &[(String, &[i64])] = &[
        (format!("SELECT TIME_NEXT(*, {})", time(10)), &[10]),
        (format!("SELECT TIME_NEXT_ONLY(*, {})", time(10)), &[20]),
        (format!("SELECT TIME_PREV(*, {})", time(15)), &[10]),
        (format!("SELECT TIME_PREV_ONLY(*, {})", time(10)), &[0]),
        (format!("SELECT TIME_PREV_ONLY(*, {})", time(0)), &[]),
        (format!("SELECT TIME_PREV(*, {}) WHERE level > 50", time(50)), &[10]),
        (format!("SELECT TIME_SAMPLING(*, {}, {}, 8, SECOND)", time(4), time(50)), &[4, 12, 20, 28, 36, 44]),
        (format!("SELECT TIME_SAMPLING(voltage, {}, {}, 8, SECOND)", time(4), time(50)), &[4, 12, 20, 28, 36]),
        (format!("SELECT TIME_SAMPLING(voltage, {}, {}, 8, SECOND) ORDER BY voltage LIMIT 2", time(4), time(50)), &[36, 28]),
        (format!("SELECT TIME_INTERPOLATED(voltage, {})", time(30)), &[30]),
        (format!("SELECT TIME_INTERPOLATED(voltage, {})", time(41)), &[]),
        ("SELECT * WHERE at >= TIMESTAMPADD(SECOND, TIMESTAMP('1970-01-01T01:00:20+01:00'), 0)".to_owned(), &[20, 40]),
        ("SELECT * WHERE TIMESTAMPDIFF(SECOND, at, TO_TIMESTAMP_MS(5000)) > 5".to_owned(), &[20, 40]),
    ];
    for (text, expected) in cases {
        let select = parse(text, &container, NOW_MS).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(keys_of(&container, &rows, select), *expected, "{text}");
    }
    let select = Select::time_range(&container, Some(10_000), Some(20_000), true, None).unwrap();
    assert_eq!(keys_of(&container, &rows, select), [20, 10]);
    let select = Select::time_nearest(&container, TimeOperator::Previous, 39_999).unwrap();
    assert_eq!(keys_of(&container, &rows, select), [20]);
}

#[test]
fn interpolated_values_are_on_the_line() {
    let (container, rows) = plant();
    for (column, second, offset, expected) in
        [(1, 15, 8 + 1 + 8, 2.5_f64.to_le_bytes().to_vec()), (3, 4, 25, 40_i32.to_le_bytes().to_vec())]
    {
        let select = Select::time_interpolated(&container, second * 1_000, column).unwrap();
        assert!(select.row_before().is_some());
        let Answer::Rows(rows) = run(&container, &rows, select).unwrap() else { panic!("rows are expected") };
        let mut bytes = Vec::new();
        rows.write(&mut bytes);
        assert_eq!(bytes[offset..offset + expected.len()], expected);
    }
}

#[test]
fn conditions_bound_the_keys() {
    let columns = vec![
        column("a", ElementType::String, false),
        column("b", ElementType::Long, false),
        column("c", ElementType::Timestamp, false),
        column("d", ElementType::Long, false),
    ];
    let container = container(Kind::Collection, columns, 3);
    let texts = ["", "a", "a\0", "ab", "b"];
    let numbers = [i64::MIN, -1, 0, 1, i64::MAX];
    let mut rows = Rows::new();
    for text in texts {
        for number in numbers {
            let cells = [Some(text.as_bytes().to_vec()), Some(number.to_be_bytes().to_vec()), Some(5_i64.to_be_bytes().to_vec()), None];
            rows.push(row(&container, &cells));
        }
    }
    rows.sort();
    let cases = [
        ("a = 'a'", 5),
        ("a > 'a'", 15),
        ("a >= 'a' AND a < 'ab'", 10),
        ("'' = a AND b > 0", 2),
        ("a = 'b' AND b <= -1", 2),
        ("a = 'b' AND b = 9223372036854775807 AND c = TO_TIMESTAMP_MS(5)", 1),
        ("a = 'b' AND a = 'a'", 0),
        ("a = 'b' AND b > 9223372036854775807", 0),
        ("b = 0", 25),
        ("a = 'a' OR a = 'b'", 25),
        ("NOT a = 'a'", 25),
        ("a <> 'a' AND d = 1", 25),
    ];
    for (condition, expected) in cases {
        let select = parse(&format!("SELECT * WHERE {condition}"), &container, NOW_MS).unwrap();
        let range = select.key_range(&container);
        assert_eq!(rows.iter().filter(|(key, _)| is_in(&range, key)).count(), expected, "{condition}");
        let mut all = Execution::new(select.clone(), &container, MEMORY_MAX).unwrap();
        for (key, bytes) in &rows {
            let _ = all.push(&StoredRow { container: &container, clustering: key, view: RowView::new(bytes) }).unwrap();
        }
        let (Answer::Rows(all), Answer::Rows(ranged)) = (all.finish().unwrap(), run(&container, &rows, select).unwrap()) else {
            panic!("rows are expected")
        };
        assert_eq!(all.rows(), ranged.rows(), "{condition}");
    }
    for (order, is_descending) in [("a DESC, b DESC", true), ("a DESC, b", false), ("b DESC", false), ("a DESC, b DESC, c DESC, d", true)] {
        let select = parse(&format!("SELECT * ORDER BY {order}"), &container, NOW_MS).unwrap();
        assert_eq!(select.is_descending(), is_descending, "{order}");
    }
}

#[test]
fn samples_may_be_empty_between_rows() {
    let (container, rows) = plant();
    let (unit, interpolation) = (TimeUnit::Second, Interpolation::Empty);
    let sampling = Sampling { start_ms: i64::MIN, end_ms: i64::MAX, interval: 1, unit, columns: vec![1, 3], interpolation };
    assert!(run(&container, &rows, Select::time_sampling(&container, sampling.clone()).unwrap()).is_err());
    let sampling = Sampling { start_ms: 5_000, end_ms: 20_000, interval: 5, ..sampling };
    assert_eq!(keys_of(&container, &rows, Select::time_sampling(&container, sampling.clone()).unwrap()), [5, 10, 15, 20]);
    for (interval, unit) in [(0, TimeUnit::Second), (-1, TimeUnit::Second), (1, TimeUnit::Month), (i64::MAX, TimeUnit::Day)] {
        let sampling = Sampling { interval, unit, ..sampling.clone() };
        assert!(Select::time_sampling(&container, sampling).is_err());
    }
}

#[test]
fn what_is_wrong_is_told() {
    let (container, rows) = people();
    let cases = [
        ("", ErrorCode::TQ_SYNTAX_ERROR_EXECUTION),
        ("DELETE *", ErrorCode::TQ_SYNTAX_ERROR_EXECUTION),
        ("SELECT * WHERE", ErrorCode::TQ_SYNTAX_ERROR_EXECUTION),
        ("SELECT * LIMIT -1", ErrorCode::TQ_SYNTAX_ERROR_EXECUTION),
        ("SELECT * WHERE name = 'x", ErrorCode::TQ_SYNTAX_ERROR_EXECUTION),
        ("SELECT * FROM other", ErrorCode::TQ_INVALID_COLLECTION_NAME),
        ("SELECT * WHERE nothing = 1", ErrorCode::TQ_COLUMN_NOT_FOUND),
        ("SELECT * WHERE F(1) = 1", ErrorCode::TQ_FUNCTION_NOT_FOUND),
        ("SELECT * WHERE 1 / 0 = 1", ErrorCode::TQ_DIVIDE_BY_ZERO),
        ("SELECT * WHERE id / 0 = 1", ErrorCode::TQ_DIVIDE_BY_ZERO),
        ("SELECT * WHERE id = 'a'", ErrorCode::TQ_OPERATION_NOT_DEFINED),
        ("SELECT * WHERE flag < TRUE", ErrorCode::TQ_OPERATION_NOT_DEFINED),
        ("SELECT * WHERE id", ErrorCode::TQ_OPERATION_NOT_DEFINED),
        ("SELECT * WHERE ELEMENT(1, numbers) = 1", ErrorCode::TQ_CONSTRAINT_ARRAY_OUT_OF_RANGE),
        ("SELECT * WHERE TIMESTAMP('yesterday') = NOW()", ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_RANGE),
        ("SELECT * WHERE TO_TIMESTAMP_MS(-1) = NOW()", ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_RANGE),
        ("SELECT * WHERE UPPER() = 'X'", ErrorCode::TQ_CONSTRAINT_INVALID_ARGUMENT_COUNT),
        ("SELECT SUM(name)", ErrorCode::TQ_COLUMN_CANNOT_AGGREGATE),
        ("SELECT COUNT(*) ORDER BY id", ErrorCode::TQ_SYNTAX_ERROR_ORDERBY_WITH_AGGREGATION),
        ("SELECT TIME_AVG(size)", ErrorCode::TQ_CONSTRAINT_SELECTION_ABUSE),
        ("SELECT * WHERE ST_MBRIntersects(id, 1)", ErrorCode::TQ_INTERNAL_NOT_IMPLEMENTED),
        ("EXPLAIN SELECT *", ErrorCode::TQ_INTERNAL_NOT_IMPLEMENTED),
    ];
    for (text, code) in cases {
        let outcome = parse(text, &container, NOW_MS).and_then(|select| run(&container, &rows, select));
        assert_eq!(outcome.err().map(|error| error.code), Some(code), "{text}");
    }
    let deep = format!("SELECT * WHERE {}1=1{}", "(".repeat(100_000), ")".repeat(100_000));
    let negative = format!("SELECT * WHERE id = {}1", "-(".repeat(5_000));
    let long = format!("SELECT * WHERE id = 1{}", " + id".repeat(5_000));
    let longest = format!("SELECT * WHERE id = id{}", " + id".repeat(511));
    assert!(keys_of(&container, &rows, parse(&longest, &container, NOW_MS).unwrap()).is_empty());
    for text in [deep, negative, long] {
        assert_eq!(parse(&text, &container, NOW_MS).unwrap_err().code, ErrorCode::TQ_SYNTAX_ERROR_EXECUTION);
    }
}

#[test]
fn sorted_rows_stay_within_the_memory() {
    let (container, rows) = people();
    for (text, fits) in [("SELECT * ORDER BY name", false), ("SELECT * ORDER BY name LIMIT 1", true)] {
        let select = parse(text, &container, NOW_MS).unwrap();
        let mut execution = Execution::new(select, &container, 2_000).unwrap();
        let mut outcome = Ok(());
        for (key, bytes) in rows.iter().cycle().take(100) {
            let row = StoredRow { container: &container, clustering: key, view: RowView::new(bytes) };
            outcome = outcome.and_then(|()| execution.push(&row).map(|_| ()));
        }
        let code = outcome.and_then(|()| execution.finish().map(|_| ())).err().map(|error| error.code);
        assert_eq!(code, (!fits).then_some(ErrorCode::CM_LIMITS_EXCEEDED), "{text}");
    }
}

#[test]
fn calendar_counts_whole_units() {
    let at = |text: &str| time::parse_timestamp_ms(text).unwrap();
    assert_eq!(at("2018-12-30T10:15:30.000Z"), 1_546_164_930_000);
    assert_eq!(at("9999-12-31T23:59:59.999Z"), time::TIMESTAMP_MAX_MS);
    assert_eq!(time::add(TimeUnit::Month, at("2024-01-31T00:00:00Z"), 1), Some(at("2024-02-29T00:00:00Z")));
    assert_eq!(time::add(TimeUnit::Year, at("2024-02-29T01:00:00Z"), -1), Some(at("2023-02-28T01:00:00Z")));
    assert_eq!(time::difference(TimeUnit::Month, at("2024-03-01T00:00:00Z"), at("2024-01-31T00:00:00Z")), 1);
    assert_eq!(time::difference(TimeUnit::Year, at("2023-03-01T00:00:00Z"), at("2024-03-01T00:00:00Z")), -1);
    for text in
        ["", "T", "2024-02-30T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00", "2024-01-01T00:00:00+é1:0", "2023-1-01T00:00:00Z"]
    {
        assert_eq!(time::parse_timestamp_ms(text), None, "{text}");
    }
}

#[test]
fn arbitrary_texts_are_refused_or_run() {
    let (people, people_rows) = people();
    let (plant, plant_rows) = plant();
    let words: Vec<&str> =
        "SELECT * FROM Plant1 WHERE id name size flag numbers at voltage level ORDER BY LIMIT OFFSET AND OR XOR NOT LIKE \
        ESCAPE IS NULL ( ) , = < > <= <> + - * / % || 0 1 9223372036854775807 1e308 -9223372036854775808 'a%' '' NAN TRUE NOW( TIMESTAMP( \
        '2024-01-01T00:00:00Z' TIMESTAMPADD(YEAR, TIMESTAMPDIFF(MONTH, TO_TIMESTAMP_MS( ELEMENT( ARRAY_LENGTH( SUBSTRING( CONCAT( \
        ROUND( MAX( MAX_ROWS( TIME_SAMPLING(*, TIME_NEXT(*, TIME_PREV(*, TIME_INTERPOLATED( DAY MILLISECOND é \" ; @"
            .split_whitespace()
            .collect();
    let seeds = [
        "SELECT * WHERE id > 1 AND name LIKE '%b%' OR ELEMENT(1, numbers) = 10 ORDER BY size DESC LIMIT 2",
        "SELECT TIME_SAMPLING(voltage, TIMESTAMP('1970-01-01T00:00:00Z'), TIMESTAMP('1970-01-01T00:00:50Z'), 8, SECOND) ORDER BY level",
        "SELECT * WHERE at < TIMESTAMPADD(MONTH, NOW(), -1) AND TIMESTAMPDIFF(YEAR, at, NOW()) < 3",
        "SELECT AVG(level) WHERE (voltage * 2 - level) / 3 > 0.5 XOR label = 'at 10'",
    ];
    let mut random = Rng::new(11);
    for round in 0..20_000 {
        let mut text = seeds[random.below(4) as usize].to_owned();
        if round % 3 == 0 {
            text = "SELECT * WHERE".to_owned();
            for _ in 0..random.below(12) {
                text.push(' ');
                text.push_str(words[random.below(words.len() as u64) as usize]);
            }
        }
        for _ in 0..random.below(4) {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let at = places.get(random.below(places.len() as u64 + 1) as usize).copied().unwrap_or(text.len());
            match random.below(3) {
                0 => text.insert_str(at, words[random.below(words.len() as u64) as usize]),
                1 if at < text.len() => drop(text.remove(at)),
                _ => text.truncate(text.len().max(at)),
            }
        }
        for (container, rows) in [(&people, &people_rows), (&plant, &plant_rows)] {
            if let Ok(select) = parse(&text, container, NOW_MS) {
                let _ = run(container, rows, select);
            }
        }
    }
}
