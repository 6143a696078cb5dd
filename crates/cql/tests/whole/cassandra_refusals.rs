//! Statements and values that Cassandra 5.0 refuses, in its words, taken from a live server.

use crate::select_support::Node;
use cql::CqlError;
use cql::exec::{Bindings, check_query, check_serial};
use cql::wire::{Consistency, ProtocolVersion, Value, ValuesBuffer};

fn node() -> Node {
    let mut node = Node::new(1);
    node.define(
        "CREATE TABLE t (k int, c int, d int, e frozen<list<int>>, v int, f frozen<list<int>>, l list<int>, m frozen<map<int, int>>, \
         z set<int>, PRIMARY KEY (k, c, d, e))",
    );
    node.define("CREATE TABLE mixed (k int, a int, b int, PRIMARY KEY (k, a, b)) WITH CLUSTERING ORDER BY (a ASC, b DESC)");
    node.define("CREATE TABLE \"Upper\" (\"Key\" int PRIMARY KEY)");
    node.define("CREATE TABLE n (k int PRIMARY KEY, n counter)");
    node.define("CREATE TABLE x (k int PRIMARY KEY, x vector<float, 2>)");
    node
}

fn check(cases: &[(&str, &str)]) {
    let mut node = node();
    for (text, expected) in cases {
        assert_eq!(node.error(text), *expected, "{text}");
    }
}

