//! Which rows a SELECT gives, and in which order.

use crate::select_support::{Memory, Node};

/// Runs each SELECT with all rows in memory, with none, and through pages, and compares.
fn check(node: &mut Node, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let expected: Vec<String> = expected.split('|').map(str::trim).filter(|row| !row.is_empty()).map(str::to_owned).collect();
        for memory in [Memory::All, Memory::Nothing] {
            node.memory = memory;
            assert_eq!(node.select(text), expected, "{text} with {memory:?} in memory");
            for page_size in [1, 2, 3, 100] {
                assert_eq!(node.paged(text, page_size), expected, "{text} in pages of {page_size} with {memory:?} in memory");
            }
        }
        node.memory = Memory::All;
    }
}

#[test]
fn a_table_without_clustering_columns_gives_its_row_by_key() {
    let mut node = Node::new(3);
    node.define("CREATE TABLE t (k int PRIMARY KEY, a int, b text, l list<int>)");
    node.write("INSERT INTO t (k, a, b, l) VALUES (1, 10, 'x', [3, 1, 2])");
    node.write("UPDATE t SET a = 20 WHERE k = 2");
    node.write("INSERT INTO t (k) VALUES (3)");
    node.write("INSERT INTO t (k, a) VALUES (4, 1)");
    node.write("DELETE FROM t WHERE k = 4");
    check(
        &mut node,
        &[
            ("SELECT * FROM t WHERE k = 1", "1 10 'x' [3, 1, 2]"),
            ("SELECT * FROM t WHERE k = 2", "2 20 null null"),
            ("SELECT * FROM t WHERE k = 3", "3 null null null"),
            ("SELECT * FROM t WHERE k = 4", ""),
            ("SELECT * FROM t WHERE k = 5", ""),
            ("SELECT b, a FROM t WHERE k = 1", "'x' 10"),
            ("SELECT b, a, a, k FROM t WHERE k = 1 LIMIT 1", "'x' 10 10 1"),
            ("SELECT a FROM t WHERE k IN (2, 1, 5, 1)", "10 | 20"),
            ("SELECT a FROM t WHERE k IN (2, 1, 5) LIMIT 1", "10"),
            ("SELECT a FROM t WHERE k IN ()", ""),
            ("SELECT count(*) FROM t", "3"),
            ("SELECT a FROM t WHERE k = 1 AND b = 'x' ALLOW FILTERING", "10"),
            ("SELECT a FROM t WHERE k = 1 AND b = 'y' ALLOW FILTERING", ""),
            ("SELECT k FROM t WHERE l CONTAINS 2 ALLOW FILTERING", "1"),
        ],
    );
    // In the order of tokens: 1 is -4069959284402364209, 2 is -3248873570005575792, 3 is 9010454139840013625.
    check(
        &mut node,
        &[
            ("SELECT k FROM t", "1 | 2 | 3"),
            ("SELECT k FROM t LIMIT 2", "1 | 2"),
            ("SELECT k FROM t WHERE token(k) > token(1)", "2 | 3"),
            ("SELECT k FROM t WHERE token(k) >= token(1) AND token(k) < token(3)", "1 | 2"),
            ("SELECT k FROM t WHERE token(k) > -3248873570005575792", "3"),
            ("SELECT k FROM t WHERE token(k) <= -9223372036854775808", "1 | 2 | 3"),
            ("SELECT k FROM t WHERE token(k) > 5 AND token(k) < 4", ""),
            ("SELECT k FROM t WHERE token(k) = token(2)", "2"),
            ("SELECT k FROM t WHERE k IN (1, 2, 3) AND token(k) > token(1)", "2 | 3"),
            ("SELECT k FROM t WHERE a > 5 ALLOW FILTERING", "1 | 2"),
            ("SELECT k FROM t WHERE k > 1 ALLOW FILTERING", "2 | 3"),
            ("SELECT k FROM t WHERE a BETWEEN 10 AND 19 ALLOW FILTERING", "1"),
            ("SELECT k FROM t WHERE a IN (20, 30) ALLOW FILTERING", "2"),
            ("SELECT k FROM t WHERE a != 20 ALLOW FILTERING", "1"),
            ("SELECT k FROM t WHERE b > 'w' AND a > 1 ALLOW FILTERING", "1"),
        ],
    );
}

