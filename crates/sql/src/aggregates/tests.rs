#![allow(clippy::unwrap_used)]

use super::*;
use crate::query::{Query, QueryError};
use crate::tables::{Aggregation, Column, ColumnType, Condition, Operator, Order, Scan, SourceError, Tables, Value};
use crate::testing::{Rows, rows_of};
use model::aggregate::Function;
use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef as SqlRef};
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, PoisonError};

const COLUMNS: [(&str, ColumnType); 6] = [
    ("id", ColumnType::Long),
    ("kind", ColumnType::Integer),
    ("name", ColumnType::Text),
    ("x", ColumnType::Double),
    ("b", ColumnType::Bool),
    ("bytes", ColumnType::Blob),
];

/// A table whose rows another SQLite has, which aggregates them, if it can.
struct Aggregating {
    table: Arc<Table>,
    model: Mutex<Connection>,
    can: bool,
    aggregated: AtomicUsize,
    scanned: AtomicUsize,
}

impl Aggregating {
    fn new(can: bool) -> Self {
        let column = |(name, kind): (&str, ColumnType)| Column { name: name.to_owned(), kind, is_not_null: false };
        let columns = COLUMNS.map(column).to_vec();
        let table = Table { name: "t".to_owned(), schema: None, columns, key_len: 0, indexed: Vec::new(), lookup: None };
        let model = Connection::open_in_memory().unwrap();
        let declared = COLUMNS.map(|(name, kind)| format!("{name} {}", kind.declaration())).join(",");
        model.execute_batch(&format!("CREATE TABLE t ({declared})")).unwrap();
        let mut state = 5;
        for id in 0..300 {
            let mut value = |texts: &[&str]| texts[random(&mut state, texts.len() as u64) as usize].to_owned();
            let values = [
                id.to_string(),
                value(&["NULL", "0", "1", "2", "-3", "2147483647"]),
                value(&["NULL", "''", "'a'", "'B'", "'b'", "'ä'", "'10'"]),
                value(&["NULL", "0.5", "-0.25", "3.0", "1e300", "-1e300", "0.1"]),
                value(&["NULL", "0", "1"]),
                value(&["NULL", "X''", "X'01'", "X'FF'"]),
            ];
            model.execute_batch(&format!("INSERT INTO t VALUES ({})", values.join(","))).unwrap();
        }
        Self { table: Arc::new(table), model: Mutex::new(model), can, aggregated: AtomicUsize::default(), scanned: AtomicUsize::default() }
    }

    fn rows(&self, sql: &str, conditions: &[Condition]) -> Vec<Vec<Value>> {
        let model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = model.prepare(sql).unwrap();
        let values = conditions.iter().map(|condition| match &condition.value {
            Value::Integer(value) => ToSqlOutput::from(*value),
            Value::Real(value) => ToSqlOutput::from(*value),
            Value::Text(text) => ToSqlOutput::from(text.as_str()),
            Value::Blob(bytes) => ToSqlOutput::from(bytes.as_slice()),
            _ => ToSqlOutput::Borrowed(SqlRef::Null),
        });
        rows_of(statement.query(rusqlite::params_from_iter(values)).unwrap())
    }
}

fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

impl Tables for Aggregating {
    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError> {
        Ok(name.eq_ignore_ascii_case("t").then(|| Arc::clone(&self.table)))
    }

