//! Changes of views' rows, and the operation that applies them.

use super::shape::{ViewKey, version_of};
use crate::wire::writer::{write_byte, write_bytes, write_int, write_long};
use crate::wire::{Notation, Reader, WireError};
use base::{TableId, Token};
use model::operation::{Context, Operation, PartitionKey, RowStore, Stop, WriteSet};
use model::row::{RowView, is_well_formed};

/// What a row of a view is from a version on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ViewUpdate {
    pub(super) key: ViewKey,
    pub(super) version: i64,
    pub(super) row: Vec<u8>,
    pub(super) purge_after_s: Option<u32>,
}

impl ViewUpdate {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        self.key.append(out);
        write_long(out, self.version);
        write_byte(out, u8::from(self.purge_after_s.is_some()));
        write_int(out, self.purge_after_s.unwrap_or(0).cast_signed());
        write_bytes(out, Some(&self.row));
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let (key, version) = (ViewKey::read(reader)?, reader.long()?);
        let (has_end, end) = (reader.byte()? != 0, reader.int()?.cast_unsigned());
        let row = reader.bytes()?.unwrap_or_default();
        if !is_well_formed(row) {
            return Err(WireError::Truncated { notation: Notation::Bytes, needed: row.len() + 1, remaining: row.len() });
        }
        let row = row.to_vec();
        Ok(Self { key, version, row, purge_after_s: has_end.then_some(end) })
    }

    /// The bytes that it takes about.
    pub(super) fn weight(&self) -> usize {
        64 + self.key.partition.len() + self.key.clustering.len() + self.row.len()
    }
}

/// Applies updates of one view that one core owns. The reply is the largest version of a row that is newer than its update, or nothing.
pub(super) struct Apply {
    pub(super) updates: Vec<ViewUpdate>,
}

impl Apply {
    /// Where it runs.
    pub(super) fn place(&self) -> (TableId, Token) {
        self.updates.first().map_or((TableId(0), Token(0)), |first| (first.key.view, first.key.token()))
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut updates = Vec::new();
        while !reader.rest().is_empty() {
            updates.push(ViewUpdate::read(reader)?);
        }
        Ok(Self { updates })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        self.updates.iter().for_each(|update| update.write(out));
    }
}

impl Operation for Apply {
    fn run(&self, _: &Context, store: &dyn RowStore, writes: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let mut newest = None;
        for update in &self.updates {
            let ViewKey { view, partition, clustering } = &update.key;
            let key = PartitionKey { table: *view, token: update.key.token(), bytes: partition };
            let stored = store.get(&key, clustering)?.map(|row| version_of(RowView::new(row)));
            match stored {
                Some(version) if version > update.version => newest = newest.max(Some(version)),
                Some(version) if version == update.version => {}
                // A deletion of what was never there is kept, too: the update that it undoes may be on its way.
                _ => {
                    writes.begin(&key, clustering).extend_from_slice(&update.row);
                    writes.end(update.purge_after_s);
                }
            }
        }
        if let Some(version) = newest {
            write_long(reply, version);
        }
        Ok(())
    }

    fn describe(&self, out: &mut Vec<u8>) -> bool {
        write_byte(out, super::description::APPLY);
        self.write(out);
        true
    }
}
