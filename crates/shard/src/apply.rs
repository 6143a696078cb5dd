//! From an operation's staged rows to one atomic group in the log.
//!
//! The place on the path: after the operation and the observers of its tables (`observers`), before its reply. In a cluster the group also goes
//! to the outbox of `replication`, a piece for each slot.
//!
//! Rows that the operation has merged with their deltas are written whole afterwards: they say the same as before, so nobody is told.

use crate::deltas::{Deltas, companion};
use crate::replication::{Replication, Spread};
use crate::{Durability, Outcome, Shard, ShardError};
use base::Now;
use engine::{Engine, Key, Kind, Sequence, WriteBatch, WriteError};
use model::operation::{Context, StagedRow, WriteSet};
use model::row::RowView;

impl Shard {
    /// Writes what the operation that has just run has staged.
    pub(crate) fn apply(&mut self, context: &Context) -> Outcome {
        let now = context.now;
        let run = &mut self.run;
        let written = match &mut self.replication {
            None => write_out(&mut self.engine, run.writes.rows(), &mut run.batch, now, &self.deltas),
            Some(replication) => {
                let spread = match replication.spread(run.writes.rows()) {
                    Ok(spread) => spread,
                    Err(stop) => return Outcome::Failed(stop.into()),
                };
                let written = write_spread(&mut self.engine, &run.writes, &mut run.batch, now, &self.deltas, replication, spread);
                if let Ok(sequence) = written {
                    replication.wrote(spread, &run.batch, sequence, context.timestamp_us);
                }
                written
            }
        };
        match written {
            Ok(sequence) => {
                if let Some(kept) = &mut self.kept {
                    kept.wrote(&self.run.batch);
                }
                self.vectors.wrote(&self.run.batch);
                self.settle_deltas(now);
                let is_acknowledged_later = self.durability == Durability::Device || self.is_uncommitted();
                if is_acknowledged_later { Outcome::Unsynced(sequence) } else { Outcome::Done }
            }
            Err(WriteError::Miss(miss)) => {
                self.run.misses.borrow_mut().push(miss);
                Outcome::Waits
            }
            Err(WriteError::Busy) => Outcome::Waits,
            Err(error) => Outcome::Failed(ShardError::of_write(&error)),
        }
    }

    /// Writes rows whole that the operation has merged with their deltas, unless it has written them itself, and forgets the deltas. They stay
    /// if there is no room now.
    #[inline]
    pub(crate) fn settle_deltas(&mut self, now: Now) {
        if !self.deltas.is_empty() {
            self.settle_merged(now);
        }
    }

    fn settle_merged(&mut self, now: Now) {
        let Self { engine, run, .. } = self;
        let (merged, writes, batch) = (run.merged.get_mut(), &run.writes, &mut run.batch);
        let is_written = |row: &StagedRow<'_>| writes.find(&row.partition, &[]).is_some();
        batch.clear();
        let mut settled = true;
        for staged in merged.rows().filter(|row| !row.row.is_empty() && !is_written(row)) {
            settled &= batch.put(&key_of(&staged), Kind::Live, staged.row).is_ok();
        }
        settled = settled && (batch.is_empty() || engine.apply(now, batch).is_ok());
        let outdated = merged.rows().filter(|row| settled || row.row.is_empty() || is_written(row));
        for staged in outdated.chain(writes.rows().filter(|row| !row.is_delta && row.clustering.is_empty())) {
            engine.forget(&Key { table: companion(staged.partition.table), ..key_of(&staged) });
        }
    }
}

#[inline]
fn key_of<'a>(staged: &StagedRow<'a>) -> Key<'a> {
    let partition = staged.partition;
    Key { table: partition.table, token: partition.token, partition: partition.bytes, clustering: staged.clustering }
}

/// As [`write_out`], with the rows of each slot side by side.
fn write_spread(
    engine: &mut Engine,
    writes: &WriteSet,
    batch: &mut WriteBatch,
    now: Now,
    deltas: &Deltas,
    replication: &Replication,
    spread: Spread,
) -> Result<Sequence, WriteError> {
    match spread {
        Spread::One(..) => write_out(engine, writes.rows(), batch, now, deltas),
        Spread::Several => {
            let mut rows: Vec<StagedRow<'_>> = writes.rows().collect();
            rows.sort_by_key(|row| replication.place_of(row).ok().flatten());
            write_out(engine, rows.into_iter(), batch, now, deltas)
        }
    }
}

#[inline]
fn write_out<'a>(
    engine: &mut Engine,
    rows: impl Iterator<Item = StagedRow<'a>>,
    batch: &mut WriteBatch,
    now: Now,
    deltas: &Deltas,
) -> Result<Sequence, WriteError> {
    batch.clear();
    for staged in rows {
        let mut key = key_of(&staged);
        if staged.is_delta {
            key.table = companion(key.table);
            deltas.note(staged.row.len() + key.partition.len());
        }
        let kind = match staged.purge_after_s {
            None => Kind::Live,
            Some(purge_after_s) => {
                let purge_after_s = i64::from(purge_after_s);
                let now_s = now.wall_s().clamp(0, i64::from(u32::MAX)) as u32;
                if RowView::new(staged.row).is_live(now_s) { Kind::Expiring { purge_after_s } } else { Kind::Tombstone { purge_after_s } }
            }
        };
        batch.put(&key, kind, staged.row)?;
    }
    engine.apply(now, batch)
}
