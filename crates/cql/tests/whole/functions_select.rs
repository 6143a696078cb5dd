//! Functions and aggregates of users in statements about rows.

use crate::select_support::Node;
use cql::wire::Value;

fn node() -> Node {
    let mut node = Node::new(2);
    node.define("CREATE TYPE person (name text, age int)");
    node.define("CREATE TABLE t (k int, c int, v int, x text, l list<int>, u frozen<person>, PRIMARY KEY (k, c))");
    for (name, arguments, mode, result, body) in [
        ("plus", "a int, b int", "CALLED", "int", "return (a or 100) + (b or 1000)"),
        ("twice", "a int", "RETURNS NULL", "int", "return a * 2"),
        ("twice", "a text", "RETURNS NULL", "text", "return a .. a"),
        ("size", "a list<int>", "CALLED", "int", "return a and #a"),
        ("older", "a person", "RETURNS NULL", "person", "a.age = a.age + 1 return a"),
        ("one", "", "CALLED", "int", "return 1"),
        ("fail", "a int", "CALLED", "int", "error('no ' .. a)"),
        ("loop", "a int", "CALLED", "int", "while true do end"),
        ("work", "a int", "CALLED", "int", "local s = 0 for i = 1, 20000 do s = s + i end return a"),
        ("wrong", "a int", "CALLED", "int", "return {}"),
        ("sum_next", "s int, v int", "RETURNS NULL", "int", "return s + v"),
        ("list_next", "s list<int>, v int, w text", "CALLED", "list<int>", "s = s or {} s[#s + 1] = v return s"),
        ("list_last", "s list<int>", "CALLED", "text", "return s and table.concat(s, '+')"),
    ] {
        node.define(&format!("CREATE FUNCTION {name}({arguments}) {mode} ON NULL INPUT RETURNS {result} LANGUAGE lua AS $${body}$$"));
    }
    node.define("CREATE AGGREGATE total(int) SFUNC sum_next STYPE int INITCOND 0");
    node.define("CREATE AGGREGATE listed(int, text) SFUNC list_next STYPE list<int> FINALFUNC list_last");
    for c in 1..=4 {
        node.write(&format!("INSERT INTO t (k, c, v, x, l, u) VALUES (1, {c}, {c}, 'x{c}', [{c}, 1], {{name: 'n', age: {c}}})"));
        node.write(&format!("INSERT INTO t (k, c, x) VALUES (2, {c}, 'y')"));
    }
    node
}

#[test]
fn functions_stand_wherever_values_do() {
    let mut node = node();
    let cases = [
        ("plus(v, c)", "ks.plus(v, c)", "2"),
        ("ks.plus(v, 5)", "ks.plus(v, 5)", "6"),
        ("plus(null, v)", "ks.plus(NULL, v)", "101"),
        ("twice(twice(v))", "ks.twice(ks.twice(v))", "4"),
        ("twice(x)", "ks.twice(x)", "'x1x1'"),
        ("twice((text) 'a')", "ks.twice((text)'a')", "'aa'"),
        ("size(l)", "ks.size(l)", "2"),
        ("size([1, 2, 3])", "ks.size([1, 2, 3])", "3"),
        ("older(u).age", "ks.older(u).age", "2"),
        ("one()", "ks.one()", "1"),
        ("twice(v) + 1", "ks.twice(v) + 1", "3"),
        ("cast(twice(v) as text)", "cast(ks.twice(v) as text)", "'2'"),
        ("twice(v) AS z", "z", "2"),
    ];
    for (selector, name, value) in cases {
        let text = format!("SELECT {selector} FROM t WHERE k = 1 AND c = 1");
        assert_eq!(node.names(&text), [name], "{selector}");
        assert_eq!(node.select(&text), [value], "{selector}");
    }
    assert_eq!(node.select("SELECT twice(v), plus(v, c) FROM t WHERE k = 2 AND c = 1"), ["null 101"]);
    assert_eq!(node.select("SELECT JSON twice(v) FROM t WHERE k = 1 AND c = 2"), ["'{\"ks.twice(v)\": 4}'"]);
}

#[test]
fn functions_make_values_that_are_written_and_compared() {
    let mut node = node();
    node.write("INSERT INTO t (k, c, v, x) VALUES (twice(4), one(), plus(1, 2), twice('ab'))");
    assert_eq!(node.select("SELECT k, c, v, x FROM t WHERE k = twice(4) AND c IN (one(), 2)"), ["8 1 3 'abab'"]);
    node.write("UPDATE t SET v = twice(v), l = [one(), 7] WHERE k = 8 AND c = 1".replace("twice(v)", "twice(21)").as_str());
    assert_eq!(node.select("SELECT v, l FROM t WHERE k = 8 AND c >= one()"), ["42 [1, 7]"]);
    node.write("BEGIN BATCH INSERT INTO t (k, c, v) VALUES (9, 1, twice(1)); INSERT INTO t (k, c, v) VALUES (10, 1, twice(2)) APPLY BATCH");
    assert_eq!(node.select("SELECT v FROM t WHERE k IN (9, 10)"), ["2", "4"]);
    // One statement that cannot be computed refuses the whole batch.
    let batch = "BEGIN BATCH INSERT INTO t (k, c, v) VALUES (11, 1, 1); INSERT INTO t (k, c, v) VALUES (12, 1, fail(1)) APPLY BATCH";
    assert!(node.error(batch).contains("no 1"));
    assert_eq!(node.select("SELECT v FROM t WHERE k IN (11, 12)"), Vec::<String>::new());
    let bytes = 5i32.to_be_bytes();
    assert_eq!(node.select_with("SELECT plus(?, 5) FROM t WHERE k = 1 AND c = 1", &[Value::Bytes(&bytes)]), ["10"]);
    assert_eq!(node.select_with("SELECT c FROM t WHERE k = 1 AND c = plus(?, -4)", &[Value::Bytes(&bytes)]), ["1"]);
}

