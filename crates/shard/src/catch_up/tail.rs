//! The rows that were written after some sequence, for a member that has all before it.

use super::{Chunk, READ_AHEAD, Unfinished};
use crate::{Shard, ShardError};
use base::{Now, Slot, TableId, Token};
use engine::{CachePolicy, Key, Kind, ReadError, Sequence, TablePosition, TableRow, TableScan, Tail, TailPosition, TailScan, WriteBatch};
use std::collections::BTreeMap;

/// A chunk looks at so many rows at most.
const BUDGET: usize = 8192;

/// A walk over all rows of some tables that were written after a sequence, in (table, token, partition key, clustering key) order.
#[derive(Clone, Debug)]
pub struct TailWalk {
    /// The tables that are left; the present one is last.
    tables: Vec<TableId>,
    tail: Tail,
    from: TailPosition,
    /// Whether the present table has no deltas any more.
    is_settled: bool,
    damaged: BTreeMap<(TableId, Slot), u64>,
}

impl TailWalk {
    /// In which slots damaged rows were skipped, and how many.
    #[must_use]
    pub fn damaged(&self) -> &BTreeMap<(TableId, Slot), u64> {
        &self.damaged
    }

    /// Walks once more, over these tables.
    pub fn restart(&mut self, tables: impl IntoIterator<Item = TableId>) {
        self.tables = tables.into_iter().collect();
        self.tables.sort_unstable_by(|one, other| other.cmp(one));
        (self.from, self.is_settled, self.damaged) = (TailPosition::default(), false, BTreeMap::new());
    }

    /// The present table is done, or gone.
    fn end_table(&mut self) -> Chunk {
        self.tables.pop();
        self.from = TailPosition::default();
        self.is_settled = false;
        if self.tables.is_empty() { Chunk::End } else { Chunk::More }
    }
}

/// Whether the receiver of rows takes another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enough {
    /// This row is taken; the next may come.
    No,
    /// This row, which is not the first, is not taken: the next call starts with it.
    Yes,
}

/// Receives rows: key, kind, bytes.
type Take<'a> = &'a mut dyn FnMut(&Key<'_>, Kind, &[u8]) -> Enough;

/// How far a chunk has come.
#[derive(Default)]
struct Reached {
    /// `None` at the end of the table.
    next: Option<TailPosition>,
    damaged: Vec<Slot>,
}

impl Shard {
    /// A walk over what was written in these tables after a sequence.
    #[must_use]
    pub fn tail_walk(&self, tables: impl IntoIterator<Item = TableId>, after: Sequence) -> TailWalk {
        let mut tables: Vec<TableId> = tables.into_iter().collect();
        tables.sort_unstable_by(|one, other| other.cmp(one));
        TailWalk { tables, tail: self.engine.tail(after), from: TailPosition::default(), is_settled: false, damaged: BTreeMap::new() }
    }

    /// Gives rows of a tail to `take`, tombstones included, as they are now, until it has had enough: those that are in slots of interest, and
    /// in one call only such of one slot.
    ///
    /// # Errors
    /// `NotReady`; when deltas have to be written first, as for writes.
    pub fn walk_tail(
        &mut self,
        now: Now,
        number: u32,
        walk: &mut TailWalk,
        wants: &dyn Fn(TableId, Slot) -> bool,
        take: Take<'_>,
    ) -> Result<Chunk, ShardError> {
        let outcome = self.tail_chunk(now, walk, wants, take);
        self.chunk(number, outcome)
    }

    /// As [`Shard::walk_tail`]: appends rows to `out` until they take about `bytes_max`.
    ///
    /// # Errors
    /// As [`Shard::walk_tail`].
    pub fn tail_images(
        &mut self,
        now: Now,
        number: u32,
        walk: &mut TailWalk,
        wants: &dyn Fn(TableId, Slot) -> bool,
        bytes_max: usize,
        out: &mut WriteBatch,
    ) -> Result<Chunk, ShardError> {
        let mut failure = None;
        let chunk = self.walk_tail(now, number, walk, wants, &mut |key, kind, row| {
            let row_bytes = key.partition.len() + key.clustering.len() + row.len();
            if failure.is_some() || (!out.is_empty() && out.bytes_in_log() + row_bytes > bytes_max) {
                return Enough::Yes;
            }
            // Keys and rows that were stored can be stored again.
            failure = out.put(key, kind, row).err();
            Enough::No
        })?;
        failure.map_or(Ok(chunk), |error| Err(ShardError::of_write(&error)))
    }

    fn tail_chunk(
        &mut self,
        now: Now,
        walk: &mut TailWalk,
        wants: &dyn Fn(TableId, Slot) -> bool,
        take: Take<'_>,
    ) -> Result<Chunk, Unfinished> {
        let Some(table) = walk.tables.last().copied() else { return Ok(Chunk::End) };
        if !walk.is_settled {
            // What is written whole now is the end of the tail.
            let from = TablePosition::Token(Token(i64::MIN));
            let whole = TableScan { table, from, to: Token(i64::MAX), policy: CachePolicy::Bypass, read_ahead: READ_AHEAD };
            let keys = self.deltas_in(&whole)?;
            self.settle_keys(now, &keys)?;
            walk.is_settled = keys.is_empty();
            return Ok(Chunk::More);
        }
        let wants = |slot: Slot| wants(table, slot);
        let TailWalk { tail, from, .. } = &*walk;
        let scan = TailScan { table, tail, from, wants: &wants, budget: BUDGET, read_ahead: READ_AHEAD };
        let reached = match self.tail_rows(&scan, take) {
            Err(ReadError::UnknownTable { .. }) => Reached::default(),
            reached => reached?,
        };
        for slot in &reached.damaged {
            *walk.damaged.entry((table, *slot)).or_default() += 1;
            self.damage.note(table, *slot);
        }
        match reached.next {
            None => Ok(walk.end_table()),
            Some(next) => {
                walk.from = next;
                Ok(Chunk::More)
            }
        }
    }

    fn tail_rows(&self, scan: &TailScan<'_>, take: Take<'_>) -> Result<Reached, ReadError> {
        let mut cursor = self.engine.scan_tail(scan)?;
        // The next chunk meets the rows after the last one that is taken again.
        let (mut reached, mut damaged) = (Reached::default(), Vec::new());
        loop {
            let found = match cursor.next() {
                // The rows before it make a chunk.
                Err(ReadError::Miss(_)) if reached.next.is_some() => break,
                Err(ReadError::Damaged { .. }) => {
                    damaged.push(cursor.slot());
                    continue;
                }
                found => found?,
            };
            let Some(TableRow { token, partition, clustering, row }) = found else {
                reached.next = cursor.paused().cloned();
                reached.damaged.append(&mut damaged);
                break;
            };
            if reached.next.as_ref().is_some_and(|next| next.token.slot() != token.slot()) {
                break;
            }
            if take(&Key { table: scan.table, token, partition, clustering }, row.kind, row.bytes) == Enough::Yes {
                break;
            }
            // The next row follows this one.
            let next = TailPosition { token, partition: partition.to_vec(), clustering: [clustering, &[0]].concat() };
            reached.next = Some(next);
            reached.damaged.append(&mut damaged);
        }
        Ok(reached)
    }
}
