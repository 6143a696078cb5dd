//! A table's rows, kept by the value of a column: for joins on columns by which rows are found in no other way.
//!
//! SQLite joins by nested loops. A table that is looked through again and again for one value each time is read once instead, if its rows have room.

use crate::tables::{RowName, Scan, SourceError, Value, ValueRef};
use crate::time::Moment;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that all queries of the process keep.
pub const KEPT_BYTES_MAX: usize = 256 << 20;
/// Bytes that are reserved at once.
const AT_ONCE: usize = 1 << 20;

static KEPT_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes that are kept, until it is dropped.
#[derive(Default)]
pub(crate) struct Reservation {
    bytes: usize,
    used: usize,
}

impl Reservation {
    /// Takes some; false if there are no more.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        self.used += bytes;
        while self.used > self.bytes {
            let taken = KEPT_BYTES
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, |kept| Some(kept + AT_ONCE).filter(|kept| *kept <= KEPT_BYTES_MAX));
            if taken.is_err() {
                return false;
            }
            self.bytes += AT_ONCE;
        }
        true
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        KEPT_BYTES.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// A value that is equal to another one only if SQLite says so: integers, texts, times and bytes; or a row's own bytes.
#[derive(PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Integer(i64),
    Text(String),
    Bytes(Box<[u8]>),
    Time(Moment),
}

/// What a row is called that is kept.
enum Name {
    Number(i64),
    Bytes(Box<[u8]>),
    Key,
}

impl Name {
    fn of(name: RowName<'_>) -> Self {
        match name {
            RowName::Number(number) => Self::Number(number),
            RowName::Bytes(bytes) => Self::Bytes(bytes.into()),
            RowName::Key => Self::Key,
        }
    }

    fn bytes(&self) -> usize {
        if let Self::Bytes(bytes) = self { bytes.len() } else { 0 }
    }
}

impl Key {
    pub(crate) fn of(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Integer(value) => Some(Self::Integer(value)),
            ValueRef::Text(text) => Some(Self::Text(text.to_owned())),
            ValueRef::Blob(bytes) => Some(Self::Bytes(bytes.into())),
            ValueRef::Time(moment) => Some(Self::Time(moment)),
            ValueRef::Null | ValueRef::Real(_) => None,
        }
    }
}

/// Rows, by the value of a column.
pub(crate) struct KeptRows {
    column: usize,
    /// Where columns are that are looked at.
    slots: Vec<Option<usize>>,
    rows: Vec<Box<[Value]>>,
    /// What they are called.
    names: Vec<Name>,
    by_value: HashMap<Key, Vec<usize>>,
    _reservation: Reservation,
}

impl KeptRows {
    /// Keeps the rows of a scan; none if there is no room for them. `columns` are those that are looked at, as [`crate::Tables::scan`] has it.
    pub(crate) fn of(mut scan: Box<dyn Scan>, column: usize, count: usize, columns: u64) -> Result<Option<Self>, SourceError> {
        let mut used = 0;
        let slots: Vec<Option<usize>> = (0..count)
            .map(|position| {
                let is_used = position == column || columns >> position.min(63) & 1 == 1;
                used += usize::from(is_used);
                is_used.then(|| used - 1)
            })
            .collect();
        let (mut rows, mut names, mut by_value) = (Vec::new(), Vec::new(), HashMap::<Key, Vec<usize>>::new());
        let mut reservation = Reservation::default();
        while scan.advance()? {
            let Some(key) = Key::of(scan.value(column)) else { continue };
            let row: Box<[Value]> =
                (0..count).filter(|position| slots[*position].is_some()).map(|position| scan.value(position).to_value()).collect();
            let name = Name::of(scan.row());
            let bytes: usize = row.iter().map(bytes_of).sum::<usize>() + name.bytes();
            // Its place among those of its value, too.
            if !reservation.take(bytes + 96) {
                return Ok(None);
            }
            by_value.entry(key).or_default().push(rows.len());
            rows.push(row);
            names.push(name);
        }
        Ok(Some(Self { column, slots, rows, names, by_value, _reservation: reservation }))
    }

    /// The column by which rows are found.
    pub(crate) fn column(&self) -> usize {
        self.column
    }

    /// The rows of a value.
    pub(crate) fn scan(self: &Arc<Self>, value: &Value, is_descending: bool) -> Box<dyn Scan> {
        let found = Key::of(value.as_ref()).and_then(|key| self.by_value.get(&key)).cloned().unwrap_or_default();
        let found = if is_descending { found.into_iter().rev().collect() } else { found };
        Box::new(KeptScan { rows: Arc::clone(self), found: found.into_iter(), row: 0 })
    }
}

fn bytes_of(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::Text(text) => 2 * text.len(),
            Value::Blob(bytes) => 2 * bytes.len(),
            Value::Null | Value::Integer(_) | Value::Real(_) | Value::Time(_) => 0,
        }
}

struct KeptScan {
    rows: Arc<KeptRows>,
    found: std::vec::IntoIter<usize>,
    row: usize,
}

impl Scan for KeptScan {
    fn advance(&mut self) -> Result<bool, SourceError> {
        let next = self.found.next();
        self.row = next.unwrap_or(self.row);
        Ok(next.is_some())
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        let slot = self.rows.slots.get(column).copied().flatten();
        slot.and_then(|slot| self.rows.rows.get(self.row)?.get(slot)).map_or(ValueRef::Null, Value::as_ref)
    }

    fn row(&self) -> RowName<'_> {
        match self.rows.names.get(self.row) {
            Some(Name::Number(number)) => RowName::Number(*number),
            Some(Name::Bytes(bytes)) => RowName::Bytes(bytes),
            Some(Name::Key) | None => RowName::Key,
        }
    }
}
