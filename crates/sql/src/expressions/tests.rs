#![allow(clippy::unwrap_used)]

use super::*;
use crate::tables::{Column, ColumnType};

fn tables() -> Vec<Arc<Table>> {
    let column = |name: &str, kind, is_not_null| Column { name: name.to_owned(), kind, is_not_null };
    let table = |name: &str, key_len, columns| {
        Arc::new(Table { name: name.to_owned(), columns, schema: None, key_len, indexed: Vec::new(), lookup: None })
    };
    let one = vec![
        column("id", ColumnType::Long, false),
        column("at", ColumnType::Timestamp, false),
        column("n", ColumnType::Short, false),
        column("x", ColumnType::Long, false),
        column("name", ColumnType::Text, false),
        column("active", ColumnType::Bool, false),
        column("must", ColumnType::Long, true),
    ];
    let other =
        vec![column("x", ColumnType::Text, false), column("u", ColumnType::Text, false), column("n9", ColumnType::NanoTimestamp, false)];
    vec![table("t", 1, one), table("other", 0, other)]
}

fn rewritten(sql: &str) -> String {
    // Words may have more spaces between them than they need.
    rewrite(sql, &tables(), &[], Dialect::GridDb).unwrap().sql.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn kinds(sql: &str) -> Vec<Option<Kind>> {
    rewrite(sql, &tables(), &[], Dialect::GridDb).unwrap().kinds
}

#[test]
fn null_is_the_largest_value_where_there_may_be_one() {
    for (sql, expected) in [
        ("SELECT x FROM t ORDER BY t.n, x DESC", "SELECT x FROM t ORDER BY t.n NULLS LAST, x DESC NULLS FIRST"),
        ("SELECT x FROM t ORDER BY n ASC NULLS FIRST LIMIT 1", "SELECT x FROM t ORDER BY n ASC NULLS FIRST LIMIT 1"),
        ("SELECT x FROM t ORDER BY id DESC, must", "SELECT x FROM t ORDER BY id DESC, must"),
        ("SELECT x FROM t a ORDER BY a.id", "SELECT x FROM t a ORDER BY a.id"),
        ("SELECT n AS id FROM t ORDER BY id", "SELECT n AS id FROM t ORDER BY id NULLS LAST"),
        ("SELECT n id FROM t ORDER BY id", "SELECT n id FROM t ORDER BY id NULLS LAST"),
        (
            "WITH c(id) AS (SELECT n FROM t) SELECT 1 FROM c, t ORDER BY c.id",
            "WITH c(id) AS (SELECT n FROM t) SELECT 1 FROM c, t ORDER BY c.id NULLS LAST",
        ),
        ("SELECT 1 FROM other LEFT JOIN t ON x = u ORDER BY id", "SELECT 1 FROM other LEFT JOIN t ON x = u ORDER BY id NULLS LAST"),
        ("SELECT id FROM t UNION SELECT n FROM t ORDER BY id", "SELECT id FROM t UNION SELECT n FROM t ORDER BY id NULLS LAST"),
        ("SELECT row, plan FROM t WHERE rows / 2 > 1 ORDER BY plan", "SELECT row, plan FROM t WHERE rows / 2 > 1 ORDER BY plan NULLS LAST"),
        ("SELECT 1 / current c FROM t", "SELECT 1 / nonzero(current) c FROM t"),
        ("SELECT 1 FROM t WHERE 1 > plan % offset", "SELECT 1 FROM t WHERE 1 > plan % nonzero_whole(offset)"),
        ("SELECT x FROM t ORDER BY -id", "SELECT x FROM t ORDER BY -id NULLS LAST"),
        (
            "SELECT LAG(x) OVER (PARTITION BY n ORDER BY x ROWS 1 PRECEDING) FROM t",
            "SELECT LAG(x) OVER (PARTITION BY n ORDER BY x NULLS LAST ROWS 1 PRECEDING) AS \"LAG(x) OVER (PARTITION BY n ORDER BY x ROWS 1 PRECEDING)\" FROM t",
        ),
        ("SELECT 1 FROM t WINDOW w AS (ORDER BY x DESC)", "SELECT 1 FROM t WINDOW w AS (ORDER BY x DESC NULLS FIRST)"),
        (
            "SELECT * FROM (SELECT x FROM t ORDER BY x LIMIT 1) ORDER BY 1",
            "SELECT * FROM (SELECT x FROM t ORDER BY x NULLS LAST LIMIT 1) ORDER BY 1 NULLS LAST",
        ),
        (
            "SELECT x COLLATE NOCASE FROM t ORDER BY CASE WHEN x THEN 1 ELSE 2 END, x COLLATE NOCASE DESC",
            "SELECT x COLLATE NOCASE FROM t ORDER BY CASE WHEN x THEN 1 ELSE 2 END NULLS LAST, x COLLATE NOCASE DESC NULLS FIRST",
        ),
    ] {
        assert_eq!(rewritten(sql), expected, "{sql}");
    }
    let plain = rewrite("SELECT a / 0, CAST(a AS INTEGER) FROM k.t ORDER BY a", &[], &[], Dialect::Plain).unwrap();
    assert_eq!(plain.sql, "SELECT a / 0, CAST(a AS INTEGER) FROM k.t ORDER BY a NULLS LAST");
}

#[test]
fn casts_become_functions_and_keep_their_labels() {
    for (sql, expected) in [
        ("SELECT CAST(at AS STRING) FROM t", "SELECT cast_string( at , 3 ) AS \"CAST(at AS STRING)\" FROM t"),
        ("SELECT CAST(o.n9 AS VARCHAR(9)) s FROM other o", "SELECT cast_string( o.n9 , 9 ) s FROM other o"),
        ("SELECT 1 WHERE CAST('1'AS INTEGER)=1", "SELECT 1 WHERE cast_integer( '1' , 'INTEGER' )=1"),
        (
            "SELECT CAST(CAST(x AS TEXT) AS LONG) FROM t",
            "SELECT cast_integer( cast_string( x , 0 ) , 'LONG' ) AS \"CAST(CAST(x AS TEXT) AS LONG)\" FROM t",
        ),
        ("SELECT CAST(? AS TIMESTAMP(6)) c", "SELECT cast_timestamp( ? , 6 ) c"),
        ("SELECT CAST((SELECT at FROM t) AS STRING) c", "SELECT cast_string( (SELECT at FROM t) , 3 ) c"),
    ] {
        assert_eq!(rewritten(sql), expected, "{sql}");
    }
    for wrong in [
        "SELECT CAST(at AS LONG) FROM t",
        "SELECT CAST(1 AS TIMESTAMP)",
        "SELECT CAST(1 AS DECIMAL)",
        "SELECT CAST('a' AS TIMESTAMP(4))",
        "SELECT CAST(active AS TIMESTAMP) FROM t",
    ] {
        assert!(rewrite(wrong, &tables(), &[], Dialect::GridDb).is_err(), "{wrong}");
    }
}

#[test]
fn texts_of_times_and_divisors_are_looked_at() {
    for (sql, expected) in [
        ("SELECT at || 'x' y FROM t", "SELECT cast_string(at, 3) || 'x' y FROM t"),
        ("SELECT 1 + x / n % 2 * (4 / -x) y FROM t", "SELECT 1 + x / nonzero(n) % 2 * (4 / nonzero(-x)) y FROM t"),
        ("SELECT 5%0 y", "SELECT 5%nonzero(0) y"),
        (
            "SELECT 5 % 2, 5 % 0.5, 5 / 0.5, 5 / 1e-400 y",
            "SELECT 5 % 2, 5 % nonzero_whole(0.5) AS \"5 % 0.5\", 5 / 0.5, 5 / nonzero(1e-400) y",
        ),
        ("SELECT 1/n row FROM t", "SELECT 1/nonzero(n) row FROM t"),
        ("SELECT 1/n plan, 1/x row", "SELECT 1/nonzero(n) plan, 1/nonzero(x) row"),
        (
            "SELECT * FROM (SELECT 1/n desc) ORDER BY n / x DESC",
            "SELECT * FROM (SELECT 1/nonzero(n) desc) ORDER BY n / nonzero(x) DESC NULLS FIRST",
        ),
        (
            "SELECT LENGTH(active), GROUP_CONCAT(at, '+') FROM t",
            "SELECT LENGTH(cast_string(active, 1)) AS \"LENGTH(active)\", GROUP_CONCAT(cast_string(at, 3), '+') AS \"GROUP_CONCAT(at, '+')\" FROM t",
        ),
        ("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x) p FROM t", "SELECT PERCENTILE_CONT(0.25 , x) p FROM t"),
        ("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP(ORDER BY x DESC) p FROM t", "SELECT PERCENTILE_CONT(0.25 , x , 1 ) p FROM t"),
        ("SELECT GROUP_CONCAT(DISTINCT name, '/') p FROM t", "SELECT distinct_concat ( name, '/') p FROM t"),
        ("SELECT name || 1 + 2, a.b.c, X'00', ?2, :z, .5, 1e+5 FROM t", "SELECT name || 1 + 2, a.b.c, X'00', ?2, :z, .5, 1e+5 FROM t"),
    ] {
        assert_eq!(rewritten(sql), expected, "{sql}");
    }
}

#[test]
fn a_statement_stays_bounded_when_it_is_written_anew() {
    // The names of an operand's list are nobody's: a copy of each level would be as many copies as there are levels.
    let nested = format!("SELECT {}1 / n /*{}*/{} FROM t", "(SELECT ".repeat(200), "x".repeat(10_000), ")".repeat(200));
    let written = rewrite(&nested, &tables(), &[], Dialect::GridDb).unwrap().sql;
    assert!(written.len() < 3 * nested.len(), "{} of {}", written.len(), nested.len());
    for (sql, expected) in [
        ("SELECT (SELECT 1 / n FROM t) a", "SELECT (SELECT 1 / nonzero(n) FROM t) a"),
        ("SELECT 1 a WHERE EXISTS (SELECT 1 / n FROM t)", "SELECT 1 a WHERE EXISTS (SELECT 1 / nonzero(n) FROM t)"),
        ("SELECT 1 a WHERE 1 IN (SELECT 1 / n FROM t)", "SELECT 1 a WHERE 1 IN (SELECT 1 / nonzero(n) FROM t)"),
        ("SELECT * FROM (SELECT 1/n FROM t)", "SELECT * FROM (SELECT 1/nonzero(n) AS \"1/n\" FROM t)"),
        (
            "SELECT * FROM t JOIN (SELECT 1/n) ON 1, (SELECT 1/x)",
            "SELECT * FROM t JOIN (SELECT 1/nonzero(n) AS \"1/n\") ON 1, (SELECT 1/nonzero(x) AS \"1/x\")",
        ),
        ("WITH c AS (SELECT 1/n FROM t) SELECT * FROM c", "WITH c AS (SELECT 1/nonzero(n) AS \"1/n\" FROM t) SELECT * FROM c"),
    ] {
        assert_eq!(rewritten(sql), expected, "{sql}");
    }
    // Tables have labels, which may be of what is deep: there is an end.
    let level = "SELECT * FROM t JOIN t ON (";
    let deep = format!("{level}SELECT ({}1 / n /*{}*/{}))", format!("{level}SELECT (").repeat(60), "x".repeat(400_000), "))".repeat(60));
    let read = rewrite(&deep, &tables(), &[], Dialect::GridDb);
    assert!(read.as_ref().is_err_and(|error| error.0.contains("becomes longer than")), "{:?}", read.map(|read| read.sql.len()));
    // Neither time nor memory is that of the square of what is written.
    let many = format!("SELECT {}GROUP_CONCAT(DISTINCT n, '') c FROM t", "GROUP_CONCAT(DISTINCT n, '') a, ".repeat(30_000));
    assert!(rewritten(&many).starts_with("SELECT distinct_concat ( n, '') a, distinct_concat ("));
    let same = format!("SELECT 1{} c FROM t", " || at".repeat(20_000));
    assert!(rewritten(&same).ends_with("cast_string(at, 3) c FROM t"));
}

#[test]
fn what_is_outside_is_put_before_what_is_inside() {
    let mut edits = edits::Edits::default();
    edits.wrap((1, 2), "in(", ")");
    edits.wrap((1, 2), "out(", "]");
    assert_eq!(edits.apply("-x"), "-out(in(x)]");
}

#[test]
fn texts_compare_with_texts_alone() {
    for wrong in [
        "SELECT 1 FROM t WHERE at > '2024-01-01'",
        "SELECT 1 FROM t WHERE '2024-01-01' = at",
        "SELECT 1 FROM t WHERE at BETWEEN '2024' AND '2025'",
        "SELECT 1 FROM t WHERE at IN (NOW(), 'x')",
        "SELECT 1 FROM t WHERE n IN (SELECT name FROM t)",
        "SELECT 1 FROM t WHERE id = 'x'",
        "SELECT 1 FROM t WHERE name = 5",
        "SELECT 1 FROM t WHERE NOT name < id",
        "SELECT CASE at WHEN 'x' THEN 1 END FROM t",
        "SELECT 1 FROM t a JOIN other o ON a.x = o.x",
        "SELECT 1 FROM t WHERE (at) IS NOT 'x'",
        "SELECT 1 FROM t WHERE active = 'true'",
    ] {
        let refused = rewrite(wrong, &tables(), &[], Dialect::GridDb);
        assert!(refused.is_err_and(|error| error.0.contains("is not compared with")), "{wrong}");
    }
    for right in [
        "SELECT 1 FROM t WHERE at > TIMESTAMP('2024-01-01') AND name = 'x' AND id = 2.5 AND active = 1 AND at > 5",
        "SELECT 1 FROM (SELECT CAST(at AS STRING) at FROM t) WHERE at > '2024'",
        "SELECT 1 FROM (SELECT CAST(at AS STRING) at FROM t) t WHERE t.at > '2024'",
        "SELECT 1 FROM (SELECT CAST(at AS STRING) at FROM t) AS t WHERE t.at > '2024'",
        "SELECT 1 FROM t WHERE x = NULL AND name IN ('a', NULL)",
        "SELECT 1 FROM t, other WHERE x = 'a' AND nobody = 1",
        "SELECT name = 'a' AND 'b' = name FROM t WHERE name LIKE 5",
    ] {
        assert!(rewrite(right, &tables(), &[], Dialect::GridDb).is_ok(), "{right}");
    }
    let compared = rewrite("SELECT ? FROM t WHERE at > ? AND ? = name AND n IN (?, 1) AND ?9 < 1.5", &tables(), &[], Dialect::GridDb);
    assert_eq!(rewrite("SELECT $a FROM t WHERE at > ?", &tables(), &[], Dialect::GridDb).unwrap().compared, []);
    let expected = [(2, Category::Time), (3, Category::Text), (4, Category::Number), (9, Category::Number)];
    assert_eq!(compared.unwrap().compared, expected);
}

#[test]
fn what_is_computed_has_a_type() {
    let of = |kind| Some(Kind::Of(kind));
    let time = of(ColumnType::Timestamp);
    let sql = "SELECT MAX(at), MIN( t.n ) AS least, x, MAX(x), MAX(at) + 1, LAG(at, 1) OVER (ORDER BY n), NOW() t, MAX(at, n), COUNT(*), \
               COALESCE(active, FALSE), CASE WHEN n THEN at ELSE NOW() END, n > 1, IFNULL(n, x), NULL, MAX(at, n9) FROM t";
    let [short, long, truth, number] = [of(ColumnType::Short), of(ColumnType::Long), of(ColumnType::Bool), Some(Kind::Number)];
    let nano = of(ColumnType::NanoTimestamp);
    let expected = [time, short, long, long, None, time, time, None, long, truth, time, truth, long, Some(Kind::Null), nano];
    assert_eq!(kinds(sql), expected);
    let [long, text] = [of(ColumnType::Long), of(ColumnType::Text)];
    let joined = "SELECT MAX(t.x), MAX(o.x), MAX(OTHER.x), MAX(b.x), MAX(c.x), MAX(nobody.x), b.x * 2 FROM t AS b JOIN other o ON b.must = o.n9, \"other\" c";
    assert_eq!(kinds(joined), [long, text, text, long, text, None, number]);
    let nested = "SELECT TIMESTAMP_TRUNC('DAY', TIMESTAMP_ADD('DAY', at, 1)), TIMESTAMP_ADD('DAY', CAST(x AS TEXT), 1) FROM t";
    assert_eq!(kinds(nested), [time, Some(Kind::Time)]);
    let plain = rewrite("SELECT 1, 'a', COUNT(*), COALESCE(n, 1.5), n > 1, MAX(n), NOW()", &tables(), &[], Dialect::Plain).unwrap();
    assert_eq!(plain.kinds, [None, None, None, None, Some(Kind::Number), short, time], "what is computed has the type of its first value");
    assert_eq!(kinds("SELECT *, MAX(at) FROM t"), []);
    assert_eq!(kinds("WITH x AS (SELECT 1) SELECT MAX(at) m FROM x UNION SELECT 1"), [time]);
    assert_eq!(kinds("EXPLAIN QUERY PLAN SELECT name FROM t"), []);
    assert_eq!(kinds("VALUES (1) UNION SELECT at FROM t"), []);
    assert_eq!(kinds("SELECT b.* FROM t b"), []);
    assert_eq!(kinds("SELECT y FROM (SELECT at AS y FROM t)"), [time]);
}

#[test]
fn any_words_are_read_to_their_end() {
    for sql in [
        "",
        ")",
        "(",
        "SELECT",
        "SELECT (",
        "SELECT a b c d",
        "SELECT CAST(",
        "SELECT CAST(a",
        "SELECT CAST(a AS",
        "SELECT f(",
        "SELECT f(a,",
        "WITH",
        "WITH a",
        "WITH a(b",
        "WITH a AS",
        "WITH a AS (",
        "SELECT CASE",
        "SELECT CASE WHEN",
        "SELECT a IN",
        "SELECT a IN (",
        "SELECT a NOT",
        "SELECT NOT",
        "SELECT -",
        "SELECT a BETWEEN",
        "ORDER BY",
        "SELECT a OVER",
        "SELECT f(a) OVER",
        "SELECT f(a) FILTER (",
        "SELECT a.",
        "SELECT a.*",
        "SELECT .",
        "SELECT ? ? ?",
        "SELECT a AS",
        "SELECT a COLLATE",
        "SELECT x ->> ",
        "SELECT !",
        "SELECT a IS NOT DISTINCT FROM",
        "SELECT f(*)",
        "EXPLAIN QUERY PLAN SELECT 1",
        "SELECT f(SELECT 1)",
        "VALUES (1), (2)",
        "SELECT a NOTNULL ISNULL NOT NULL",
        "SELECT a ORDER BY b NULLS",
    ] {
        let read = rewrite(sql, &tables(), &[], Dialect::Plain).unwrap();
        assert!(!read.sql.is_empty() || sql.is_empty(), "{sql}");
    }
    let nested = |levels: usize| format!("SELECT {}1{}", "1 + (".repeat(levels), ")".repeat(levels));
    assert!(rewrite(&nested(490), &[], &[], Dialect::GridDb).is_ok(), "a bracket is one level, also behind an operator");
    assert!(rewrite(&nested(510), &[], &[], Dialect::GridDb).is_err());
    let chain = format!("SELECT {}1", "1 OR (1) AND (1) = (1) < (1) | (1) + (1) * (1) || (".repeat(10_000));
    assert!(rewrite(&chain, &[], &[], Dialect::GridDb).is_err());
    let deep = format!("SELECT {}1", "(".repeat(100_000));
    assert!(rewrite(&deep, &[], &[], Dialect::GridDb).is_err(), "no stack has so many levels");
}

#[test]
fn arbitrary_words_are_read_or_refused() {
    const WORDS: [&str; 64] = [
        "SELECT ",
        "1é",
        "é",
        "'ü'",
        "\"ü\"",
        "(",
        ")",
        "(",
        ")",
        ",",
        "*",
        "/",
        "%",
        "||",
        "|",
        "-",
        "~",
        "->",
        "->>",
        ".",
        "0x",
        "0xf",
        "1e",
        "1e+",
        ".5",
        "?",
        "?3",
        ":a",
        "$b",
        "@c",
        " AS ",
        " FROM t ",
        " t",
        " other o ",
        " ORDER BY ",
        " DESC ",
        " NULLS ",
        " CASE ",
        " WHEN ",
        " THEN ",
        " ELSE ",
        " END ",
        "CAST(",
        " STRING)",
        " AS TIMESTAMP(9))",
        "GROUP_CONCAT(",
        " DISTINCT ",
        " WITHIN GROUP (",
        "PERCENTILE_CONT(",
        " OVER (",
        " FILTER (",
        " IN ",
        " BETWEEN ",
        " AND ",
        " NOT ",
        " IS ",
        " WITH ",
        " UNION ",
        "at",
        "active",
        "X'0",
        "X'00'",
        "TYPEOF(",
        "STRFTIME(",
    ];
    let (mut state, tables) = (7_u64, tables());
    for _ in 0..10_000 {
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let count = random(24);
        let sql: String = (0..count).map(|_| WORDS[random(64) as usize]).collect();
        for dialect in [Dialect::GridDb, Dialect::Plain] {
            // It says so, or ends: as long as all that is in the text.
            if let Ok(read) = rewrite(&sql, &tables, &["SELECT at AS b FROM t"], dialect) {
                assert!(read.sql.len() <= 64 + 40 * sql.len(), "{sql}");
            }
        }
    }
}