#[test]
fn clustering_rows_come_in_order_and_by_slices() {
    let mut node = Node::new(2);
    node.define("CREATE TABLE t (k int, a int, b text, v int, PRIMARY KEY (k, a, b)) WITH CLUSTERING ORDER BY (a ASC, b DESC)");
    for a in 1..=3 {
        for b in ["x", "y", "z"] {
            node.write(&format!("INSERT INTO t (k, a, b, v) VALUES (1, {a}, '{b}', {a})"));
        }
    }
    node.write("INSERT INTO t (k, a, b, v) VALUES (2, 9, 'q', 9)");
    check(
        &mut node,
        &[
            ("SELECT a, b FROM t WHERE k = 1", "1 'z' | 1 'y' | 1 'x' | 2 'z' | 2 'y' | 2 'x' | 3 'z' | 3 'y' | 3 'x'"),
            ("SELECT a, b FROM t WHERE k = 1 ORDER BY a DESC LIMIT 4", "3 'x' | 3 'y' | 3 'z' | 2 'x'"),
            ("SELECT a, b FROM t WHERE k = 1 ORDER BY a DESC, b ASC LIMIT 4", "3 'x' | 3 'y' | 3 'z' | 2 'x'"),
            ("SELECT a, b FROM t WHERE k = 1 AND a = 2", "2 'z' | 2 'y' | 2 'x'"),
            ("SELECT a, b FROM t WHERE k = 1 AND a = 2 ORDER BY b ASC", "2 'x' | 2 'y' | 2 'z'"),
            ("SELECT a, b FROM t WHERE k = 1 AND a = 2 AND b = 'y'", "2 'y'"),
            ("SELECT a, b FROM t WHERE k = 1 AND a = 2 AND b > 'x'", "2 'z' | 2 'y'"),
            ("SELECT a, b FROM t WHERE k = 1 AND a = 2 AND b >= 'x' AND b < 'z'", "2 'y' | 2 'x'"),
            ("SELECT a, b FROM t WHERE k = 1 AND a > 1 AND a <= 2", "2 'z' | 2 'y' | 2 'x'"),
            ("SELECT a, b FROM t WHERE k = 1 AND a > 2 AND a < 2", ""),
            ("SELECT a, b FROM t WHERE k = 1 AND a IN (3, 1) AND b IN ('x', 'z')", "1 'z' | 1 'x' | 3 'z' | 3 'x'"),
            ("SELECT a, b FROM t WHERE k = 1 AND a IN (3, 1) AND b IN ('x', 'z') ORDER BY a DESC", "3 'x' | 3 'z' | 1 'x' | 1 'z'"),
            ("SELECT a, b FROM t WHERE k = 1 AND a IN (3, 1) AND b > 'y'", "1 'z' | 3 'z'"),
            ("SELECT a, b FROM t WHERE k = 1 AND (a, b) = (2, 'x')", "2 'x'"),
            ("SELECT a, b FROM t WHERE k = 1 AND (a, b) IN ((3, 'x'), (1, 'z'))", "1 'z' | 3 'x'"),
            ("SELECT a, b FROM t WHERE k = 1 AND a = 1 AND (b) IN (('x'), ('z'))", "1 'z' | 1 'x'"),
            ("SELECT a, b FROM t WHERE k = 1 AND (a, b) > (2, 'y')", "2 'z' | 3 'z' | 3 'y' | 3 'x'"),
            ("SELECT a, b FROM t WHERE k = 1 AND (a, b) >= (2, 'y') AND (a) < (3)", "2 'z' | 2 'y'"),
            ("SELECT a, b FROM t WHERE k = 1 AND (a, b) <= (1, 'y')", "1 'y' | 1 'x'"),
            ("SELECT a, b FROM t WHERE k = 1 AND b = 'y' ALLOW FILTERING", "1 'y' | 2 'y' | 3 'y'"),
            ("SELECT k, a FROM t WHERE k IN (2, 1) PER PARTITION LIMIT 2", "1 1 | 1 1 | 2 9"),
            ("SELECT k, a FROM t WHERE k IN (2, 1) PER PARTITION LIMIT 2 LIMIT 2", "1 1 | 1 1"),
            ("SELECT a FROM t WHERE b = 'q' ALLOW FILTERING", "9"),
            ("SELECT a FROM t WHERE k = 1 AND v = 3 ALLOW FILTERING", "3 | 3 | 3"),
            ("SELECT a, max(b), count(*) FROM t WHERE k = 1 GROUP BY a", "1 'z' 3 | 2 'z' 3 | 3 'z' 3"),
            ("SELECT a, b FROM t WHERE k = 1 GROUP BY k, a LIMIT 2", "1 'z' | 2 'z'"),
            ("SELECT k, a, min(b) FROM t GROUP BY k, a PER PARTITION LIMIT 2", "1 1 'x' | 1 2 'x' | 2 9 'q'"),
            ("SELECT k, sum(v), avg(v) FROM t GROUP BY k", "1 18 2 | 2 9 9"),
            ("SELECT sum(v), min(b), max(a), count(v) FROM t", "27 'q' 9 10"),
            ("SELECT count(*), max(v) FROM t WHERE k = 7", "0 null"),
            ("SELECT k, count(*) FROM t WHERE k = 7 GROUP BY k", ""),
        ],
    );
    node.memory = Memory::All;
    let sorted = node.select("SELECT k, a, b FROM t WHERE k IN (1, 2) ORDER BY a DESC, b ASC LIMIT 3");
    assert_eq!(sorted, ["2 9 'q'", "1 3 'x'", "1 3 'y'"]);
    let hidden = node.select("SELECT b FROM t WHERE k IN (1, 2) ORDER BY a DESC LIMIT 2");
    assert_eq!(hidden, ["'q'", "'x'"]);
}

