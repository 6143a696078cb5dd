#![allow(clippy::unwrap_used)]

use super::*;
use crate::tables::ColumnType;

#[test]
fn statements_that_write_are_taken_apart() {
    let insert = |table: &str, columns: &[&str], rows: &str, replaces| Statement::Insert {
        table: table.to_owned(),
        columns: columns.iter().map(|&name| name.to_owned()).collect(),
        rows: rows.to_owned(),
        replaces,
    };
    assert_eq!(parse("INSERT INTO t VALUES (1, ')')").unwrap(), insert("t", &[], "VALUES (1, ')')", false));
    assert_eq!(parse("insert into \"a\"\"b\" (x, [y z]) select 1, 2 ;").unwrap(), insert("a\"b", &["x", "y z"], "select 1, 2", false));
    assert_eq!(parse("INSERT INTO t (SELECT 1)").unwrap(), insert("t", &[], "(SELECT 1)", false));
    assert_eq!(parse("INSERT OR REPLACE INTO t VALUES(?)").unwrap(), insert("t", &[], "VALUES(?)", true));
    assert_eq!(parse("REPLACE INTO t VALUES(?) -- c").unwrap(), insert("t", &[], "VALUES(?)", true));
    let update = parse("UPDATE \"T\" SET a = f(1, 2), b = 'x, WHERE' WHERE c = (SELECT 1 WHERE 1)").unwrap();
    let assignments = vec![("a".to_owned(), "f(1, 2)".to_owned()), ("b".to_owned(), "'x, WHERE'".to_owned())];
    assert_eq!(update, Statement::Update { table: "T".into(), assignments, rest: "\"T\" WHERE c = (SELECT 1 WHERE 1)".into() });
    let update = parse("UPDATE t -- of all\n SET a = 1 -- one\n , b = 2 /* two */ WHERE c -- where").unwrap();
    let assignments = vec![("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())];
    assert_eq!(update, Statement::Update { table: "t".into(), assignments, rest: "t WHERE c".into() });
    assert_eq!(parse("DELETE FROM t WHERE a").unwrap(), Statement::Delete { table: "t".into(), rest: "t WHERE a".into() });
    assert_eq!(parse("drop table if exists t").unwrap(), Statement::DropTable("t".into(), true));
    assert_eq!(parse("DROP INDEX i ON t").unwrap(), Statement::DropIndex("i".into(), "t".into(), false));
    assert_eq!(parse("/* c */ WITH x AS (SELECT 1) SELECT * FROM x").unwrap(), Statement::Read);
}

#[test]
fn names_of_types_are_read_by_their_parts() {
    for (name, kind) in [
        ("BIGINTEGER", ColumnType::Integer),
        ("LONG", ColumnType::Long),
        ("tinyint", ColumnType::Byte),
        ("FLOAT", ColumnType::Float),
        ("VARCHAR", ColumnType::Text),
        ("CHARINT", ColumnType::Integer),
        ("BIGBLOB", ColumnType::Blob),
        ("FLOATDOUB", ColumnType::Double),
        ("INTREAL", ColumnType::Integer),
        ("FLOATINGPOINT", ColumnType::Integer),
        ("REAL", ColumnType::Double),
        ("Clob", ColumnType::Text),
        ("LONGTEXT", ColumnType::Text),
        ("BIGINT", ColumnType::Long),
        ("SMALLINT", ColumnType::Short),
        ("FLOAT4", ColumnType::Float),
        ("TIMESTAMP(6)", ColumnType::MicroTimestamp),
    ] {
        let Ok(Statement::AddColumns(_, columns)) = parse(&format!("ALTER TABLE t ADD a {name}")) else { panic!("{name}") };
        assert_eq!(columns[0].kind, kind, "{name}");
    }
    for wrong in ["DECIMAL", "GEOMETRY", "UUID", "TIMESTAMP(4)", "LONGS"] {
        assert!(parse(&format!("CREATE TABLE t (a {wrong})")).is_err(), "{wrong}");
    }
}

#[test]
fn several_columns_are_added_at_once() {
    let sql = "ALTER TABLE t ADD COLUMN a STRING NOT NULL, ADD b INTEGER;";
    let Ok(Statement::AddColumns(table, columns)) = parse(sql) else { panic!("{sql}") };
    let columns: Vec<_> = columns.iter().map(|column| (column.name.as_str(), column.kind, column.is_not_null)).collect();
    assert_eq!((table.as_str(), &columns[..]), ("t", &[("a", ColumnType::Text, true), ("b", ColumnType::Integer, false)][..]));
    for wrong in ["ALTER TABLE t ADD a LONG,", "ALTER TABLE t ADD a LONG, b LONG", "ALTER TABLE t ADD a LONG PRIMARY KEY"] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_reads_is_explained_and_analyzed() {
    assert_eq!(parse("EXPLAIN QUERY PLAN SELECT 1"), Ok(Statement::Read));
    assert_eq!(parse("explain analyze /* c */ SELECT 1, ';' -- d\n;"), Ok(Statement::Analyze("SELECT 1, ';'".to_owned())));
    assert_eq!(
        parse("EXPLAIN ANALYZE WITH a AS (SELECT 1) SELECT * FROM a"),
        Ok(Statement::Analyze("WITH a AS (SELECT 1) SELECT * FROM a".to_owned()))
    );
    for wrong in
        ["EXPLAIN ANALYZE", "EXPLAIN ANALYZE DELETE FROM t", "EXPLAIN ANALYZE EXPLAIN SELECT 1", "EXPLAIN ANALYZE ANALYZE SELECT 1"]
    {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_column_is_renamed() {
    let renamed = |table: &str, from: &str, to: &str| {
        Ok(Statement::RenameColumn { table: table.to_owned(), from: from.to_owned(), to: to.to_owned() })
    };
    assert_eq!(parse("alter table t rename column a to b;"), renamed("t", "a", "b"));
    assert_eq!(parse("ALTER TABLE \"T\" RENAME COLUMN [a b] TO \"to\""), renamed("T", "a b", "to"));
    for wrong in [
        "RENAME a TO b",
        "RENAME COLUMN a",
        "RENAME COLUMN a TO",
        "RENAME COLUMN a TO b, RENAME COLUMN c TO d",
        "RENAME TO u",
        "RENAME COLUMN a b",
    ] {
        assert!(parse(&format!("ALTER TABLE t {wrong}")).is_err(), "{wrong}");
    }
}

#[test]
fn a_table_is_defined() {
    let sql = "CREATE TABLE IF NOT EXISTS t (at TIMESTAMP(3) PRIMARY KEY, v DOUBLE NOT NULL, n VARCHAR(20)) USING TIMESERIES";
    let Statement::CreateTable(table) = parse(sql).unwrap() else { panic!("another statement") };
    assert_eq!((table.name.as_str(), table.key.as_slice(), table.is_time_series), ("t", &["at".to_owned()][..], true));
    let kinds: Vec<_> = table.columns.iter().map(|column| (column.kind, column.is_not_null)).collect();
    assert_eq!(kinds, [(ColumnType::Timestamp, true), (ColumnType::Double, true), (ColumnType::Text, false)]);
    let Statement::CreateTable(table) = parse("CREATE TABLE t(a INT, b LONG, PRIMARY KEY(a, b))").unwrap() else { panic!("another") };
    assert_eq!(table.key, ["a", "b"]);
}

#[test]
fn what_is_no_statement_is_refused() {
    let wrong = [
        "",
        ";",
        "INSERT t VALUES (1)",
        "UPDATE t SET",
        "UPDATE t SET a = WHERE b",
        "UPDATE t SET a = 1 ORDER BY a LIMIT 1, 2 x",
        "DELETE t",
        "CREATE TABLE t",
        "CREATE TABLE t ()",
        "CREATE TABLE t (a WORD)",
        "CREATE TABLE t (a INT PRIMARY KEY, b INT PRIMARY KEY)",
        "DROP TABLE a b",
        "VACUUM",
        "ATTACH 'x' AS y",
        "PRAGMA x",
        "INSERT INTO t VALUES ('x",
        "SELECT \"x",
        "CREATE TABLE t (a TIMESTAMP(5))",
        "[",
        "/*",
    ];
    for sql in wrong {
        assert!(parse(sql).is_err(), "{sql}");
    }
}

#[test]
fn divisions_are_read() {
    let divided = |sql: &str| match parse(sql) {
        Ok(Statement::CreateTable(table)) => (table.properties, table.partitioned_by),
        other => panic!("{sql}: {other:?}"),
    };
    assert_eq!(divided("CREATE TABLE t (a INT)"), (Vec::new(), None));
    let (properties, by) = divided("CREATE TABLE t (a INT) WITH (Expiration_Time = -30, unit='it''s') PARTITION BY HASH (a) PARTITIONS 8");
    assert_eq!(properties, [("expiration_time".to_owned(), Literal::Integer(-30)), ("unit".to_owned(), Literal::Text("it's".to_owned()))]);
    assert_eq!(by, Some(PartitionedBy { range: None, hash: Some(("a".to_owned(), 8)) }));
    let (_, by) = divided("CREATE TABLE t (a INT) PARTITION BY RANGE(a) EVERY(30, day) SUBPARTITION BY HASH \"B\" SUBPARTITIONS 2;");
    let range = RangeClause { column: "a".to_owned(), every: 30, unit: Some("DAY".to_owned()) };
    assert_eq!(by, Some(PartitionedBy { range: Some(range), hash: Some(("B".to_owned(), 2)) }));
    let dropped = |value| Ok(Statement::DropPartition("t".to_owned(), value));
    assert_eq!(parse("ALTER TABLE t DROP PARTITION FOR (-5)"), dropped(Literal::Integer(-5)));
    assert_eq!(parse("ALTER TABLE t DROP PARTITION FOR ('x')"), dropped(Literal::Text("x".to_owned())));
    assert_eq!(parse("ALTER TABLE t DROP PARTITION"), Ok(Statement::DropColumn("t".to_owned(), "PARTITION".to_owned())));
    for wrong in [
        "CREATE TABLE t (a INT) WITH ()",
        "CREATE TABLE t (a INT) WITH (a=1, A=2)",
        "CREATE TABLE t (a INT) WITH (a=1.5)",
        "CREATE TABLE t (a INT) WITH (a=99999999999999999999)",
        "CREATE TABLE t (a INT) PARTITION BY HASH (a)",
        "CREATE TABLE t (a INT) PARTITION BY HASH (a) PARTITIONS -1",
        "CREATE TABLE t (a INT) PARTITION BY RANGE (a) EVERY (0.5)",
        "CREATE TABLE t (a INT) PARTITION BY RANGE (a, b) EVERY (1)",
        "CREATE TABLE t (a INT) PARTITION BY HASH (a) PARTITIONS 2 SUBPARTITION BY HASH (a) SUBPARTITIONS 2",
        "ALTER TABLE t DROP PARTITION FOR ()",
        "ALTER TABLE t DROP PARTITION FOR (1, 2)",
    ] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn units_of_time_become_texts() {
    let quoted = with_units_quoted("SELECT EXTRACT(DAY, at), day, TIMESTAMP_ADD( hour , at, 1) FROM t").unwrap();
    assert_eq!(quoted, "SELECT EXTRACT('DAY', at), day, TIMESTAMP_ADD( 'hour' , at, 1) FROM t");
}

#[test]
fn arbitrary_texts_are_refused_or_read() {
    let statements = [
        "INSERT OR REPLACE INTO \"a\" (x, [y]) VALUES (1e+5, 'it''s', ?)",
        "UPDATE t SET a = (SELECT 1), b = 'größe' -- c\n WHERE EXTRACT(DAY, at) = 0x1F",
        "CREATE TABLE IF NOT EXISTS t (a TIMESTAMP(3) PRIMARY KEY, `b` BLOB NOT NULL) USING TIMESERIES;",
        "CREATE INDEX i ON t (a, b) /* c */",
        "CREATE TABLE t (a TIMESTAMP NOT NULL) WITH (expiration_time=-3, x='y') PARTITION BY RANGE (a) EVERY (1, DAY) SUBPARTITION BY HASH b SUBPARTITIONS 3",
        "ALTER TABLE t DROP PARTITION FOR ('2020-01-01T00:00:00Z')",
    ];
    let mut state = 11_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let parts = [
        "'",
        "\"",
        "[",
        "]",
        "(",
        ")",
        ",",
        "--",
        "/*",
        "*/",
        " SET ",
        " WHERE ",
        "=",
        "ß",
        "1e",
        "e+",
        ";",
        "?",
        "`",
        "\n",
        "TIMESTAMP_ADD(DAY",
    ];
    for _ in 0..50_000 {
        let mut text: Vec<char> = statements[random(statements.len())].chars().collect();
        for _ in 0..=random(4) {
            let at = random(text.len() + 1);
            match random(3) {
                0 => drop(text.drain(at..(at + random(6)).min(text.len()))),
                _ => drop(text.splice(at..at, parts[random(parts.len())].chars())),
            }
        }
        let text: String = text.into_iter().collect();
        let _ = (parse(&text), with_units_quoted(&text), is_blank(&text));
    }
}

#[test]
fn views_are_read() {
    let view = |name: &str, text: &str, replaces, is_forced| Statement::CreateView {
        name: name.to_owned(),
        text: text.to_owned(),
        replaces,
        is_forced,
    };
    assert_eq!(parse("CREATE VIEW v AS SELECT 1 ;"), Ok(view("v", "SELECT 1", false, false)));
    assert_eq!(
        parse("create force view \"V w\" as with x as (select 1) select * from x"),
        Ok(view("V w", "with x as (select 1) select * from x", false, true))
    );
    assert_eq!(parse("CREATE OR REPLACE VIEW v AS VALUES (';')"), Ok(view("v", "VALUES (';')", true, false)));
    assert_eq!(parse("CREATE OR REPLACE FORCE VIEW v AS SELECT 1"), Ok(view("v", "SELECT 1", true, true)));
    assert_eq!(parse("DROP VIEW v"), Ok(Statement::DropView("v".to_owned(), false)));
    assert_eq!(parse("DROP VIEW IF EXISTS v"), Ok(Statement::DropView("v".to_owned(), true)));
    for wrong in [
        "CREATE VIEW v",
        "CREATE VIEW v AS",
        "CREATE VIEW v AS DELETE FROM t",
        "CREATE VIEW v AS EXPLAIN SELECT 1",
        "CREATE VIEW v AS SELECT 1; SELECT 2",
        "CREATE VIEW v AS SELECT ?",
        "CREATE VIEW v (a) AS SELECT 1",
        "CREATE OR REPLACE TABLE t (a LONG)",
        "CREATE FORCE INDEX i ON t (a)",
        "DROP VIEW",
        "DROP VIEW v w",
    ] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}
