//! What a SELECT computes, and what the result's columns are called.

use crate::select_support::Node;
use cql::wire::Value;

fn node() -> Node {
    let mut node = Node::new(2);
    node.define("CREATE TYPE person (name text, age int)");
    node.define(
        "CREATE TABLE t (k int, c int, v int, w bigint, x text, m map<text, int>, e set<int>, u person, f frozen<person>, \
         at timestamp, id timeuuid, y tuple<int, text>, z list<int>, PRIMARY KEY (k, c))",
    );
    node.define("CREATE TABLE \"Odd\" (\"Key\" int PRIMARY KEY, \"a b\" text)");
    node.write(
        "INSERT INTO t (k, c, v, w, x, m, e, u, f, at, y, z) VALUES (1, 1, 7, 8, 'it', {'a': 1, 'b': 2, 'c': 3}, {3, 1, 2}, \
         {name: 'Ann', age: 4}, {name: 'Bob'}, 1000, (1, 'y'), [1, 2])",
    );
    node
}

#[test]
fn outputs_are_computed_and_named_as_in_cassandra() {
    let mut node = node();
    let cases = [
        ("v", "v", "7"),
        ("v AS renamed", "renamed", "7"),
        ("m['b']", "m['b']", "2"),
        ("m['z']", "m['z']", "null"),
        ("e[2]", "e[2]", "2"),
        ("m['b'..'c']", "m['b'..'c']", "{'b': 2, 'c': 3}"),
        ("e[..2]", "e[..2]", "{1, 2}"),
        ("u.age", "u.age", "4"),
        ("f.name", "f.name", "'Bob'"),
        ("f.age", "f.age", "null"),
        ("v + 1", "v + 1", "8"),
        ("v + w", "v + w", "15"),
        ("v * 2 - c", "v * 2 - c", "13"),
        ("-v", "-v", "-7"),
        ("cast(v AS text)", "cast(v as text)", "'7'"),
        ("cast(w AS double)", "cast(w as double)", "8.0"),
        ("(int)5", "(int)5", "5"),
        ("(bigint)5 + v", "(bigint)5 + v", "12"),
        ("token(k)", "system.token(k)", "-4069959284402364209"),
        ("token(1)", "system.token(1)", "-4069959284402364209"),
        ("blobAsInt(intAsBlob(v))", "system.blobasint(system.intasblob(v))", "7"),
        ("toUnixTimestamp(at)", "system.tounixtimestamp(at)", "1000"),
        ("count(*)", "count", "1"),
        ("count(1)", "count", "1"),
        ("COUNT(*)", "count", "1"),
        ("count(v)", "system.count(v)", "1"),
        ("max(v)", "system.max(v)", "7"),
        ("min(x)", "system.min(x)", "'it'"),
        ("sum(v + c)", "system.sum(v + c)", "8"),
        ("avg(v)", "system.avg(v)", "7"),
        ("cast(max(v) AS text)", "cast(system.max(v) as text)", "'7'"),
        ("(v, x)", "(v, x)", "(7, 'it')"),
        ("[v, c]", "[v, c]", "[7, 1]"),
        ("{v, c}", "{v, c}", "{1, 7}"),
        ("(map<text, int>){'a': v}", "(map<text, int>){'a': v}", "{'a': 7}"),
        ("toJson(m)", "system.tojson(m)", "'{\"a\": 1, \"b\": 2, \"c\": 3}'"),
        ("writetime(v)", "writetime(v)", "1700000000000002"),
        ("ttl(v)", "ttl(v)", "null"),
        ("y", "y", "(1, 'y')"),
    ];
    for (selector, name, value) in cases {
        let text = format!("SELECT {selector} FROM t WHERE k = 1");
        let page = node.run(&text, &[], None, None).unwrap_or_else(|error| panic!("{text}: {error}"));
        if selector.starts_with("writetime") {
            assert!(page.rows[0][0].starts_with("17000000000000"), "{page:?}");
        } else {
            assert_eq!(page.rows, [[value]], "{text}");
        }
        assert_eq!(page.names, [name], "{text}");
    }
}

#[test]
fn cells_tell_when_they_were_written_and_how_long_they_live() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (k int PRIMARY KEY, a int, b int, l frozen<list<int>>)");
    node.write("INSERT INTO t (k, a, l) VALUES (1, 1, [1]) USING TIMESTAMP 5");
    node.write("UPDATE t USING TIMESTAMP 9 AND TTL 100 SET b = 2 WHERE k = 1");
    let all = "SELECT writetime(a), ttl(a), writetime(b), ttl(b), writetime(l), b FROM t WHERE k = 1";
    assert_eq!(node.select(all), ["5 null 9 100 5 2"]);
    node.wall_us += 60_000_000;
    assert_eq!(node.select(all), ["5 null 9 40 5 2"]);
    node.wall_us += 40_000_000;
    assert_eq!(node.select(all), ["5 null null null 5 null"]);
    assert_eq!(node.select("SELECT k, ttl(b) FROM t"), ["1 null"]);
}

