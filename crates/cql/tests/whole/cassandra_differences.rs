//! Single answers of Cassandra 5.0's, taken from a live server.

use crate::select_support::{Node, lines};
use cql::wire::Value;

#[test]
fn a_row_of_a_compact_table_may_lack_its_last_clustering_columns() {
    let mut node = Node::new(2);
    node.define("CREATE TABLE t (p int, c int, d int, v int, PRIMARY KEY (p, c, d)) WITH COMPACT STORAGE");
    node.write("INSERT INTO t (p, c, v) VALUES (1, 2, 3)");
    node.write("INSERT INTO t (p, c, d, v) VALUES (1, 2, 5, 4)");
    assert_eq!(node.select("SELECT * FROM t WHERE p = 1"), ["1 2 null 3", "1 2 5 4"]);
    assert_eq!(node.select("SELECT v FROM t WHERE p = 1 AND c = 2 AND d < 9"), ["3", "4"]);
    assert_eq!(node.select("SELECT v FROM t WHERE p = 1 AND c = 2 AND d >= 0"), ["4"]);
    node.write("UPDATE t SET v = 7 WHERE p = 1 AND c = 2");
    assert_eq!(node.select("SELECT v FROM t WHERE p = 1"), ["7", "4"]);
    node.write("DELETE FROM t WHERE p = 1 AND c = 2");
    assert!(node.select("SELECT * FROM t WHERE p = 1").is_empty());
    assert!(node.error("INSERT INTO t (p, v) VALUES (1, 3)").contains("Some clustering keys are missing: c, d"));
}

#[test]
fn the_only_clustering_value_of_a_compact_table_is_not_empty() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (p int, c text, v int, PRIMARY KEY (p, c)) WITH COMPACT STORAGE");
    assert!(node.error("INSERT INTO t (p, c, v) VALUES (1, '', 3)").contains("Invalid empty or null value for column c"));
    assert!(node.select("SELECT * FROM t WHERE p = 1 AND c = ''").is_empty());
}

#[test]
fn one_column_in_parentheses_takes_in_beside_others() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (p int, c int, d int, PRIMARY KEY (p, c, d))");
    for (c, d) in [(1, 3), (2, 3), (2, 4)] {
        node.write(&format!("INSERT INTO t (p, c, d) VALUES (0, {c}, {d})"));
    }
    assert_eq!(node.select("SELECT c, d FROM t WHERE p = 0 AND (c) IN ((1), (2)) AND (d) IN ((3))"), ["1 3", "2 3"]);
    node.write("DELETE FROM t WHERE p = 0 AND (c) IN ((1), (2)) AND d = 3");
    assert_eq!(node.select("SELECT c, d FROM t WHERE p = 0"), ["2 4"]);
}

#[test]
fn the_list_of_a_condition_may_have_nulls() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (p int PRIMARY KEY, v int)");
    node.write("INSERT INTO t (p) VALUES (1)");
    let list = [0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 9, 0xFF, 0xFF, 0xFF, 0xFF];
    let page = node.run("UPDATE t SET v = 1 WHERE p = 1 IF v IN ?", &[Value::Bytes(&list)], None, None).expect("a condition");
    assert_eq!(lines(&page), ["true"]);
    let error = node.run("SELECT * FROM t WHERE p IN ?", &[Value::Bytes(&list)], None, None).map(|_| ()).expect_err("null");
    assert!(error.to_string().contains("Null value read when not allowed"), "{error}");
}

#[test]
fn a_slice_without_elements_is_null_unless_it_is_frozen() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (p int PRIMARY KEY, s set<int>, f frozen<set<int>>)");
    node.write("INSERT INTO t (p, s, f) VALUES (1, {1, 2}, {1, 2})");
    assert_eq!(node.select("SELECT s[2..3], s[7..8], f[7..8] FROM t"), ["{2} null {}"]);
}

#[test]
fn groups_of_several_partitions_are_sorted() {
    let mut node = Node::new(2);
    node.define("CREATE TABLE t (p int, c int, d int, PRIMARY KEY (p, c, d))");
    for (p, c, d) in [(1, 2, 1), (1, 2, 2), (1, 4, 1), (2, 3, 1)] {
        node.write(&format!("INSERT INTO t (p, c, d) VALUES ({p}, {c}, {d})"));
    }
    let sorted = "SELECT p, c, count(d) FROM t WHERE p IN (1, 2) GROUP BY p, c ORDER BY c DESC";
    assert_eq!(node.select(sorted), ["1 4 1", "2 3 1", "1 2 2"]);
    assert_eq!(node.select(&format!("{sorted} LIMIT 2")), ["1 4 1", "2 3 1"]);
}

#[test]
fn a_value_is_refused_that_cassandras_first_kind_of_index_cannot_have() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (p int PRIMARY KEY, v text)");
    node.define("CREATE INDEX i ON t (v)");
    let long = "x".repeat(65_536);
    let error = node.error(&format!("INSERT INTO t (p, v) VALUES (1, '{long}')"));
    assert!(error.contains("Cannot index value of size 65536 for index i on "), "{error}");
    assert!(node.error(&format!("SELECT * FROM t WHERE v = '{long}'")).contains("Index expression values may not be larger than 64K"));
}

#[test]
fn to_json_of_no_bytes_is_null() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (p int PRIMARY KEY, v int, s text)");
    node.write("INSERT INTO t (p, v, s) VALUES (1, blobAsInt(0x), '')");
    assert_eq!(node.select("SELECT to_json(v), to_json(s) FROM t"), ["'null' '\"\"'"]);
    assert_eq!(node.select("SELECT JSON v, s FROM t"), ["'{\"v\": \"\", \"s\": \"\"}'"]);
}

#[test]
fn markers_belong_to_the_table_of_their_statement() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (p int PRIMARY KEY, v int)");
    node.define("CREATE TABLE u (p int PRIMARY KEY, v int)");
    let batch = "BEGIN BATCH USING TIMESTAMP ? INSERT INTO t (p, v) VALUES (?, 1); DELETE FROM u WHERE p = ?; APPLY BATCH";
    let prepared = node.prepare(batch).expect("a batch");
    let tables: Vec<_> = prepared.markers.iter().map(|marker| marker.table.as_ref().map(|table| table.name.as_str())).collect();
    assert_eq!(tables, [None, Some("t"), Some("u")]);
}
