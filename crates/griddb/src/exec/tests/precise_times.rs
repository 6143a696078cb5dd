//! Columns of TIMESTAMP(6) and TIMESTAMP(9): who may have them, and who is told of them.

use super::{ElementType, Node, head};
use crate::ContainerName;
use crate::client::{get_properties, read_properties};
use crate::instant::Instant;
use crate::wire::{Reader, put_i32, statement};

const COLUMNS: [(&str, ElementType); 2] = [("at", ElementType::NanoTimestamp), ("us", ElementType::MicroTimestamp)];

#[test]
fn clients_that_do_not_know_them_are_refused() {
    let mut node = Node::new();
    node.put_container("fine", 0, &COLUMNS, 1, false).unwrap();
    let name = ContainerName::parse("fine");
    let mut known = Vec::new();
    get_properties(&name, &[], &mut known);
    let reply = node.serve(statement::GET_CONTAINER_PROPERTIES, &known).unwrap();
    let told = read_properties(&mut Reader::new(&reply)).unwrap().unwrap();
    assert_eq!(told.columns.iter().map(|column| column.element).collect::<Vec<_>>(), COLUMNS.map(|(_, element)| element));
    let mut unknown = Vec::new();
    put_i32(&mut unknown, 0);
    name.write(&mut unknown);
    put_i32(&mut unknown, 1);
    unknown.push(1);
    assert_eq!(node.serve(statement::GET_CONTAINER_PROPERTIES, &unknown), Err(10_054));
}

#[test]
fn times_that_cannot_be_are_refused() {
    let mut node = Node::new();
    let id = node.put_container("bounds", 0, &COLUMNS, 1, false).unwrap();
    let row = |at: [u8; 9], us: i64| [&[0][..], &at, &us.to_le_bytes()].concat();
    let good = Instant { us: 5, ns: 499 }.nano_wire();
    assert_eq!(node.serve(statement::PUT_ROW, &[head(id, 0, 0), row(good, 7)].concat()), Ok(vec![0]));
    let mut wrong = good;
    wrong[8] = 250;
    for (at, us) in [(wrong, 7), (good, -1), (good, 253_402_300_800_000_000), ([0xFF; 9], 7)] {
        assert!(node.serve(statement::PUT_ROW, &[head(id, 0, 0), row(at, us)].concat()).is_err(), "{at:?} {us}");
    }
    assert!(node.put_container("series", 1, &COLUMNS, 1, false).is_err(), "a time series has a key of milliseconds");
}