#[test]
fn rows_and_static_columns_expire() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (k int, c int, s int static, v int, PRIMARY KEY (k, c))");
    node.write("INSERT INTO t (k, c, v) VALUES (1, 1, 1) USING TTL 10");
    node.write("INSERT INTO t (k, c, v) VALUES (1, 2, 2)");
    node.write("UPDATE t USING TTL 20 SET s = 3 WHERE k = 1");
    assert_eq!(node.select("SELECT c, s, v FROM t"), ["1 3 1", "2 3 2"]);
    node.wall_us += 10_000_000;
    assert_eq!(node.select("SELECT c, s, v FROM t"), ["2 3 2"]);
    node.write("DELETE FROM t WHERE k = 1 AND c = 2");
    assert_eq!(node.select("SELECT c, s, v FROM t"), ["null 3 null"]);
    node.wall_us += 10_000_000;
    assert!(node.select("SELECT c, s, v FROM t").is_empty());
}

#[test]
fn json_is_one_text_a_row() {
    let mut node = node();
    node.write("INSERT INTO \"Odd\" (\"Key\", \"a b\") VALUES (1, 'x\"y')");
    let page = node.run("SELECT JSON k, m, u AS who FROM t", &[], None, None).unwrap();
    assert_eq!(page.names, ["[json]"]);
    assert_eq!(page.rows, [[r#"'{"k": 1, "m": {"a": 1, "b": 2, "c": 3}, "who": {"name": "Ann", "age": 4}}'"#]]);
    assert_eq!(node.select("SELECT JSON * FROM \"Odd\" WHERE \"Key\" = 1"), [r#"'{"\"Key\"": 1, "a b": "x\"y"}'"#]);
    assert_eq!(node.select("SELECT JSON count(*) FROM t"), [r#"'{"count": 1}'"#]);
}

#[test]
fn markers_stand_where_values_do() {
    let mut node = node();
    let int = |value: i32| value.to_be_bytes();
    assert_eq!(node.select_with("SELECT v FROM t WHERE k = ? AND c = ?", &[Value::Bytes(&int(1)), Value::Bytes(&int(1))]), ["7"]);
    assert_eq!(node.select_with("SELECT v FROM t WHERE k = ? LIMIT ?", &[Value::Bytes(&int(1)), Value::Bytes(&int(5))]), ["7"]);
    assert_eq!(node.select_with("SELECT v FROM t WHERE k = ? LIMIT ?", &[Value::Bytes(&int(1)), Value::Unset]), ["7"]);
    assert_eq!(node.select_with("SELECT m[?] FROM t WHERE k = 1", &[Value::Bytes(b"c")]), ["3"]);
    let list = [&2i32.to_be_bytes()[..], &4i32.to_be_bytes(), &int(1), &4i32.to_be_bytes(), &int(9)].concat();
    assert_eq!(node.select_with("SELECT v FROM t WHERE k IN ?", &[Value::Bytes(&list)]), ["7"]);
    assert_eq!(node.select_with("SELECT v FROM t WHERE k = 1 AND c IN ?", &[Value::Bytes(&list)]), ["7"]);
    assert_eq!(node.select_with("SELECT v FROM t WHERE c IN ? ALLOW FILTERING", &[Value::Bytes(&list)]), ["7"]);
    assert_eq!(node.select_with("SELECT v FROM t WHERE token(k) >= token(?) ", &[Value::Bytes(&int(1))]), ["7"]);
    assert_eq!(node.select_with("SELECT v FROM t WHERE token(k) > ?", &[Value::Bytes(&i64::MIN.to_be_bytes())]), ["7"]);
    let tuple = [&4i32.to_be_bytes()[..], &int(1)].concat();
    assert_eq!(node.select_with("SELECT v FROM t WHERE k = 1 AND (c) >= ?", &[Value::Bytes(&tuple)]), ["7"]);
    assert_eq!(node.select_with("SELECT v FROM t WHERE k = 1 AND (c) > ?", &[Value::Bytes(&tuple)]), [] as [String; 0]);
    let prepared =
        node.prepare("SELECT v FROM t WHERE token(k) > ? AND token(k) < token(?) AND m[?] = ? AND e CONTAINS ? LIMIT ? ALLOW FILTERING");
    let names: Vec<String> = prepared.unwrap().markers.iter().map(|marker| format!("{} {}", marker.name, marker.data_type)).collect();
    assert_eq!(
        names,
        ["partition key token bigint", "arg0(system.token) int", "key(m) text", "value(m) int", "value(e) int", "[limit] int"]
    );
}

#[test]
fn every_call_of_uuid_is_another() {
    let mut node = node();
    node.write("INSERT INTO t (k, c) VALUES (1, 2)");
    let page = node.run("SELECT uuid(), uuid() FROM t WHERE k = 1", &[], None, None).unwrap();
    let mut all: Vec<&String> = page.rows.iter().flatten().collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4, "{page:?}");
}

#[test]
fn dropped_columns_keep_no_row_alive() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (k int PRIMARY KEY, a int, b int)");
    node.write("UPDATE t SET a = 1 WHERE k = 1");
    node.write("UPDATE t SET a = 1, b = 2 WHERE k = 2");
    node.define("ALTER TABLE t DROP a");
    assert_eq!(node.select("SELECT * FROM t"), ["2 2"]);
    assert!(node.select("SELECT * FROM t WHERE k = 1").is_empty());
    node.define("ALTER TABLE t ADD a int");
    assert_eq!(node.select("SELECT * FROM t"), ["2 null 2"]);
}