/// The error of a statement with values.
fn bound(node: &mut Node, text: &str, values: &[Value<'_>]) -> String {
    node.run(text, values, None, None).expect_err(text).to_string()
}

/// A tuple of ints, the last of which is null.
const ONE_AND_NULL: [u8; 12] = [0, 0, 0, 4, 0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF];

#[test]
fn nulls_in_tuples_of_clustering_columns_are_refused() {
    check(&[
        ("SELECT * FROM mixed WHERE k = 1 AND (a, b) > (1, null)", "Invalid null value in condition for column b"),
        ("SELECT * FROM mixed WHERE (a, b) > (1, null) ALLOW FILTERING", "Invalid null value in condition for column b"),
        ("SELECT * FROM mixed WHERE k = 1 AND (a, b) IN ((1, 1), (1, null))", "Invalid null value in condition for columns: [a, b]"),
        ("SELECT * FROM mixed WHERE (a, b) IN ((1, 1), (1, null)) ALLOW FILTERING", "Invalid null value in condition for columns: [a, b]"),
        ("DELETE FROM mixed WHERE k = 1 AND (a, b) IN ((1, 1), (1, null))", "Invalid null value in condition for columns: [a, b]"),
    ]);
    let mut node = node();
    let tuple = [Value::Bytes(&ONE_AND_NULL)];
    for text in ["SELECT * FROM mixed WHERE k = 1 AND (a, b) > ?", "SELECT * FROM mixed WHERE (a, b) = ? ALLOW FILTERING"] {
        assert_eq!(bound(&mut node, text, &tuple), "Invalid null value in condition for column b", "{text}");
    }
    let text = "SELECT * FROM mixed WHERE k = 1 AND (a, b) IN (?)";
    assert_eq!(bound(&mut node, text, &tuple), "Invalid null value in condition for columns: [a, b]");
}

#[test]
fn conditions_compare_with_no_null() {
    check(&[
        ("UPDATE t SET v = 1 WHERE k = 1 AND c = 1 AND d = 1 AND e = [] IF v > null", "Invalid comparison with null for operator \">\""),
        ("UPDATE t SET v = 1 WHERE k = 1 AND c = 1 AND d = 1 AND e = [] IF v <= null", "Invalid comparison with null for operator \"<=\""),
        (
            "UPDATE t SET v = 1 WHERE k = 1 AND c = 1 AND d = 1 AND e = [] IF l CONTAINS null",
            "Invalid comparison with null for operator \"CONTAINS\"",
        ),
    ]);
    let text = "UPDATE t SET v = 1 WHERE k = 1 AND c = 1 AND d = 1 AND e = [] IF v IN ?";
    assert_eq!(bound(&mut node(), text, &[Value::Null]), "Invalid null list in IN condition");
}

#[test]
fn collections_that_must_contain_something_are_not_compared_otherwise() {
    let name = |name: &str| format!("Collection column {name} can only be restricted by CONTAINS, CONTAINS KEY, or map-entry equality");
    let mut node = node();
    for (text, column) in [
        ("SELECT * FROM t WHERE f CONTAINS 1 AND f > [0] ALLOW FILTERING", "f"),
        ("SELECT * FROM t WHERE f CONTAINS 1 AND f = [0] ALLOW FILTERING", "f"),
        ("SELECT * FROM t WHERE m CONTAINS KEY 1 AND m <= {1: 1} ALLOW FILTERING", "m"),
        ("SELECT * FROM t WHERE e CONTAINS 1 AND e >= [0] ALLOW FILTERING", "e"),
        ("SELECT * FROM t WHERE e CONTAINS 1 AND e IN ([0], [1]) ALLOW FILTERING", "e"),
    ] {
        assert_eq!(node.error(text), name(column), "{text}");
    }
    for text in ["f > [0] AND f CONTAINS 1", "e > [0] AND e CONTAINS 1"] {
        let mistake = format!("Column \"{}\" cannot be restricted by both an equality and an inequality relation", &text[..1]);
        assert_eq!(node.error(&format!("SELECT * FROM t WHERE {text} ALLOW FILTERING")), mistake, "{text}");
    }
    for text in ["f CONTAINS 1 AND f CONTAINS 2", "m CONTAINS KEY 1 AND m CONTAINS 2", "e CONTAINS 1 AND e CONTAINS 2"] {
        assert!(node.select(&format!("SELECT * FROM t WHERE {text} ALLOW FILTERING")).is_empty());
    }
}

#[test]
fn partitions_are_not_sorted_by_columns_of_rows() {
    let mut node = node();
    let mistake = "SELECT DISTINCT queries must only request partition key columns and/or static columns (not c)";
    assert_eq!(node.error("SELECT DISTINCT k FROM t WHERE k IN (1, 2) ORDER BY c"), mistake);
    // Of one partition there is nothing to sort.
    assert!(node.select("SELECT DISTINCT k FROM t WHERE k = 1 ORDER BY c").is_empty());
}

#[test]
fn numbers_that_no_double_holds_are_syntax_errors() {
    let mut node = node();
    for number in ["1e400", "-1e400", "1.5e309"] {
        let text = format!("INSERT INTO t (k, v) VALUES (1, {number})");
        let error = node.run(&text, &[], None, None).unwrap_err();
        assert!(matches!(error, CqlError::Syntax(_)) && error.to_string().ends_with("is too large for a double"), "{error}");
    }
    node.define("CREATE TABLE small (k int PRIMARY KEY, f float, d double)");
    node.write("INSERT INTO small (k, f, d) VALUES (1, 1e39, 1e-400)");
    assert_eq!(node.select("SELECT f, d FROM small"), ["Infinity 0.0"]);
}

#[test]
fn restrictions_of_keys_are_refused_in_cassandras_words() {
    let only = |statement: &str| {
        format!(
            "Only EQ and IN relation are supported on the partition key (unless you use the token() function) for {statement} statements"
        )
    };
    let after_range = "Clustering column \"d\" cannot be restricted (preceding column \"c\" is restricted by a non-EQ relation)";
    check(&[
        ("DELETE FROM t WHERE k > 1", &only("DELETE")),
        ("UPDATE t SET v = 1 WHERE k > 1 AND c = 1", &only("UPDATE")),
        ("DELETE FROM t WHERE token(k) > 0", "The token function cannot be used in WHERE clauses for DELETE statements"),
        ("DELETE FROM t WHERE k = 1 AND c > 1 AND d = 1", after_range),
        ("DELETE FROM t WHERE k = 1 AND c > 1 AND d < 1", after_range),
        ("DELETE FROM t WHERE k = 1 AND (c, d) > (1, 2, 3)", "Expected 2 elements in value tuple, but got 3: (1, 2, 3)"),
        ("SELECT * FROM t WHERE token(v) > 0", "The token() function must be applied to all partition key components or none of them"),
        ("SELECT * FROM t WHERE token(k, v) > 0", "The token() function must contains only partition key components"),
        (
            "SELECT * FROM t WHERE k = 1 AND (d, c) IN ((1, 2))",
            "Clustering columns must appear in the PRIMARY KEY order in multi-column relations: (d, c) IN ((1, 2))",
        ),
    ]);
}

#[test]
fn operations_on_columns_of_other_types_are_refused_in_cassandras_words() {
    check(&[
        ("UPDATE n SET n = 1 + n WHERE k = 1", "Invalid operation (n = 1 - n) for non list column n"),
        ("UPDATE t SET f = [1] + f WHERE k = 1 AND c = 1", "Invalid operation (f = [1] - f) for frozen list column f"),
        ("SELECT x[0] FROM x", "Invalid element selection: x is of type vector<float, 2> is not a collection"),
        ("SELECT CAST(v AS uuid) FROM t", "v cannot be cast to uuid"),
        ("SELECT key FROM \"Upper\"", "Undefined column name key in table ks.\"Upper\""),
        ("SELECT writetime(c) FROM t", "Cannot use selection function writetime on PRIMARY KEY part c"),
        ("INSERT INTO t (k, v, v) VALUES (1, 2, 3)", "The column names contains duplicates"),
        ("SELECT * FROM t PER PARTITION LIMIT 0", "LIMIT must be strictly positive"),
    ]);
}

#[test]
fn bound_values_of_a_wrong_size_are_refused_in_cassandras_words() {
    let text = "SELECT * FROM t WHERE k = ?";
    assert_eq!(bound(&mut node(), text, &[Value::Bytes(&[0])]), "Expected 4 or 0 byte int (1)");
    let (values, none) = (ValuesBuffer::new(), "there were 1 markers(?) in CQL but 0 bound variables");
    let (values, node) = (values.as_values(ProtocolVersion::V5), node());
    let markers = &node.prepare(text).unwrap().markers;
    assert_eq!(check_query(markers, &values).unwrap_err().to_string(), "Invalid amount of bind variables");
    assert_eq!(Bindings::new(markers, &values).unwrap_err().to_string(), none);
}

#[test]
fn conditions_have_a_serial_level() {
    let node = node();
    let (plain, conditional) = ("UPDATE n SET n = n + 1 WHERE k = 1", "INSERT INTO mixed (k, a, b) VALUES (1, 1, 1) IF NOT EXISTS");
    let check = |text: &str, level| check_serial(&node.prepare(text).unwrap().statement, level).map_err(|error| error.to_string());
    let mistake = Err("Invalid consistency for conditional update. Must be one of SERIAL or LOCAL_SERIAL".to_owned());
    for (text, level, expected) in [
        (conditional, Some(Consistency::Quorum), mistake.clone()),
        ("BEGIN BATCH INSERT INTO mixed (k, a, b) VALUES (1, 1, 1) IF NOT EXISTS APPLY BATCH", Some(Consistency::One), mistake),
        (conditional, Some(Consistency::Serial), Ok(())),
        (conditional, Some(Consistency::LocalSerial), Ok(())),
        (conditional, None, Ok(())),
        (plain, Some(Consistency::Quorum), Ok(())),
    ] {
        assert_eq!(check(text, level), expected, "{text} {level:?}");
    }
}

#[test]
fn a_second_restriction_of_a_key_is_refused_by_what_the_first_one_is() {
    let both = "Column \"c\" cannot be restricted by both an equality and an inequality relation";
    check(&[
        ("SELECT * FROM t WHERE k = 1 AND k IN (1, 2)", "k cannot be restricted by more than one relation if it includes an Equal"),
        ("SELECT * FROM t WHERE k IN (1, 2) AND k = 1", "k cannot be restricted by more than one relation if it includes a IN"),
        ("SELECT * FROM t WHERE k = 1 AND c > 1 AND c = 1", both),
    ]);
}