#[test]
fn calls_that_mean_nothing_are_refused() {
    let mut node = node();
    let cases = [
        ("SELECT nothing(v) FROM t", "Unknown function 'nothing'"),
        ("SELECT ks.nothing(v) FROM t", "Unknown function 'ks.nothing'"),
        ("SELECT other.twice(v) FROM t", "Unknown function 'other.twice'"),
        ("SELECT plus(v) FROM t", "Invalid number of arguments in call to function ks.plus: 2 required but 1 provided"),
        ("SELECT plus(v, x) FROM t", "Type error: text cannot be passed as argument 1 of function ks.plus of type int"),
        (
            "SELECT twice(l) FROM t",
            "Invalid call to function twice, none of its type signatures match (known type signatures: ks.twice : (int) -> int, ks.twice : (text) -> text)",
        ),
        ("INSERT INTO t (k, c, x) VALUES (1, 1, one())", "Type error: cannot assign result of function ks.one (type int) to x (type text)"),
        ("SELECT c FROM t WHERE k = 1 AND c = total(1)", "Aggregation function are not supported in the where clause"),
        ("SELECT total(max(v)) FROM t", "aggregate functions cannot be used as arguments of aggregate functions"),
    ];
    for (text, expected) in cases {
        assert_eq!(node.error(text), expected, "{text}");
    }
}

#[test]
fn a_function_that_fails_ends_its_statement() {
    let mut node = node();
    assert_eq!(node.error("SELECT fail(v) FROM t WHERE k = 1 AND c = 1"), "execution of 'ks.fail[int]' failed: ks.fail:1: no 1");
    assert_eq!(
        node.error("SELECT wrong(v) FROM t WHERE k = 1 AND c = 1"),
        "execution of 'ks.wrong[int]' failed: the result is a table, which int cannot be made of"
    );
    assert_eq!(
        node.error("INSERT INTO t (k, c, v) VALUES (1, 1, loop(1))"),
        "execution of 'ks.loop[int]' failed: the budget of 1000000 instructions is used up"
    );
    assert!(node.error("SELECT loop(v) FROM t").contains("instructions"));
    // All values of a statement share a budget.
    let calls = vec!["work(1)"; 80].join(", ");
    assert!(node.error(&format!("UPDATE t SET l = [{calls}] WHERE k = 1 AND c = 1")).contains("instructions"));
}

#[test]
fn aggregates_of_users_follow_rows_groups_and_pages() {
    let mut node = node();
    assert_eq!(node.select("SELECT total(v), count(*), ks.total(c) FROM t"), ["10 8 20"]);
    assert_eq!(node.names("SELECT total(v) FROM t"), ["ks.total(v)"]);
    assert_eq!(node.select("SELECT listed(v, x) FROM t WHERE k = 1"), ["'1+2+3+4'"]);
    assert_eq!(node.select("SELECT total(v), listed(c, x) FROM t WHERE k = 7"), ["0 null"]);
    let groups = ["1 10 '1+2+3+4'", "2 0 '1+2+3+4'"];
    assert_eq!(node.select("SELECT k, total(v), listed(c, x) FROM t WHERE k IN (1, 2) GROUP BY k"), groups);
    assert_eq!(node.paged("SELECT k, total(v), listed(c, x) FROM t WHERE k IN (1, 2) GROUP BY k", 1), groups);
    assert_eq!(node.paged("SELECT total(v) FROM t WHERE k = 1 GROUP BY k, c", 3), ["1", "2", "3", "4"]);
    assert_eq!(node.select("SELECT twice(total(twice(v))) FROM t WHERE k = 1"), ["40"]);
}

#[test]
fn long_work_is_done_in_slices() {
    let mut node = node();
    for c in 0..300 {
        node.write(&format!("INSERT INTO t (k, c, v) VALUES (5, {c}, {c})"));
    }
    let expected: Vec<String> = (0..300).map(|c| c.to_string()).collect();
    assert_eq!(node.select("SELECT work(c) FROM t WHERE k = 5"), expected);
    // 300 times 60,000 instructions, in steps of half a million.
    assert!((20..100).contains(&node.waits), "{}", node.waits);
    node.waits = 0;
    assert_eq!(node.paged("SELECT work(c) FROM t WHERE k = 5", 70), expected);
    assert!(node.waits > 20);
    node.waits = 0;
    assert_eq!(node.select("SELECT total(work(c)) FROM t WHERE k = 5"), [(0..300).sum::<i32>().to_string()]);
    assert!(node.waits > 20);
    node.waits = 0;
    let sorted = node.select("SELECT work(c) FROM t WHERE k IN (5, 1) ORDER BY c DESC LIMIT 100");
    assert_eq!(sorted, (200..300).rev().map(|c| c.to_string()).collect::<Vec<_>>());
    assert!(node.waits > 5);
    node.waits = 0;
    node.select("SELECT twice(c) FROM t WHERE k = 5");
    assert_eq!(node.waits, 0, "what is light is done at once");
}
