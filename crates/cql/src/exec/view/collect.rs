//! Operations on the base table's side: what its entries make of views, and the end of entries.

use super::super::rows::Cover;
use super::description;
use super::entry::{About, Entry, first_key, partition, slot_key, stage_end, timestamp_of};
use super::shape::{BaseRow, Shape, Shapes, ViewKey, write_deleted};
use super::update::ViewUpdate;
use crate::wire::writer::{write_byte, write_int, write_long, write_short, write_short_bytes};
use crate::wire::{Reader, WireError};
use base::{Slot, TableId};
use model::operation::{Context, Direction, Operation, PartitionKey, RANGE_DELETION_PREFIX, RowStore, Stop, Visit, WriteSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One [`Collect`] looks at so many rows and gives so many bytes of updates, at most, but for the last.
const ROWS_MAX: usize = 256;
const BYTES_MAX: usize = 256 << 10;

/// Entries of a slot: those of operations from one timestamp to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) struct Stretch {
    pub(super) slot: Slot,
    pub(super) first: i64,
    pub(super) last: i64,
}

/// What a [`Collect`] gives: updates, and what becomes of the entries once they are applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Collected {
    pub(super) updates: Vec<ViewUpdate>,
    pub(super) ends: Vec<EntryEnd>,
    /// There are more entries.
    pub(super) has_more: bool,
}

/// An entry that is done, or done up to a key of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryEnd {
    key: Vec<u8>,
    /// Of a range that is not done: the key to go on from.
    next: Option<Vec<u8>>,
}

/// Reads what entries are about and gives the updates of views. `above` is a version that they must be above.
pub(super) struct Collect {
    pub(super) shapes: Arc<Shapes>,
    pub(super) stretch: Stretch,
    pub(super) above: i64,
}

impl Collected {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(bytes);
        let has_more = reader.byte()? != 0;
        let mut ends = Vec::new();
        for _ in 0..reader.int()? {
            ends.push(EntryEnd::read(&mut reader)?);
        }
        let mut updates = Vec::new();
        while !reader.rest().is_empty() {
            updates.push(ViewUpdate::read(&mut reader)?);
        }
        Ok(Self { updates, ends, has_more })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        write_byte(out, u8::from(self.has_more));
        write_int(out, self.ends.len() as i32);
        self.ends.iter().for_each(|end| end.write(out));
        self.updates.iter().for_each(|update| update.write(out));
    }
}

impl EntryEnd {
    fn write(&self, out: &mut Vec<u8>) {
        write_short_bytes(out, &self.key);
        write_byte(out, u8::from(self.next.is_some()));
        write_short_bytes(out, self.next.as_deref().unwrap_or_default());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let (key, has_next) = (reader.short_bytes()?.to_vec(), reader.byte()? != 0);
        let next = reader.short_bytes()?.to_vec();
        Ok(Self { key, next: has_next.then_some(next) })
    }
}

/// The updates of a run, each row of a view once: the last one has read its base row last, and all have in one run.
pub(super) struct Updates<'a> {
    shapes: &'a Shapes,
    version: i64,
    now_s: u32,
    found: BTreeMap<ViewKey, ViewUpdate>,
    bytes: usize,
}

impl<'a> Updates<'a> {
    pub(super) fn new(shapes: &'a Shapes, version: i64, now_s: u32) -> Self {
        Self { shapes, version, now_s, found: BTreeMap::new(), bytes: 0 }
    }

    /// Adds what views have of a row that is there.
    fn present(&mut self, row: &BaseRow<'_>, only: Option<TableId>) {
        let (version, now_s) = (self.version, self.now_s);
        for shape in self.shapes.views.iter().filter(|shape| only.is_none_or(|view| shape.view().id == view)) {
            let Some((key, of_key)) = Shape::key(shape, row, Some(now_s)) else { continue };
            let mut bytes = Vec::new();
            if let Some(purge_after_s) = shape.write(row, of_key, version, now_s, &mut bytes) {
                self.add(ViewUpdate { key, version, row: bytes, purge_after_s });
            }
        }
    }

    /// Adds the end of a view's row, unless a row is there now, or the view is not any more.
    fn gone(&mut self, key: ViewKey) {
        let is_shown = self.shapes.views.iter().any(|shape| shape.view().id == key.view);
        if is_shown && !self.found.contains_key(&key) {
            let mut row = Vec::new();
            let purge_after_s = write_deleted(self.version, self.now_s, &mut row);
            self.add(ViewUpdate { key, version: self.version, row, purge_after_s });
        }
    }

    fn add(&mut self, update: ViewUpdate) {
        self.bytes += update.weight();
        self.found.insert(update.key.clone(), update);
    }

