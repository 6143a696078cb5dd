#![allow(clippy::unwrap_used)]

mod griddb;
mod precise;
mod views;

use super::*;
use crate::tables::{Column, Condition, Dialect, Lookup, Operator, Order, RowName, Scan, SourceError, Table};
use crate::testing::{Rows, rows_of};
use rusqlite::Connection;
use std::sync::atomic::AtomicUsize;

/// Tables in memory.
struct Memory {
    tables: Vec<(Arc<Table>, Vec<Vec<Value>>)>,
    /// Whether scans do as they are told, or give all rows.
    obeys: bool,
    scans: AtomicUsize,
}

fn fulfils(row: &[Value], Condition { column, operator, value }: &Condition) -> bool {
    let order = match (&row[*column], value) {
        (Value::Integer(one), Value::Integer(other)) => one.cmp(other),
        (Value::Text(one), Value::Text(other)) => one.cmp(other),
        (Value::Blob(one), Value::Blob(other)) => one.cmp(other),
        (Value::Time(one), Value::Time(other)) => one.cmp(other),
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
        Ok(Box::new(Rows::new(rows)))
    }
}

fn table(name: &str, key_len: usize, indexed: &[usize], columns: &[(&str, ColumnType)]) -> Arc<Table> {
    let column = |(name, kind): &(&str, ColumnType)| Column { name: (*name).to_owned(), kind: *kind, is_not_null: false };
    Arc::new(Table {
        name: name.to_owned(),
        columns: columns.iter().map(column).collect(),
        schema: None,
        key_len,
        indexed: indexed.to_vec(),
        lookup: None,
    })
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
    // NULL is its least value, and ours the largest: `expressions` has tests of that.
    let sql = expressions::rewrite(sql, &[], &[], Dialect::Plain).unwrap().sql;
    let mut statement = model.prepare(&sql).unwrap();
    rows_of(statement.query([]).unwrap())
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
                let value = pick(&["0", "3", "59", "2.5", "4.0", "-1", "'a'", "'B'", "'10'", "NULL", "1e300", "9999999999999"]);
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

/// Tables of schemas, those of one of which need not be named with it. Rows have bytes of their own, and are found by two columns together.
struct InSchemas(Memory);

struct NamedRows(Box<dyn Scan>, Vec<u8>);

impl Scan for NamedRows {
    fn advance(&mut self) -> Result<bool, SourceError> {
        let is_there = self.0.advance()?;
        if is_there {
            self.1 = format!("{:?}{:?}", self.0.value(0), self.0.value(1)).into_bytes();
        }
        Ok(is_there)
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        self.0.value(column)
    }

    fn row(&self) -> RowName<'_> {
        RowName::Bytes(&self.1)
    }
}

impl InSchemas {
    fn new(schemas: &[&str]) -> Self {
        let of_schema = |(number, schema): (usize, &&str)| {
            let columns = ["p", "q", "n"].map(|name| Column { name: name.to_owned(), kind: ColumnType::Long, is_not_null: false });
            let lookup = Some(Lookup { together: vec![0, 1], then: Vec::new() });
            let (name, columns, schema) = ("t".to_owned(), columns.to_vec(), Some((*schema).to_owned()));
            let table = Arc::new(Table { name, schema, columns, key_len: 0, indexed: Vec::new(), lookup });
            let rows = (0..=number as i64 + 6).map(|p| vec![Value::Integer(p), Value::Integer(p % 3), Value::Integer(p % 2)]).collect();
            (table, rows)
        };
        Self(Memory { tables: schemas.iter().enumerate().map(of_schema).collect(), obeys: true, scans: AtomicUsize::new(0) })
    }
}

impl Tables for InSchemas {
    fn times(&self) -> Times {
        Times::Texts
    }

    fn at_hand(&self) -> Result<Vec<Arc<Table>>, SourceError> {
        let tables = self.0.tables.iter().map(|(table, _)| table);
        Ok(tables.filter(|table| table.schema.as_deref() == Some(Table::MAIN)).cloned().collect())
    }

    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError> {
        let is_it = |table: &&Arc<Table>| table.schema.as_ref().is_some_and(|schema| format!("{schema}.{}", table.name) == name);
        Ok(self.0.tables.iter().map(|(table, _)| table).find(is_it).cloned())
    }

    fn scan(&self, table: &Arc<Table>, conditions: &[Condition], order: Order, columns: u64) -> Result<Box<dyn Scan>, SourceError> {
        Ok(Box::new(NamedRows(self.0.scan(table, conditions, order, columns)?, Vec::new())))
    }
}

