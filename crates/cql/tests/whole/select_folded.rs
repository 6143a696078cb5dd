//! Pages of the aggregates that this server's own SQL asks for: how long they are, and that nothing is read twice for them.

use crate::select_support::Node;
use cql::exec::aggregating;
use model::aggregate::{Fold, Function, OwnedValue, Partials, Spec};

/// What all pages of `SELECT b FROM t` are together, how many there were, and how many chunks were read for them.
fn folded(node: &mut Node, spec: &Spec) -> (Vec<Vec<OwnedValue>>, usize, usize) {
    let (mut partials, before) = (Partials::new(spec), node.operations);
    let mut asked = Some(aggregating(spec, None));
    for pages in 0.. {
        let Some(state) = asked else { return (partials.finish(spec), pages, node.operations - before) };
        let page = node.run("SELECT b FROM t", &[], Some(5_000), Some(&state)).unwrap();
        assert_eq!(page.rows.len(), 1);
        let digits = page.rows[0][0].strip_prefix("0x").unwrap();
        let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect();
        partials.merge(spec, &bytes).unwrap();
        asked = page.state.map(|after| aggregating(spec, Some(&after)));
    }
    unreachable!()
}

const ROWS: Fold = Fold { function: Function::Rows, column: 0 };

#[test]
fn a_page_of_many_groups_ends_behind_the_last_chunk_that_was_read() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (k int PRIMARY KEY, b blob)");
    for k in 0..9_000 {
        node.write(&format!("INSERT INTO t (k, b) VALUES ({k}, 0x{k:08x})"));
    }
    let before = node.operations;
    assert_eq!(node.select("SELECT b FROM t").len(), 9_000);
    let chunks = node.operations - before;
    assert!(chunks > 10, "{chunks}");
    let (rows, pages, read) = folded(&mut node, &Spec { groups: vec![0], folds: vec![ROWS], ..Spec::default() });
    assert_eq!(rows.len(), 9_000);
    assert!(rows.iter().all(|row| row[1] == OwnedValue::Integer(1)));
    assert_eq!((pages, read), (3, chunks), "no chunk is read twice");
}

#[test]
fn a_page_of_long_rows_ends_after_their_bytes() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (k int PRIMARY KEY, b blob)");
    for k in 0..200 {
        node.write(&format!("INSERT INTO t (k, b) VALUES ({k}, 0x{k:02x}{})", "00".repeat(100_000)));
    }
    let count = Fold { function: Function::Count, ..ROWS };
    let (rows, pages, _) = folded(&mut node, &Spec { folds: vec![ROWS, count], ..Spec::default() });
    assert_eq!(rows, [[OwnedValue::Integer(200), OwnedValue::Integer(200)]]);
    assert_eq!(pages, 2, "20 MB");
}

#[test]
fn what_repeats_is_refused() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (k int PRIMARY KEY, b blob)");
    let mut refused = |spec: &Spec| node.run("SELECT b FROM t", &[], None, Some(&aggregating(spec, None))).is_err();
    assert!(!refused(&Spec { groups: vec![0], ..Spec::default() }));
    assert!(refused(&Spec { groups: vec![0; 65_535], ..Spec::default() }));
    assert!(refused(&Spec { folds: vec![ROWS; 2], ..Spec::default() }));
}
