//! Texts that are no statement: each is an error with its place, however deep or long it is.

use std::fmt::Write;

use cql::language::{BIND_MARKERS_MAX, EXPRESSION_OPERATORS_MAX, NESTING_MAX, SyntaxError, SyntaxErrorKind, parse};

#[track_caller]
fn rejected(text: &str) -> SyntaxError {
    match parse(text) {
        Ok(parsed) => panic!("accepted {text:.200}\n  {:?}", parsed.statement),
        Err(error) => error,
    }
}

#[test]
fn messages_name_line_column_and_token() {
    for (text, message) in [
        ("SELECT FROM t", "line 1:7 no viable alternative at input 'FROM' (SELECT [FROM]...)"),
        ("", "line 1:0 no viable alternative at input '<EOF>' ([<EOF>])"),
        ("foo", "line 1:0 no viable alternative at input 'foo' ([foo])"),
        ("SELECT * FROM t WHERE", "line 1:21 no viable alternative at input '<EOF>' (SELECT * FROM t WHERE[<EOF>])"),
        ("SELECT *\nFROM t\n  WHERE a == 1", "line 3:11 no viable alternative at input '=' (SELECT * FROM t   WHERE a =[=]...)"),
        ("INSERT INTO t (a) VALUES (1y-2mo)", "line 1:28 mismatched input '-2mo' expecting ')' (INSERT INTO t (a) VALUES (1y[-2mo]...)"),
        ("SELECT * FROM t LIMIT 1 -2", "line 1:24 mismatched input '-2' expecting EOF (SELECT * FROM t LIMIT 1 [-2])"),
        ("SELECT * FROM t LIMIT 1 - 2", "line 1:24 mismatched input '-' expecting EOF (SELECT * FROM t LIMIT 1 [-]...)"),
        ("SELECT * FROM t LIMIT 1 -a", "line 1:24 mismatched input '-' expecting EOF (SELECT * FROM t LIMIT 1 [-]...)"),
        ("SELECT * t", "line 1:9 mismatched input 't' expecting K_FROM (SELECT * [t])"),
        ("SELECT * FROM t; SELECT * FROM t", "line 1:17 mismatched input 'SELECT' expecting EOF (SELECT * FROM t; [SELECT]...)"),
        ("SELECT * FROM t LIMIT 'x'", "line 1:22 no viable alternative at input ''x'' (SELECT * FROM t LIMIT ['x'])"),
        ("INSERT INTO t (a VALUES (1)", "line 1:17 mismatched input 'VALUES' expecting ')' (INSERT INTO t (a [VALUES]...)"),
        ("SELECT * FROM t WHERE a = 'é' x", "line 1:30 mismatched input 'x' expecting EOF (SELECT * FROM t WHERE a = 'é' [x])"),
        ("SELECT * FROM t WHERE a = 'x", "line 1:26 mismatched character '<EOF>' expecting '''"),
        ("SELECT * FROM t WHERE a # 1", "line 1:24 no viable alternative at character '#'"),
        ("SELECT * FROM ?", "line 1:14 Bind variables cannot be used for table names"),
        ("USE ?", "line 1:4 Bind variables cannot be used for keyspace names"),
        ("DROP INDEX ?", "line 1:11 Bind variables cannot be used for index names"),
        ("CREATE ROLE ?", "line 1:12 Bind variables cannot be used for role names"),
        ("UPDATE t SET a = b + 1 WHERE k = 1", "line 1:17 Only expressions of the form X = X + <value> are supported."),
        ("UPDATE t SET a = b - 1 WHERE k = 1", "line 1:17 Only expressions of the form X = X - <value> are supported."),
        ("UPDATE t SET a = [1] + b WHERE k = 1", "line 1:23 Only expressions of the form X = <value> + X are supported."),
        ("CREATE TABLE t (a int) WITH x = 1 AND X = 2", "line 1:38 Multiple definitions for property 'x'"),
        ("CREATE TABLE t (a int) WITH x = {'a': 1, 'a': 2}", "line 1:41 Multiple definitions for property 'a'"),
        ("CREATE TYPE complex (a int)", "line 1:12 Invalid (reserved) user type name complex"),
        ("CREATE TABLE t (a vector<float, 2147483648>)", "line 1:32 NumberFormatException For input string: \"2147483648\""),
        ("CREATE TABLE t (a vector<float, -2147483649>)", "line 1:33 NumberFormatException For input string: \"-2147483649\""),
        ("CREATE TABLE t (a vector<float, 99999999999>)", "line 1:32 NumberFormatException For input string: \"99999999999\""),
        (
            "CREATE ROLE r WITH PASSWORD = 'x' AND HASHED PASSWORD = 'y'",
            "line 1:38 Options 'password' and 'hashed password' are mutually exclusive",
        ),
        ("CREATE TABLE t (a int) WITH x = ?", "line 1:32 Invalid property value: ? (bind variables are not supported in DDL queries)"),
    ] {
        assert_eq!(rejected(text).to_string(), message, "{text}");
    }
}

