#![allow(clippy::unwrap_used)]

use crate::query::{Query, QueryError};
use crate::tables::{Column, ColumnType, Condition, Order, Scan, SourceError, Table, Tables, Value};
use crate::testing::Rows;
use crate::time::Moment;
use std::sync::Arc;

/// One table, `t (at, n, x, text, flag)`, with whole seconds of 2023-01-01.
struct One {
    table: Arc<Table>,
    rows: Vec<Vec<Value>>,
}

impl Tables for One {
    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError> {
        Ok(name.eq_ignore_ascii_case("t").then(|| Arc::clone(&self.table)))
    }

    fn scan(&self, _: &Arc<Table>, _: &[Condition], _: Order, _: u64) -> Result<Box<dyn Scan>, SourceError> {
        Ok(Box::new(Rows::new(self.rows.clone())))
    }
}

/// 2023-01-01.
const START_MS: i64 = 1_672_531_200_000;

fn tables(rows: &[(i64, i64)]) -> Arc<dyn Tables> {
    let column = |name: &str, kind| Column { name: name.to_owned(), kind, is_not_null: false };
    let columns = vec![
        column("at", ColumnType::Timestamp),
        column("n", ColumnType::Integer),
        column("x", ColumnType::Double),
        column("text", ColumnType::Text),
        column("flag", ColumnType::Bool),
    ];
    let table = Table { name: "t".to_owned(), columns, schema: None, key_len: 1, indexed: Vec::new(), lookup: None };
    let row = |(second, n): &(i64, i64)| {
        let (at, text) = (Value::Integer(START_MS + second * 1_000), Value::Text(format!("text {n}")));
        vec![at, Value::Integer(*n), Value::Real(*n as f64 / 2.0), text, Value::Integer(n & 1)]
    };
    Arc::new(One { table: Arc::new(table), rows: rows.iter().map(row).collect() })
}

fn shown(value: Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        // Times as seconds.
        Value::Integer(value) if value >= START_MS - 86_400_000 => format!("@{}", (value - START_MS) / 1_000),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) => format!("{value:.2}"),
        Value::Text(text) => text,
        Value::Blob(_) => "blob".to_owned(),
        Value::Time(moment) => moment.format(),
    }
}

fn ask(rows: &[(i64, i64)], sql: &str, parameters: &[Value]) -> Result<(Vec<String>, Vec<String>), QueryError> {
    let mut query = Query::prepare(&tables(rows), sql)?;
    query.bind(parameters)?;
    let columns = query.columns().into_iter().map(|column| format!("{}: {:?}", column.name, column.kind)).collect();
    let mut found = Vec::new();
    while query.step()? {
        found.push(query.row().into_iter().map(shown).collect::<Vec<_>>().join(" "));
    }
    Ok((columns, found))
}

fn rows_of(rows: &[(i64, i64)], sql: &str) -> Vec<String> {
    ask(rows, sql, &[]).map_err(|error| error.to_string()).unwrap().1
}

/// The examples of GridDB's SQL reference.
const TREND: [(i64, i64); 6] = [(0, 10), (10, 30), (20, 30), (30, 50), (40, 50), (50, 70)];
const GAP: [(i64, i64); 4] = [(0, 5), (10, 10), (20, 15), (40, 25)];
const MINUTE: &str = "at BETWEEN TIMESTAMP('2023-01-01T00:00:00Z') AND TIMESTAMP('2023-01-01T00:01:00Z')";

#[test]
fn steps_are_aggregated() {
    let sql = format!("SELECT at, avg(n), COUNT(*) AS number FROM t WHERE {MINUTE} GROUP BY RANGE at EVERY (20, SECOND)");
    let (columns, rows) = ask(&TREND, &sql, &[]).unwrap();
    assert_eq!(columns, ["at: Some(Timestamp)", "avg(n): None", "number: Some(Long)"]);
    assert_eq!(rows, ["@0 20.00 2", "@20 40.00 2", "@40 60.00 2"]);
    let unsaid = format!("SELECT at t, MAX(at) last, n / 2 \"half\" FROM t WHERE {MINUTE} GROUP BY RANGE at EVERY (1, MINUTE)");
    let (columns, rows) = ask(&TREND[..1], &unsaid, &[]).unwrap();
    assert_eq!(columns, ["t: Some(Timestamp)", "last: Some(Timestamp)", "half: None"], "a name without AS");
    assert_eq!(rows, ["@0 @0 5"]);
    let reversed = format!("{sql} HAVING COUNT(*) > 1 ORDER BY at DESC LIMIT 2;");
    assert_eq!(rows_of(&TREND, &reversed), ["@40 60.00 2", "@20 40.00 2"]);
    let shifted = format!("SELECT SUM(n), at AS since FROM t AS o WHERE {MINUTE} AND n > 10 GROUP BY RANGE(o.at) EVERY(20, SECOND, -5)");
    assert_eq!(rows_of(&TREND, &shifted), ["30 @-5", "80 @15", "120 @35"]);
    let zone = format!("SELECT at, MAX(n) FROM t WHERE {MINUTE} GROUP BY RANGE at EVERY (1, DAY, '+09:00')");
    assert_eq!(rows_of(&TREND, &zone), ["@-32400 70"]);
}