    fn scan(&self, _: &Arc<Table>, _: &[Condition], _: Order, _: u64) -> Result<Box<dyn Scan>, SourceError> {
        self.scanned.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Rows::new(self.rows("SELECT * FROM t", &[]))))
    }

    fn aggregate(&self, _: &Arc<Table>, wanted: &Aggregation, _: &dyn Fn() -> bool) -> Result<Option<Box<dyn Scan>>, SourceError> {
        self.aggregated.fetch_add(1, Ordering::Relaxed);
        if wanted.conditions.iter().any(|condition| condition.value == Value::Text("broken".to_owned())) {
            return Err("the source is broken".into());
        }
        if !self.can {
            return Ok(None);
        }
        let name = |column: usize| COLUMNS[column].0;
        let fold = |(function, column): &(Function, usize)| match function {
            Function::Rows => "COUNT(*)".to_owned(),
            Function::Count => format!("COUNT({})", name(*column)),
            Function::Sum => format!("SUM({})", name(*column)),
            Function::Average => format!("AVG({})", name(*column)),
            Function::Least => format!("MIN({})", name(*column)),
            Function::Greatest => format!("MAX({})", name(*column)),
        };
        let groups: Vec<String> = wanted.groups.iter().map(|group| name(*group).to_owned()).collect();
        let columns: Vec<String> = groups.iter().cloned().chain(wanted.folds.iter().map(fold)).collect();
        let condition = |condition: &Condition| {
            let operator = match condition.operator {
                Operator::Equal => "=",
                Operator::Less => "<",
                Operator::LessEqual => "<=",
                Operator::Greater => ">",
                Operator::GreaterEqual => ">=",
            };
            format!("{} {operator} ?", name(condition.column))
        };
        let conditions: Vec<String> = wanted.conditions.iter().map(condition).collect();
        let mut sql = format!("SELECT {} FROM t", columns.join(","));
        if !conditions.is_empty() {
            sql += &format!(" WHERE {}", conditions.join(" AND "));
        }
        if !groups.is_empty() {
            sql += &format!(" GROUP BY {}", groups.join(","));
        }
        Ok(Some(Box::new(Rows::new(self.rows(&sql, &wanted.conditions)))))
    }
}

fn all(tables: &Arc<Aggregating>, sql: &str) -> Result<Vec<Vec<Value>>, QueryError> {
    let mut query = Query::prepare(&(Arc::clone(tables) as Arc<dyn Tables>), sql)?;
    let mut rows = Vec::new();
    while query.step()? {
        rows.push(query.row());
    }
    Ok(rows)
}

/// The same rows, and in this order if there is one: sums of real numbers may differ where they round.
fn assert_same(sql: &str, mut one: Vec<Vec<Value>>, mut other: Vec<Vec<Value>>) {
    if !sql.contains("ORDER BY") {
        let text = |row: &Vec<Value>| format!("{row:?}");
        one.sort_by_key(text);
        other.sort_by_key(text);
    }
    assert_eq!(one, other, "{sql}");
}