#[test]
fn messages_quote_only_so_much_of_the_statement() {
    let long = "x".repeat(100_000);
    for text in [
        format!("SELECT * FROM t {long} {long}"),
        format!("SELECT * FROM t '{long}'"),
        format!("CREATE TABLE t (a int) WITH {long} = 1 AND {long} = 2"),
        format!("CREATE TABLE t (a vector<float, {}>)", "9".repeat(100_000)),
        format!("SELECT {} FROM", "é".repeat(100_000)),
    ] {
        let message = rejected(&text).to_string();
        assert!(message.len() < 500, "{} bytes: {message:.300}", message.len());
    }
}

#[test]
fn statements_that_are_wrong_somewhere() {
    for text in [
        // not one statement
        ";",
        "  ",
        "-- only a comment",
        "SELECT",
        "SELECT * FROM t SELECT * FROM t",
        "SELECT * FROM t;; x",
        "EXPLAIN SELECT * FROM t",
        "COMMIT",
        // selection
        "SELECT *, a FROM t",
        "SELECT a, FROM t",
        "SELECT a b FROM t",
        "SELECT a AS from FROM t",
        "SELECT a AS 'x' FROM t",
        "SELECT count(*, a) FROM t",
        "SELECT max(*) FROM t",
        "SELECT writetime(1) FROM t",
        "SELECT writetime(f(a)) FROM t",
        "SELECT CAST(a AS list<int>) FROM t",
        "SELECT CAST(a, text) FROM t",
        "SELECT m[] FROM t",
        "SELECT m[..] FROM t",
        "SELECT a. FROM t",
        "SELECT a-1 FROM t",
        "SELECT a + FROM t",
        "SELECT (a FROM t",
        "SELECT {a: b, c} FROM t",
        "SELECT {a, b: c} FROM t",
        "SELECT select FROM t",
        "SELECT a FROM t, u",
        "SELECT a FROM a.b.c",
        "SELECT a FROM 't'",
        "SELECT a FROM \"\"",
        "SELECT a FROM (SELECT a FROM t)",
        // clauses
        "SELECT * FROM t WHERE",
        "SELECT * FROM t WHERE a",
        "SELECT * FROM t WHERE a = b",
        "SELECT * FROM t WHERE 1 = a",
        "SELECT * FROM t WHERE a = 1 OR b = 2",
        "SELECT * FROM t WHERE a = 1, b = 2",
        "SELECT * FROM t WHERE a <> 1",
        "SELECT * FROM t WHERE a IS NULL",
        "SELECT * FROM t WHERE a = 1 AND",
        "SELECT * FROM t WHERE a IN 1",
        "SELECT * FROM t WHERE a IN (1,)",
        "SELECT * FROM t WHERE a IN (SELECT a FROM t)",
        "SELECT * FROM t WHERE a NOT = 1",
        "SELECT * FROM t WHERE NOT a = 1",
        "SELECT * FROM t WHERE a NOT LIKE 'x'",
        "SELECT * FROM t WHERE a BETWEEN 1",
        "SELECT * FROM t WHERE a.b = 1",
        "SELECT * FROM t WHERE (a, b) > 1",
        "SELECT * FROM t WHERE (a, b) > [1, 2]",
        "SELECT * FROM t WHERE (a, b) IN (1, 2)",
        "SELECT * FROM t WHERE (a, b) CONTAINS 1",
        "SELECT * FROM t WHERE (a, b) LIKE 'x'",
        "SELECT * FROM t WHERE (a, b) IS NOT NULL",
        "SELECT * FROM t WHERE () = ()",
        "SELECT * FROM t WHERE token() > 1",
        "SELECT * FROM t WHERE token(1) > 1",
        "SELECT * FROM t WHERE token(a) IN (1)",
        "SELECT * FROM t WHERE m['k'] IN (1)",
        "SELECT * FROM t WHERE id = 00000000-0000-0000-0000000000000000",
        "SELECT * FROM t WHERE a = 0xfg",
        "SELECT * FROM t WHERE a = :1",
        "SELECT * FROM t WHERE a = :from",
        "SELECT * FROM t LIMIT",
        "SELECT * FROM t LIMIT 1.5",
        "SELECT * FROM t LIMIT 1 + 1",
        "SELECT * FROM t LIMIT 1 PER PARTITION LIMIT 1",
        "SELECT * FROM t LIMIT 1 WHERE a = 1",
        "SELECT * FROM t ORDER BY 1",
        "SELECT * FROM t ORDER a",
        "SELECT * FROM t GROUP a",
        "SELECT * FROM t ALLOW",
        "SELECT * FROM t USING TTL 1",
        "SELECT * FROM t USING TIMEOUT 5",
        // modifications
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t (a) VALUES ()",
        "INSERT INTO t () VALUES (1)",
        "INSERT INTO t (a) VALUES (b)",
        "INSERT INTO t (a) VALUES (1), (2)",
        "INSERT INTO t (a) VALUES (1) IF EXISTS",
        "INSERT INTO t (a) VALUES (1) USING TTL 1 IF NOT EXISTS",
        "INSERT INTO t (a) VALUES (1) USING TTL 1, TIMESTAMP 2",
        "INSERT INTO t (a) VALUES ({1: 2, 3})",
        "INSERT INTO t (a) VALUES ({a: 1, 'b': 2})",
        "INSERT INTO t (a) VALUES ([1 2])",
        "INSERT INTO t (a) VALUES (ttl(1))",
        "INSERT INTO t (a) VALUES (1 1)",
        "INSERT INTO t (a) VALUES ((int))",
        "INSERT INTO t (1) VALUES (1)",
        "INSERT t (a) VALUES (1)",
        "INSERT INTO t JSON 1",
        "UPDATE t SET WHERE k = 1",
        "UPDATE t SET a = 1",
        "UPDATE t SET a = b WHERE k = 1",
        "UPDATE t SET a = 1 WHERE k = 1 IF",
        "UPDATE t SET a = 1 WHERE k = 1 IF NOT EXISTS",
        "UPDATE t SET a = 1 WHERE k = 1 IF a BETWEEN 1 AND 2",
        "UPDATE t SET a = 1 WHERE k = 1 IF a LIKE 'x'",
        "UPDATE t SET a = 1 WHERE k = 1 IF (a, b) = (1, 2)",
        "UPDATE t SET a = 1 WHERE k = 1 USING TTL 1",
        "UPDATE t SET a == 1 WHERE k = 1",
        "UPDATE t SET a[1] += 1 WHERE k = 1",
        "UPDATE t SET a = 1 + a + 1 WHERE k = 1",
        "DELETE * FROM t WHERE k = 1",
        "DELETE FROM t",
        "DELETE FROM t USING TTL 1 WHERE k = 1",
        "DELETE a AS b FROM t WHERE k = 1",
        "BEGIN BATCH",
        "BEGIN BATCH SELECT * FROM t APPLY BATCH",
        "BEGIN BATCH ;; APPLY BATCH",
        "BEGIN BATCH INSERT INTO t (a) VALUES (1);; APPLY BATCH",
        "BEGIN LOGGED BATCH APPLY BATCH",
        "BEGIN BATCH BEGIN BATCH APPLY BATCH APPLY BATCH",
        "APPLY BATCH",
        "TRUNCATE",
        "TRUNCATE t, u",
        // schema
        "CREATE KEYSPACE ks",
        "CREATE KEYSPACE ks WITH",
        "CREATE KEYSPACE ks WITH replication",
        "CREATE KEYSPACE ks WITH replication = {'class': {'x': 1}}",
        "CREATE KEYSPACE ks WITH replication = {'class': null}",
        "CREATE KEYSPACE ks WITH replication = ['x']",
        "CREATE KEYSPACE ks WITH a = always",
        "CREATE KEYSPACE a.b WITH replication = {}",
        "CREATE TABLE t",
        "CREATE TABLE t ()",
        "CREATE TABLE t (a)",
        "CREATE TABLE t (a int b int)",
        "CREATE TABLE t (\"\" int)",
        "CREATE TABLE t (a int PRIMARY KEY STATIC)",
        "CREATE TABLE t (a list<>)",
        "CREATE TABLE t (a list<int, int>)",
        "CREATE TABLE t (a map<int>)",
        "CREATE TABLE t (a tuple<>)",
        "CREATE TABLE t (a vector<float>)",
        "CREATE TABLE t (a set)",
        "CREATE TABLE t (a ks.int)",
        "CREATE TABLE t (a int, PRIMARY KEY ())",
        "CREATE TABLE t (a int, PRIMARY KEY (()))",
        "CREATE TABLE t (a int, PRIMARY KEY a)",
        "CREATE TABLE t (a int, PRIMARY KEY (a, (b)))",
        "CREATE TABLE t (a int) WITH CLUSTERING ORDER BY (a)",
        "CREATE TABLE t (a int) WITH a = 1, b = 2",
        "CREATE TABLE t (a int) PRIMARY KEY (a)",
        "CREATE TABLE IF EXISTS t (a int)",
        "ALTER TABLE t",
        "ALTER TABLE t ADD",
        "ALTER TABLE t ADD a",
        "ALTER TABLE t ADD ()",
        "ALTER TABLE t RENAME a b",
        "ALTER TABLE t DROP a USING TIMESTAMP ?",
        "ALTER TABLE t ALTER IF EXISTS a TYPE int",
        "DROP t",
        "DROP TABLE t, u",
        "DROP TABLE IF NOT EXISTS t",
        "CREATE INDEX i ON t",
        "CREATE INDEX ks.i ON t (a)",
        "CREATE INDEX i ON t (keys(a, b))",
        "CREATE INDEX i ON t (a) USING sai",
        "CREATE TYPE u ()",
        "CREATE TYPE int (a int)",
        "CREATE TYPE u (a int STATIC)",
        "CREATE TYPE byte (a int)",
        "CREATE MATERIALIZED VIEW v AS SELECT * FROM t",
        "CREATE MATERIALIZED v AS SELECT * FROM t PRIMARY KEY (a)",
        "CREATE OR REPLACE TABLE t (a int)",
        "CREATE FUNCTION f (int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE java AS ''",
        "CREATE FUNCTION f (a int) RETURNS int LANGUAGE java AS ''",
        "CREATE AGGREGATE a (int) STYPE int",
        "CREATE TRIGGER x ON t",
        // access
        "CREATE ROLE r WITH PASSWORD 'x'",
        "CREATE ROLE r WITH SUPERUSER = 1",
        "CREATE ROLE r WITH x = 1",
        "CREATE ROLE r WITH ACCESS TO DATACENTERS {}",
        "CREATE USER u PASSWORD 'x'",
        "GRANT SELECT TO r",
        "GRANT SELECT ON t",
        "GRANT SELECT FROM t TO r",
        "GRANT ALL, SELECT ON t TO r",
        "GRANT EXECUTE ON FUNCTION f TO r",
        "REVOKE r TO s",
        "LIST",
        "LIST TABLES",
        "ADD IDENTITY 'x'",
        "DESCRIBE",
        "DESCRIBE FULL",
        "DESCRIBE TABLE",
        "DESCRIBE MATERIALIZED v",
        "DESCRIBE TABLES t",
        "DESCRIBE t WITH",
        "USE",
        "USE a.b",
        "USE 'ks'",
    ] {
        rejected(text);
    }
}

