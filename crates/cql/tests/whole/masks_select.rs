//! What stands in place of masked columns, in results of every kind.

use crate::select_support::Node;

fn node() -> Node {
    let mut node = Node::new(2);
    node.define("CREATE TABLE t (k int, c int, s text STATIC, v text, w int, m map<int, text>, PRIMARY KEY (k, c))");
    for key in 0..3 {
        for row in 0..2 {
            let (value, number) = (format!("secret{key}{row}"), key * 10 + row);
            node.write(&format!("INSERT INTO t (k, c, s, v, w, m) VALUES ({key}, {row}, 'st{key}', '{value}', {number}, {{1: 'one'}})"));
        }
    }
    node
}

fn masked(masks: &[(&str, &str)]) -> Node {
    let mut node = node();
    for (column, mask) in masks {
        node.define(&format!("ALTER TABLE t ALTER {column} MASKED WITH {mask}"));
    }
    node.sees_masks = true;
    node
}

#[test]
fn values_are_shown_to_those_who_may_see_them() {
    let mut node = masked(&[("v", "DEFAULT")]);
    assert_eq!(node.select("SELECT v FROM t WHERE k = 1 AND c = 1"), ["'****'"]);
    node.sees_masks = false;
    assert_eq!(node.select("SELECT v FROM t WHERE k = 1 AND c = 1"), ["'secret11'"]);
}

#[test]
fn every_function_masks_what_stands_for_the_column() {
    let mut node = masked(&[("v", "mask_inner(1, 2)"), ("w", "mask_replace(-1)"), ("s", "mask_outer(1, null, '#')"), ("m", "DEFAULT")]);
    assert_eq!(node.select("SELECT s, v, w, m, w + 1 FROM t WHERE k = 1 AND c = 0"), ["'#t1' 's*****10' -1 {} 0"]);
    assert_eq!(node.select("SELECT m[1], ttl(w) FROM t WHERE k = 1 AND c = 0"), ["null null"]);
    assert_eq!(node.select("SELECT JSON v, w FROM t WHERE k = 1 AND c = 0"), [r#"'{"v": "s*****10", "w": -1}'"#]);
    assert_eq!(node.select("SELECT sum(w), max(v), count(v), count(*) FROM t WHERE k = 1"), ["-2 's*****11' 2 2"]);
    assert_eq!(node.select("SELECT k, (text) v AS x, cast(w AS text) FROM t WHERE k = 1 AND c = 0"), ["1 's*****10' '-1'"]);
    let stamp = node.select("SELECT writetime(v) FROM t WHERE k = 1 AND c = 0");
    node.sees_masks = false;
    assert_eq!(stamp, node.select("SELECT writetime(v) FROM t WHERE k = 1 AND c = 0"), "when it was written is no secret");
}

#[test]
fn masked_nulls_look_like_any_other_value() {
    let mut node = masked(&[("v", "DEFAULT"), ("w", "mask_null()")]);
    node.write("INSERT INTO t (k, c) VALUES (9, 9)");
    assert_eq!(node.select("SELECT v, w FROM t WHERE k = 9"), ["'****' null"]);
    assert_eq!(node.select("SELECT v, w FROM t WHERE k = 1 AND c = 1"), ["'****' null"]);
    assert_eq!(node.select("SELECT v, count(*) FROM t WHERE k = 77"), ["null 0"], "there is no row to mask");
}

#[test]
fn keys_are_masked_and_rows_are_found_ordered_grouped_and_paged_by_what_they_are() {
    let mut node = masked(&[("k", "mask_replace(-7)"), ("c", "mask_replace(-8)"), ("v", "mask_replace('x')")]);
    assert_eq!(node.select("SELECT * FROM t WHERE k = 1 AND c = 1"), ["-7 -8 'st1' {1: 'one'} 'x' 11"]);
    assert_eq!(node.select("SELECT k, c, w FROM t WHERE k = 1 ORDER BY c DESC"), ["-7 -8 11", "-7 -8 10"]);
    let sorted = node.select("SELECT c, w FROM t WHERE k IN (0, 1, 2) ORDER BY c DESC");
    assert_eq!(sorted, ["-8 1", "-8 11", "-8 21", "-8 0", "-8 10", "-8 20"], "by clear values");
    let mut groups = node.select("SELECT k, count(*), max(w) FROM t GROUP BY k");
    groups.sort();
    assert_eq!(groups, ["-7 2 1", "-7 2 11", "-7 2 21"]);
    assert_eq!(node.select("SELECT DISTINCT k FROM t"), ["-7", "-7", "-7"]);
    for size in [1, 2, 4, 100] {
        let mut paged = node.paged("SELECT k, c, v, w FROM t", size);
        paged.sort();
        assert_eq!(paged, ["-7 -8 'x' 0", "-7 -8 'x' 1", "-7 -8 'x' 10", "-7 -8 'x' 11", "-7 -8 'x' 20", "-7 -8 'x' 21"]);
    }
    assert_eq!(node.names("SELECT k, v AS x FROM t"), ["k", "x"]);
}

#[test]
fn functions_of_users_mask() {
    let mut node = node();
    node.define("CREATE FUNCTION plus(a int, b int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE lua AS 'return a + b'");
    node.define("ALTER TABLE t ALTER w MASKED WITH plus(100)");
    node.sees_masks = true;
    assert_eq!(node.select("SELECT w FROM t WHERE k = 1"), ["110", "111"]);
    let prepared = node.prepare("SELECT w FROM t").unwrap_or_else(|error| panic!("{error}"));
    let masked = prepared.masking.as_ref().and_then(|masking| masking.masked.clone()).unwrap_or_else(|| panic!("a mask"));
    assert!(prepared.called.is_empty(), "nobody needs EXECUTE on what masks");
    assert_eq!(masked.called.len(), 1, "it is prepared again when the function is replaced");
}

#[test]
fn conditions_that_do_not_hold_show_masks() {
    let mut node = masked(&[("v", "DEFAULT"), ("w", "mask_replace(-1)")]);
    let refused = "UPDATE t SET w = 5 WHERE k = 1 AND c = 0 IF v = 'no' AND w = 10";
    assert_eq!(node.select(refused), ["false '****' -1"]);
    assert_eq!(node.select("INSERT INTO t (k, c) VALUES (1, 0) IF NOT EXISTS"), ["false 1 0 'st1' {1: 'one'} '****' -1"]);
    let batch = "BEGIN BATCH UPDATE t SET w = 5 WHERE k = 1 AND c = 0 IF w = 99; UPDATE t SET w = 6 WHERE k = 1 AND c = 1; APPLY BATCH";
    assert_eq!(node.select(batch), ["false 1 0 -1"]);
    assert_eq!(node.select("UPDATE t SET w = 5 WHERE k = 1 AND c = 0 IF w = 10"), ["true"], "what is stored decides");
    node.sees_masks = false;
    assert_eq!(node.select("UPDATE t SET w = 7 WHERE k = 1 AND c = 0 IF w = 10"), ["false 5"]);
}

#[test]
fn statements_that_show_no_masked_column_stay_as_they_are() {
    let node = masked(&[("v", "DEFAULT")]);
    for text in ["SELECT w FROM t WHERE k = 1 AND c = 1", "SELECT writetime(v) FROM t", "UPDATE t SET v = 'x' WHERE k = 1 AND c = 1"] {
        assert!(node.prepare(text).unwrap_or_else(|error| panic!("{error}")).masking.is_none(), "{text}");
    }
}