    fn is_full(&self) -> bool {
        self.bytes >= BYTES_MAX
    }

    pub(super) fn into_vec(self) -> Vec<ViewUpdate> {
        self.found.into_values().collect()
    }

    /// Adds what views have of a row as it is stored.
    pub(super) fn add_stored(&mut self, partition: &[u8], clustering: &[u8], row: &[u8], hidden_until: i64, only: Option<TableId>) {
        self.present(&BaseRow::new(&self.shapes.base, partition, clustering, row, hidden_until), only);
    }
}

/// The deletions of a partition.
pub(super) fn cover_of(store: &dyn RowStore, base: &Shapes, partition: &PartitionKey<'_>) -> Result<Cover, Stop> {
    let mut cover = Cover::default();
    if base.base.clustering_len > 0 {
        store.scan(partition, &[], Some(&[RANGE_DELETION_PREFIX + 1]), Direction::Forward, &mut |key, row| {
            if key.is_empty() {
                cover.note_partition(row)
            } else {
                cover.note_range(key, row)
            }
            Visit::Continue
        })?;
    }
    Ok(cover)
}

impl Collect {
    /// The entries of the stretch with their keys, as many as one run takes, and whether there are more.
    fn entries(&self, store: &dyn RowStore, now_s: u32) -> Result<(BTreeMap<Vec<u8>, Entry>, bool), Stop> {
        let bytes = slot_key(self.stretch.slot);
        let key = partition(self.shapes.base.id, self.stretch.slot, &bytes);
        let end = self.stretch.last.checked_add(1).map(first_key);
        let (mut entries, mut has_more) = (BTreeMap::new(), false);
        store.scan(&key, &first_key(self.stretch.first), end.as_deref(), Direction::Forward, &mut |key, row| {
            let Some(entry) = Entry::of_row(row, now_s) else { return Visit::Continue };
            has_more = entries.len() == ROWS_MAX;
            if has_more {
                return Visit::Stop;
            }
            entries.insert(key.to_vec(), entry);
            Visit::Continue
        })?;
        Ok((entries, has_more))
    }

    /// The updates of one entry, and what becomes of it.
    fn entry(&self, store: &dyn RowStore, entry: &Entry, updates: &mut Updates<'_>) -> Result<Option<Vec<u8>>, Stop> {
        let base = &self.shapes.base;
        let token = super::super::keys::token(base, &entry.partition);
        let partition = PartitionKey { table: base.id, token, bytes: &entry.partition };
        let mut cover = cover_of(store, &self.shapes, &partition)?;
        let from = match &entry.about {
            About::Row(former) => {
                if let Some(row) = store.get(&partition, &entry.clustering)? {
                    updates.add_stored(&entry.partition, &entry.clustering, row, cover.hidden_until(&entry.clustering), None);
                }
                former.iter().for_each(|key| updates.gone(key.clone()));
                return Ok(None);
            }
            About::Range(from) => from,
        };
        let to = super::super::range_of_deletion(&entry.clustering).map(|(_, to)| to).filter(|to| !to.is_empty());
        let (mut rows, mut next) = (0, None);
        store.scan(&partition, from, to, Direction::Forward, &mut |clustering, row| {
            if rows == ROWS_MAX || updates.is_full() {
                next = Some(clustering.to_vec());
                return Visit::Stop;
            }
            rows += 1;
            updates.add_stored(&entry.partition, clustering, row, cover.hidden_until(clustering), None);
            let stored = BaseRow::new(base, &entry.partition, clustering, row, i64::MIN);
            self.shapes.keys(&stored).for_each(|key| updates.gone(key));
            Visit::Continue
        })?;
        Ok(next)
    }
}

impl Operation for Collect {
    fn run(&self, context: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let now_s = context.now_s();
        let version = context.timestamp_us.max(self.above.saturating_add(1));
        let mut updates = Updates::new(&self.shapes, version, now_s);
        let (entries, mut has_more) = self.entries(store, now_s)?;
        let mut ends = Vec::with_capacity(entries.len());
        for (key, entry) in entries {
            if updates.is_full() {
                has_more = true;
                break;
            }
            let next = self.entry(store, &entry, &mut updates)?;
            has_more |= next.is_some();
            ends.push(EntryEnd { key, next });
        }
        Collected { updates: updates.into_vec(), ends, has_more }.write(reply);
        Ok(())
    }

    fn describe(&self, out: &mut Vec<u8>) -> bool {
        write_byte(out, description::COLLECT);
        description::write_table(out, &self.shapes.base);
        write_short(out, self.stretch.slot.0);
        write_long(out, self.stretch.first);
        write_long(out, self.stretch.last);
        write_long(out, self.above);
        true
    }
}

