//! What a statement calls as a table's column is called, which is another thing.

use super::*;

/// The tables, and views over them.
struct Viewed {
    tables: Arc<dyn Tables>,
    views: Vec<(&'static str, &'static str)>,
    dialect: Dialect,
}

impl Tables for Viewed {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError> {
        self.tables.find(name)
    }

    fn view(&self, name: &str) -> Result<Option<String>, SourceError> {
        Ok(self.views.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, text)| (*text).to_owned()))
    }

    fn scan(&self, table: &Arc<Table>, conditions: &[Condition], order: Order, columns: u64) -> Result<Box<dyn Scan>, SourceError> {
        self.tables.scan(table, conditions, order, columns)
    }
}

/// The first column's type, and the rows.
fn of_views(views: &[(&'static str, &'static str)], dialect: Dialect, sql: &str) -> (Option<ColumnType>, Vec<Vec<Value>>) {
    let tables: Arc<dyn Tables> = Arc::new(Viewed { tables: tables(), views: views.to_vec(), dialect });
    let mut query = Query::prepare(&tables, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let (kind, mut rows) = (query.columns()[0].kind, Vec::new());
    while query.step().unwrap() {
        rows.push(query.row());
    }
    (kind, rows)
}

#[test]
fn an_alias_has_not_the_type_of_a_column_of_its_name() {
    assert_all(&[
        ("id FROM (SELECT id, id AS active FROM t) WHERE active || '' = 'true'", ""),
        ("id FROM t WHERE id IN (SELECT id FROM (SELECT id, id AS active FROM t) WHERE active || '' = 'true')", ""),
        ("(SELECT 'n' || active FROM (SELECT COUNT(*) + 5 AS active FROM t))", "n8"),
        ("'n' || active FROM (SELECT COUNT(*) + 5 active FROM t)", "n8"),
        ("'y=' || ts FROM (SELECT EXTRACT(YEAR, ts) AS ts FROM t WHERE id = 1)", "y=2018"),
        ("LENGTH(active) FROM (SELECT COUNT(*) AS active FROM t)", "1"),
        ("TYPEOF(ts) FROM (SELECT 'x' AS ts FROM t LIMIT 1)", "STRING"),
        ("age, id FROM (SELECT id, CAST(age AS STRING) AS age FROM employees) WHERE id = 1", "59|1"),
        ("ROUND(age, 1), ROUND(age), ABS(age) FROM (SELECT age / 2.0 AS age FROM employees WHERE id = 1)", "29.5|30.0|29.5"),
        ("'n' || w FROM (SELECT active AS w FROM (SELECT COUNT(*) AS active FROM t))", "n3"),
        ("'n' || x FROM (SELECT w AS x FROM (SELECT v AS w FROM (SELECT active AS v FROM (SELECT COUNT(*) AS active FROM t))))", "n3"),
        // A table's own column has its type, whatever else is called so.
        ("ts FROM (SELECT CAST(ts AS STRING) AS ts FROM t WHERE id = 1)", "2018-12-01T10:30:00.000Z"),
        ("ts FROM (SELECT ts || '' AS ts FROM t WHERE id = 1)", "2018-12-01T10:30:00.000Z"),
        ("active || ts AS ts, ROUND(id) AS id FROM t WHERE id = 1", "true2018-12-01T10:30:00.000Z|1"),
    ]);
    for (sql, expected) in [
        ("WITH c AS (SELECT COUNT(*) AS active FROM t) SELECT 'n' || active FROM c", "n3"),
        ("WITH c(active) AS (SELECT COUNT(*) FROM t) SELECT 'n' || c.active FROM c", "n3"),
        ("WITH employees AS (SELECT id, COUNT(*) AS active FROM t) SELECT 'n' || active FROM employees", "n3"),
    ] {
        assert_eq!(rows(sql, &[]).unwrap(), expected, "{sql}");
    }
    assert_eq!(type_of("SELECT ts FROM (SELECT EXTRACT('YEAR', ts) AS ts FROM t)"), None);
    assert_eq!(type_of("SELECT MAX(ts) AS ts FROM t"), Some(ColumnType::Timestamp));
    assert_eq!(type_of("SELECT MAX(ts) FROM (SELECT ts AS ts FROM t)"), Some(ColumnType::Timestamp));
}

#[test]
fn an_alias_of_a_view_has_not_the_type_of_a_column_of_its_name() {
    let views = [
        ("aged", "SELECT id, CAST(age AS STRING) AS age FROM employees"),
        ("years", "SELECT id, EXTRACT('YEAR', ts) AS ts FROM t"),
        ("counted", "SELECT COUNT(*) AS active FROM t"),
        ("over", "SELECT active AS w FROM counted"),
        ("texts", "SELECT id, CAST(ts AS STRING) AS ts FROM t"),
    ];
    let text = |text: &str| Value::Text(text.to_owned());
    for (sql, kind, expected) in [
        ("SELECT age FROM aged WHERE id = 1", None, text("59")),
        ("SELECT ts FROM years WHERE id = 1", None, Value::Integer(2018)),
        ("SELECT 'y=' || ts FROM years WHERE id = 1", Some(ColumnType::Text), text("y=2018")),
        ("SELECT 'n' || active FROM counted", Some(ColumnType::Text), text("n3")),
        ("SELECT 'n' || w FROM over", Some(ColumnType::Text), text("n3")),
        ("SELECT ts FROM texts WHERE id = 1", None, text("2018-12-01T10:30:00.000Z")),
    ] {
        let (found, rows) = of_views(&views, Dialect::GridDb, sql);
        assert_eq!((found.filter(|_| kind.is_some()), rows), (kind, vec![vec![expected]]), "{sql}: {found:?}");
        assert!(found.is_none_or(|found| found == ColumnType::Text || found == ColumnType::Long), "{sql}: {found:?}");
    }
    for (sql, expected) in [
        ("SELECT ts FROM (SELECT EXTRACT('YEAR', ts) AS ts FROM t WHERE id = 1)", Value::Integer(2018)),
        ("SELECT age FROM (SELECT age || 'x' AS age FROM employees WHERE id = 1)", text("59x")),
    ] {
        let (found, rows) = of_views(&[], Dialect::Plain, sql);
        assert_eq!((found, rows), (None, vec![vec![expected]]), "{sql}");
    }
}

#[test]
fn what_may_be_a_text_compares_with_texts() {
    assert_all(&[
        ("id FROM (SELECT id, CAST(age AS STRING) AS age FROM employees) WHERE NULLIF(age, '') = '59'", "1"),
        ("MAX(age) FROM (SELECT CAST(age AS STRING) AS age FROM employees) HAVING MAX(age) > '5'", "59"),
        ("id FROM (SELECT id, CAST(age AS STRING) AS age FROM employees) WHERE CASE WHEN id = 1 THEN age END = '59'", "1"),
        ("id FROM (SELECT id, CAST(age AS STRING) AS age FROM employees) WHERE IIF(id = 1, age, NULL) = '59'", "1"),
        ("id FROM (SELECT id, CAST(age AS STRING) AS age FROM employees) WHERE '59' = (SELECT age)", "1"),
        ("id FROM (SELECT id, CAST(age AS STRING) AS age FROM employees) WHERE '59' IN (SELECT age)", "1"),
    ]);
    assert_refused(
        &[
            "MAX(age) FROM employees HAVING MAX(age) > '5'",
            "1 FROM employees WHERE NULLIF(age, 1) = '5'",
            "1 FROM employees WHERE CASE WHEN id = 1 THEN age END = '59'",
            "1 FROM employees WHERE '59' = (SELECT age FROM employees)",
            "1 FROM employees WHERE '59' IN (SELECT age FROM employees)",
        ],
        "is not compared with",
    );
}

#[test]
fn parameters_have_numbers_that_sqlite_has() {
    for sql in ["SELECT ?18446744073709551615, ?", "SELECT ?0, ?", "SELECT id FROM t WHERE id = ?0", "SELECT ?32767 = id FROM t"] {
        let refused = Query::prepare(&tables(), sql).map(|_| ());
        assert!(matches!(refused, Err(QueryError::Statement(_))), "{sql}: {refused:?}");
    }
    assert_eq!(rows("SELECT ?2, ?", &[Value::Integer(1), Value::Integer(2), Value::Integer(3)]).unwrap(), "2|3");
}

#[test]
fn what_a_long_statement_names_is_found_as_it_is_written() {
    let views = [("counted", "SELECT COUNT(*) AS active FROM t"), ("over", "SELECT active AS w FROM counted")];
    let long = format!("/*{}*/", "x".repeat(10_000));
    let sql = format!("SELECT 'n' || w, CAST(id AS STRING), 8 / id {long} FROM over, employees WHERE id = 4");
    let text = |text: &str| Value::Text(text.to_owned());
    assert_eq!(of_views(&views, Dialect::GridDb, &sql).1, [[text("n3"), text("4"), Value::Integer(2)]]);
    // SQLite does not take these as they are written.
    let sql = format!("SELECT GROUP_CONCAT(DISTINCT active, '-'), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY t.id) {long} FROM t, over");
    assert_eq!(of_views(&views, Dialect::GridDb, &sql).1, [[text("1-0"), Value::Real(2.0)]]);
    let missing = rows(&format!("SELECT 1 {long} FROM t, nobody"), &[]);
    assert!(matches!(&missing, Err(QueryError::Statement(message)) if message == "no such table: nobody"), "{missing:?}");
}