/// A million bytes of anything must neither exhaust the stack nor take long.
#[test]
fn bombs_are_errors() {
    const REPEATS: usize = 100_000;
    let repeated = |text: &str| text.repeat(REPEATS);
    for (start, middle, end) in [
        ("INSERT INTO t (a) VALUES ", "(", ""),
        ("INSERT INTO t (a) VALUES (", "[", ""),
        ("INSERT INTO t (a) VALUES (", "{", ""),
        ("INSERT INTO t (a) VALUES (", "{1:", ""),
        ("INSERT INTO t (a) VALUES (", "{a:", ""),
        ("INSERT INTO t (a) VALUES (", "(int)", "1)"),
        ("INSERT INTO t (a) VALUES (", "(int) -", "1)"),
        ("INSERT INTO t (a) VALUES (", "f(", "1)"),
        ("INSERT INTO t (a) VALUES (", "CAST(", "1)"),
        ("INSERT INTO t (a) VALUES (", "1 + ", "1)"),
        ("INSERT INTO t (a) VALUES (", "1 * ", "1)"),
        ("INSERT INTO t (a) VALUES (", "- ", "?)"),
        ("INSERT INTO t (a) VALUES ((", "list<", "int"),
        ("INSERT INTO t (a) VALUES ((", "tuple<int,", "int"),
        ("INSERT INTO t (a) VALUES (", "((1),", "1"),
        ("INSERT INTO t (a) VALUES (", "('x')", "1"),
        ("SELECT ", "(", "a"),
        ("SELECT ", "[", "a"),
        ("SELECT ", "{", "a"),
        ("SELECT ", "{a:", "a"),
        ("SELECT ", "- ", "a FROM t"),
        ("SELECT ", "(a)", "a FROM t"),
        ("SELECT ", "(int)", "a FROM t"),
        ("SELECT ", "f(", "a"),
        ("SELECT ", "a.f(", "a"),
        ("SELECT ", "CAST(", "a"),
        ("SELECT ", "writetime(", "a"),
        ("SELECT ", "a + ", "a FROM t"),
        ("SELECT ", "a * ", "a FROM t"),
        ("SELECT a", ".a", " FROM t"),
        ("SELECT a", "[1]", " FROM t"),
        ("SELECT ", "a[a[", " FROM t"),
        ("SELECT * FROM t WHERE ", "(", "a = 1"),
        ("SELECT * FROM t WHERE a = ", "(", "1"),
        ("SELECT * FROM t WHERE a IN ", "(", "1"),
        ("SELECT * FROM t WHERE ", "m[", "1"),
        ("CREATE TABLE t (a ", "list<", "int"),
        ("CREATE TABLE t (a ", "frozen<", "int"),
        ("CREATE TABLE t (a ", "map<int,", "int"),
        ("CREATE TABLE t (a ", "tuple<int,", "int"),
        ("CREATE TABLE t (a ", "vector<", "int"),
        ("CREATE TABLE t (a int) WITH a = ", "{'a':", "1"),
        ("CREATE TABLE t (", "(", "a int"),
        ("UPDATE t SET a = ", "? + ", "a WHERE k = 1"),
        ("BEGIN BATCH ", "BEGIN BATCH ", ""),
    ] {
        let text = format!("{start}{}{end}", repeated(middle));
        rejected(&text);
    }
}

