//! Rows that are on the device.

use super::*;
use crate::exec::lookup::visit_at_once;
use crate::failure::Failure;
use crate::schema::Kind;
use crate::testing;
use model::row::{RowWriter, Stamp};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A store in which each row has to be asked for before it is there.
struct Cold {
    row: Vec<u8>,
    warm: BTreeSet<Vec<u8>>,
    missed: RefCell<BTreeSet<Vec<u8>>>,
}

impl RowStore for Cold {
    fn get(&self, _: &PartitionKey<'_>, clustering: &[u8]) -> Result<Option<&[u8]>, Stop> {
        if self.warm.contains(clustering) {
            return Ok(Some(&self.row));
        }
        self.missed.borrow_mut().insert(clustering.to_vec());
        Err(Stop::Miss)
    }

    fn has_rows(&self, _: base::TableId) -> bool {
        true
    }

    fn scan(
        &self,
        _: &PartitionKey<'_>,
        _: &[u8],
        _: Option<&[u8]>,
        _: Direction,
        _: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
    ) -> Result<(), Stop> {
        unreachable!("rows are visited by their keys")
    }

    fn scan_table(
        &self,
        _: base::TableId,
        _: Position<'_>,
        _: base::Token,
        _: &mut dyn FnMut(ScannedRow<'_>) -> Visit,
    ) -> Result<(), Stop> {
        unreachable!("rows are visited by their keys")
    }
}

#[test]
fn rows_on_the_device_are_asked_for_together() {
    let columns = vec![testing::column("id", ElementType::Long, false)];
    let container = testing::container("t", Kind::Collection, columns, 1);
    let mut row = Vec::new();
    RowWriter::new(&mut row, Stamp::at(1), true, None).finish();
    let mut store = Cold { row, warm: BTreeSet::new(), missed: RefCell::default() };
    let keys: Vec<Vec<u8>> = (0..600_u32).map(|key| key.to_be_bytes().to_vec()).collect();
    let mut asked = Vec::new();
    loop {
        let mut seen = 0;
        let visited = visit_at_once(&container, (&keys, 256), &store, |_| {
            seen += 1;
            Ok(Visit::Continue)
        });
        match visited {
            Ok(()) => {
                assert_eq!(seen, 600);
                break;
            }
            Err(Failure::Stop(Stop::Miss)) => {
                let missed = store.missed.take();
                asked.push(missed.len());
                store.warm.extend(missed);
            }
            Err(_) => panic!("a miss is all that there can be"),
        }
    }
    assert_eq!(asked, [256, 256, 88]);
}
