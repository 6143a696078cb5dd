//! The entries of a row, and the observer that keeps them.

use super::analysis::Analysis;
use super::class::has_entries;
use super::key::{self, EntryKey};
use crate::value::{self, comparable, layout};
use base::Token;
use model::operation::{
    Context, Direction, FIRST_ROW_BYTE, INDEX_OVERSIZE_KEY, INDEXED_VALUES_MAX, IndexedValues, PartitionKey, RANGE_DELETION_PREFIX,
    RowChange, RowObserver, RowStore, Stop, Visit, WriteSet, index_slot_key, index_slot_token, purge_after_s,
};
use model::row::{Cell, Content, Deletion, ElementContent, RowView, RowWriter, Stamp};
use model::{Column, ColumnId, ColumnKind, DataType, Index, IndexPart, Order, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A deletion of a partition or range takes the entries of so many rows away. Those of others stay, and are found to be of no row when they are met.
const COVERED_ROWS_MAX: usize = 1024;

/// A row expires by the clock of whoever reads it, which may be behind: its entry is there for so much longer.
const CLOCKS_APART_S: u32 = 3600;

/// Keeps the entries of one index.
pub struct Entries {
    table: Arc<Table>,
    index: Arc<Index>,
    /// The column's position in the table.
    position: usize,
    /// What is done to texts first.
    analysis: Option<Analysis>,
    /// Tells the values within a cell, if the column's type does not.
    within: Option<Arc<dyn IndexedValues>>,
}

/// Keys of entries, with what they live by.
type Found = BTreeMap<Vec<u8>, Stamp>;

/// The entries of one row; those that are too long are only noted.
#[derive(Default)]
pub(super) struct OfRow {
    found: Found,
    has_oversize: bool,
}

/// A row that is looked at.
#[derive(Clone, Copy)]
struct Place<'a> {
    token: Token,
    partition: &'a [u8],
    clustering: &'a [u8],
}

impl Entries {
    /// Of an index; `None` if it has no entries.
    #[must_use]
    pub fn new(table: Arc<Table>, index: Arc<Index>) -> Option<Self> {
        if !has_entries(&table, &index) {
            return None;
        }
        let (position, column) = table.column_of_id(index.column)?;
        let analysis = Analysis::of(&index, indexed_type(&column.data_type, index.part));
        Some(Self { table, index, position, analysis, within: None })
    }

    /// Has entries of the values that these tell of a cell, not of the cell.
    #[must_use]
    pub fn of_values_within(self, within: Option<Arc<dyn IndexedValues>>) -> Self {
        Self { within, ..self }
    }

    fn column(&self) -> &Column {
        &self.table.columns[self.position]
    }

