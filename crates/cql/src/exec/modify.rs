//! INSERT, UPDATE and DELETE on the shard that owns the partition.
//!
//! A statement becomes an update row; the stored row is merged with it and the result staged as the row's new whole: cells it has and the
//! update lacks stay, and timestamps decide. A row that is on the device need not be read for plain values: then the update is staged as a
//! delta (`docs/decisions/0010-deltas.md`).
//!
//! A deletion of a partition is kept in the partition's own row (empty clustering key), one of a range in a row of its own; both hide later
//! writes with older timestamps. Rows that they hide now are turned into tombstones at once, up to [`CLEANED_ROWS_MAX`]; beyond, the
//! deletion is kept for ever and reads hide the rows.

mod deletions;

use super::bindings::Environment;
use super::failure::Failure;
use super::writer::{TableOrder, Writer, after_all};
use super::{element, keys, length};
use crate::CqlError;
use crate::plan::{Assignment, ColumnRef, Modify, ModifyKind, RowTarget, Term};
use deletions::range_key;
use model::operation::{Basis, Direction, FIRST_ROW_BYTE, PartitionKey, Visit, purge_after_s};
use model::row::{Deletion, RowKind, RowView, RowWriter, Stamp, merge};
use model::{ColumnId, Table};

/// How many rows one deletion turns into tombstones itself.
const CLEANED_ROWS_MAX: usize = 2_000;

/// Larger deltas are not worth their memory: the row is read and merged at once.
const DELTA_BYTES_MAX: usize = 2 << 10;

/// Cassandra's bound: 20 years.
const TTL_S_MAX: i32 = 630_720_000;

/// The value of USING TIMESTAMP.
pub(super) fn timestamp(term: Option<&Term>, environment: &Environment<'_>) -> Result<Option<i64>, CqlError> {
    let Some(term) = term else { return Ok(None) };
    match term.evaluate(environment)? {
        super::Bound::Bytes(bytes) => {
            let bytes = <[u8; 8]>::try_from(&*bytes).map_err(|_| CqlError::invalid("Invalid timestamp value"))?;
            match i64::from_be_bytes(bytes) {
                i64::MIN => Err(CqlError::Invalid(format!("Out of bound timestamp, must be in [{}, {}]", i64::MIN + 1, i64::MAX))),
                timestamp => Ok(Some(timestamp)),
            }
        }
        super::Bound::Null => Err(CqlError::invalid("Invalid null value of timestamp")),
        super::Bound::Unset => Ok(None),
    }
}

fn time_to_live(plan: &Modify, environment: &Environment<'_>) -> Result<u32, CqlError> {
    let Some(term) = &plan.ttl else { return Ok(plan.table.options.default_time_to_live) };
    let ttl = match term.evaluate(environment)? {
        super::Bound::Bytes(bytes) => i32::from_be_bytes(<[u8; 4]>::try_from(&*bytes).map_err(|_| CqlError::invalid("Invalid TTL value"))?),
        super::Bound::Null => 0,
        super::Bound::Unset => return Ok(plan.table.options.default_time_to_live),
    };
    if ttl < 0 {
        return Err(CqlError::Invalid(format!("A TTL must be greater or equal to 0, but was {ttl}")));
    }
    if ttl > TTL_S_MAX {
        return Err(CqlError::Invalid(format!("ttl is too large. requested ({ttl}) maximum ({TTL_S_MAX})")));
    }
    Ok(ttl.unsigned_abs())
}

