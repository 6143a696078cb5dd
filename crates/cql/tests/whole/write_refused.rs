//! What INSERT, UPDATE, DELETE and BATCH may not say, in Cassandra's words.

use crate::select_support::Node;
use cql::wire::Value;

fn node() -> Node {
    let mut node = Node::new(1);
    node.define("CREATE TYPE person (name text, age int)");
    node.define(
        "CREATE TABLE t (k int, c int, v int, l list<int>, m map<int, int>, z set<int>, u person, f frozen<person>, \
         p frozen<tuple<int, int>>, PRIMARY KEY (k, c))",
    );
    node.define("CREATE TABLE counts (k int PRIMARY KEY, n counter)");
    node
}

#[test]
fn refusals_are_cassandras() {
    let mut node = node();
    let cases = [
        ("UPDATE t SET f.name = 'x' WHERE k = 1 AND c = 1", "Invalid operation (f.name = 'x') for frozen UDT column f"),
        ("UPDATE t SET v.name = 'x' WHERE k = 1 AND c = 1", "Invalid operation (v.name = 'x') for non-UDT column v"),
        ("UPDATE t SET l[0] = 1 WHERE k = 1 AND c = 1", "Attempted to set an element on a list which is null"),
        ("DELETE l[0] FROM t WHERE k = 1 AND c = 1", "Attempted to delete an element from a list which is null"),
        ("UPDATE t SET m[null] = 1 WHERE k = 1 AND c = 1", "Invalid null map key"),
        ("UPDATE t SET l[null] = 1 WHERE k = 1 AND c = 1", "Invalid null value for list index"),
        (
            "DELETE FROM t WHERE k = 1 AND c IN (1, 2) IF EXISTS",
            "IN on the clustering key columns is not supported with conditional deletions",
        ),
        (
            "UPDATE t SET v = 1 WHERE k = 1 AND c IN (1, 2) IF EXISTS",
            "IN on the clustering key columns is not supported with conditional updates",
        ),
        ("UPDATE counts SET n = n + null WHERE k = 1", "Invalid null value for counter increment/decrement"),
        ("SELECT * FROM counts WHERE n = null ALLOW FILTERING", "Invalid null value for counter increment/decrement"),
        (
            "BEGIN COUNTER BATCH USING TIMESTAMP 1 UPDATE counts SET n = n + 1 WHERE k = 1 APPLY BATCH",
            "Cannot provide custom timestamp for counter BATCH",
        ),
        (
            "BEGIN UNLOGGED BATCH USING TIMESTAMP 1 UPDATE counts SET n = n + 1 WHERE k = 1 APPLY BATCH",
            "Cannot provide custom timestamp for a BATCH containing counters",
        ),
        (
            "BEGIN COUNTER BATCH UPDATE t SET v = 1 WHERE k = 1 AND c = 1 APPLY BATCH",
            "Cannot include non-counter statement in a counter batch",
        ),
        (
            "BEGIN BATCH UPDATE t SET v = 1 WHERE k = 1 AND c = 1; UPDATE counts SET n = n + 1 WHERE k = 1 APPLY BATCH",
            "Counter and non-counter mutations cannot exist in the same batch",
        ),
        ("BEGIN BATCH UPDATE counts SET n = n + 1 WHERE k = 1 APPLY BATCH", "Cannot include a counter statement in a logged batch"),
        ("INSERT INTO t (k, c, l) VALUES (1, 1, ['a'])", "Invalid list literal for l: value 'a' is not of type int"),
        ("INSERT INTO t (k, c, z) VALUES (1, 1, {'a'})", "Invalid set literal for z: value 'a' is not of type int"),
        ("INSERT INTO t (k, c, z) VALUES (1, 1, [1])", "Unexpected receiver type 'set<int>'; only list and vector are expected"),
        ("INSERT INTO t (k, c, m) VALUES (1, 1, {'a': 1})", "Invalid map literal for m: key 'a' is not of type int"),
        ("INSERT INTO t (k, c, m) VALUES (1, 1, {1: 'a'})", "Invalid map literal for m: value 'a' is not of type int"),
        ("INSERT INTO t (k, c, p) VALUES (1, 1, (1, 'a'))", "Invalid tuple literal for p: component 1 is not of type int"),
        (
            "INSERT INTO t (k, c, p) VALUES (1, 1, '1:2:3')",
            "Invalid tuple literal: too many elements. Type frozen<tuple<int, int>> expects 2 but got 3",
        ),
        ("INSERT INTO t (k, c, f) VALUES (1, 1, {age: 'a'})", "Invalid user type literal for f: field age is not of type int"),
        ("UPDATE t SET m = m + [1] WHERE k = 1 AND c = 1", "Value for a map addition has to be a map, but was: '[1]'"),
        ("INSERT INTO t (k, c, v) VALUES (1, 1, (1, 2))", "Invalid tuple type literal for v of type int"),
        ("UPDATE counts SET n = n + 1 WHERE k = 1 IF n = 1", "Conditions on counters are not supported"),
        ("UPDATE counts SET n = n + 1 WHERE k = 1 IF EXISTS", "Conditional updates are not supported on counter tables"),
        (
            "UPDATE counts SET n = n - -9223372036854775808 WHERE k = 1",
            "The negation of -9223372036854775808 overflows supported counter precision (signed 8 bytes integer)",
        ),
        ("UPDATE t SET m = m + {1} WHERE k = 1 AND c = 1", "Value for a map addition has to be a map, but was: '{1}'"),
        ("UPDATE t SET v = sum(1) WHERE k = 1 AND c = 1", "Aggregation function are not supported in the where clause"),
        (
            "INSERT INTO t (k, c) VALUES (1, 1) USING TIMESTAMP -9223372036854775808",
            "Out of bound timestamp, must be in [-9223372036854775807, 9223372036854775807]",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(node.error(text), expected, "{text}");
    }
}

#[test]
fn tuples_are_read_from_texts() {
    let mut node = node();
    node.define("CREATE TABLE tuples (k int PRIMARY KEY, t tuple<int, text>)");
    for (key, text) in ["'0:1'", "'1'", r"'1:1\:1'", "'@:1'", "7"].iter().enumerate() {
        node.write(&format!("INSERT INTO tuples (k, t) VALUES ({key}, {text})"));
    }
    let mut rows = node.select("SELECT k, t FROM tuples");
    rows.sort();
    assert_eq!(rows, ["0 (0, '1')", "1 (1)", "2 (1, '1:1')", "3 (null, '1')", "4 (7)"]);
}

#[test]
fn results_of_functions_are_taken_by_types_with_the_same_bytes() {
    let mut node = node();
    node.define("CREATE TABLE times (k int PRIMARY KEY, t timestamp, b bigint, n varint)");
    node.write("INSERT INTO times (k, t, b, n) VALUES (1, toUnixTimestamp(now()), toTimestamp(now()), toTimestamp(now()))");
    assert_eq!(node.select("SELECT count(t), count(b), count(n) FROM times"), ["1 1 1"]);
}

#[test]
fn unset_values_are_refused_where_they_cannot_be_left_out() {
    let mut node = node();
    node.write("INSERT INTO t (k, c, l) VALUES (1, 1, [1, 2])");
    let cases = [
        ("UPDATE t SET m[?] = 1 WHERE k = 1 AND c = 1", "Invalid unset map key"),
        ("DELETE m[?] FROM t WHERE k = 1 AND c = 1", "Invalid unset map key"),
        ("UPDATE t SET l[?] = 1 WHERE k = 1 AND c = 1", "Invalid unset value for list index"),
        ("UPDATE t SET p = (1, ?) WHERE k = 1 AND c = 1", "Invalid unset value for tuple field number 1"),
        ("UPDATE t SET f = {name: 'x', age: ?} WHERE k = 1 AND c = 1", "Invalid unset value for field 'age' of user defined type person"),
        ("SELECT * FROM t WHERE k = blobAsInt(?)", "Invalid unset value for argument in call to function blobasint"),
        ("SELECT * FROM t WHERE token(k) > token(?)", "Invalid unset value for argument in call to function token"),
        ("SELECT * FROM t WHERE k = 1 AND c = ?", "Invalid unset value for column c"),
    ];
    for (text, expected) in cases {
        let error = node.run(text, &[Value::Unset], None, None).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
    for text in ["DELETE l[?] FROM t WHERE k = 1 AND c = 1", "UPDATE t SET l[0] = ? WHERE k = 1 AND c = 1"] {
        node.run(text, &[Value::Unset], None, None).unwrap();
    }
    assert_eq!(node.select("SELECT l FROM t"), ["[1, 2]"]);
}

#[test]
fn of_several_changes_of_an_element_in_one_statement_the_stronger_stands() {
    let mut node = node();
    node.write("UPDATE t SET m[1] = 5, m[1] = 9, m[1] = 7, m[2] = 1, m[2] = null, z = z + {1, 2}, z = z - {2} WHERE k = 1 AND c = 1");
    assert_eq!(node.select("SELECT m, z FROM t"), ["{1: 9} {1}"]);
}

#[test]
fn fields_that_a_user_type_does_not_have_are_deleted_just_before_it() {
    let mut node = node();
    node.write("UPDATE t USING TIMESTAMP 100 SET u.age = 5 WHERE k = 1 AND c = 1");
    node.write("UPDATE t USING TIMESTAMP 100 SET u = {name: 'x'} WHERE k = 1 AND c = 1");
    assert_eq!(node.select("SELECT u FROM t"), ["{name: 'x', age: 5}"]);
    node.write("UPDATE t USING TIMESTAMP 101 SET u = {name: 'y'} WHERE k = 1 AND c = 1");
    assert_eq!(node.select("SELECT u FROM t"), ["{name: 'y', age: null}"]);
}