#[test]
fn random_statements_give_what_they_give_without_it() {
    let (able, unable) = (Arc::new(Aggregating::new(true)), Arc::new(Aggregating::new(false)));
    let mut state = 77;
    for _ in 0..1_500 {
        let mut pick = |from: &[&str]| from[random(&mut state, from.len() as u64) as usize].to_owned();
        let groups = pick(&["", "", "kind", "name", "x", "b, kind", "t.name", "bytes", "kind, name"]);
        let mut item = || {
            let function =
                pick(&["COUNT(*)", "COUNT(1)", "COUNT", "SUM", "AVG", "MIN", "MAX", "TOTAL", "COUNT(DISTINCT kind)", "ABS(SUM(kind))"]);
            if function.contains('(') || function == "TOTAL" && groups.is_empty() {
                return function.replace("TOTAL", "TOTAL(x)");
            }
            let column = pick(&[
                "id",
                "kind",
                "x",
                "b",
                "t.x",
                "\"kind\"",
                if matches!(&*function, "SUM" | "AVG" | "TOTAL") { "x" } else { "name" },
            ]);
            format!("{function}({column})")
        };
        let (mut items, having) = (vec![item(), item(), format!("{} * 2 AS twice", item())], item());
        let group_items: Vec<String> = groups.split(", ").filter(|group| !group.is_empty()).map(str::to_owned).collect();
        items.extend(group_items.iter().cloned());
        let mut term = || {
            let column = pick(&["id", "kind", "name", "x", "t.b", "bytes"]);
            let value = pick(&["0", "1", "2.5", "-3", "'a'", "'10'", "NULL", "X'01'", "1e300", "9999999999999", "ABS(-2)", "200"]);
            let other = pick(&["1", "250", "'b'"]);
            match &*pick(&["=", "<", ">=", "<=", ">", "turned", "between", "is", "in", "or", "not", "like"]) {
                "turned" => format!("{value} < {column}"),
                "between" => format!("{column} BETWEEN {value} AND {other}"),
                "is" => format!("{column} IS NOT NULL"),
                "in" => format!("{column} IN ({value}, {other})"),
                "or" => format!("({column} = {value} OR {column} = {other})"),
                "not" => format!("NOT {column} = {value}"),
                "like" => format!("{column} LIKE 'a%'"),
                operator => format!("{column} {operator} {value}"),
            }
        };
        let conditions = [term(), format!("{} AND {}", term(), term()), "1 = 0".to_owned()];
        let mut sql = format!("SELECT {} FROM t", items.join(", "));
        match random(&mut state, 8) {
            0..=2 => {}
            3..=5 => sql += &format!(" WHERE {} -- a comment\n", conditions[0]),
            6 => sql += &format!(" WHERE {}", conditions[1]),
            _ => sql += &format!(" WHERE {}", conditions[2]),
        }
        if !groups.is_empty() {
            sql += &format!(" GROUP BY {groups}");
        }
        if random(&mut state, 3) == 0 {
            sql += &format!(" HAVING {having} > 1");
        }
        if random(&mut state, 2) == 0 {
            let by: Vec<String> = (1..=items.len()).map(|at| at.to_string()).collect();
            sql += &format!(" ORDER BY {} LIMIT {}", by.join(", "), 1 + random(&mut state, 6));
        }
        let (one, other) = (all(&able, &sql), all(&unable, &sql));
        match (one, other) {
            (Ok(one), Ok(other)) => assert_same(&sql, one, other),
            (one, other) => assert_eq!(format!("{one:?}"), format!("{other:?}"), "{sql}"),
        }
    }
    let (aggregated, scanned) = (able.aggregated.load(Ordering::Relaxed), able.scanned.load(Ordering::Relaxed));
    assert!(aggregated > 300 && scanned > 300, "both ways are taken: {aggregated}, {scanned}");
}

