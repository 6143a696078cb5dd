//! What a refused condition shows, as Cassandra has it.

use crate::select_support::{Node, lines};

/// The outcome of a conditional statement: names, then rows.
fn outcome(node: &mut Node, text: &str) -> (String, Vec<String>) {
    let page = node.run(text, &[], None, None).unwrap_or_else(|error| panic!("{text}: {error}"));
    (page.names.join(" "), lines(&page))
}

fn check(node: &mut Node, text: &str, names: &str, rows: &[&str]) {
    assert_eq!(outcome(node, text), (names.to_owned(), rows.iter().map(|row| (*row).to_owned()).collect()), "{text}");
}

fn node() -> Node {
    let mut node = Node::new(2);
    node.define("CREATE TABLE t (k int, c int, s int static, v int, PRIMARY KEY (k, c))");
    node
}

#[test]
fn static_columns_alone_stand_in_the_way_if_conditions_are_about_them() {
    let mut node = node();
    node.write("INSERT INTO t (k, s) VALUES (1, 7)");
    check(&mut node, "DELETE v FROM t WHERE k = 1 AND c = 0 IF s = 1", "[applied] s", &["false 7"]);
    check(&mut node, "DELETE v FROM t WHERE k = 1 AND c = 0 IF v = 1 AND s = 7", "[applied] v s", &["false null 7"]);
    check(&mut node, "DELETE v FROM t WHERE k = 1 AND c = 0 IF v = 1", "[applied]", &["false"]);
    check(&mut node, "UPDATE t SET v = 1, s = 2 WHERE k = 1 AND c = 0 IF v = 1", "[applied] v", &["false null"]);
    check(&mut node, "UPDATE t SET v = 1 WHERE k = 1 AND c = 0 IF EXISTS", "[applied]", &["false"]);
}

#[test]
fn a_condition_on_a_static_column_sees_that_the_partition_has_a_row() {
    let mut node = node();
    check(&mut node, "UPDATE t SET s = 2 WHERE k = 1 IF s = 1", "[applied]", &["false"]);
    node.write("UPDATE t SET v = 5 WHERE k = 1 AND c = 4");
    check(&mut node, "UPDATE t SET s = 2 WHERE k = 1 IF s = 1", "[applied]", &["false"]);
    node.write("INSERT INTO t (k, c) VALUES (1, 5)");
    check(&mut node, "UPDATE t SET s = 2 WHERE k = 1 IF s = 1", "[applied] s", &["false null"]);
    node.write("DELETE FROM t WHERE k = 1");
    check(&mut node, "UPDATE t SET s = 2 WHERE k = 1 IF s = 1", "[applied]", &["false"]);
}

#[test]
fn a_batch_shows_the_rows_of_its_conditions_with_their_keys_in_order() {
    let mut node = node();
    node.write("INSERT INTO t (k, c, s, v) VALUES (1, 1, 7, 10)");
    node.write("INSERT INTO t (k, c, v) VALUES (1, 2, 20)");
    let batch = |parts: &[&str]| format!("BEGIN BATCH {} APPLY BATCH", parts.join("; "));
    let of_static = "UPDATE t SET s = 8 WHERE k = 1 IF s = 7";
    let (first, second) = ("UPDATE t SET v = 1 WHERE k = 1 AND c = 1 IF v = 0", "UPDATE t SET v = 1 WHERE k = 1 AND c = 2 IF v = 0");
    check(&mut node, &batch(&[of_static, second, first]), "[applied] k c s v", &["false 1 1 7 10", "false 1 2 7 20"]);
    // With conditions on static columns alone, the first row.
    let refused = "UPDATE t SET s = 8 WHERE k = 1 IF s = 1";
    let other = "UPDATE t SET v = 1 WHERE k = 1 AND c = 9";
    check(&mut node, &batch(&[other, refused]), "[applied] k c s", &["false 1 1 7"]);
    // Without rows in the way, static columns once.
    let missing = "UPDATE t SET v = 1 WHERE k = 1 AND c = 9 IF v = 0";
    check(&mut node, &batch(&[missing, refused]), "[applied] k c v s", &["false 1 null null 7"]);
}