#[test]
fn static_columns_join_every_row_and_alone_make_one() {
    let mut node = Node::new(2);
    node.define("CREATE TABLE t (k int, c int, s text static, m map<text, int> static, v int, PRIMARY KEY (k, c))");
    node.write("INSERT INTO t (k, s) VALUES (1, 'one')");
    node.write("INSERT INTO t (k, c, v) VALUES (2, 1, 10)");
    node.write("INSERT INTO t (k, c, s, v) VALUES (3, 1, 'three', 10)");
    node.write("INSERT INTO t (k, c) VALUES (3, 2)");
    node.write("UPDATE t SET m = m + {'a': 1} WHERE k = 3");
    check(
        &mut node,
        &[
            ("SELECT * FROM t WHERE k = 1", "1 null null 'one' null"),
            ("SELECT * FROM t WHERE k = 2", "2 1 null null 10"),
            ("SELECT k, c, s FROM t WHERE k = 3", "3 1 'three' | 3 2 'three'"),
            ("SELECT c, m FROM t WHERE k = 3 AND c = 2", "2 {'a': 1}"),
            ("SELECT k, c FROM t", "1 null | 2 1 | 3 1 | 3 2"),
            ("SELECT count(*) FROM t", "4"),
            ("SELECT k FROM t WHERE c = 1 ALLOW FILTERING", "2 | 3"),
            ("SELECT k FROM t WHERE v = 10 ALLOW FILTERING", "2 | 3"),
            ("SELECT k, c FROM t WHERE s = 'one' ALLOW FILTERING", "1 null"),
            ("SELECT k, c FROM t WHERE s = 'three' ALLOW FILTERING", "3 1 | 3 2"),
            ("SELECT k, c FROM t WHERE k = 1 AND c > 0", ""),
            ("SELECT DISTINCT k, s FROM t", "1 'one' | 2 null | 3 'three'"),
            ("SELECT DISTINCT k FROM t WHERE k IN (3, 1)", "1 | 3"),
            ("SELECT DISTINCT s FROM t WHERE k = 3", "'three'"),
            ("SELECT DISTINCT k FROM t WHERE s = 'three' ALLOW FILTERING", "3"),
            ("SELECT m['a'] FROM t WHERE k = 3 LIMIT 1", "1"),
            ("SELECT k FROM t WHERE m['a'] = 1 ALLOW FILTERING", "3 | 3"),
            ("SELECT DISTINCT k FROM t WHERE m CONTAINS KEY 'a' ALLOW FILTERING", "3"),
        ],
    );
    node.write("DELETE s FROM t WHERE k = 1");
    check(&mut node, &[("SELECT * FROM t WHERE k = 1", ""), ("SELECT DISTINCT k FROM t", "2 | 3")]);
}