/// Whether a statement was answered by what the table had aggregated, and by no row.
fn aggregates(sql: &str) -> bool {
    let tables = Arc::new(Aggregating::new(true));
    all(&tables, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    tables.aggregated.load(Ordering::Relaxed) == 1 && tables.scanned.load(Ordering::Relaxed) == 0
}

#[test]
fn which_statements_are_aggregated_is_known() {
    for sql in [
        "SELECT COUNT(*) FROM t",
        "select sum(x), avg(t.x) from t where kind = 1;",
        "SELECT kind, name, COUNT(*) c FROM t AS u WHERE u.x > 0.5 AND 'a' <= name AND id BETWEEN 1 AND 2 + 7 GROUP BY kind, u.name HAVING c > 1 ORDER BY SUM(b) DESC LIMIT 3",
        "SELECT kind FROM t GROUP BY kind",
        "SELECT kind, MAX(x) FROM t WHERE kind IN (1, 2) AND kind + 1 > 0 GROUP BY kind HAVING kind > 0",
        "SELECT ROUND(SUM(x) / COUNT(x), 2) * 2, CASE WHEN COUNT(*) > 3 THEN 'many' ELSE 'few' END FROM t WHERE bytes = X'01'",
        "SELECT MIN(name) AS least, MAX(bytes) FROM t HAVING COUNT(*) > 1",
        "SELECT SUM(kind) FROM t WHERE kind = NULL",
        "SELECT COUNT(*) FROM t WHERE kind > ABS(-1) -- the end",
        "SELECT kind, COUNT(*) FROM t GROUP BY kind, t.kind, \"kind\"",
        "SELECT COUNT(*)\"n\", SUM(x)'s' FROM\"t\"WHERE kind>0",
        "SELECT/*/ a comment */COUNT(*)/**/FROM t",
    ] {
        assert!(aggregates(sql), "{sql}");
    }
    for sql in [
        "SELECT id FROM t",
        "SELECT kind, x, COUNT(*) FROM t GROUP BY kind",
        "SELECT COUNT(DISTINCT kind) FROM t",
        "SELECT SUM(x + 1) FROM t",
        "SELECT SUM(name) FROM t",
        "SELECT TOTAL(x) FROM t",
        "SELECT STDDEV(x), COUNT(*) FROM t",
        "SELECT GROUP_CONCAT(name), COUNT(*) FROM t",
        "SELECT MAX(kind, id) FROM t",
        "SELECT COUNT(*) FROM t, t u",
        "SELECT COUNT(*) FROM t JOIN t u ON t.id = u.id",
        "SELECT COUNT(*) FROM (SELECT 1 FROM t)",
        "SELECT COUNT(*) FROM t UNION SELECT 1",
        "WITH u AS (SELECT 1) SELECT COUNT(*) FROM t",
        "SELECT COUNT(*) OVER () FROM t",
        "SELECT COUNT(*) FILTER (WHERE kind = 1) FROM t",
        "SELECT COUNT(*) FROM t WHERE 1 = 0",
        "SELECT COUNT(*) FROM t WHERE kind = 1 OR kind = 2",
        "SELECT COUNT(*) FROM t WHERE kind IN (1, 2)",
        "SELECT COUNT(*) FROM t WHERE kind = id",
        "SELECT COUNT(*) FROM t WHERE kind + 1 = 2",
        "SELECT COUNT(*) FROM t WHERE kind = '1'",
        "SELECT COUNT(*) FROM t WHERE name = 10",
        "SELECT COUNT(*) FROM t WHERE name = 'a' COLLATE NOCASE",
        "SELECT COUNT(*) FROM t WHERE kind <> 1",
        "SELECT COUNT(*) FROM t WHERE rowid = 1",
        "SELECT COUNT(*), MAX(oid) FROM t",
        "SELECT kind, COUNT(*) FROM t GROUP BY kind ORDER BY _rowid_",
        "SELECT kind, \"rowid\", COUNT(*) FROM t GROUP BY kind",
        "SELECT kind, t.[OID], COUNT(*) FROM t GROUP BY kind",
        "SELECT kind, t.'rowid', COUNT(*) FROM t GROUP BY kind",
        "SELECT kind, \"COUNT\"(*) FROM t GROUP BY kind",
        "SELECT [sum](x), COUNT(*) FROM t",
        "SELECT `total`(kind), kind FROM t GROUP BY kind",
        "SELECT kind, COUNT(*) FROM t GROUP BY kind HAVING \"count\"(*) > 1",
        "SELECT kind, COUNT(*) FROM t WHERE kind > \"abs\"(1) GROUP BY kind",
        "SELECT kind + 1, COUNT(*) FROM t GROUP BY kind + 1",
        "SELECT kind, COUNT(*) FROM t GROUP BY 1",
        "SELECT kind AS k, COUNT(*) FROM t GROUP BY k",
        "SELECT COUNT(*) FROM t ORDER BY x",
    ] {
        assert!(!aggregates(sql), "{sql}");
    }
}

#[test]
fn columns_and_parameters_are_those_of_the_statement_as_it_was_written() {
    let tables: Arc<dyn Tables> = Arc::new(Aggregating::new(true));
    let sql = "SELECT kind, SUM( x ), MAX(kind) + ? FROM t WHERE id < ? GROUP BY kind HAVING COUNT(*) > ? ORDER BY kind LIMIT ?";
    let mut query = Query::prepare(&tables, sql).unwrap();
    let labels: Vec<_> = query.columns().into_iter().map(|column| (column.name, column.kind)).collect();
    let label = |name: &str, kind| (name.to_owned(), kind);
    assert_eq!(labels, [label("kind", Some(ColumnType::Integer)), label("SUM( x )", None), label("MAX(kind) + ?", None)]);
    query.bind(&[1, 100, 2, 2].map(Value::Integer)).unwrap();
    let mut values = Vec::new();
    while query.step().unwrap() {
        values.push((query.value(0).to_value(), query.value(2).to_value()));
    }
    assert_eq!(values, [(Value::Integer(-3), Value::Integer(-2)), (Value::Integer(0), Value::Integer(1))]);
}

#[test]
fn what_the_source_says_is_what_the_statement_says() {
    let tables = Arc::new(Aggregating::new(true));
    let failed = all(&tables, "SELECT COUNT(*) FROM t WHERE name = 'broken'");
    assert!(matches!(failed, Err(QueryError::Source(error)) if error.to_string() == "the source is broken"));
    let overflowing = "SELECT SUM(id) * 9223372036854775807 * 2, ABS(-9223372036854775807 - MAX(b)) FROM t";
    assert!(matches!(all(&tables, overflowing), Err(QueryError::Computation(message)) if message == "integer overflow"));
}

#[test]
fn what_is_written_anew_means_the_same() {
    let (able, unable) = (Arc::new(Aggregating::new(true)), Arc::new(Aggregating::new(false)));
    for sql in [
        "SELECT COUNT(*)\"n\" FROM t",
        "SELECT SUM(kind)'s', COUNT(*)n FROM\"t\"WHERE kind>0",
        "SELECT name, COUNT(*) FROM t GROUP BY name HAVING name = COUNT(*)",
        "SELECT name, COUNT(*) FROM t GROUP BY name HAVING COUNT(*) > name ORDER BY name",
        "SELECT name, CASE WHEN name = MIN(b) + 10 THEN 1 WHEN name < SUM(kind) THEN 2 END, name IN (COUNT(*)) FROM t GROUP BY name",
        "SELECT bytes, MAX(name) = bytes, - COUNT(*), 1 - -SUM(kind) FROM t GROUP BY bytes ORDER BY COUNT(*), bytes",
        "SELECT/*/ COUNT(*) */COUNT(x)/**/FROM t",
        "SELECT kind, COUNT(*) FROM t GROUP BY kind, kind",
        "SELECT kind, \"COUNT\"(*) FROM t GROUP BY kind",
        "SELECT [sum](x) > 0, `total`(kind), COUNT(*) FROM t",
    ] {
        assert_same(sql, all(&able, sql).unwrap(), all(&unable, sql).unwrap());
    }
}

#[test]
fn affinities_of_aggregates_are_those_of_functions() {
    let tables = Arc::new(Aggregating::new(true));
    let count = |end: &i64| all(&tables, &format!("SELECT COUNT(*) FROM t WHERE name = '10' AND id < {end}")).unwrap();
    let end = (0..300).find(|end| count(end) == [[Value::Integer(10)]]).unwrap();
    // A column of texts makes one of what a function gives.
    let of = format!("FROM t WHERE name = '10' AND id < {end} GROUP BY name");
    let row = [[Value::Text("10".to_owned()), Value::Integer(1)]];
    assert_eq!(all(&tables, &format!("SELECT name, name = COUNT(*) {of}")).unwrap(), row);
    assert_eq!(all(&tables, &format!("SELECT name, CASE WHEN name = COUNT(*) THEN 1 END {of} HAVING name = COUNT(*)")).unwrap(), row);
    assert_eq!(tables.scanned.load(Ordering::Relaxed), 0);
}
