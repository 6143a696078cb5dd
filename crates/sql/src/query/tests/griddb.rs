//! What GridDB's SQL has otherwise than SQLite's: types, texts of times, errors, functions; mostly examples of its reference.

mod names;

use super::*;
use crate::time::Moment;

struct GridDb(Memory);

impl Tables for GridDb {
    fn dialect(&self) -> Dialect {
        Dialect::GridDb
    }

    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError> {
        self.0.find(name)
    }

    fn scan(&self, table: &Arc<Table>, conditions: &[Condition], order: Order, columns: u64) -> Result<Box<dyn Scan>, SourceError> {
        self.0.scan(table, conditions, order, columns)
    }
}

/// 2018-12-01T10:30:00Z.
const AT_MS: i64 = 1_543_660_200_000;

/// The employees of the reference, and a table `t` of all types.
fn tables() -> Arc<dyn Tables> {
    let names = [("id", ColumnType::Long), ("first_name", ColumnType::Text), ("last_name", ColumnType::Text), ("age", ColumnType::Integer)];
    let more = [("department", ColumnType::Text), ("enrollment_period", ColumnType::Double)];
    let employees = table("employees", 1, &[], &[&names[..], &more[..]].concat());
    let person = |id: i64, first: &str, last: &str, age: i64, department: &str, period: f64| {
        let text = |text: &str| if text.is_empty() { Value::Null } else { Value::Text(text.to_owned()) };
        let age = if age > 0 { Value::Integer(age) } else { Value::Null };
        let period = if period > 0.0 { Value::Real(period) } else { Value::Null };
        vec![Value::Integer(id), text(first), text(last), age, text(department), period]
    };
    let people = vec![
        person(0, "John", "Smith", 43, "Sales", 15.5),
        person(1, "William", "Jones", 59, "Development", 23.2),
        person(2, "Richard", "Brown", 0, "Sales", 7.0),
        person(3, "Mary", "Taylor", 31, "Research", 0.0),
        person(4, "Lisa", "", 29, "", 4.9),
        person(5, "James", "Smith", 43, "Development", 10.3),
    ];
    let types = [("id", ColumnType::Long), ("ts", ColumnType::Timestamp), ("active", ColumnType::Bool), ("b", ColumnType::Blob)];
    let t = table("t", 1, &[], &types);
    let row = |id: i64, ts: Value| vec![Value::Integer(id), ts, Value::Integer(id % 2), Value::Blob(vec![0xAB, id as u8])];
    let rows = vec![row(1, Value::Integer(AT_MS)), row(2, Value::Integer(AT_MS + 3_600_001)), row(3, Value::Null)];
    Arc::new(GridDb(Memory { tables: vec![(employees, people), (t, rows)], obeys: true, scans: AtomicUsize::new(0) }))
}

fn shown(value: ValueRef<'_>, kind: Option<ColumnType>) -> String {
    match (value, kind) {
        (ValueRef::Null, _) => "null".to_owned(),
        (ValueRef::Integer(value), Some(ColumnType::Bool)) => (value != 0).to_string(),
        (ValueRef::Integer(value), Some(kind)) if kind.is_time() => crate::time::format(value),
        (ValueRef::Integer(value), _) => value.to_string(),
        (ValueRef::Real(value), _) => format!("{value:?}"),
        (ValueRef::Text(text), _) => text.to_owned(),
        (ValueRef::Blob(bytes), _) => format!("{bytes:02x?}"),
        (ValueRef::Time(moment), _) => moment.format(),
    }
}

/// The rows of a statement: values separated by `|`, rows by a space.
fn rows(sql: &str, parameters: &[Value]) -> Result<String, QueryError> {
    let sql = crate::syntax::with_units_quoted(sql).unwrap();
    let mut query = Query::prepare(&tables(), &sql)?;
    query.bind(parameters)?;
    let kinds: Vec<_> = query.columns().into_iter().map(|column| column.kind).collect();
    let mut rows = Vec::new();
    while query.step()? {
        rows.push(kinds.iter().enumerate().map(|(at, kind)| shown(query.value(at), *kind)).collect::<Vec<_>>().join("|"));
    }
    Ok(rows.join(" "))
}