impl Writer<'_> {
    /// Stages what a statement writes, whatever its conditions.
    pub(super) fn apply(&mut self, plan: &Modify, partition: &PartitionKey<'_>, timestamp: i64) -> Result<(), Failure> {
        let ttl_s = time_to_live(plan, self.environment)?;
        let stamp =
            if ttl_s == 0 { Stamp::at(timestamp) } else { Stamp { timestamp, ttl_s, expires_at_s: self.now_s.saturating_add(ttl_s) } };
        let table = &*plan.table;
        if table.clustering_len == 0 {
            if plan.simple {
                return self.apply_simple(plan, partition, stamp);
            }
            return match plan.target {
                RowTarget::Rows | RowTarget::Static => self.apply_row(plan, &plan.assignments, partition, &[], None, stamp),
                RowTarget::Range | RowTarget::Partition => self.delete_row(table, partition, &[], None, timestamp),
            };
        }
        let deletions = self.deletions(partition)?;
        match plan.target {
            RowTarget::Static => self.apply_static(plan, partition, stamp)?,
            RowTarget::Rows => {
                if table.compact {
                    keys::check_compact(table, &plan.clustering, self.environment)?;
                }
                if !plan.static_assignments.is_empty() {
                    self.apply_static(plan, partition, stamp)?;
                }
                if plan.simple {
                    let mut key = Vec::new();
                    keys::written_clustering_key(table, &plan.clustering.keys, self.environment, &mut key)?;
                    return self.apply_row(plan, &plan.assignments, partition, &key, deletions.covering(&key), stamp);
                }
                if plan.kind == ModifyKind::Update && plan.assignments.is_empty() {
                    return Ok(());
                }
                for range in keys::clustering_ranges(table, &plan.clustering, self.environment, false)? {
                    let hidden = deletions.covering(&range.from);
                    if plan.kind == ModifyKind::Delete && plan.assignments.is_empty() && plan.static_assignments.is_empty() {
                        self.delete_row(table, partition, &range.from, hidden, timestamp)?;
                    } else if plan.kind != ModifyKind::Delete || !plan.assignments.is_empty() {
                        self.apply_row(plan, &plan.assignments, partition, &range.from, hidden, stamp)?;
                    }
                }
            }
            RowTarget::Range => {
                for range in keys::clustering_ranges(table, &plan.clustering, self.environment, false)? {
                    if range.single {
                        self.delete_row(table, partition, &range.from, deletions.covering(&range.from), timestamp)?;
                    } else {
                        let key = range_key(&range);
                        self.delete_many(table, partition, &key, &range.from, range.to.as_deref(), timestamp)?;
                    }
                }
            }
            RowTarget::Partition => self.delete_many(table, partition, &[], &[FIRST_ROW_BYTE], None, timestamp)?,
        }
        Ok(())
    }

    fn apply_static(&mut self, plan: &Modify, partition: &PartitionKey<'_>, stamp: Stamp) -> Result<(), Failure> {
        // The partition's own row has its deletion within, which the merge respects.
        self.write_row(&plan.table, partition, &[], None, None, |writer, old, out| {
            writer.encode(plan, &plan.static_assignments, false, stamp, (old, None), out)
        })
    }

    fn apply_row(
        &mut self,
        plan: &Modify,
        assignments: &[(ColumnRef, Assignment)],
        partition: &PartitionKey<'_>,
        clustering: &[u8],
        hidden_by: Option<Deletion>,
        stamp: Stamp,
    ) -> Result<(), Failure> {
        if plan.kind == ModifyKind::Delete && assignments.is_empty() {
            return self.delete_row(&plan.table, partition, clustering, hidden_by, stamp.timestamp);
        }
        let liveness = plan.marks_rows();
        self.write_row(&plan.table, partition, clustering, hidden_by, None, |writer, old, out| {
            writer.encode(plan, assignments, liveness, stamp, (old, hidden_by), out)
        })
    }

    /// Stages a write of plain values to a partition's only row: as a delta if the row is on the device, so that it need not be read now.
    fn apply_simple(&mut self, plan: &Modify, partition: &PartitionKey<'_>, stamp: Stamp) -> Result<(), Failure> {
        let mut stored = None;
        if self.writes.find(partition, &[]).is_none() {
            match self.store.basis(partition)? {
                Basis::Row(row) => stored = Some(row),
                Basis::Delta(delta) if self.defer_row(plan, partition, delta, stamp)? => return Ok(()),
                Basis::Delta(_) => {}
            }
        }
        let liveness = plan.marks_rows();
        self.write_row(&plan.table, partition, &[], None, stored, |writer, old, out| {
            writer.encode(plan, &plan.assignments, liveness, stamp, (old, None), out)
        })
    }

    /// Stages what is written, merged with the delta that is stored or staged. False if it has to be merged with the row.
    fn defer_row(&mut self, plan: &Modify, partition: &PartitionKey<'_>, stored: Option<&[u8]>, stamp: Stamp) -> Result<bool, Failure> {
        let mut update = self.writes.take_scratch();
        let kind = self.encode(plan, &plan.assignments, plan.marks_rows(), stamp, (None, None), &mut update);
        let staged = self.writes.find_delta(partition).map(<[u8]>::to_vec);
        let delta = staged.as_deref().or(stored);
        let fits = update.len() + delta.map_or(0, <[u8]>::len) <= DELTA_BYTES_MAX;
        let deferred = match kind {
            Ok(RowKind::Lasting) if fits => {
                let out = self.writes.begin(partition, &[]);
                match delta {
                    None => out.extend_from_slice(&update),
                    Some(delta) => {
                        let (old, new) = (RowView::new(delta), RowView::new(&update));
                        // Nothing may be forgotten before the row has been seen.
                        merge(old, new, None, &TableOrder(&plan.table), self.now_s, u32::MAX, out);
                    }
                }
                self.writes.end_delta();
                Ok(true)
            }
            other => other.map(|_| false),
        };
        self.writes.put_scratch(update);
        deferred
    }

    fn delete_row(
        &mut self,
        table: &Table,
        partition: &PartitionKey<'_>,
        clustering: &[u8],
        hidden_by: Option<Deletion>,
        timestamp: i64,
    ) -> Result<(), Failure> {
        let deletion = Deletion { timestamp, deleted_at_s: self.now_s };
        self.write_row(table, partition, clustering, hidden_by, None, |_, _, out| {
            Ok(RowWriter::new(out, Stamp::at(timestamp), false, Some(deletion)).finish())
        })
    }

    /// Deletes rows with `from <= key < to` and remembers that under `marker`.
    fn delete_many(
        &mut self,
        table: &Table,
        partition: &PartitionKey<'_>,
        marker: &[u8],
        from: &[u8],
        to: Option<&[u8]>,
        timestamp: i64,
    ) -> Result<(), Failure> {
        let mut covered: Vec<Vec<u8>> = Vec::new();
        let mut more = false;
        self.store.scan(partition, from, to, Direction::Forward, &mut |clustering, _| {
            more = covered.len() == CLEANED_ROWS_MAX;
            if more {
                return Visit::Stop;
            }
            covered.push(clustering.to_vec());
            Visit::Continue
        })?;
        for staged in self.writes.rows().filter(|row| row.partition == *partition) {
            let within = staged.clustering >= from && to.is_none_or(|to| staged.clustering < to);
            if within && !covered.iter().any(|key| key == staged.clustering) {
                covered.push(staged.clustering.to_vec());
            }
        }
        // A deletion that still hides stored rows must never be forgotten.
        let deleted_at_s = if more { u32::MAX } else { self.now_s };
        let deletion = Deletion { timestamp, deleted_at_s };
        self.write_row(table, partition, marker, None, None, |_, _, out| {
            Ok(RowWriter::new(out, Stamp::at(timestamp), false, Some(deletion)).finish())
        })?;
        for clustering in covered {
            self.delete_row(table, partition, &clustering, None, timestamp)?;
        }
        Ok(())
    }

    /// Stages the merge of the stored (or staged) row with what `encode` appends. `stored` is the stored one where it is known.
    fn write_row(
        &mut self,
        table: &Table,
        partition: &PartitionKey<'_>,
        clustering: &[u8],
        hidden_by: Option<Deletion>,
        stored: Option<Option<&[u8]>>,
        encode: impl FnOnce(&mut Self, Option<RowView<'_>>, &mut Vec<u8>) -> Result<RowKind, Failure>,
    ) -> Result<(), Failure> {
        let gc_grace_s = table.options.gc_grace_seconds;
        let store = self.store;
        let mut update = self.writes.take_scratch();
        let staged = self.writes.find(partition, clustering).map(<[u8]>::to_vec);
        let old = match &staged {
            Some(row) => Some(row.as_slice()),
            // Where a delta was staged the row is not in memory: this stops, and all is run again when it is.
            None => {
                let stored = match stored {
                    Some(stored) => stored,
                    None => store.get(partition, clustering)?,
                };
                self.least = self.least.map(|least| after_all(least, stored.map(RowView::new), hidden_by));
                stored
            }
        };
        let encoded = encode(self, old.map(RowView::new), &mut update);
        let kind = match encoded {
            Ok(kind) => kind,
            Err(failure) => {
                self.writes.put_scratch(update);
                return Err(failure);
            }
        };
        // A request's own now forgets no deletions before their time.
        let grace_s = gc_grace_s.saturating_add(self.ahead_s());
        let out = self.writes.begin(partition, clustering);
        let kind = match (old, hidden_by) {
            (None, None) => {
                out.extend_from_slice(&update);
                kind
            }
            (old, hidden_by) => {
                const EMPTY: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80];
                let old = RowView::new(old.unwrap_or(EMPTY));
                merge(old, RowView::new(&update), hidden_by, &TableOrder(table), self.now_s, grace_s, out)
            }
        };
        self.writes.end(purge_after_s(kind, gc_grace_s));
        self.writes.put_scratch(update);
        Ok(())
    }

    /// Appends the update row of assignments, which are by ascending column id.
    fn encode(
        &mut self,
        plan: &Modify,
        assignments: &[(ColumnRef, Assignment)],
        liveness: bool,
        stamp: Stamp,
        (old, hidden_by): (Option<RowView<'_>>, Option<Deletion>),
        out: &mut Vec<u8>,
    ) -> Result<RowKind, Failure> {
        let table = &*plan.table;
        let mut row = RowWriter::new(out, stamp, liveness, None);
        let mut rest = assignments;
        while let Some(((column, assignment), after)) = rest.split_first() {
            let data_type = &table.columns[column.position].data_type;
            if data_type.is_multi_cell() {
                let same = 1 + after.iter().take_while(|(other, _)| other.id == column.id).count();
                let (group, after) = rest.split_at(same);
                let assignments = group.iter().map(|(_, assignment)| assignment);
                element::encode_complex(self, plan, column, assignments, stamp, old, &mut row)?;
                rest = after;
                continue;
            }
            rest = after;
            match assignment {
                Assignment::Set(term) => match term.evaluate(self.environment)? {
                    super::Bound::Bytes(bytes) => {
                        length::check_value(plan, column.id, &bytes)?;
                        row.value(column.id, stamp, &element::normalized(data_type, bytes));
                    }
                    super::Bound::Null => row.tombstone(column.id, stamp.timestamp, self.now_s),
                    super::Bound::Unset => {}
                },
                Assignment::Delete => row.tombstone(column.id, stamp.timestamp, self.now_s),
                Assignment::Count { by, negative } => {
                    if let Some(sum) = self.count(column.id, by, *negative, old)? {
                        // A counter counts in the order of arrival, whatever timestamps clients send: the sum must win.
                        let now = self.environment.context.timestamp_us;
                        let timestamp = after_all(now, old, hidden_by);
                        row.value(column.id, Stamp::at(timestamp), &sum.to_be_bytes());
                    }
                }
                _ => return Err(CqlError::invalid("Invalid operation for a column that is not a collection").into()),
            }
        }
        Ok(row.finish())
    }

    fn count(&self, column: ColumnId, by: &Term, negative: bool, old: Option<RowView<'_>>) -> Result<Option<i64>, Failure> {
        let delta = match by.evaluate(self.environment)? {
            super::Bound::Bytes(bytes) => {
                i64::from_be_bytes(<[u8; 8]>::try_from(&*bytes).map_err(|_| CqlError::invalid("Invalid counter value"))?)
            }
            super::Bound::Null => return Err(CqlError::invalid("Invalid null value for counter increment").into()),
            super::Bound::Unset => return Ok(None),
        };
        if negative && delta == i64::MIN {
            return Err(CqlError::Invalid(format!(
                "The negation of {delta} overflows supported counter precision (signed 8 bytes integer)"
            ))
            .into());
        }
        let before = old
            .and_then(|row| row.cells().find(|cell| cell.column == column))
            .and_then(|cell| cell.live_value(self.now_s))
            .and_then(|bytes| <[u8; 8]>::try_from(bytes).ok())
            .map_or(0, i64::from_be_bytes);
        Ok(Some(if negative { before.wrapping_sub(delta) } else { before.wrapping_add(delta) }))
    }
}