/// Long but flat texts are fine: their time is linear and their stack constant.
#[test]
fn long_flat_statements_are_accepted() {
    const REPEATS: usize = 20_000;
    let list = |item: &str| vec![item; REPEATS].join(",");
    let mut properties = String::new();
    let mut entries = String::new();
    for index in 0..REPEATS {
        write!(properties, " AND p{index} = {index}").unwrap();
        write!(entries, ", 'k{index}': {index}").unwrap();
    }
    for text in [
        format!("SELECT {} FROM t", list("a")),
        format!("SELECT * FROM t WHERE a IN ({})", list("?")),
        format!("SELECT * FROM t WHERE (a, b) IN ({})", list("(1, 'x')")),
        format!("SELECT * FROM t WHERE a = 1{}", " AND b = 2 + 3 - 4".repeat(REPEATS)),
        format!("INSERT INTO t (a) VALUES ([{}])", list("('x')")),
        format!("INSERT INTO t (a) VALUES ([{}])", list("(f(1), 'x')")),
        format!("INSERT INTO t (a) VALUES ('{}')", "''".repeat(REPEATS * 10)),
        format!("INSERT INTO t (a) VALUES (1){}", " ".repeat(REPEATS * 10)),
        format!("{} SELECT * FROM t", "/**/ -- x\n".repeat(REPEATS)),
        format!("BEGIN BATCH {} APPLY BATCH", "INSERT INTO t (a) VALUES (1 + 1);".repeat(REPEATS)),
        format!("CREATE TABLE t ({})", list("a list<int>")),
        format!("CREATE TABLE t (a int) WITH x = 1{properties}"),
        format!("CREATE TABLE t (a int) WITH x = {{'x': 1{entries}}}"),
    ] {
        if let Err(error) = parse(&text) {
            panic!("{error}");
        }
    }
}