#[test]
fn deletions_of_ranges_and_partitions_hide_what_is_older() {
    let mut node = Node::new(2);
    node.define("CREATE TABLE t (k int, c int, s int static, v int, l list<int>, PRIMARY KEY (k, c))");
    for c in 0..10 {
        node.write(&format!("INSERT INTO t (k, c, v, l) VALUES (1, {c}, {c}, [1]) USING TIMESTAMP 100"));
    }
    node.write("DELETE FROM t USING TIMESTAMP 150 WHERE k = 1 AND c >= 3 AND c < 6");
    node.write("INSERT INTO t (k, c, v) VALUES (1, 4, 44) USING TIMESTAMP 140");
    node.write("INSERT INTO t (k, c, v) VALUES (1, 5, 55) USING TIMESTAMP 160");
    node.write("UPDATE t USING TIMESTAMP 140 SET l = l + [2] WHERE k = 1 AND c = 5");
    check(
        &mut node,
        &[
            ("SELECT c, v, l FROM t WHERE k = 1", "0 0 [1] | 1 1 [1] | 2 2 [1] | 5 55 null | 6 6 [1] | 7 7 [1] | 8 8 [1] | 9 9 [1]"),
            ("SELECT c FROM t WHERE k = 1 AND c = 4", ""),
            ("SELECT c, v FROM t WHERE k = 1 AND c = 5", "5 55"),
            ("SELECT c FROM t WHERE k = 1 ORDER BY c DESC LIMIT 6", "9 | 8 | 7 | 6 | 5 | 2"),
            ("SELECT c FROM t WHERE k = 1 AND c > 2 AND c < 7", "5 | 6"),
        ],
    );
    node.write("DELETE FROM t USING TIMESTAMP 155 WHERE k = 1");
    node.write("UPDATE t USING TIMESTAMP 154 SET s = 1 WHERE k = 1");
    node.write("INSERT INTO t (k, c, v) VALUES (1, 7, 77) USING TIMESTAMP 155");
    check(
        &mut node,
        &[
            ("SELECT c, s, v FROM t WHERE k = 1", "5 null 55"),
            ("SELECT c FROM t WHERE k = 1 AND c = 7", ""),
            ("SELECT DISTINCT k FROM t", "1"),
            ("SELECT count(*) FROM t", "1"),
        ],
    );
    node.write("DELETE FROM t WHERE k = 1");
    check(&mut node, &[("SELECT * FROM t", ""), ("SELECT DISTINCT k FROM t", ""), ("SELECT count(*) FROM t", "0")]);
}

#[test]
fn a_deletion_hides_rows_that_were_too_many_to_clean() {
    let mut node = Node::new(2);
    node.define("CREATE TABLE t (k int, c int, s int static, v int, l list<int>, PRIMARY KEY (k, c))");
    for c in 0..2_300 {
        node.write(&format!("INSERT INTO t (k, c, v, l) VALUES (1, {c}, {c}, [1]) USING TIMESTAMP 100"));
    }
    node.write("DELETE FROM t USING TIMESTAMP 150 WHERE k = 1 AND c >= 100");
    node.write("UPDATE t USING TIMESTAMP 160 SET l = l + [2] WHERE k = 1 AND c = 2200");
    node.memory = Memory::All;
    for (text, expected) in [
        ("SELECT count(*) FROM t", "101"),
        ("SELECT count(*), max(v) FROM t WHERE k = 1", "101 99"),
        ("SELECT c, v, l FROM t WHERE k = 1 AND c > 99", "2200 null [2]"),
        ("SELECT c, v, l FROM t WHERE k = 1 AND c = 2200", "2200 null [2]"),
        ("SELECT c FROM t WHERE k = 1 ORDER BY c DESC LIMIT 2", "2200 | 99"),
    ] {
        assert_eq!(node.select(text).join(" | "), expected, "{text}");
    }
    assert!(node.select("SELECT c FROM t WHERE k = 1 AND c = 2250").is_empty());
    node.write("DELETE FROM t USING TIMESTAMP 170 WHERE k = 1");
    node.write("UPDATE t USING TIMESTAMP 180 SET s = 5 WHERE k = 1");
    assert_eq!(node.select("SELECT * FROM t"), ["1 null 5 null null"]);
    assert_eq!(node.select("SELECT DISTINCT k, s FROM t"), ["1 5"]);
    assert!(node.select("SELECT c FROM t WHERE k = 1 AND c IN (2200, 2250, 1)").is_empty());
}