/// Ends entries whose updates are applied.
pub(super) struct End {
    pub(super) base: TableId,
    pub(super) slot: Slot,
    pub(super) ends: Vec<EntryEnd>,
}

impl Operation for End {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, _: &mut Vec<u8>) -> Result<(), Stop> {
        let now_s = context.now_s();
        let bytes = slot_key(self.slot);
        let partition = partition(self.base, self.slot, &bytes);
        for EntryEnd { key, next } in &self.ends {
            // Another coordinator may have ended it, or have come further.
            let Some(entry) = store.get(&partition, key)?.and_then(|row| Entry::of_row(row, now_s)) else { continue };
            match (next, entry.about) {
                (None, _) => stage_end(&partition, key, now_s, writes),
                (Some(next), About::Range(from)) if *next > from => {
                    let timestamp = timestamp_of(key).unwrap_or(0);
                    let entry = Entry { about: About::Range(next.clone()), partition: entry.partition, clustering: entry.clustering };
                    entry.stage(&partition, key, timestamp, writes);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn describe(&self, out: &mut Vec<u8>) -> bool {
        write_byte(out, description::END);
        write_int(out, self.base.0.cast_signed());
        write_short(out, self.slot.0);
        self.ends.iter().for_each(|end| end.write(out));
        true
    }
}

impl End {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let (base, slot) = (TableId(reader.int()?.cast_unsigned()), Slot(reader.short()?));
        let mut ends = Vec::new();
        while !reader.rest().is_empty() {
            ends.push(EntryEnd::read(reader)?);
        }
        Ok(Self { base, slot, ends })
    }
}

/// The entries of a slot that are there: the timestamps of the first and of a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingEntries {
    /// Of the first.
    pub first: i64,
    /// Of the last one that was looked at.
    pub last: i64,
}

/// Looks for the entries of a slot. The reply is for [`PendingEntries::read`].
#[must_use]
pub fn find_view_entries(base: TableId, slot: Slot) -> Box<dyn Operation> {
    Box::new(FindEntries { base, slot })
}

struct FindEntries {
    base: TableId,
    slot: Slot,
}

impl Operation for FindEntries {
    fn run(&self, context: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let now_s = context.now_s();
        let bytes = slot_key(self.slot);
        let (mut first, mut last, mut count) = (None, None, 0);
        store.scan(&partition(self.base, self.slot, &bytes), &first_key(i64::MIN), None, Direction::Forward, &mut |key, row| {
            if Entry::of_row(row, now_s).is_some() {
                last = timestamp_of(key);
                first = first.or(last);
                count += 1;
            }
            if count == ROWS_MAX { Visit::Stop } else { Visit::Continue }
        })?;
        if let (Some(first), Some(last)) = (first, last) {
            write_long(reply, first);
            write_long(reply, last);
        }
        Ok(())
    }
}

impl PendingEntries {
    /// What [`find_view_entries`] has replied; nothing if there are none.
    #[must_use]
    pub fn read(reply: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(reply);
        Some(Self { first: reader.long().ok()?, last: reader.long().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ddl;
    use crate::plan::view_plans;
    use model::Schema;

    fn schema() -> Schema {
        let environment =
            ddl::Environment { table_uuid: 1, now_us: 0, data_center: "datacenter1", nodes: 1, role: None, checks_permissions: false };
        let mut schema = Schema::empty();
        for text in [
            "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "CREATE TABLE k.t (p int PRIMARY KEY, v int)",
            "CREATE MATERIALIZED VIEW k.by_v AS SELECT * FROM k.t WHERE v IS NOT NULL AND p IS NOT NULL PRIMARY KEY (v, p)",
        ] {
            let statement = crate::language::parse(text).expect("a statement").statement;
            let outcome = ddl::apply(&schema, None, &statement, &environment).expect("it can be done");
            schema = Schema::clone(&outcome.change.expect("it changes something").schema);
        }
        schema
    }

    #[test]
    fn a_view_that_is_gone_gets_no_updates() {
        let schema = schema();
        let (base, view) = (schema.table("k", "t").expect("the table"), schema.table("k", "by_v").expect("the view"));
        let shapes = Shapes::new(base, &view_plans(&schema, base));
        let mut updates = Updates::new(&shapes, 7, 0);
        for id in [view.id, TableId(view.id.0 + 1)] {
            updates.gone(ViewKey { view: id, partition: vec![1], clustering: vec![2] });
        }
        let updates = updates.into_vec();
        assert!(matches!(updates.as_slice(), [update] if update.key.view == view.id && update.version == 7), "{updates:?}");
    }
}