#[test]
fn nesting_is_accepted_up_to_its_limit_and_not_beyond() {
    let nested = |depth: usize| format!("INSERT INTO t (a) VALUES ({}1{})", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&nested(NESTING_MAX - 1)).is_ok());
    assert_eq!(rejected(&nested(NESTING_MAX)).kind, SyntaxErrorKind::TooDeep);
    let types = |depth: usize| format!("CREATE TABLE t (a {}int{})", "list<".repeat(depth), ">".repeat(depth));
    assert!(parse(&types(NESTING_MAX - 1)).is_ok());
    assert_eq!(rejected(&types(NESTING_MAX)).kind, SyntaxErrorKind::TooDeep);
}

#[test]
fn operators_are_counted_for_each_expression() {
    let sum = |operators: usize| vec!["1"; operators + 1].join(" + ");
    assert!(parse(&format!("INSERT INTO t (a, b) VALUES ({0}, {0})", sum(EXPRESSION_OPERATORS_MAX))).is_ok());
    let error = rejected(&format!("INSERT INTO t (a) VALUES ({})", sum(EXPRESSION_OPERATORS_MAX + 1)));
    assert_eq!(error.kind, SyntaxErrorKind::TooManyOperators);
}

#[test]
fn markers_are_counted_to_what_the_protocol_can_carry() {
    let markers = |count: usize| format!("SELECT * FROM t WHERE a IN ({})", vec!["?"; count].join(","));
    assert_eq!(parse(&markers(BIND_MARKERS_MAX)).unwrap().markers.len(), BIND_MARKERS_MAX);
    assert_eq!(rejected(&markers(BIND_MARKERS_MAX + 1)).kind, SyntaxErrorKind::TooManyMarkers);
}

