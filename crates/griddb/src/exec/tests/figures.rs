//! How rows were found, which this server's own SQL asks for with its queries.

use super::*;
use crate::client::{Access, Figures, read_aggregated_part, read_part};
use crate::wire::{AGGREGATES_OPTION, FIGURES_OPTION, OWN_GROUP, Reader};
use model::aggregate::{Fold, Function, Spec};

/// The head of a query that asks for figures, after another option of the group.
fn asking(container: i64, option: &[u8]) -> Vec<u8> {
    let mut head = head(container, 0, 0);
    head.truncate(head.len() - 4);
    let group = [option, &FIGURES_OPTION.to_le_bytes()[..], &[1]].concat();
    put_i32(&mut head, group.len() as i32 + 6);
    put_i16(&mut head, OWN_GROUP);
    put_i32(&mut head, group.len() as i32);
    head.extend_from_slice(&group);
    head
}

fn in_parts(text: &str, state: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_i64(&mut out, i64::MAX);
    put_i64(&mut out, 0);
    out.extend_from_slice(state);
    put_string(&mut out, text);
    out
}

fn filled(count: i64) -> (Node, i64) {
    let mut node = Node::new();
    let id = node.put_container("Things", 0, &COLUMNS, 1, false).unwrap();
    let many: Vec<(i64, &str)> = (0..count).map(|id| (id, if id % 2 == 0 { "even" } else { "odd" })).collect();
    let mut arguments = head(id, 0, 0);
    put_i64(&mut arguments, many.len() as i64);
    arguments.extend_from_slice(&rows(&many));
    node.serve(statement::PUT_MULTIPLE_ROWS, &arguments).unwrap();
    (node, id)
}

const FIRST: &[u8] = &[1, 0, 0, 0, 0];

#[test]
fn rows_that_were_looked_at_are_counted_in_each_part() {
    let (mut node, id) = filled(30_000);
    for (text, access, looked_at) in [
        ("select *", Access::Scan, vec![20_000, 10_000]),
        ("select * where text = 'odd'", Access::Scan, vec![20_000, 10_000]),
        ("select * where id >= 29000 and text = 'odd'", Access::Keys, vec![1_000]),
        ("select * where id < 5 order by id desc", Access::Keys, vec![5]),
        ("select * limit 7", Access::Scan, vec![7]),
        ("select * where id > 5 and id < 5", Access::Keys, vec![0]),
    ] {
        let (mut told, mut state) = (Vec::new(), FIRST.to_vec());
        while !state.is_empty() {
            let reply = node.serve(statement::QUERY_TQL, &[asking(id, &[]), in_parts(text, &state)].concat()).unwrap();
            let part = read_part(&mut Reader::new(&reply)).unwrap();
            let figures = part.figures.unwrap();
            assert_eq!((figures.access, figures.index), (access, ""), "{text}");
            told.push(figures.rows);
            state = part.state.unwrap_or_default().to_vec();
        }
        assert_eq!(told, looked_at, "{text}");
    }
    let reply = node.serve(statement::QUERY_TQL, &[head(id, 0, 0), in_parts("select *", FIRST)].concat()).unwrap();
    assert_eq!(read_part(&mut Reader::new(&reply)).unwrap().figures, None, "it was not asked for");
}

#[test]
fn aggregates_tell_of_the_rows_that_they_were_made_of() {
    let (mut node, id) = filled(30_000);
    let mut spec = Vec::new();
    Spec { folds: vec![Fold { function: Function::Rows, column: 0 }], ..Spec::default() }.encode(&mut spec);
    let option = [&AGGREGATES_OPTION.to_le_bytes()[..], &(spec.len() as i32).to_le_bytes(), &spec].concat();
    let asked = [asking(id, &option), in_parts("select * where id >= 29990", FIRST)].concat();
    let reply = node.serve(statement::QUERY_TQL, &asked).unwrap();
    let part = read_aggregated_part(&mut Reader::new(&reply)).unwrap().unwrap();
    assert_eq!((part.state, part.figures), (None, Some(Figures { access: Access::Keys, index: "", rows: 10 })));
}

#[test]
fn a_row_set_has_the_results_that_its_connection_knows() {
    let (mut node, id) = filled(60_000);
    let mut asked = asking(id, &[]);
    put_i64(&mut asked, i64::MAX);
    put_i64(&mut asked, 100);
    // Not in parts.
    asked.extend_from_slice(&[0; 5]);
    put_string(&mut asked, "select *");
    let reply = node.serve(statement::QUERY_TQL, &asked).unwrap();
    assert_eq!(i32::from_le_bytes(reply[..4].try_into().unwrap()), 3, "rows, how many there are, what the next part begins with");
}
