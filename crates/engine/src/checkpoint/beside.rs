//! A partition key whose token another key has: rare, unless somebody forges tokens, and it must not confuse recovery.
//!
//! A checkpoint has no keys of records, only tokens. Recovery lets a later row that is alone in its partition take the cell that the
//! checkpoint has for its token, whosever that was. That is right because of the invariant that is kept here:
//!
//! When a token gets a second key, all that there is of the first one was appended after the last checkpoint was begun, or is in it with
//! its key, and survives whatever any record of the second key survives.
//!
//! So before a token gets its second key, the record of its first one is appended again unless it was since the last checkpoint was begun,
//! and the write waits until the device has everything appended so far.

use crate::engine::Engine;
use crate::error::WriteError;
use crate::format::record::Record;
use crate::key::Sequence;
use crate::location::{Location, Target};
use crate::log::Point;
use crate::memory::Stored;
use base::{TableId, Token};
use io::Now;

/// Tokens that are remembered; a write whose token was forgotten waits once more.
const WAITING_MAX: usize = 1024;

impl Engine {
    /// Makes sure that a second key may be written beside the cell that the token has.
    pub(crate) fn secure_beside(&mut self, now: Now, table: TableId, token: Token, cell: Location) -> Result<(), WriteError> {
        let barrier = self.checkpoints.barrier;
        if barrier == Point::default() {
            // All checkpoints to come will see both.
            return Ok(());
        }
        #[cfg(test)]
        if self.planted == Some(crate::tests::Planted::SkipBeside) {
            return Ok(());
        }
        let place = self.memory.device_location(cell);
        let is_old = cell.target() == Target::Record && self.segments.point(place) < barrier;
        let awaited = self.checkpoints.beside.get(&(table, token));
        if !is_old && awaited.is_some_and(|position| *position <= self.flush.durable_position) && self.is_durable(cell, place) {
            return Ok(());
        }
        if is_old && let Stored::Here(record) = self.memory.stored(cell) {
            let whole = record.whole().to_vec();
            self.move_record(now, place, &Record::trusted(&whole), Sequence(0));
            self.mirror_open();
        }
        if self.checkpoints.beside.len() >= WAITING_MAX {
            self.checkpoints.beside.clear();
        }
        let position = self.log.position;
        let awaited = self.checkpoints.beside.entry((table, token)).or_insert(position);
        if is_old {
            *awaited = position;
        }
        self.request_flush();
        Err(WriteError::Busy)
    }

    /// A table that was truncated may be written before the truncation is durable; should it be undone, the rows of both times are there.
    /// Where the new key's token had another key before, the write waits for the truncation.
    pub(crate) fn check_held(&self, record: &Record<'_>, missing: &mut Vec<Location>) -> Result<(), WriteError> {
        if self.checkpoints.barrier == Point::default() {
            return Ok(());
        }
        for cell in self.drops.held_tables(record.table()).filter_map(|table| table.only_cell(record.token())) {
            let same = match cell.target() {
                Target::Partition(number) => *self.index.partitions.get(number).key == *record.partition(),
                _ => match self.memory.stored(cell) {
                    Stored::Here(held) => held.partition() == record.partition(),
                    Stored::Damaged(_) => true,
                    Stored::Elsewhere => {
                        missing.push(cell);
                        true
                    }
                },
            };
            if !same {
                return Err(WriteError::Busy);
            }
        }
        Ok(())
    }

    /// Whether the device has the record of a cell.
    fn is_durable(&self, cell: Location, place: Location) -> bool {
        if cell.target() != Target::Record {
            return true;
        }
        if self.log.cold.as_ref().is_some_and(|cold| cold.segment == place.segment()) {
            return false;
        }
        let end = place.offset() + place.padded();
        if let Some(open) = self.log.open.as_ref().filter(|open| open.segment == place.segment()) {
            return open.durable >= end;
        }
        self.log.sealed.iter().find(|sealed| sealed.segment == place.segment()).is_none_or(|sealed| sealed.durable >= end)
    }
}
