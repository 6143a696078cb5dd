//! Views: texts that the source of tables has.

use super::*;
use crate::views::{EXPANSIONS_MAX, VIEWS_MAX};
use std::collections::BTreeMap;

struct WithViews {
    memory: Memory,
    views: BTreeMap<String, String>,
}

impl Tables for WithViews {
    fn find(&self, name: &str) -> Result<Option<Arc<Table>>, SourceError> {
        self.memory.find(name)
    }

    fn view(&self, name: &str) -> Result<Option<String>, SourceError> {
        Ok(self.views.get(&name.to_ascii_lowercase()).cloned())
    }

    fn scan(&self, table: &Arc<Table>, conditions: &[Condition], order: Order, columns: u64) -> Result<Box<dyn Scan>, SourceError> {
        self.memory.scan(table, conditions, order, columns)
    }
}

fn with_views(views: &[(&str, &str)]) -> Arc<dyn Tables> {
    let views = views.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    Arc::new(WithViews { memory: some_tables(true), views })
}

fn refusal(tables: &Arc<dyn Tables>, sql: &str) -> String {
    match all(tables, sql) {
        Err(QueryError::Statement(message)) => message,
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn views_give_what_their_selects_give() {
    let tables = with_views(&[
        ("few", "SELECT id, name FROM one WHERE id < 7"),
        ("fewer", "SELECT f.id AS id, f.name AS title, t.b FROM \"FEW\" f JOIN two t ON t.b = f.id WHERE f.id > 2"),
        ("counted", "SELECT name, COUNT(*) AS n, SUM(ABS(id)) AS s FROM one GROUP BY name -- each"),
        ("with v", "WITH x AS (SELECT 1 AS a UNION ALL SELECT 2) SELECT a FROM x"),
        ("one", "SELECT 'a table of the name comes first'"),
    ]);
    let model = model(&some_tables(true));
    model
        .execute_batch(
            "CREATE VIEW few AS SELECT id, name FROM one WHERE id < 7;
             CREATE VIEW fewer AS SELECT f.id AS id, f.name AS title, t.b FROM few f JOIN two t ON t.b = f.id WHERE f.id > 2;
             CREATE VIEW counted AS SELECT name, COUNT(*) AS n, SUM(ABS(id)) AS s FROM one GROUP BY name;
             CREATE VIEW \"with v\" AS WITH x AS (SELECT 1 AS a UNION ALL SELECT 2) SELECT a FROM x",
        )
        .unwrap();
    for sql in [
        "SELECT * FROM few ORDER BY id",
        "SELECT * FROM FEW WHERE id IN (1, 3, 9) ORDER BY 1 DESC",
        "SELECT title, COUNT(*) FROM fewer GROUP BY title ORDER BY 1",
        "SELECT a.id, b.title FROM few a LEFT JOIN fewer b ON a.id = b.id ORDER BY 1",
        "SELECT name, n FROM counted WHERE n > 2 ORDER BY n, name",
        "SELECT SUM(a) FROM \"with v\"",
        "SELECT (SELECT MAX(id) FROM few), COUNT(*) FROM one",
    ] {
        assert_eq!(all(&tables, sql).unwrap(), expected(&model, sql), "{sql}");
    }
    let own = with_views(&[("roots", "SELECT SQRT(id) AS r FROM one WHERE id = 9")]);
    assert_eq!(all(&own, "SELECT r FROM roots").unwrap(), [[Value::Real(3.0)]], "functions that SQLite has not");
    let query = Query::prepare(&tables, "SELECT id, name, counted.n FROM one JOIN counted USING (name)").unwrap();
    let kinds: Vec<_> = query.columns().into_iter().map(|column| column.kind).collect();
    assert_eq!(kinds[..2], [Some(ColumnType::Long), Some(ColumnType::Text)], "a column of a table has its type through a view");
}

#[test]
fn a_views_text_can_do_no_more_than_a_statement() {
    let path = std::env::temp_dir().join(format!("tarndb-view-{}", std::process::id()));
    let attach = format!("SELECT 1; ATTACH '{}' AS x", path.display());
    let tables = with_views(&[
        ("second", &attach),
        ("deletes", "DELETE FROM one"),
        ("schema", "SELECT * FROM sqlite_schema"),
        ("loads", "SELECT load_extension('x')"),
        ("pragma", "SELECT * FROM pragma_database_list"),
        ("parameter", "SELECT ?"),
        ("gone", "SELECT * FROM nowhere"),
        ("circle", "SELECT * FROM circle"),
        ("a", "SELECT * FROM b"),
        ("b", "SELECT * FROM a"),
        ("open", "SELECT 'x"),
        ("wro\u{301}ng", "SELECT 1"),
    ]);
    for (name, why) in [
        ("second", "no SELECT"),
        ("deletes", "no SELECT"),
        ("schema", "can do nothing else"),
        ("loads", "no such function"),
        ("pragma", ""),
        ("parameter", "parameters"),
        ("gone", "no such table: nowhere, which the statement or one of its views names"),
        ("circle", "circular"),
        ("a", "circular"),
        ("open", "does not end"),
        ("wro\u{301}ng", "no name of a view"),
    ] {
        let message = refusal(&tables, &format!("SELECT * FROM \"{name}\""));
        assert!(message.contains(why), "{name}: {message}");
    }
    assert!(!path.exists());
    assert!(refusal(&tables, "SELECT * FROM neither").contains("no such table"));
}

#[test]
fn views_of_views_are_bounded() {
    let chain = |length: usize, text: fn(usize) -> String| -> Arc<dyn Tables> {
        let views = (0..length).map(|at| (format!("v{at}"), if at == 0 { "SELECT 1 AS a".to_owned() } else { text(at - 1) })).collect();
        Arc::new(WithViews { memory: some_tables(true), views })
    };
    let one_below = |at| format!("SELECT a + 1 AS a FROM v{at}");
    let deep = chain(VIEWS_MAX + 1, one_below);
    assert_eq!(all(&deep, &format!("SELECT a FROM v{}", VIEWS_MAX - 1)).unwrap(), [[Value::Integer(VIEWS_MAX as i64)]]);
    assert!(refusal(&deep, &format!("SELECT a FROM v{VIEWS_MAX}")).contains("at most 32 views"));
    // Each is read twice by the next one: 2^32 times the first.
    let wide = chain(VIEWS_MAX, |at| format!("SELECT x.a AS a FROM v{at} x, 'v{at}' y"));
    let message = refusal(&wide, "SELECT a FROM v31");
    assert!(message.contains(&EXPANSIONS_MAX.to_string()), "{message}");
    assert_eq!(all(&wide, "SELECT a FROM v5").unwrap().len(), 1);
}