fn type_of(sql: &str) -> Option<ColumnType> {
    Query::prepare(&tables(), sql).unwrap().columns()[0].kind
}

fn assert_all(examples: &[(&str, &str)]) {
    for (sql, expected) in examples {
        let found = rows(&format!("SELECT {sql}"), &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(found, *expected, "{sql}");
    }
}

fn assert_refused(expressions: &[&str], what: &str) {
    for sql in expressions {
        let refused = rows(&format!("SELECT {sql}"), &[]);
        assert!(refused.as_ref().is_err_and(|error| error.to_string().contains(what)), "{sql}: {refused:?}");
    }
}

#[test]
fn casts_give_what_their_types_hold() {
    assert_all(&[
        ("CAST(10.5 AS INTEGER)", "10"),
        ("CAST(-10.9 AS LONG)", "-10"),
        ("CAST('12' AS BYTE)", "12"),
        ("CAST(' +12.75 ' AS SHORT)", "12"),
        ("CAST('1e3' AS LONG)", "1000"),
        ("CAST('9223372036854775807' AS LONG)", "9223372036854775807"),
        ("CAST('-1.09E+10' AS DOUBLE)", "-10900000000.0"),
        ("CAST('-infinity' AS DOUBLE)", "-inf"),
        ("CAST(5 AS DOUBLE)", "5.0"),
        ("CAST(0.1 AS FLOAT)", "0.10000000149011612"),
        ("CAST(1 AS STRING)", "1"),
        ("CAST(1.5 AS VARCHAR(3))", "1.5"),
        ("CAST(1e100 AS STRING)", "1.0e+100"),
        ("CAST(active AS STRING) FROM t", "true false true"),
        ("CAST(b AS STRING) FROM t WHERE id = 1", "AB01"),
        ("CAST('true' AS BOOL), CAST('FALSE' AS BOOL), CAST(2 AS BOOL), CAST(0 AS BOOL)", "true|false|true|false"),
        ("CAST(TRUE AS INTEGER), CAST(1 = 2 AS LONG), CAST(1 = 1 AS STRING)", "1|0|true"),
        ("CAST('00aBff' AS BLOB)", "[00, ab, ff]"),
        ("CAST('2018-12-01T10:30:00Z' AS TIMESTAMP)", "2018-12-01T10:30:00.000Z"),
        ("CAST('2018-12-01T10:30:00+09:00' AS TIMESTAMP(3))", "2018-12-01T01:30:00.000Z"),
        ("CAST(ts AS STRING) FROM t", "2018-12-01T10:30:00.000Z 2018-12-01T11:30:00.001Z null"),
        ("CAST(MAX(ts) AS STRING) FROM t", "2018-12-01T11:30:00.001Z"),
        ("CAST(y AS STRING) FROM (SELECT ts AS y FROM t WHERE id = 1)", "2018-12-01T10:30:00.000Z"),
        ("id FROM t WHERE ts > CAST('2018-12-01T10:30:00Z' AS TIMESTAMP)", "2"),
        ("CAST('2018-12-01T10:30:00.123456789Z' AS TIMESTAMP(9))", "2018-12-01T10:30:00.123456789Z"),
        ("CAST(CAST('2018-12-01T10:30:00.1234Z' AS TIMESTAMP(6)) AS STRING)", "2018-12-01T10:30:00.123400Z"),
        ("CAST(TIMESTAMP_US('2018-12-01T10:30:00.1234Z') AS TIMESTAMP) || ''", "2018-12-01T10:30:00.123Z"),
        ("CAST(NULL AS LONG), CAST(NULL AS TIMESTAMP), CAST(NULL AS BOOL)", "null|null|null"),
    ]);
    assert_refused(
        &[
            "CAST(128 AS BYTE)",
            "CAST(-32769 AS SHORT)",
            "CAST('2147483648' AS INTEGER)",
            "CAST(1e19 AS LONG)",
            "CAST('abc' AS INTEGER)",
            "CAST('' AS LONG)",
            "CAST('nan' AS LONG)",
            "CAST('1x' AS DOUBLE)",
            "CAST(1e39 AS FLOAT)",
            "CAST('yes' AS BOOL)",
            "CAST(1.5 AS BOOL)",
            "CAST('abc' AS BLOB)",
            "CAST('soon' AS TIMESTAMP)",
            "CAST('2018-12-01T10:30:00.1234Z' AS TIMESTAMP)",
            "CAST(5 AS TIMESTAMP)",
            "CAST(ts AS LONG) FROM t",
            "CAST(b AS LONG) FROM t",
        ],
        "is not cast to",
    );
    for (sql, kind) in [
        ("SELECT CAST(1 AS STRING)", ColumnType::Text),
        ("SELECT CAST(10.5 AS LONG)", ColumnType::Long),
        ("SELECT CAST(1 AS BYTE)", ColumnType::Byte),
        ("SELECT CAST('1' AS FLOAT)", ColumnType::Float),
        ("SELECT CAST('2018-12-01' AS TIMESTAMP)", ColumnType::Timestamp),
        ("SELECT CAST('2018-12-01' AS TIMESTAMP(6))", ColumnType::MicroTimestamp),
        ("SELECT CAST('true' AS BOOL)", ColumnType::Bool),
        ("SELECT CAST('00' AS BLOB)", ColumnType::Blob),
    ] {
        assert_eq!(type_of(sql), Some(kind), "{sql}");
    }
    let query = Query::prepare(&tables(), "SELECT CAST( 1  AS LONG), CAST(1 AS LONG) \"n\" FROM t").unwrap();
    let labels: Vec<_> = query.columns().into_iter().map(|column| column.name).collect();
    assert_eq!(labels, ["CAST( 1  AS LONG)", "n"]);
}

#[test]
fn null_is_the_largest_value() {
    assert_all(&[
        ("age FROM employees ORDER BY age", "29 31 43 43 59 null"),
        ("age FROM employees ORDER BY age DESC", "null 59 43 43 31 29"),
        ("age FROM employees ORDER BY age NULLS FIRST LIMIT 2", "null 29"),
        ("id FROM employees ORDER BY department DESC, id DESC LIMIT 3", "4 2 0"),
        ("department, COUNT(*) FROM employees GROUP BY department ORDER BY 1", "Development|2 Research|1 Sales|2 null|1"),
        ("id, ROW_NUMBER() OVER (ORDER BY age) FROM employees ORDER BY id", "0|3 1|5 2|6 3|2 4|1 5|4"),
        ("age FROM employees UNION SELECT 30 ORDER BY age DESC LIMIT 2", "null 59"),
        ("e.id FROM t LEFT JOIN employees e ON e.id = t.id + 2 ORDER BY e.id", "3 4 5"),
    ]);
    let plan = rows("EXPLAIN QUERY PLAN SELECT id FROM employees ORDER BY id DESC LIMIT 1", &[]).unwrap();
    assert!(!plan.contains("ORDER BY"), "the key has no NULL, and its table the order: {plan}");
}

#[test]
fn a_name_in_quotes_is_no_text() {
    for wrong in
        ["\"nobody\" FROM t", "1 FROM t WHERE \"activ\" = 1", "\"abc\"", "`abc`", "1 FROM t ORDER BY \"missing\"", "MAX(\"tss\") FROM t"]
    {
        let refused = rows(&format!("SELECT {wrong}"), &[]);
        assert!(matches!(&refused, Err(QueryError::Statement(message)) if message.contains("no such column")), "{wrong}: {refused:?}");
    }
    assert_all(&[
        ("\"id\", [id], `id`, \"t\".\"id\" FROM \"t\" WHERE \"id\" = 1", "1|1|1|1"),
        ("id AS \"a b\" FROM t ORDER BY \"a b\" DESC", "3 2 1"),
    ]);
}

#[test]
fn what_compares_with_what_is_minded() {
    assert_refused(
        &["1 FROM t WHERE ts > '2018-12-01T10:30:00Z'", "1 FROM t WHERE id = '1'", "1 FROM t WHERE ts BETWEEN '2018' AND '2019'"],
        "is not compared with",
    );
    let refused = |sql: &str, value: Value| {
        let refused = rows(sql, &[value]);
        assert!(matches!(&refused, Err(QueryError::Statement(message)) if message.starts_with("parameter 1 is")), "{sql}: {refused:?}");
    };
    refused("SELECT id FROM t WHERE ts > ?", Value::Text("2018-12-01T10:30:00Z".to_owned()));
    refused("SELECT id FROM t WHERE id = ?", Value::Text("1".to_owned()));
    refused("SELECT id FROM employees WHERE first_name = ?", Value::Integer(1));
    refused("SELECT id FROM employees WHERE first_name = ?", Value::Time(Moment::of_ms(1)));
    for (sql, value, expected) in [
        ("SELECT id FROM t WHERE ts > ?", Value::Time(Moment::of_ms(AT_MS)), "2"),
        ("SELECT id FROM t WHERE ts > TIMESTAMP(?)", Value::Text("2018-12-01T10:30:00Z".to_owned()), "2"),
        ("SELECT id FROM t WHERE id > ?", Value::Real(2.5), "3"),
        ("SELECT id FROM t WHERE id > ?", Value::Null, ""),
        ("SELECT id FROM employees WHERE first_name = ?", Value::Text("Lisa".to_owned()), "4"),
    ] {
        assert_eq!(rows(sql, &[value]).unwrap(), expected, "{sql}");
    }
}

#[test]
fn a_division_by_zero_fails() {
    assert_refused(
        &[
            "1/0",
            "5%0",
            "5 / (1 - 1)",
            "1.5 / 0.0",
            "1e400 / 1e-400",
            "1 / .0",
            "5 % 0.5",
            "5 % -.5",
            "5 % (enrollment_period / 100) FROM employees",
            "id / (id - 1) FROM t",
            "SUM(age) / (COUNT(*) - 6) FROM employees",
        ],
        "division by zero",
    );
    assert_all(&[
        ("7 / 2, 7 % 4, 7 / 2.0, 1 / NULL, id / 2 FROM t WHERE id = 3", "3|3|3.5|null|1"),
        ("8 / 2 / 2, 8 / 2 * 3, 9 - 8 / -2", "2|12|13"),
        ("7.5 % 2, 7 % 2.5, 7 % 1e1, 7 / 0.5, 7 / .5, 7 % NULL", "1.0|1.0|7.0|14.0|14.0|null"),
    ]);
}

#[test]
fn time_zones_and_formats_are_those_of_the_reference() {
    assert_all(&[
        ("STRFTIME('%c', TIMESTAMP('2019-06-19T14:15:01.123Z'))", "2019-06-19T14:15:01.123Z"),
        ("STRFTIME('%H:%M:%S%z', TIMESTAMP('2019-06-19T14:15:01.123Z'), '+09:00')", "23:15:01+09:00"),
        ("STRFTIME('%W', TIMESTAMP('2019-01-19T14:15:01.123Z'))", "02"),
        ("STRFTIME('%W %w %j %z %% %3f', TIMESTAMP('2018-01-01T00:00:00.05Z'))", "01 1 001 Z % 050"),
        ("STRFTIME('%W', TIMESTAMP('2017-01-01')), STRFTIME('%W', TIMESTAMP('2024-12-31'))", "00|53"),
        (
            "STRFTIME('%c %6f %9f', TIMESTAMP_NS('2019-06-19T14:15:01.123456789Z'), '-0130')",
            "2019-06-19T12:45:01.123456789-01:30 123456 123456789",
        ),
        ("STRFTIME('%c', TIMESTAMP_US('2019-06-19T14:15:01.1234567Z'))", "2019-06-19T14:15:01.123456Z"),
        ("TIMESTAMP('2018-12-01', '+09:00')", "2018-11-30T15:00:00.000Z"),
        ("TIMESTAMP('2018-12-01T00:00:00+0900', '+09:00')", "2018-11-30T15:00:00.000Z"),
        ("TIMESTAMP('10:30:15')", "1970-01-01T10:30:15.000Z"),
        ("TIMESTAMP_ADD(DAY, TIMESTAMP('2018-12-01T11:22:33.444Z'), 10)", "2018-12-11T11:22:33.444Z"),
        ("TIMESTAMP_ADD(MONTH, TIMESTAMP('2019-05-31T01:23:45.678Z'), 1)", "2019-06-30T01:23:45.678Z"),
        ("TIMESTAMP_ADD(MONTH, TIMESTAMP('2019-05-31T01:23:45.678Z'), 1, '-02:00')", "2019-07-01T01:23:45.678Z"),
        ("TIMESTAMP_DIFF(MONTH, TIMESTAMP('2018-12-11T10:30:15.555Z'), TIMESTAMP('2018-12-01T10:00:00.000Z'))", "0"),
        ("TIMESTAMP_DIFF(DAY, TIMESTAMP('2018-12-11T10:30:15.555Z'), TIMESTAMP('2018-12-01T10:00:00.000Z'))", "10"),
        ("TIMESTAMP_DIFF(DAY, TIMESTAMP('2018-12-01T11:00:00.000Z'), TIMESTAMP('2018-12-11T10:30:15.555Z'))", "-9"),
        ("TIMESTAMP_DIFF(HOUR, TIMESTAMP('2018-12-11T10:30:15.555Z'), TIMESTAMP('2018-12-01T10:00:00.000Z'))", "240"),
        ("TIMESTAMP_DIFF(MINUTE, TIMESTAMP('2018-12-11T10:30:15.555Z'), TIMESTAMP('2018-12-01T10:00:00.000Z'))", "14430"),
        ("TIMESTAMP_DIFF(MONTH, TIMESTAMP('2019-10-02'), TIMESTAMP('2019-09-30'))", "0"),
        ("TIMESTAMP_DIFF(MONTH, MAKE_TIMESTAMP(2019, 8, 1), MAKE_TIMESTAMP(2019, 6, 30), '-01:00')", "1"),
        ("TIMESTAMP_DIFF(YEAR, TIMESTAMP('2019-12-31'), TIMESTAMP('2021-01-01'))", "-1"),
        ("EXTRACT(YEAR, TIMESTAMP('2018-12-01T10:30:02.392Z'))", "2018"),
        ("EXTRACT(MILLISECOND, TIMESTAMP('2018-12-01T10:30:02.392Z'))", "392"),
        ("EXTRACT(HOUR, TIMESTAMP('2018-12-01T10:30:02.392Z'), '+09:00')", "19"),
        ("TIMESTAMP_TRUNC(HOUR, MAKE_TIMESTAMP(2019, 9, 19, 10, 30, 15.123))", "2019-09-19T10:00:00.000Z"),
        ("TIMESTAMP_TRUNC(DAY, MAKE_TIMESTAMP(2019, 5, 15), '-01:00')", "2019-05-14T01:00:00.000Z"),
        ("MAKE_TIMESTAMP(2019, 9, 19)", "2019-09-19T00:00:00.000Z"),
        ("MAKE_TIMESTAMP(2019, 9, 19, 10, 30, 15.123, '+09:00')", "2019-09-19T01:30:15.123Z"),
        ("MAKE_TIMESTAMP_BY_DATE(2019, 9, 19, '+09:00')", "2019-09-18T15:00:00.000Z"),
        ("TO_TIMESTAMP_MS(1609459199999)", "2020-12-31T23:59:59.999Z"),
        ("TO_EPOCH_MS(TIMESTAMP('2020-12-31T23:59:59.999+09:00'))", "1609426799999"),
        ("EXTRACT(HOUR, TIMESTAMP('2018-12-01'), NULL), STRFTIME(NULL, NOW()), MAKE_TIMESTAMP(NULL, 1, 1)", "null|null|null"),
    ]);
    assert_refused(&["TIMESTAMP('2018-12-01T00:00:00Z', '+09:00')"], "another time zone");
    assert_refused(&["EXTRACT(HOUR, NOW(), 'JST')", "EXTRACT(HOUR, NOW(), '+24:00')", "EXTRACT(HOUR, NOW(), '9')"], "is no time zone");
    assert_refused(&["STRFTIME('%Q', NOW())", "STRFTIME('%', NOW())", "STRFTIME('%4f', NOW())"], "is no format");
    assert_refused(
        &[
            "MAKE_TIMESTAMP(2019, 2, 29)",
            "MAKE_TIMESTAMP(2019, 13, 1)",
            "MAKE_TIMESTAMP(2019, 1, 1, 24, 0, 0)",
            "MAKE_TIMESTAMP(2019, 1, 1, 1, 0, 60)",
        ],
        "these are no year",
    );
}

#[test]
fn functions_give_what_the_reference_says() {
    assert_all(&[
        ("MEDIAN(age) FROM employees", "43"),
        ("department, MEDIAN(age) mn FROM employees GROUP BY department ORDER BY mn DESC", "Development|51 Sales|43 Research|31 null|29"),
        ("MEDIAN(enrollment_period), MEDIAN(NULL) FROM employees WHERE id < 2", "19.35|null"),
        ("PERCENTILE_CONT(0.25) WITHIN GROUP( ORDER BY age ) FROM employees", "31.0"),
        ("PERCENTILE_CONT(0.125) WITHIN GROUP (ORDER BY age DESC) FROM employees", "51.0"),
        ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) FROM employees WHERE id > 9", "null"),
        (
            "department, STDDEV0(enrollment_period) FROM employees GROUP BY department ORDER BY 1",
            "Development|9.121677477306463 Research|null Sales|6.010407640085654 null|0.0",
        ),
        (
            "department, VARIANCE(enrollment_period) FROM employees GROUP BY department ORDER BY 1",
            "Development|83.20499999999998 Research|null Sales|36.125 null|null",
        ),
        ("VARIANCE0(enrollment_period), STDDEV(enrollment_period) FROM employees WHERE age >= 55", "0.0|null"),
        (
            "TRUNC(123.4567), TRUNC(123.4567, 2), TRUNC(123.4567, -1), TRUNC(123.4567, -3), TRUNC(1234567, -2)",
            "123.0|123.45|120.0|0.0|1234500",
        ),
        ("TRUNC(-1.29, 1), TRUNC(4.35, 2), TRUNC(5), TRUNC(NULL), TRUNC(1e300, 5), TRUNC(5, -300)", "-1.2|4.35|5|null|1e300|0"),
        ("ROUND(age), ROUND(age, 1), ROUND(enrollment_period, 0) FROM employees WHERE id < 2", "43|43|16.0 59|59|23.0"),
        ("HEX_TO_DEC('FF'), HEX_TO_DEC('10'), HEX_TO_DEC('ffffffffffffffff'), HEX_TO_DEC(NULL)", "255|16|-1|null"),
        ("TRANSLATE('abcde', 'ace', '123'), TRANSLATE('abcdeca', 'ace', '123'), TRANSLATE('abcde', 'ac', '123')", "1b2d3|1b2d321|1b2de"),
        (
            "TRANSLATE('abcde', 'ace', '12'), TRANSLATE('abcde', 'AB', '123'), TRANSLATE('abcde', 'abc', ''), TRANSLATE('a', NULL, 'b')",
            "1b2d|abcde|de|null",
        ),
        ("GROUP_CONCAT(last_name, '/') FROM employees", "Smith/Jones/Brown/Taylor/Smith"),
        ("GROUP_CONCAT(DISTINCT last_name, '/') FROM employees", "Smith/Jones/Brown/Taylor"),
        ("GROUP_CONCAT(DISTINCT age), GROUP_CONCAT(DISTINCT age, ' + ') FROM employees", "43,59,31,29|43 + 59 + 31 + 29"),
        ("GROUP_CONCAT(DISTINCT ts, '+') FROM t", "2018-12-01T10:30:00.000Z+2018-12-01T11:30:00.001Z"),
        ("LOG(2, 8), LOG(0.5, 2.0), SQRT(4), ABS(-10)", "3.0|-1.0|2.0|10"),
        ("first_name, MAX(age, enrollment_period) FROM employees WHERE id IN (0, 2)", "John|43 Richard|null"),
    ]);
    assert_refused(&["HEX_TO_DEC('FG')", "HEX_TO_DEC('')", "HEX_TO_DEC('10000000000000000')"], "is no number of hexadecimal digits");
    assert_refused(&["PERCENTILE_CONT(1.5) WITHIN GROUP (ORDER BY age) FROM employees"], "from 0 to 1");
    assert_refused(&["TRUNC(1.5, 310)"], "digits are from");
    assert_refused(
        &["SUM(age) WITHIN GROUP (ORDER BY age) FROM employees", "PERCENTILE_CONT(0.5) WITHIN GROUP (age) FROM employees"],
        "WITHIN GROUP",
    );
}

