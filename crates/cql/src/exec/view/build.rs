//! Views of rows that were there before: a stretch of a slot at a time.
//!
//! How far a slot has come is a row of the table [`batch_log`] of the view: the position to go on from, or nothing when it is complete. It is written once a
//! stretch's updates are applied, so a process that dies, and a new primary, go on where it was. Rows that are written meanwhile have their own updates,
//! which are newer.

use super::collect::{Collected, Updates, cover_of};
use super::description;
use super::entry::slot_key;
use super::shape::Shapes;
use crate::wire::writer::{write_byte, write_int, write_long, write_short, write_short_bytes};
use crate::wire::{Reader, WireError};
use base::{Slot, TableId, Token};
use model::ColumnId;
use model::operation::{
    Context, FIRST_ROW_BYTE, Operation, PartitionKey, Position, RowStore, Stop, Visit, WriteSet, batch_log, index_slot_token,
};
use model::row::{Content, RowView, RowWriter, Stamp};
use std::sync::Arc;

/// A stretch ends after so many rows, or bytes of them.
const ROWS_MAX: usize = 64;
const BYTES_MAX: usize = 128 << 10;

const STATE_KEY: &[u8] = &[FIRST_ROW_BYTE];
const STATE: ColumnId = ColumnId(0);

/// Where a slot's build goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Next {
    token: Token,
    partition: Vec<u8>,
    clustering: Vec<u8>,
}

/// Gives the updates of the next stretch of a slot, and behind them where the next one begins.
pub(super) struct Build {
    pub(super) shapes: Arc<Shapes>,
    pub(super) view: TableId,
    pub(super) slot: Slot,
}

/// What a stretch has given; nothing more if the slot was complete.
pub(super) struct Built {
    pub(super) collected: Collected,
    pub(super) next: Option<Next>,
    pub(super) was_complete: bool,
}

/// Notes that a stretch's updates are applied.
pub(super) struct Advance {
    pub(super) view: TableId,
    pub(super) slot: Slot,
    pub(super) next: Option<Next>,
}

/// Whether a slot has all its rows in the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildState {
    /// There is something to do.
    Open,
    /// All of it is done.
    Complete,
}

/// Looks how far a slot has come. The reply is for [`BuildState::read`].
#[must_use]
pub fn build_state(view: TableId, slot: Slot) -> Box<dyn Operation> {
    Box::new(Look { view, slot })
}

struct Look {
    view: TableId,
    slot: Slot,
}

fn state_partition(view: TableId, slot: Slot, key: &[u8; 3]) -> PartitionKey<'_> {
    PartitionKey { table: batch_log(view), token: index_slot_token(slot), bytes: key }
}

/// What a slot's state says; nothing if there is none.
fn state(store: &dyn RowStore, view: TableId, slot: Slot) -> Result<Option<Option<Next>>, Stop> {
    let key = slot_key(slot);
    let row = store.get(&state_partition(view, slot, &key), STATE_KEY)?;
    let Some(cell) = row.and_then(|row| RowView::new(row).cells().next()) else { return Ok(None) };
    let Content::Value(bytes) = cell.content else { return Ok(None) };
    Ok(Some(if bytes.is_empty() { None } else { Next::read(&mut Reader::new(bytes)).ok() }))
}

impl Next {
    fn write(&self, out: &mut Vec<u8>) {
        write_long(out, self.token.0);
        write_short_bytes(out, &self.partition);
        write_short_bytes(out, &self.clustering);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let token = Token(reader.long()?);
        Ok(Self { token, partition: reader.short_bytes()?.to_vec(), clustering: reader.short_bytes()?.to_vec() })
    }
}

fn write_next(next: Option<&Next>, out: &mut Vec<u8>) {
    write_byte(out, u8::from(next.is_some()));
    if let Some(next) = next {
        next.write(out);
    }
}

fn read_next(reader: &mut Reader<'_>) -> Result<Option<Next>, WireError> {
    Ok(if reader.byte()? != 0 { Some(Next::read(reader)?) } else { None })
}

