//! Numbers for rows. SQLite combines the parts of an OR by them, each of which is a scan of its own: a row has to have one number in all.

use crate::kept::{Key, Reservation};
use crate::tables::ValueRef;
use std::collections::HashMap;

/// The numbers of a table's rows.
#[derive(Default)]
pub(crate) struct RowNames {
    given: HashMap<Vec<Key>, i64>,
    reservation: Reservation,
}

impl RowNames {
    /// The number of a row that has bytes of its own. None if there is no room for more.
    pub(crate) fn name_of_bytes(&mut self, bytes: &[u8]) -> Option<i64> {
        self.number(vec![Key::Bytes(bytes.into())], bytes.len() + size_of::<Key>())
    }

    /// The number of a key: the integer that it is, else the one that it was given. None if there is no room for more.
    pub(crate) fn name<'a>(&mut self, key: impl Iterator<Item = ValueRef<'a>> + Clone) -> Option<i64> {
        let mut parts = key.clone();
        if let (Some(ValueRef::Integer(only)), None) = (parts.next(), parts.next()) {
            return Some(only);
        }
        let bytes: usize = key.clone().map(|part| bytes_of(part) + size_of::<Key>()).sum();
        self.number(key.filter_map(Key::of).collect(), bytes)
    }

    fn number(&mut self, key: Vec<Key>, bytes: usize) -> Option<i64> {
        if let Some(name) = self.given.get(&key) {
            return Some(*name);
        }
        if !self.reservation.take(bytes + 64) {
            return None;
        }
        let name = self.given.len() as i64 + 1;
        self.given.insert(key, name);
        Some(name)
    }
}

fn bytes_of(part: ValueRef<'_>) -> usize {
    match part {
        ValueRef::Text(text) => text.len(),
        ValueRef::Blob(bytes) => bytes.len(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Time(_) => 0,
    }
}