#[test]
fn times_are_texts_where_texts_are_wanted_and_types_stay() {
    assert_all(&[
        ("ts || 'x', 'x' || active FROM t WHERE id = 1", "2018-12-01T10:30:00.000Zx|xtrue"),
        ("GROUP_CONCAT(ts) FROM t", "2018-12-01T10:30:00.000Z,2018-12-01T11:30:00.001Z"),
        ("LENGTH(ts), UPPER(active), SUBSTR(ts, 1, 4), CONCAT(id, ts) FROM t WHERE id = 1", "24|TRUE|2018|12018-12-01T10:30:00.000Z"),
        ("id FROM t WHERE ts LIKE '2018-12-01T11%'", "2"),
        ("COALESCE(ts, TIMESTAMP('2020-01-01')) FROM t WHERE id > 1", "2018-12-01T11:30:00.001Z 2020-01-01T00:00:00.000Z"),
        (
            "CASE WHEN id = 1 THEN ts END, IFNULL(ts, NOW()), MAX(ts, TIMESTAMP('2019-01-01')) FROM t WHERE id = 1",
            "2018-12-01T10:30:00.000Z|2018-12-01T10:30:00.000Z|2019-01-01T00:00:00.000Z",
        ),
        ("COALESCE(active, FALSE), CASE id WHEN 1 THEN active ELSE TRUE END, id > 1 FROM t WHERE id = 1", "true|true|false"),
        ("TYPEOF(ABS(-10)), TYPEOF(RANDOMBLOB(10)), TYPEOF(TIMESTAMP('2018-12-01T10:30:02.392Z'))", "LONG|BLOB|TIMESTAMP"),
        (
            "TYPEOF(ts), TYPEOF(active), TYPEOF(age), TYPEOF(first_name), TYPEOF(1.5), TYPEOF(NULL), TYPEOF(age + 1) FROM t, employees LIMIT 1",
            "TIMESTAMP|BOOL|INTEGER|STRING|DOUBLE|NULL|LONG",
        ),
        ("TYPEOF(ts) FROM t WHERE id = 3", "NULL"),
        (
            "TYPEOF(TIMESTAMP_US('2018-12-01')), TYPEOF(TIMESTAMP_NS('2018-12-01')), TYPEOF(TIMESTAMP_NS('2018-12-01') || '')",
            "TIMESTAMP(6)|TIMESTAMP(9)|STRING",
        ),
    ]);
    for (sql, kind) in [
        ("SELECT COALESCE(ts, NOW()) FROM t", ColumnType::Timestamp),
        ("SELECT IFNULL(active, TRUE) FROM t", ColumnType::Bool),
        ("SELECT ROUND(id) FROM t", ColumnType::Long),
        ("SELECT TRUNC(age, -1) FROM employees", ColumnType::Long),
        ("SELECT id = 1 FROM t", ColumnType::Bool),
        ("SELECT MAX(age, enrollment_period) FROM employees", ColumnType::Double),
        ("SELECT COALESCE(age, -1) FROM employees", ColumnType::Long),
    ] {
        assert_eq!(type_of(sql), Some(kind), "{sql}");
    }
}

#[test]
fn no_address_of_this_process_is_told() {
    let program = rows("EXPLAIN SELECT e.id FROM t JOIN employees e ON e.id = t.id", &[]).unwrap();
    assert!(program.contains("|vtab|") && !program.contains("0x") && !program.contains("vtab:"), "{program}");
}