#[test]
fn tables_of_one_name_are_those_of_their_schemas() {
    let tables: Arc<dyn Tables> = Arc::new(InSchemas::new(&["a", "main", "b", "with \"quotes\""]));
    let row = |sql: &str| all(&tables, sql).unwrap().remove(0);
    let integers = |numbers: &[i64]| numbers.iter().copied().map(Value::Integer).collect::<Vec<_>>();
    let counts = "SELECT (SELECT COUNT(*) FROM b.t), (SELECT COUNT(*) FROM t), (SELECT COUNT(*) FROM a.t), (SELECT COUNT(*) FROM main.t)";
    assert_eq!(row(counts), integers(&[9, 8, 7, 8]));
    assert_eq!(row("SELECT COUNT(*), SUM(b.t.p) FROM a.t JOIN b.t ON a.t.p = b.t.p AND a.t.q = b.t.q"), integers(&[7, 21]));
    assert_eq!(row("SELECT COUNT(*) FROM \"with \"\"quotes\"\"\".t"), integers(&[10]));
    assert_eq!(row("WITH t AS (SELECT 1 AS x FROM a.t) SELECT COUNT(*), MAX(x) FROM t"), integers(&[7, 1]));
    for wrong in ["SELECT * FROM c.t", "SELECT * FROM a.u", "SELECT * FROM u", "SELECT * FROM temp.t", "SELECT * FROM a.sqlite_schema"] {
        assert!(matches!(all(&tables, wrong), Err(QueryError::Statement(_))), "{wrong}");
    }
    let names: Vec<String> = (0..=crate::schemas::SCHEMAS_MAX).map(|number| format!("s{number}")).collect();
    let many: Arc<dyn Tables> = Arc::new(InSchemas::new(&names.iter().map(String::as_str).collect::<Vec<_>>()));
    let of = |names: &[String]| {
        format!("SELECT COUNT(*) FROM {}", names.iter().map(|name| format!("{name}.t {name}")).collect::<Vec<_>>().join(","))
    };
    assert!(matches!(all(&many, &of(&names)), Err(QueryError::Statement(message)) if message.contains("at most 10 schemas")));
    assert!(all(&many, &format!("{} LIMIT 0", of(&names[1..]))).is_ok());
}

#[test]
fn rows_with_bytes_of_their_own_are_known_again() {
    let memory = InSchemas::new(&["a"]);
    let model = Connection::open_in_memory().unwrap();
    model.execute_batch("CREATE TABLE t (p BIGINT, q BIGINT, n BIGINT)").unwrap();
    for row in &memory.0.tables[0].1 {
        let [Value::Integer(p), Value::Integer(q), Value::Integer(n)] = row[..] else { unreachable!("three integers") };
        model.execute_batch(&format!("INSERT INTO t VALUES ({p},{q},{n})")).unwrap();
    }
    let tables: Arc<dyn Tables> = Arc::new(memory);
    for filter in [
        "(p = 3 AND q = 0) OR (p = 4 AND q = 1) OR (p = 3 AND q IN (0, 1))",
        "p = 3 AND q IN (0, 1, 2)",
        "p IN (1, 2, 3, 3.0) AND q = 1",
        "p = 5.0 AND q = 2.0",
        "(p = 2 AND q = 2) OR n = 0",
        "p = 2",
        "q = 1 AND p > 3",
    ] {
        let sql = format!("SELECT p, q, n FROM a.t WHERE {filter} ORDER BY 1");
        assert_eq!(all(&tables, &sql).unwrap(), expected(&model, &sql.replace("a.t", "t")), "{filter}");
    }
    let joined = "SELECT COUNT(*), SUM(y.p) FROM a.t x CROSS JOIN a.t y WHERE (y.p = x.p AND y.q = x.q) OR (y.n = x.n AND y.n = 1)";
    assert_eq!(all(&tables, joined).unwrap(), expected(&model, &joined.replace("a.t", "t")));
}

#[test]
fn times_are_texts_where_columns_have_texts() {
    let tables: Arc<dyn Tables> = Arc::new(InSchemas::new(&["a"]));
    let sql = "SELECT TIMESTAMP_ADD('DAY', '2024-02-28T12:00:00Z', 1), TIMESTAMP_TRUNC('MONTH', '2024-02-28'), TO_EPOCH_MS('1970-01-02'), \
        NOW() > '2020-01-01', TO_TIMESTAMP_MS(1), TIMESTAMP(NULL)";
    let text = |text: &str| Value::Text(text.to_owned());
    let (added, cut, first) = (text("2024-02-29T12:00:00.000Z"), text("2024-02-01T00:00:00.000Z"), text("1970-01-01T00:00:00.001Z"));
    assert_eq!(all(&tables, sql).unwrap(), [[added, cut, Value::Integer(86_400_000), Value::Integer(1), first, Value::Null]]);
}

#[test]
fn bytes_are_compared_with_bytes_alone() {
    let columns = &[("id", ColumnType::Blob), ("b", ColumnType::Blob)];
    let row = |number: u8| vec![Value::Blob(vec![number]), Value::Blob(vec![number % 3])];
    let memory = Memory { tables: vec![(table("t", 1, &[], columns), (0..9).map(row).collect())], obeys: true, scans: AtomicUsize::new(0) };
    let tables: Arc<dyn Tables> = Arc::new(memory);
    let count = |filter: &str| all(&tables, &format!("SELECT COUNT(*) FROM t x WHERE {filter}")).unwrap().remove(0).remove(0);
    for (filter, expected) in [
        ("id = X'05'", 1),
        ("id >= X'05'", 4),
        ("id = '5'", 0),
        ("id = 5", 0),
        ("b = X'01' OR id = X'02'", 4),
        ("(SELECT COUNT(*) FROM t y WHERE y.b = x.b) = 3", 9),
    ] {
        assert_eq!(count(filter), Value::Integer(expected), "{filter}");
    }
}
