use super::super::plan::Times;
use super::super::schema::{ColumnKind, Table};
use super::*;
use cql::wire::ProtocolVersion;

fn plan(columns: &[(ColumnKind, &str, &str)], times: Times) -> Plan {
    Plan::new("k", &Table::of(columns), &[], times)
}

/// Statements with their values; what is unset is `None`.
type Statements = Vec<(usize, Vec<Option<Vec<u8>>>)>;

fn statements(plan: &Plan, row: &[Option<Vec<u8>>], later_us: i64, with_static: bool) -> Statements {
    let row: Vec<Option<&[u8]>> = row.iter().map(Option::as_deref).collect();
    let (mut values, mut found) = (ValuesBuffer::new(), Vec::new());
    let done: Result<(), ()> = write(plan, &row, later_us, with_static, &mut values, |number, values| {
        let values = values.as_values(ProtocolVersion::V4);
        let owned = |value: Value<'_>| match value {
            Value::Bytes(bytes) => Some(bytes.to_vec()),
            _ => None,
        };
        found.push((number, values.iter().map(owned).collect()));
        Ok(())
    });
    assert_eq!(done, Ok(()));
    found
}

fn int(number: i32) -> Option<Vec<u8>> {
    Some(number.to_be_bytes().to_vec())
}

fn time(number: i64) -> Option<Vec<u8>> {
    Some(number.to_be_bytes().to_vec())
}

/// A list of values of a collection, or of what is told of its elements.
fn list(elements: &[Option<Vec<u8>>]) -> Option<Vec<u8>> {
    let mut bytes = i32::try_from(elements.len()).unwrap().to_be_bytes().to_vec();
    elements.iter().for_each(|element| build::field(element.as_deref(), &mut bytes));
    Some(bytes)
}

const KEYS: [(ColumnKind, &str, &str); 2] = [(ColumnKind::Partition, "p", "int"), (ColumnKind::Clustering, "c", "int")];

fn with(more: &[(ColumnKind, &'static str, &'static str)], times: Times) -> Plan {
    plan(&[&KEYS[..], more].concat(), times)
}

#[test]
fn a_row_that_was_written_at_once_is_one_statement() {
    let plan = with(&[(ColumnKind::Regular, "v", "int"), (ColumnKind::Regular, "w", "int")], Times::OfElements);
    let row = [int(1), int(2), int(3), time(70), int(9), None, None, None];
    assert_eq!(statements(&plan, &row, 5, true), [(INSERT, vec![int(1), int(2), int(3), None, time(70), int(9)])]);
}

#[test]
fn cells_of_other_times_are_statements_of_their_own_and_the_oldest_makes_the_row() {
    let plan = with(&[(ColumnKind::Regular, "v", "int"), (ColumnKind::Regular, "w", "int")], Times::OfElements);
    let row = [int(1), int(2), int(3), time(70), None, int(4), time(60), int(9)];
    assert_eq!(
        statements(&plan, &row, 0, true),
        [(INSERT, vec![int(1), int(2), None, int(4), time(60), int(9)]), (UPDATE, vec![time(70), int(0), int(3), None, int(1), int(2)]),]
    );
}

#[test]
fn what_ends_within_the_second_does_not_live_for_ever() {
    let plan = with(&[(ColumnKind::Regular, "v", "int")], Times::OfElements);
    let found = statements(&plan, &[int(1), int(2), int(3), time(70), int(0)], 0, true);
    assert_eq!(found, [(INSERT, vec![int(1), int(2), int(3), time(70), int(1)])]);
}

#[test]
fn a_row_of_a_key_alone_is_there() {
    let plan = with(&[(ColumnKind::Regular, "v", "int")], Times::OfElements);
    let found = statements(&plan, &[int(1), int(2), None, None, None], 0, true);
    assert_eq!(found, [(INSERT, vec![int(1), int(2), None, time(1), int(0)])]);
}

#[test]
fn a_partition_of_static_columns_alone_has_no_row() {
    let plan = with(&[(ColumnKind::Static, "s", "int")], Times::OfElements);
    let row = [int(1), None, int(3), time(70), None];
    assert_eq!(statements(&plan, &row, 0, true), [(UPDATE_STATIC, vec![time(70), int(0), int(3), int(1)])]);
    let row = [int(1), int(2), int(3), time(70), None];
    assert_eq!(
        statements(&plan, &row, 0, false),
        [(INSERT, vec![int(1), int(2), time(1), int(0)])],
        "they were written with the row before"
    );
}

#[test]
fn elements_keep_their_times() {
    let plan = with(&[(ColumnKind::Regular, "m", "map<int,int>"), (ColumnKind::Regular, "s", "set<int>")], Times::OfElements);
    let entries = |of: &[(i32, i32)]| {
        let mut bytes = i32::try_from(of.len()).unwrap().to_be_bytes().to_vec();
        of.iter().for_each(|(key, value)| [key, value].into_iter().for_each(|part| build::field(Some(&part.to_be_bytes()), &mut bytes)));
        Some(bytes)
    };
    let (times, ttls) = (list(&[time(5), time(7), time(5)]), list(&[None, int(9), None]));
    let row = [int(1), int(2), entries(&[(1, 2), (3, 4), (5, 6)]), times, ttls, list(&[int(8)]), list(&[time(5)]), list(&[None])];
    assert_eq!(
        statements(&plan, &row, 0, true),
        [
            (INSERT, vec![int(1), int(2), time(5), int(0)]),
            (UPDATE, vec![time(5), int(0), entries(&[(1, 2), (5, 6)]), list(&[int(8)]), int(1), int(2)]),
            (UPDATE, vec![time(7), int(9), entries(&[(3, 4)]), None, int(1), int(2)]),
        ]
    );
}

#[test]
fn a_list_has_the_time_of_its_newest_element_and_a_later_one_when_it_is_written_again() {
    let plan = with(&[(ColumnKind::Regular, "l", "list<int>")], Times::OfElements);
    let whole = list(&[int(8), int(9)]);
    let row = |ttls: &[Option<Vec<u8>>]| [int(1), int(2), whole.clone(), list(&[time(7), time(5)]), list(ttls)];
    let expected = |time_us, ttl_s| {
        [
            (INSERT, vec![int(1), int(2), time(time_us), int(ttl_s)]),
            (UPDATE, vec![time(time_us), int(ttl_s), whole.clone(), int(1), int(2)]),
        ]
    };
    assert_eq!(statements(&plan, &row(&[int(4), int(6)]), 0, true), expected(7, 6));
    assert_eq!(statements(&plan, &row(&[int(4), None]), 1_000, true), expected(1_007, 0));
}

#[test]
fn what_has_no_time_gets_that_of_the_newest_cell() {
    let plan = with(&[(ColumnKind::Regular, "s", "set<int>"), (ColumnKind::Regular, "v", "int")], Times::OfCellsOnly);
    let whole = list(&[int(8)]);
    let found = statements(&plan, &[int(1), int(2), whole.clone(), int(3), time(70), int(9)], 0, true);
    assert_eq!(
        found,
        [(INSERT, vec![int(1), int(2), int(3), time(70), int(9)]), (UPDATE, vec![time(70), int(9), whole.clone(), int(3), int(1), int(2)]),]
    );
    let found = statements(&plan, &[int(1), int(2), whole.clone(), None, None, None], 0, true);
    assert_eq!(found[1], (UPDATE, vec![time(1), int(0), whole, None, int(1), int(2)]));
}