#[test]
fn gaps_are_filled() {
    let fill = |what: &str| rows_of(&GAP, &format!("SELECT * FROM t WHERE {MINUTE} GROUP BY RANGE at EVERY (10, SECOND) FILL ({what})"));
    let there = ["@0 5 2.50 text 5 1", "@10 10 5.00 text 10 0", "@20 15 7.50 text 15 1"];
    let last = "@40 25 12.50 text 25 1";
    assert_eq!(fill("NONE"), [&there[..], &[last]].concat());
    assert_eq!(fill("LINEAR"), [&there[..], &["@30 20 10.00 text 15 1", last]].concat());
    let nothing = |at: &str| format!("{at} null null null null");
    let [gap, fifty, sixty] = ["@30", "@50", "@60"].map(nothing);
    assert_eq!(fill("NULL"), [&there[..], &[&gap, last, &fifty, &sixty]].concat());
    let again = ["@50 25 12.50 text 25 1", "@60 25 12.50 text 25 1"];
    assert_eq!(fill("PREVIOUS"), [&there[..], &["@30 15 7.50 text 15 1", last], &again].concat());
}

#[test]
fn bounds_come_from_comparisons_and_parameters() {
    let sql = "SELECT at, n FROM t WHERE ? <= at AND n > ? AND at < ? GROUP BY RANGE at EVERY (10, SECOND) FILL (NULL)";
    let bounds = [Value::Integer(START_MS), Value::Integer(5), Value::Integer(START_MS + 30_000)];
    assert_eq!(ask(&GAP, sql, &bounds).unwrap().1, ["@0 null", "@10 10", "@20 15"]);
    let empty = [Value::Integer(START_MS), Value::Integer(5), Value::Integer(START_MS - 30_000)];
    assert!(ask(&GAP, sql, &empty).unwrap().1.is_empty());
    let long = [Value::Integer(0), Value::Integer(5), Value::Integer(START_MS)];
    assert!(ask(&GAP, sql, &long).unwrap_err().to_string().contains("at most 1,000,000 steps"));
}

#[test]
fn precise_times_are_grouped_as_others_are() {
    for kind in [ColumnType::MicroTimestamp, ColumnType::NanoTimestamp] {
        let column = |name: &str, kind| Column { name: name.to_owned(), kind, is_not_null: false };
        let columns = vec![column("at", kind), column("n", ColumnType::Integer)];
        let table = Table { name: "t".to_owned(), columns, schema: None, key_len: 1, indexed: Vec::new(), lookup: None };
        let row = |(second, n): &(i64, i64)| vec![Value::Time(Moment { ms: START_MS + second * 1_000, ns: 999_000 }), Value::Integer(*n)];
        let tables: Arc<dyn Tables> = Arc::new(One { table: Arc::new(table), rows: GAP.iter().map(row).collect() });
        let sql = "SELECT at, SUM(n) FROM t WHERE at >= TIMESTAMP('2023-01-01T00:00:00Z') AND at < TIMESTAMP_US('2023-01-01T00:00:50.000001Z') \
            GROUP BY RANGE at EVERY (10, SECOND) FILL (LINEAR)";
        let mut query = Query::prepare(&tables, sql).unwrap();
        assert_eq!(query.columns()[0].kind, Some(kind));
        let mut found = Vec::new();
        while query.step().unwrap() {
            found.push(query.row().into_iter().map(shown).collect::<Vec<_>>().join(" "));
        }
        let expected: Vec<String> = [(0, 5), (10, 10), (20, 15), (30, 20), (40, 25)]
            .iter()
            .map(|(at, n)| format!("2023-01-01T00:00:{at:02}.000000000Z {n}"))
            .collect();
        assert_eq!(found, expected);
    }
}

/// `t`, and a table of precise times.
struct WithPrecise {
    t: Arc<dyn Tables>,
    precise: One,
}

impl Tables for WithPrecise {
    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError> {
        if name == "precise" { Ok(Some(Arc::clone(&self.precise.table))) } else { self.t.find(name) }
    }

    fn scan(&self, table: &Arc<Table>, conditions: &[Condition], order: Order, columns: u64) -> Result<Box<dyn Scan>, SourceError> {
        let of: &dyn Tables = if table.name == "precise" { &self.precise } else { &*self.t };
        of.scan(table, conditions, order, columns)
    }
}