    /// The partition of the entries of rows with this token.
    fn partition<'a>(&self, token: Token, bytes: &'a [u8; 2]) -> PartitionKey<'a> {
        PartitionKey { table: self.index.id, token: index_slot_token(token.slot()), bytes }
    }

    /// The entries of a row, those of cells that have expired included.
    pub(super) fn of_row(&self, partition: &PartitionKey<'_>, clustering: &[u8], row: &[u8]) -> OfRow {
        let mut entries = OfRow::default();
        let column = self.column();
        let is_partitions_own = clustering.is_empty() && self.table.clustering_len > 0;
        if clustering.first() == Some(&RANGE_DELETION_PREFIX) || is_partitions_own != (column.kind == ColumnKind::Static) {
            return entries;
        }
        let place = Place { token: partition.token, partition: partition.bytes, clustering };
        let view = RowView::new(row);
        match column.kind {
            ColumnKind::PartitionKey => {
                let value = value::PartitionKey::new(partition.bytes, self.table.partition_key_len).nth(self.position);
                if let (Some(value), Some(stamp)) = (value, lasting_stamp(&view)) {
                    self.value(value, stamp, place, &mut entries);
                }
            }
            ColumnKind::Clustering => {
                let value = component(&self.table, clustering, self.position - self.table.partition_key_len);
                if let (Some(value), Some(stamp)) = (value, lasting_stamp(&view)) {
                    self.value(&value, stamp, place, &mut entries);
                }
            }
            ColumnKind::Static | ColumnKind::Regular => {
                if let Some(cell) = view.cells().find(|cell| cell.column == column.id) {
                    self.cell(&cell, place, &mut entries);
                }
            }
        }
        entries
    }

    fn cell(&self, cell: &Cell<'_>, place: Place<'_>, entries: &mut OfRow) {
        match cell.content {
            Content::Tombstone(_) => {}
            Content::Value(value) => self.value(value, cell.stamp, place, entries),
            Content::Complex(complex) => {
                for element in complex.elements() {
                    let ElementContent::Value(value) = element.content else { continue };
                    let parts: &[(&DataType, &[u8])] = match (&self.column().data_type, self.index.part) {
                        (DataType::Set(ty, _), _) => &[(ty, element.path)],
                        (DataType::List(ty, _), _) => &[(ty, value)],
                        (DataType::Map(ty, _, _), IndexPart::Keys) => &[(ty, element.path)],
                        (DataType::Map(key, ty, _), IndexPart::Entries) => &[(key, element.path), (ty, value)],
                        (DataType::Map(_, ty, _), _) => &[(ty, value)],
                        _ => continue,
                    };
                    self.add(parts, element.stamp, place, entries);
                }
            }
        }
    }

    /// Entries of a value that is one cell or a part of the key.
    fn value(&self, value: &[u8], stamp: Stamp, place: Place<'_>, entries: &mut OfRow) {
        if let Some(within) = &self.within {
            let mut count = 0;
            return within.visit(value, &mut |ty, value| {
                count += 1;
                if count <= INDEXED_VALUES_MAX {
                    self.add(&[(ty, value)], stamp, place, entries);
                } else {
                    entries.has_oversize = true;
                }
            });
        }
        match (&self.column().data_type, self.index.part) {
            (DataType::List(ty, _) | DataType::Set(ty, _), IndexPart::Values) => {
                layout::elements(value).for_each(|element| self.add(&[(ty, element)], stamp, place, entries));
            }
            (DataType::Map(ty, _, _), IndexPart::Keys) => {
                layout::entries(value).for_each(|(key, _)| self.add(&[(ty, key)], stamp, place, entries));
            }
            (DataType::Map(_, ty, _), IndexPart::Values) => {
                layout::entries(value).for_each(|(_, value)| self.add(&[(ty, value)], stamp, place, entries));
            }
            (DataType::Map(of_key, ty, _), IndexPart::Entries) => {
                layout::entries(value).for_each(|(key, value)| self.add(&[(of_key, key), (ty, value)], stamp, place, entries));
            }
            (ty, _) => self.add(&[(ty, value)], stamp, place, entries),
        }
    }

    /// Adds the entry of a value, or of a key and its value; of a text that is taken apart those of its tokens.
    fn add(&self, parts: &[(&DataType, &[u8])], stamp: Stamp, place: Place<'_>, entries: &mut OfRow) {
        let (Some(analysis), [(ty, value)]) = (&self.analysis, parts) else {
            return Self::add_key(key::value_key(parts.iter().copied()), stamp, place, entries);
        };
        let room_until = entries.found.len() + INDEXED_VALUES_MAX;
        analysis.stored_texts(value, &mut |text| {
            if entries.found.len() < room_until {
                Self::add_key(key::value_key([(*ty, text)].into_iter()), stamp, place, entries);
            } else {
                entries.has_oversize = true;
            }
        });
    }

    /// Adds the entry with the key that begins with this value.
    fn add_key(mut key: Vec<u8>, stamp: Stamp, place: Place<'_>, entries: &mut OfRow) {
        if !EntryKey::append(place.token, place.partition, place.clustering, &mut key) {
            entries.has_oversize = true;
            return;
        }
        // Of a list's equal elements the one that lives longest counts.
        entries.found.entry(key).and_modify(|before| *before = longer(*before, stamp)).or_insert(stamp);
    }

    /// Whether the entry of a value that was there before is right as it is. What was not written has its entry still. What was written again
    /// has it, too, if no deletion of a range can have taken it in between; it is only written again to be there for another time.
    fn stays(&self, before: Stamp, stamp: Stamp) -> bool {
        let lives_alike = (before.ttl_s, before.expires_at_s) == (stamp.ttl_s, stamp.expires_at_s);
        stamp == before || self.table.clustering_len == 0 && lives_alike
    }

    /// Whether two rows have the same entries, as far as that is seen without a look at each.
    fn is_same(&self, old: &[u8], new: &[u8]) -> bool {
        let column = self.column();
        if matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering) {
            return false;
        }
        let cell = |row| RowView::new(row).cells().find(|cell| cell.column == column.id);
        match (cell(old), cell(new)) {
            (Some(Cell { content: Content::Value(before), stamp: old, .. }), Some(Cell { content: Content::Value(value), stamp, .. })) => {
                before == value && self.stays(old, stamp)
            }
            (before, value) => before.is_none() && value.is_none(),
        }
    }

    /// Stages the entries that a row has now and had not before, and the end of those that it has no more.
    fn replace(&self, context: &Context, change: &RowChange<'_>, derived: &mut WriteSet) {
        let token = change.partition.token;
        let mut new = self.of_row(&change.partition, change.clustering, change.new);
        if let Some(old) = change.old {
            let mut old = self.of_row(&change.partition, change.clustering, old);
            old.found.retain(|key, before| match new.found.get(key) {
                Some(stamp) if self.stays(*before, *stamp) => new.found.remove(key).is_none(),
                Some(_) => false,
                None => true,
            });
            self.remove(token, old.found.keys(), context, derived);
        }
        self.stage(token, &new, derived);
    }

    /// Stages the entries of a row that has none yet.
    pub(super) fn stage(&self, token: Token, entries: &OfRow, derived: &mut WriteSet) {
        let bytes = index_slot_key(token.slot());
        let partition = self.partition(token, &bytes);
        for (key, stamp) in &entries.found {
            let kind = RowWriter::new(derived.begin(&partition, key), *stamp, true, None).finish();
            derived.end(purge_after_s(kind, CLOCKS_APART_S));
        }
        if entries.has_oversize {
            RowWriter::new(derived.begin(&partition, INDEX_OVERSIZE_KEY), Stamp::at(0), true, None).finish();
            derived.end(None);
        }
    }

    /// Stages the end of entries.
    fn remove<'a>(&self, token: Token, keys: impl Iterator<Item = &'a Vec<u8>>, context: &Context, derived: &mut WriteSet) {
        let bytes = index_slot_key(token.slot());
        let partition = self.partition(token, &bytes);
        let deletion = Deletion { timestamp: context.timestamp_us, deleted_at_s: context.now_s() };
        for key in keys {
            let kind = RowWriter::new(derived.begin(&partition, key), Stamp::at(0), false, Some(deletion)).finish();
            derived.end(purge_after_s(kind, 0));
        }
    }

    /// The entries of rows that a new deletion covers go, unless the same operation writes the row.
    fn covered(&self, context: &Context, change: &RowChange<'_>, rows: &dyn RowStore, derived: &mut WriteSet) -> Result<(), Stop> {
        let Some(deletion) = RowView::new(change.new).deletion() else { return Ok(()) };
        if self.column().kind == ColumnKind::Static || change.old.and_then(|old| RowView::new(old).deletion()) == Some(deletion) {
            return Ok(());
        }
        let (from, to) = match change.clustering.first() {
            None => (&[FIRST_ROW_BYTE][..], None),
            Some(_) => match crate::exec::range_of_deletion(change.clustering) {
                Some((from, to)) => (from, Some(to).filter(|to| !to.is_empty())),
                None => return Ok(()),
            },
        };
        let mut left = COVERED_ROWS_MAX;
        rows.scan(&change.partition, from, to, Direction::Forward, &mut |clustering, row| {
            if change.group.find(&change.partition, clustering).is_none() {
                let old = self.of_row(&change.partition, clustering, row);
                let dead = old.found.iter().filter(|(_, stamp)| stamp.timestamp <= deletion.timestamp);
                self.remove(change.partition.token, dead.map(|(key, _)| key), context, derived);
            }
            left -= 1;
            if left == 0 { Visit::Stop } else { Visit::Continue }
        })
    }
}