impl Operation for Look {
    fn run(&self, _: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        reply.push(u8::from(state(store, self.view, self.slot)? == Some(None)));
        Ok(())
    }
}

impl BuildState {
    /// What [`build_state`] has replied; nothing for bytes that are no reply.
    #[must_use]
    pub fn read(reply: &[u8]) -> Option<Self> {
        match reply {
            [0] => Some(Self::Open),
            [1] => Some(Self::Complete),
            _ => None,
        }
    }
}

impl Build {
    pub(super) fn read(shapes: Arc<Shapes>, reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self { shapes, view: TableId(reader.int()?.cast_unsigned()), slot: Slot(reader.short()?) })
    }
}

impl Operation for Build {
    fn run(&self, context: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let start = match state(store, self.view, self.slot)? {
            Some(None) => {
                reply.push(1);
                return Ok(());
            }
            Some(Some(next)) => next,
            None => Next { token: self.slot.first_token(), partition: Vec::new(), clustering: Vec::new() },
        };
        let base = &self.shapes.base;
        let from = Position { token: start.token, partition: &start.partition, clustering: &start.clustering };
        let (mut rows, mut bytes, mut next) = (Vec::new(), 0, None);
        store.scan_table(base.id, from, self.slot.last_token(), &mut |found| {
            let key = || (found.partition.token, found.partition.bytes.to_vec(), found.clustering.to_vec());
            if rows.len() >= ROWS_MAX || bytes >= BYTES_MAX {
                let (token, partition, clustering) = key();
                next = Some(Next { token, partition, clustering });
                return Visit::Stop;
            }
            let is_row = base.clustering_len == 0 || found.clustering.first().is_some_and(|first| *first >= FIRST_ROW_BYTE);
            if is_row {
                bytes += found.row.len();
                rows.push((key(), found.row.to_vec()));
            }
            Visit::Continue
        })?;
        let mut updates = Updates::new(&self.shapes, context.timestamp_us, context.now_s());
        for ((token, partition, clustering), row) in &rows {
            let mut cover = cover_of(store, &self.shapes, &PartitionKey { table: base.id, token: *token, bytes: partition })?;
            updates.add_stored(partition, clustering, row, cover.hidden_until(clustering), Some(self.view));
        }
        reply.push(0);
        write_next(next.as_ref(), reply);
        Collected { updates: updates.into_vec(), ..Collected::default() }.write(reply);
        Ok(())
    }

    fn describe(&self, out: &mut Vec<u8>) -> bool {
        write_byte(out, description::BUILD);
        description::write_table(out, &self.shapes.base);
        write_int(out, self.view.0.cast_signed());
        write_short(out, self.slot.0);
        true
    }
}

impl Built {
    pub(super) fn read(reply: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(reply);
        if reader.byte()? != 0 {
            return Ok(Self { collected: Collected::default(), next: None, was_complete: true });
        }
        let next = read_next(&mut reader)?;
        Ok(Self { collected: Collected::read(reader.rest())?, next, was_complete: false })
    }
}

impl Advance {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let (view, slot) = (TableId(reader.int()?.cast_unsigned()), Slot(reader.short()?));
        Ok(Self { view, slot, next: read_next(reader)? })
    }
}

impl Operation for Advance {
    fn run(&self, context: &Context, _: &dyn RowStore, writes: &mut WriteSet, _: &mut Vec<u8>) -> Result<(), Stop> {
        let mut bytes = Vec::new();
        if let Some(next) = &self.next {
            next.write(&mut bytes);
        }
        let key = slot_key(self.slot);
        let stamp = Stamp::at(context.timestamp_us);
        let mut row = RowWriter::new(writes.begin(&state_partition(self.view, self.slot, &key), STATE_KEY), stamp, true, None);
        row.value(STATE, stamp, &bytes);
        row.finish();
        writes.end(None);
        Ok(())
    }

    fn describe(&self, out: &mut Vec<u8>) -> bool {
        write_byte(out, description::ADVANCE);
        write_int(out, self.view.0.cast_signed());
        write_short(out, self.slot.0);
        write_next(self.next.as_ref(), out);
        true
    }
}
