//! What a SELECT may not say, in Cassandra's words.

use crate::select_support::Node;

const FILTERING: &str = "Cannot execute this query as it might involve data filtering and thus may have unpredictable performance. \
     If you want to execute this query despite the performance unpredictability, use ALLOW FILTERING";

fn node() -> Node {
    let mut node = Node::new(1);
    node.define("CREATE TYPE person (name text, age int)");
    node.define(
        "CREATE TABLE t (p int, q int, a int, b int, c int, s int static, v int, m map<text, int>, f frozen<map<text, int>>, l list<int>, \
         u person, d duration, PRIMARY KEY ((p, q), a, b, c))",
    );
    node.define("CREATE TABLE mixed (k int, a int, b int, PRIMARY KEY (k, a, b)) WITH CLUSTERING ORDER BY (a ASC, b DESC)");
    node
}

#[test]
fn refusals_are_cassandras() {
    let mut node = node();
    let cases = [
        ("SELECT * FROM nowhere", "table nowhere does not exist"),
        ("SELECT * FROM no.table1", "keyspace no does not exist"),
        ("SELECT x FROM t", "Undefined column name x in table ks.t"),
        ("SELECT * FROM t WHERE x = 1", "Undefined column name x in table ks.t"),
        ("SELECT * FROM t WHERE p = 1", FILTERING),
        ("SELECT * FROM t WHERE p > 1 AND q = 1", FILTERING),
        ("SELECT * FROM t WHERE v = 1", FILTERING),
        ("SELECT * FROM t WHERE p = 1 AND q = 1 AND v = 1", FILTERING),
        ("SELECT * FROM t WHERE a = 1", FILTERING),
        ("SELECT * FROM t WHERE token(p, q) > 1 AND a = 1", FILTERING),
        ("SELECT * FROM t WHERE l CONTAINS 1", FILTERING),
        (
            "SELECT * FROM t WHERE p = 1 AND q = 1 AND b = 1",
            "PRIMARY KEY column \"b\" cannot be restricted as preceding column \"a\" is not restricted",
        ),
        (
            "SELECT * FROM t WHERE p = 1 AND q = 1 AND a = 1 AND c = 1",
            "PRIMARY KEY column \"c\" cannot be restricted as preceding column \"b\" is not restricted",
        ),
        (
            "SELECT * FROM t WHERE p = 1 AND q = 1 AND a > 1 AND b = 1",
            "Clustering column \"b\" cannot be restricted (preceding column \"a\" is restricted by a non-EQ relation)",
        ),
        (
            "SELECT * FROM t WHERE p = 1 AND q = 1 AND (a, b) > (1, 1) AND (b) < (5)",
            "Column \"b\" cannot be restricted by two inequalities not starting with the same column",
        ),
        (
            "SELECT * FROM t WHERE p = 1 AND q = 1 AND (b, a) > (1, 1)",
            "Clustering columns must appear in the PRIMARY KEY order in multi-column relations: (b, a) > (1, 1)",
        ),
        ("SELECT * FROM t WHERE (a, v) > (1, 1)", "Multi-column relations can only be applied to clustering columns but was applied to: v"),
        ("SELECT * FROM t WHERE p = 1 AND p = 2 AND q = 1", "p cannot be restricted by more than one relation if it includes an Equal"),
        ("SELECT * FROM t WHERE p = 1 AND q = 1 AND a > 1 AND a >= 2", "More than one restriction was found for the start bound on a"),
        ("SELECT * FROM t WHERE p = 1 AND q = 1 AND a < 1 AND a < 2", "More than one restriction was found for the end bound on a"),
        (
            "SELECT * FROM t WHERE p = 1 AND q = 1 AND a = 1 AND a > 2",
            "a cannot be restricted by more than one relation if it includes an Equal",
        ),
        ("SELECT * FROM t WHERE token(p, p) > 1", "The token() function contains duplicate partition key components"),
        ("SELECT * FROM t WHERE p = 1 AND q = 1 AND (a, b, c) = (1, 2)", "Expected 3 elements in value tuple, but got 2: (1, 2)"),
        ("SELECT * FROM t WHERE token(p) > 1", "The token() function must be applied to all partition key components or none of them"),
        ("SELECT * FROM t WHERE token(q, p) > 1", "The token function arguments must be in the partition key order: p, q"),
        (
            "SELECT * FROM t WHERE m = {'a': 1} ALLOW FILTERING",
            "Collection column 'm' (map<text, int>) cannot be restricted by a '=' relation",
        ),
        ("SELECT * FROM t WHERE v CONTAINS 1 ALLOW FILTERING", "Cannot use CONTAINS on non-collection column v"),
        ("SELECT * FROM t WHERE l CONTAINS KEY 1 ALLOW FILTERING", "Cannot use CONTAINS KEY on non-map column l"),
        ("SELECT * FROM t WHERE l[1] = 1 ALLOW FILTERING", "Indexes on list entries (l[index] = value) are not currently supported."),
        ("SELECT * FROM t WHERE v[1] = 1 ALLOW FILTERING", "Column v cannot be used as a map"),
        ("SELECT * FROM t WHERE f['a'] = 1 ALLOW FILTERING", "Map-entry equality predicates on frozen map column f are not supported"),
        (
            "SELECT * FROM t WHERE u = {name: 'x'} ALLOW FILTERING",
            "Non-frozen UDT column 'u' (person) cannot be restricted by any relation",
        ),
        ("SELECT * FROM t WHERE p = null AND q = 1", "Invalid null value in condition for column p"),
        ("SELECT * FROM t WHERE v = null ALLOW FILTERING", "Unsupported null value for column v"),
        ("SELECT * FROM t WHERE d > 1h ALLOW FILTERING", "Slice restrictions are not supported on duration columns"),
        ("SELECT * FROM t LIMIT 0", "LIMIT must be strictly positive"),
        ("SELECT * FROM t PER PARTITION LIMIT 0", "LIMIT must be strictly positive"),
        ("SELECT count(*) FROM t PER PARTITION LIMIT 1", "PER PARTITION LIMIT is not allowed with aggregate queries."),
        ("SELECT * FROM t ORDER BY a", "ORDER BY is only supported when the partition key is restricted by an EQ or an IN."),
        (
            "SELECT * FROM t WHERE p = 1 AND q = 1 ORDER BY v",
            "Order by is currently only supported on the clustered columns of the PRIMARY KEY, got v",
        ),
        (
            "SELECT * FROM t WHERE p = 1 AND q = 1 ORDER BY b",
            "Order by currently only supports the ordering of columns following their declared order in the PRIMARY KEY",
        ),
        ("SELECT * FROM t WHERE p = 1 AND q = 1 ORDER BY a ASC, b DESC", "Unsupported order by relation"),
        ("SELECT * FROM mixed WHERE k = 1 ORDER BY a ASC, b ASC", "Unsupported order by relation"),
        ("SELECT DISTINCT a FROM t", "SELECT DISTINCT queries must only request partition key columns and/or static columns (not a)"),
        ("SELECT DISTINCT p FROM t", "SELECT DISTINCT queries must request all the partition key columns (missing q)"),
        (
            "SELECT DISTINCT p, q FROM t WHERE a = 1 ALLOW FILTERING",
            "SELECT DISTINCT with WHERE clause only supports restriction by partition key and/or static columns.",
        ),
        ("SELECT DISTINCT p, q FROM t PER PARTITION LIMIT 1", "PER PARTITION LIMIT is not allowed with SELECT DISTINCT queries"),
        ("SELECT v FROM t GROUP BY v", "Group by is currently only supported on the columns of the PRIMARY KEY, got v"),
        ("SELECT p FROM t GROUP BY p", "Group by is not supported on only a part of the partition key"),
        (
            "SELECT p FROM t GROUP BY p, q, b",
            "Group by currently only support groups of columns following their declared order in the PRIMARY KEY",
        ),
        ("SELECT writetime(a) FROM t", "Cannot use selection function writetime on PRIMARY KEY part a"),
        ("SELECT ttl(p) FROM t", "Cannot use selection function ttl on PRIMARY KEY part p"),
        ("SELECT writetime(v['a']) FROM t", "Invalid element selection: v is of type int is not a collection"),
        ("SELECT 1 FROM t", "Cannot infer type for term 1 in selection clause (try using a cast to force a type)"),
        ("SELECT nothing(v) FROM t", "Unknown function 'nothing'"),
        ("SELECT max(count(v)) FROM t", "aggregate functions cannot be used as arguments of aggregate functions"),
        ("SELECT l[0] FROM t", "Element selection is only allowed on sets and maps, but l is a list"),
        ("SELECT v['a'] FROM t", "Invalid element selection: v is of type int is not a collection"),
        ("SELECT v.x FROM t", "Invalid field selection: v of type int is not a user type"),
        ("SELECT u.x FROM t", "u of type person has no field x"),
    ];
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let actual = node.error(text);
        if actual != expected {
            wrong.push(format!("{text}\n  gave     {actual}\n  and not  {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_index_takes_expressions() {
    let mut node = node();
    assert_eq!(node.error("SELECT * FROM t WHERE expr(i, 'x')"), "Invalid index expression, index i not found for ks.t");
}

#[test]
fn sorting_several_partitions_cannot_be_paged() {
    let mut node = node();
    let text = "SELECT a FROM t WHERE p IN (1, 2) AND q = 1 ORDER BY a";
    let error = node.run(text, &[], Some(10), None).unwrap_err().to_string();
    assert!(error.starts_with("Cannot page queries with both ORDER BY and a IN restriction on the partition key;"), "{error}");
    assert!(node.run(&format!("{text} LIMIT 10"), &[], Some(10), None).is_ok());
    assert!(node.run(text, &[], None, None).is_ok());
}

#[test]
fn paging_states_that_are_none_are_refused() {
    let mut node = node();
    for values in 0..5 {
        node.write(&format!("INSERT INTO t (p, q, a, b, c) VALUES (1, 1, {values}, 1, 1)"));
    }
    let text = "SELECT a FROM t WHERE p = 1 AND q = 1";
    let state = node.run(text, &[], Some(2), None).unwrap().state.unwrap();
    assert_eq!(node.run(text, &[], None, Some(&state)).unwrap().rows.len(), 3);
    let other = "SELECT a FROM t WHERE p = 2 AND q = 1";
    let invalid = "Invalid value for the paging state";
    assert_eq!(node.run(other, &[], None, Some(&state)).unwrap_err().to_string(), invalid);
    assert_eq!(node.run("SELECT * FROM mixed", &[], None, Some(&state)).unwrap_err().to_string(), invalid);
    for garbage in [&[][..], &[0], &[9; 40], &state[..state.len() - 1]] {
        assert_eq!(node.run(text, &[], None, Some(garbage)).unwrap_err().to_string(), invalid);
    }
    for (position, bit) in (0..state.len()).flat_map(|position| (0..8).map(move |bit| (position, bit))) {
        let mut damaged = state.clone();
        damaged[position] ^= 1 << bit;
        // Another place, or an error; never a panic.
        let _ = node.run(text, &[], Some(2), Some(&damaged));
    }
}

#[test]
fn an_index_does_not_spare_clustering_columns_that_filter() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE i (k int, a int, b frozen<list<int>>, v int, PRIMARY KEY (k, a, b))");
    node.define("CREATE INDEX ON i (v)");
    assert_eq!(node.error("SELECT * FROM i WHERE k = 1 AND b = [1] AND v = 1"), FILTERING);
    assert_eq!(node.error("SELECT * FROM i WHERE k = 1 AND a = 1 AND b CONTAINS 1 AND v = 1"), FILTERING);
    assert_eq!(node.select("SELECT * FROM i WHERE k = 1 AND a = 1 AND b = [1] AND v = 1"), [""; 0]);
    let gap = "PRIMARY KEY column \"b\" cannot be restricted as preceding column \"a\" is not restricted";
    assert_eq!(node.error("SELECT * FROM i WHERE k = 1 AND b = [1]"), gap);
    let contains = "Clustering columns can only be restricted with CONTAINS with a secondary index or filtering";
    assert_eq!(node.error("SELECT * FROM i WHERE b CONTAINS 1"), contains);
}

#[test]
fn vectors_are_compared_with_literals_of_their_dimension() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE x (k int PRIMARY KEY, v vector<float, 2>)");
    node.write("INSERT INTO x (k, v) VALUES (1, [0.1, 0.2])");
    assert_eq!(node.select("SELECT similarity_cosine(v, [-0.1, -0.2]), similarity_euclidean([1.0, 0.0], [1.0, 0.0]) FROM x"), ["0.0 1.0"]);
    let cases = [
        ("(v, [1.0])", "All arguments must have the same vector dimensions"),
        ("([1.0, 2.0], [1.0])", "All arguments must have the same vector dimensions"),
        ("(v)", "Invalid number of arguments for function system.similarity_cosine(vector<float, n>, vector<float, n>)"),
        (
            "(v, [1.0, 'dog'])",
            "Type error: [1.0, 'dog'] cannot be passed as argument 1 of function system.similarity_cosine of type vector<float, 2>",
        ),
        ("({1.0}, [1.0])", "Function system.similarity_cosine requires a float vector argument, but found a literal of another type"),
    ];
    for (arguments, expected) in cases {
        assert_eq!(node.error(&format!("SELECT similarity_cosine{arguments} FROM x")), expected, "{arguments}");
    }
}
