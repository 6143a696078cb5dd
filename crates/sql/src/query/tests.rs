#![allow(clippy::unwrap_used)]

use super::*;
use crate::tables::{Column, Condition, Operator, Order, Scan, Table};
use rusqlite::types::ValueRef as SqlRef;
use std::sync::atomic::AtomicUsize;

/// Tables in memory.
struct Memory {
    tables: Vec<(Arc<Table>, Vec<Vec<Value>>)>,
    /// Whether scans do as they are told, or give all rows.
    obeys: bool,
    scans: AtomicUsize,
}

struct Rows(std::vec::IntoIter<Vec<Value>>, Vec<Value>);

impl Scan for Rows {
    fn advance(&mut self) -> Result<bool, SourceError> {
        let next = self.0.next();
        let is_there = next.is_some();
        self.1 = next.unwrap_or_default();
        Ok(is_there)
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        self.1[column].as_ref()
    }
}

fn fulfils(row: &[Value], Condition { column, operator, value }: &Condition) -> bool {
    let order = match (&row[*column], value) {
        (Value::Integer(one), Value::Integer(other)) => one.cmp(other),
        (Value::Text(one), Value::Text(other)) => one.cmp(other),
        _ => return false,
    };
    match operator {
        Operator::Equal => order.is_eq(),
        Operator::Less => order.is_lt(),
        Operator::LessEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterEqual => order.is_ge(),
    }
}

impl Tables for Memory {
    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError> {
        if name == "broken" {
            return Err("the source is broken".into());
        }
        Ok(self.tables.iter().map(|(table, _)| table).find(|table| table.name.eq_ignore_ascii_case(name)).cloned())
    }

    fn scan(&self, table: &Arc<Table>, conditions: &[Condition], order: Order, _: u64) -> Result<Box<dyn Scan>, SourceError> {
        self.scans.fetch_add(1, Ordering::Relaxed);
        let rows = &self.tables.iter().find(|(known, _)| Arc::ptr_eq(known, table)).unwrap().1;
        let is_wanted = |row: &&Vec<Value>| !self.obeys || conditions.iter().all(|condition| fulfils(row, condition));
        let mut rows: Vec<_> = rows.iter().filter(is_wanted).cloned().collect();
        if order == Order::KeyDescending {
            rows.reverse();
        }
        Ok(Box::new(Rows(rows.into_iter(), Vec::new())))
    }
}

fn table(name: &str, key_len: usize, indexed: &[usize], columns: &[(&str, ColumnType)]) -> Arc<Table> {
    let column = |(name, kind): &(&str, ColumnType)| Column { name: (*name).to_owned(), kind: *kind, is_not_null: false };
    Arc::new(Table { name: name.to_owned(), columns: columns.iter().map(column).collect(), key_len, indexed: indexed.to_vec() })
}

/// A number that follows from the others.
fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// Two tables of some rows, in the order of their keys.
fn some_tables(obeys: bool) -> Memory {
    let mut state = 7;
    let one = table(
        "one",
        1,
        &[2],
        &[("id", ColumnType::Long), ("name", ColumnType::Text), ("n", ColumnType::Integer), ("v", ColumnType::Double)],
    );
    let two = table("two", 2, &[], &[("a", ColumnType::Text), ("b", ColumnType::Integer), ("n", ColumnType::Long)]);
    let mut value = |kind: u64| match (random(&mut state, 8), kind) {
        (0, _) => Value::Null,
        (some, 0) => Value::Integer(some as i64 - 3),
        (some, 1) => Value::Text(["", "a", "B", "b", "größe", "1", "10"][some as usize - 1].to_owned()),
        (some, _) => Value::Real(some as f64 / 2.0),
    };
    let first = (0..60).map(|id| vec![Value::Integer(id), value(1), value(0), value(2)]).collect();
    let second = (0..40).map(|id| vec![Value::Text(format!("k{:02}", id / 4)), Value::Integer(id), value(0)]).collect();
    Memory { tables: vec![(one, first), (two, second)], obeys, scans: AtomicUsize::new(0) }
}

fn all(tables: &Arc<dyn Tables>, sql: &str) -> Result<Vec<Vec<Value>>, QueryError> {
    let mut query = Query::prepare(tables, sql)?;
    let mut rows = Vec::new();
    while query.step()? {
        rows.push(query.row());
    }
    assert!(!query.step()?, "it stays at its end");
    Ok(rows)
}

/// A SQLite that has the rows itself.
fn model(memory: &Memory) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    for (table, rows) in &memory.tables {
        let columns: Vec<String> = table.columns.iter().map(|column| format!("{} {}", column.name, column.kind.declaration())).collect();
        connection.execute_batch(&format!("CREATE TABLE {} ({})", table.name, columns.join(","))).unwrap();
        for row in rows {
            let values: Vec<String> = row
                .iter()
                .map(|value| match value {
                    Value::Integer(value) => value.to_string(),
                    Value::Real(value) => format!("{value:?}"),
                    Value::Text(text) => format!("'{text}'"),
                    _ => "NULL".to_owned(),
                })
                .collect();
            connection.execute_batch(&format!("INSERT INTO {} VALUES ({})", table.name, values.join(","))).unwrap();
        }
    }
    connection
}

fn expected(model: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut statement = model.prepare(sql).unwrap();
    let columns = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut all = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let value = |column| match row.get_ref(column).unwrap() {
            SqlRef::Null => Value::Null,
            SqlRef::Integer(value) => Value::Integer(value),
            SqlRef::Real(value) => Value::Real(value),
            SqlRef::Text(text) => Value::Text(std::str::from_utf8(text).unwrap().to_owned()),
            SqlRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
        };
        all.push((0..columns).map(value).collect());
    }
    all
}