#[test]
fn a_subquery_of_a_table_of_precise_times_leaves_the_steps_as_they_are() {
    let column = |name: &str, kind| Column { name: name.to_owned(), kind, is_not_null: false };
    let columns = vec![column("at", ColumnType::NanoTimestamp), column("n", ColumnType::Integer)];
    let table = Table { name: "precise".to_owned(), columns, schema: None, key_len: 1, indexed: Vec::new(), lookup: None };
    let rows = GAP.iter().map(|(_, n)| vec![Value::Time(Moment { ms: START_MS, ns: *n as u32 }), Value::Integer(*n)]).collect();
    let precise = One { table: Arc::new(table), rows };
    let tables: Arc<dyn Tables> = Arc::new(WithPrecise { t: tables(&GAP), precise });
    let start = "TIMESTAMP('2023-01-01T00:00:00Z')";
    let end = "TIMESTAMP('2023-01-01T00:00:50Z')";
    for (range, first) in [
        (format!("at BETWEEN {start} AND TIMESTAMP('2023-01-01T00:00:49.999Z')"), 0),
        (format!("at >= {start} AND at < {end}"), 0),
        (format!("at > TIMESTAMP('2023-01-01T00:00:09.999Z') AND at < {end}"), 10),
    ] {
        let sql = format!(
            "SELECT at, SUM(n) FROM t WHERE {range} AND n IN (SELECT n FROM precise) GROUP BY RANGE at EVERY (10, SECOND) FILL (PREVIOUS)"
        );
        let mut query = Query::prepare(&tables, &sql).unwrap();
        let mut found = Vec::new();
        while query.step().unwrap() {
            found.push(query.row().into_iter().map(shown).collect::<Vec<_>>().join(" "));
        }
        let all = [(0, 5), (10, 10), (20, 15), (30, 15), (40, 25)];
        let expected = all.iter().filter(|(at, _)| *at >= first).map(|(at, n)| format!("2023-01-01T00:00:{at:02}.000000000Z {n}"));
        assert_eq!(found, expected.collect::<Vec<_>>(), "{range}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let refused = |sql: &str| ask(&GAP, sql, &[]).unwrap_err().to_string();
    let of = |end: &str| format!("SELECT at, n FROM t WHERE {MINUTE} GROUP BY RANGE {end}");
    for (sql, why) in [
        (of("n EVERY (10, SECOND)"), "n is not"),
        (of("at EVERY (0, SECOND)"), "at least one unit"),
        (of("at EVERY (10, YEAR)"), "YEAR is no unit"),
        (of("at EVERY (10)"), "near \")\""),
        (of("at EVERY (10, SECOND) FILL (SPLINE)"), "SPLINE is no way to fill"),
        (of("at EVERY (10, SECOND, 'Mars')"), "'Mars' is no time zone"),
        (of("at EVERY (99999999999999, DAY)"), "too large"),
        (of("at EVERY (10, SECOND) what"), "near \"what\""),
        ("SELECT n FROM t WHERE n > 1 GROUP BY RANGE at EVERY (10, SECOND)".to_owned(), "needs a range of at"),
        (format!("SELECT n FROM t WHERE {MINUTE} OR n = 1 GROUP BY RANGE at EVERY (1, DAY)"), "needs a range of at"),
        ("SELECT n FROM t WHERE at > 1 GROUP BY RANGE at EVERY (10, SECOND) FILL (NULL)".to_owned(), "needs a range of at"),
        ("SELECT n FROM t GROUP BY RANGE at EVERY (10, SECOND)".to_owned(), "WHERE"),
        (format!("SELECT n FROM t, t AS u WHERE {MINUTE} GROUP BY RANGE at EVERY (1, DAY)"), "one table"),
        (format!("SELECT (SELECT 1) FROM t WHERE {MINUTE} GROUP BY RANGE at EVERY (1, DAY)"), "subqueries"),
        (format!("SELECT n FROM absent WHERE {MINUTE} GROUP BY RANGE at EVERY (1, DAY)"), "no such table: absent"),
        (format!("SELECT * FROM (SELECT n FROM t WHERE {MINUTE} GROUP BY RANGE at EVERY (1, DAY))"), "one table"),
    ] {
        let said = refused(&sql);
        assert!(said.contains(why), "{sql}: {said}");
    }
}

#[test]
fn a_plan_is_that_of_the_statement_as_it_is_written_anew() {
    let sql = "explain query plan SELECT at, AVG(x) FROM t WHERE at >= ? AND at < ? GROUP BY RANGE (at) EVERY (10, SECOND) FILL (LINEAR)";
    let bounds = [Value::Integer(START_MS), Value::Integer(START_MS + 60_000)];
    let (columns, rows) = ask(&[(1, 1)], sql, &bounds).unwrap();
    assert_eq!(columns.len(), 4, "{columns:?}");
    assert!(rows.iter().any(|row| row.contains("SCAN t ")), "{rows:?}");
}