impl RowObserver for Entries {
    fn changed(&self, context: &Context, change: &RowChange<'_>, rows: &dyn RowStore, derived: &mut WriteSet) -> Result<(), Stop> {
        if !change.old.is_some_and(|old| self.is_same(old, change.new)) {
            self.replace(context, change, derived);
        }
        if self.table.clustering_len > 0 && change.clustering.first().is_none_or(|first| *first == RANGE_DELETION_PREFIX) {
            self.covered(context, change, rows, derived)?;
        }
        Ok(())
    }
}

/// The type of what an index has entries of; of pairs that of the map.
pub(crate) fn indexed_type(column: &DataType, part: IndexPart) -> &DataType {
    match (column, part) {
        (DataType::List(ty, _) | DataType::Set(ty, _), IndexPart::Values) => ty,
        (DataType::Map(key, _, _), IndexPart::Keys) => key,
        (DataType::Map(_, value, _), IndexPart::Values) => value,
        (ty, _) => ty,
    }
}

fn longer(one: Stamp, other: Stamp) -> Stamp {
    match (one.ttl_s, other.ttl_s) {
        (0, _) => one,
        (_, 0) => other,
        _ if one.expires_at_s >= other.expires_at_s => one,
        _ => other,
    }
}

/// The stamp of what lives longest in a row, with the latest timestamp of all: a row lives as long as any of its cells.
fn lasting_stamp(row: &RowView<'_>) -> Option<Stamp> {
    let mut stamps = row.liveness();
    let mut add = |stamp: Stamp| {
        let latest = stamps.map_or(stamp.timestamp, |before| before.timestamp.max(stamp.timestamp));
        let mut lasting = stamps.map_or(stamp, |before| longer(before, stamp));
        lasting.timestamp = latest;
        stamps = Some(lasting);
    };
    for cell in row.cells() {
        match cell.content {
            Content::Tombstone(_) => {}
            Content::Value(_) => add(cell.stamp),
            Content::Complex(complex) => {
                let elements = complex.elements().filter(|element| matches!(element.content, ElementContent::Value(_)));
                elements.for_each(|element| add(element.stamp));
            }
        }
    }
    stamps
}

/// One column of a stored clustering key, as on the wire.
fn component(table: &Table, mut key: &[u8], index: usize) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    for column in table.clustering().get(..=index)? {
        value.clear();
        comparable::decode(&column.data_type, column.order == Order::Descending, &mut key, &mut value).ok()?;
    }
    Some(value)
}

/// The column that a slot's state is in.
pub(super) const STATE_COLUMN: ColumnId = ColumnId(0);