#[test]
fn queries_find_what_sqlite_finds_in_tables_of_its_own() {
    let mut state = 42;
    for obeys in [true, false] {
        let memory = some_tables(obeys);
        let model = model(&memory);
        let tables: Arc<dyn Tables> = Arc::new(memory);
        for _ in 0..400 {
            let mut pick = |from: &[&str]| from[random(&mut state, from.len() as u64) as usize].to_owned();
            let mut condition = || {
                let (column, operator) = (pick(&["x.id", "x.name", "x.n", "x.v"]), pick(&["=", "<", "<=", ">", ">=", "<>", "IS", "IN"]));
                let value = pick(&["0", "3", "59", "2.5", "-1", "'a'", "'B'", "'10'", "NULL", "1e300", "9999999999999"]);
                if operator == "IN" { format!("{column} IN ({value}, 2, 'b')") } else { format!("{column} {operator} {value}") }
            };
            let conditions = [condition(), condition(), condition()];
            let joined = pick(&["AND", "OR"]);
            let filter = format!("{} {joined} {} AND {}", conditions[0], conditions[1], conditions[2]);
            let rest = pick(&["", " LIMIT 3", " LIMIT 2 OFFSET 2"]);
            let sql = match random(&mut state, 4) {
                0 => format!("SELECT * FROM one x WHERE {filter} ORDER BY id{rest}"),
                1 => format!("SELECT id, v FROM one x WHERE {filter} ORDER BY id DESC{rest}"),
                2 => format!("SELECT COUNT(*), MIN(n), MAX(name), SUM(v) FROM one x WHERE {filter}"),
                _ => format!("SELECT x.id, two.b FROM one x JOIN two ON two.n = x.n WHERE {filter} ORDER BY x.id, two.b{rest}"),
            };
            assert_eq!(all(&tables, &sql).unwrap(), expected(&model, &sql), "{sql}");
        }
        for sql in [
            "SELECT * FROM two ORDER BY a, b",
            "SELECT * FROM two ORDER BY a DESC, b DESC",
            "SELECT * FROM two WHERE a = 'k03' ORDER BY b DESC",
        ] {
            assert_eq!(all(&tables, sql).unwrap(), expected(&model, sql), "{sql}");
        }
    }
}

#[test]
fn a_join_on_a_column_without_an_index_reads_a_table_a_few_times() {
    let memory = Arc::new(some_tables(true));
    let tables: Arc<dyn Tables> = Arc::clone(&memory) as Arc<dyn Tables>;
    all(&tables, "SELECT * FROM one x CROSS JOIN two y WHERE y.n = x.id").unwrap();
    let scans = memory.scans.load(Ordering::Relaxed);
    assert!(scans <= 5, "{scans} scans for 60 rows");
}

#[test]
fn what_does_not_read_is_refused() {
    let tables: Arc<dyn Tables> = Arc::new(some_tables(true));
    let wrong = [
        "",
        " ; ",
        "SELECT",
        "SELECT * FROM nowhere",
        "DELETE FROM one",
        "INSERT INTO one VALUES (1,2,3,4)",
        "CREATE TABLE t(a)",
        "PRAGMA user_version",
        "ATTACH 'x' AS y",
        "SELECT load_extension('x')",
        "SELECT * FROM sqlite_schema",
        "SELECT 1; SELECT 2",
        "SELECT 1\0",
        "VACUUM",
        "BEGIN",
        "SELECT * FROM pragma_database_list",
        "CREATE TEMP TABLE t AS SELECT 1",
        "SELECT zz FROM one",
    ];
    for sql in wrong {
        assert!(matches!(all(&tables, sql), Err(QueryError::Statement(_))), "{sql:?}");
    }
    assert!(matches!(all(&tables, "SELECT * FROM broken"), Err(QueryError::Source(error)) if error.to_string() == "the source is broken"));
    assert!(matches!(all(&tables, "SELECT TIMESTAMP('x')"), Err(QueryError::Computation(_))));
}

#[test]
fn a_query_is_interrupted() {
    let tables: Arc<dyn Tables> = Arc::new(some_tables(true));
    let sql = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT MAX(n) FROM c";
    let mut query = Query::prepare(&tables, sql).unwrap();
    let interrupter = query.interrupter();
    let thread = std::thread::spawn(move || interrupter.interrupt());
    assert!(matches!(query.step(), Err(QueryError::Interrupted)));
    thread.join().unwrap();
    assert!(matches!(query.step(), Err(QueryError::Interrupted)));
}

#[test]
fn parameters_and_columns_are_told() {
    let tables: Arc<dyn Tables> = Arc::new(some_tables(true));
    let mut query = Query::prepare(&tables, "SELECT id, name AS label, ? + 1 FROM one WHERE id = ?").unwrap();
    assert_eq!(query.parameters(), 2);
    assert!(query.bind(&[Value::Null]).is_err());
    query.bind(&[Value::Integer(1), Value::Integer(5)]).unwrap();
    let columns = query.columns();
    assert_eq!((columns[0].kind, columns[1].name.as_str(), columns[2].kind), (Some(ColumnType::Long), "label", None));
    assert!(query.step().unwrap());
    assert_eq!((query.value(0), query.value(2)), (ValueRef::Integer(5), ValueRef::Integer(2)));
    assert!(!query.step().unwrap());
}