/// Writes the four rows of each of 400 partitions (of the first 30, when that is much) anew, with a value of their own.
fn rewrite(node: &mut Node) {
    let round = node.operations;
    let partitions = if node.memory == Memory::All { 400 } else { 30 };
    for k in 0..partitions {
        for c in 0..4 {
            node.write(&format!("INSERT INTO t (k, c, v) VALUES ({k}, {c}, {round})"));
        }
    }
}

#[test]
fn a_scan_reads_each_partition_at_one_time() {
    for memory in [Memory::All, Memory::Nothing] {
        let mut node = Node::new(2);
        node.memory = memory;
        node.define("CREATE TABLE t (k int, c int, v int, PRIMARY KEY (k, c))");
        rewrite(&mut node);
        let before = node.operations;
        node.meanwhile = Some(rewrite);
        let rows = node.select("SELECT k, v FROM t");
        let rewritten: std::collections::BTreeSet<&String> = rows.iter().collect();
        assert_eq!(rows.len(), rewritten.len() * 4, "with {memory:?} in memory, rows of a partition are of different times");
        let values: std::collections::BTreeSet<&str> = rows.iter().filter_map(|row| row.split(' ').nth(1)).collect();
        assert!(values.len() > 2, "the scan took one operation a core, of {}", node.operations - before);
    }
}

#[test]
fn a_partition_that_is_more_than_an_operation_reads_is_read_in_several() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (k int, c int, PRIMARY KEY (k, c))");
    for (k, rows) in [(1, 100), (2, 2_000), (3, 100)] {
        for c in 0..rows {
            node.write(&format!("INSERT INTO t (k, c) VALUES ({k}, {c})"));
        }
    }
    let before = node.operations;
    assert_eq!(node.select("SELECT count(*) FROM t"), ["2200"]);
    assert!(node.operations - before <= 7, "{} operations", node.operations - before);
}

#[test]
fn pages_of_a_grouped_distinct_give_each_partition_once() {
    let mut node = Node::new(2);
    node.define("CREATE TABLE d (a int, b int, PRIMARY KEY (a, b))");
    for (a, b) in [(1, 1), (1, 2), (2, 1), (2, 2), (4, 1)] {
        node.write(&format!("INSERT INTO d (a, b) VALUES ({a}, {b})"));
    }
    for page in 1..5 {
        let mut rows = node.paged("SELECT DISTINCT a, count(a) FROM d GROUP BY a", page);
        rows.sort();
        assert_eq!(rows, ["1 1", "2 1", "4 1"], "pages of {page}");
    }
}

/// Nothing is as long as a vector's dimension but a vector.
#[test]
fn vectors_of_many_dimensions_are_written_and_compared() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE x (k int PRIMARY KEY, v vector<float, 70000>, t vector<text, 2147483647>)");
    let vector = |number: &str| format!("[{}]", vec![number; 70_000].join(", "));
    node.write(&format!("INSERT INTO x (k, v, t) VALUES (1, {}, null)", vector("1.5")));
    node.write(&format!("INSERT INTO x JSON '{{\"k\": 2, \"v\": {}, \"t\": null}}'", vector("2.5")));
    let [one, two] = ["1.5", "2.5"].map(vector);
    assert_eq!(node.select("SELECT k, v, t FROM x"), [format!("1 {one} null"), format!("2 {two} null")]);
    assert_eq!(node.select(&format!("SELECT k FROM x WHERE v = {one} ALLOW FILTERING")), ["1"]);
    assert_eq!(node.select(&format!("SELECT similarity_euclidean(v, {one}) FROM x WHERE k = 1")), ["1.0"]);
    assert_eq!(node.select("SELECT toJson(t) FROM x WHERE k = 1"), ["'null'"]);
    let error = "Invalid vector literal for t of type vector<text, 2147483647>; expected 2147483647 elements, but given 2";
    assert_eq!(node.error("SELECT * FROM x WHERE t = ['a', 'b'] ALLOW FILTERING"), error);
    let error = "Invalid vector literal for v of type vector<float, 70000>; expected 70000 elements, but given 4464";
    assert_eq!(node.error(&format!("SELECT * FROM x WHERE v = [{}] ALLOW FILTERING", vec!["1"; 4464].join(","))), error);
    assert_eq!(
        node.error(&format!("SELECT similarity_cosine(v, [{}]) FROM x", vec!["1"; 4464].join(","))),
        "All arguments must have the same vector dimensions"
    );
}