/// Nesting and operators at their limits at once, in the smallest stack that a thread of ours may have.
#[test]
fn the_deepest_trees_fit_a_small_stack() {
    const STACK_BYTES: usize = 512 * 1024;
    let deepest = [
        format!(
            "INSERT INTO t (a) VALUES ({}{}{})",
            "[1 + ".repeat(NESTING_MAX - 1),
            vec!["1"; 180].join(" + "),
            "]".repeat(NESTING_MAX - 1)
        ),
        format!("INSERT INTO t (a) VALUES ({}1{})", "(int) ".repeat(NESTING_MAX - 1), " + 1".repeat(EXPRESSION_OPERATORS_MAX)),
        format!("SELECT {}a{}{} FROM t", "(".repeat(NESTING_MAX - 1), ".a".repeat(EXPRESSION_OPERATORS_MAX), ")".repeat(NESTING_MAX - 1)),
        format!("SELECT {}a{} FROM t", "f(".repeat(NESTING_MAX - 1), ")".repeat(NESTING_MAX - 1)),
        format!("SELECT * FROM t WHERE {}a = 1{}", "(".repeat(NESTING_MAX - 1), ")".repeat(NESTING_MAX - 1)),
        format!("CREATE TABLE t (a {}int{})", "list<".repeat(NESTING_MAX - 1), ">".repeat(NESTING_MAX - 1)),
    ];
    for text in deepest {
        let worker = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            let parsed = parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(parsed.clone(), parsed);
            assert!(!format!("{parsed:?}").is_empty());
        });
        worker.unwrap().join().unwrap();
    }
}
