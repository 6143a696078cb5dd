//! The observer of a table with a log: it turns each change of a row into rows of the log.
//!
//! Rows about one change have one time: the row as it was, if that is asked for; what has changed, in one row for each time to live, deletions first; the row
//! as it is. A deletion of a range is two rows, one for each end.

use super::delta::{Piece, RowDelta, What, new_deletion};
use super::log_row::{LogRow, Operation, TRUE, frozen_value, path_set, stage, timeuuid};
use super::log_table::{self, END_OF_BATCH, OPERATION, TTL};
use super::options::{CdcOptions, Delta, Preimage};
use super::stream;
use crate::exec::{Cover, range_of_deletion};
use crate::value::{self, comparable};
use model::operation::{
    Context, Direction, FIRST_ROW_BYTE, PartitionKey, RANGE_DELETION_PREFIX, RowChange, RowObserver, RowStore, Stop, Visit, WriteSet,
};
use model::row::{Content, Deletion, RowView, Stamp};
use model::{ColumnId, ColumnKind, DataType, Order, Table};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Nothing is older than this.
const HIDES_NOTHING: i64 = i64::MIN;
/// Numbers, in the times of one operation, of changes of single rows; those of ranges and partitions come before.
const SINGLE_ROWS_FROM: u64 = 1 << 32;
/// A bound that ends with it comes after all rows that begin with what is before it.
const AFTER: u8 = 0xFF;

/// Writes the log of a table.
pub struct Recorder {
    base: Arc<Table>,
    log: Arc<Table>,
    options: CdcOptions,
    own: OwnColumns,
    /// Of the key, in its order.
    keys: Vec<ColumnId>,
    /// Of static and regular columns, by ascending ids in the table.
    columns: Vec<LoggedColumn>,
}

/// The columns of every log.
#[derive(Clone, Copy)]
struct OwnColumns {
    operation: ColumnId,
    ttl: ColumnId,
    end_of_batch: ColumnId,
}

/// The columns of a log for one of the table.
struct LoggedColumn {
    id: ColumnId,
    data_type: DataType,
    kind: ColumnKind,
    value: ColumnId,
    deleted: ColumnId,
    deleted_elements: Option<ColumnId>,
}

/// A row of the table that has changed: its key, and which part it plays.
#[derive(Clone, Copy)]
struct Place<'a> {
    partition: PartitionKey<'a>,
    clustering: &'a [u8],
    kind: ColumnKind,
}

impl Recorder {
    /// Of a table and its log; none if the table has none, or nothing is logged now.
    #[must_use]
    pub fn new(base: &Arc<Table>, log: &Arc<Table>) -> Option<Self> {
        let options = CdcOptions::of(&base.options).filter(|options| options.enabled)?;
        let id = |name: &str| log.column(name).map(|(_, column)| column.id);
        let own = OwnColumns { operation: id(OPERATION)?, ttl: id(TTL)?, end_of_batch: id(END_OF_BATCH)? };
        let keys = base.partition_key().iter().chain(base.clustering()).map(|column| id(&column.name)).collect::<Option<Vec<_>>>()?;
        let mut columns = Vec::new();
        for column in base.value_columns() {
            columns.push(LoggedColumn {
                id: column.id,
                data_type: column.data_type.clone(),
                kind: column.kind,
                value: id(&column.name)?,
                deleted: id(&log_table::deleted_name(&column.name))?,
                deleted_elements: id(&log_table::deleted_elements_name(&column.name)),
            });
        }
        columns.sort_unstable_by_key(|column| column.id);
        Some(Self { base: Arc::clone(base), log: Arc::clone(log), options, own, keys, columns })
    }

    /// What the log has for a column of the table.
    fn column(&self, id: ColumnId) -> Option<&LoggedColumn> {
        let place = self.columns.binary_search_by_key(&id, |column| column.id).ok()?;
        self.columns.get(place)
    }

    /// A row of the log with the key of what it is about.
    fn row<'a>(&self, operation: Operation, partition: &'a [u8], clustering: &[u8]) -> LogRow<'a> {
        self.row_at(operation, partition, clustering).0
    }

    /// As [`Recorder::row`], for the end of a range, too; with it whether that comes after all rows that begin with its columns.
    fn row_at<'a>(&self, operation: Operation, partition: &'a [u8], clustering: &[u8]) -> (LogRow<'a>, bool) {
        // Beside them a row has at most the key, a time to live and the end of its batch.
        let mut cells = Vec::with_capacity(self.keys.len() + self.columns.len() + 3);
        cells.push((self.own.operation, operation.value()));
        let of_partition = value::PartitionKey::new(partition, self.base.partition_key_len);
        cells.extend(self.keys.iter().copied().zip(of_partition.map(Cow::Borrowed)));
        let mut rest = if clustering == [FIRST_ROW_BYTE] { &[] } else { clustering };
        for (column, id) in self.base.clustering().iter().zip(self.keys.iter().skip(self.base.partition_key_len)) {
            if rest.is_empty() || rest == [AFTER] {
                break;
            }
            let mut component = Vec::new();
            if comparable::decode(&column.data_type, column.order == Order::Descending, &mut rest, &mut component).is_err() {
                break;
            }
            cells.push((*id, component.into()));
        }
        (LogRow { cells }, rest == [AFTER])
    }

    /// What is written of a range of rows that was deleted.
    fn range_rows<'a>(&self, change: &RowChange<'a>) -> Vec<LogRow<'a>> {
        let (old, new) = (change.old.and_then(|old| RowView::new(old).deletion()), RowView::new(change.new).deletion());
        let Some((from, to)) = range_of_deletion(change.clustering).filter(|_| new_deletion(old, new).is_some()) else { return Vec::new() };
        // A range begins before its first row and ends before the first row that is not in it; no end is that of the partition.
        let (mut start, is_after) = self.row_at(Operation::RangeDeleteStartInclusive, change.partition.bytes, from);
        if is_after {
            start.set_operation(self.own.operation, Operation::RangeDeleteStartExclusive);
        }
        let (mut end, is_after) = self.row_at(Operation::RangeDeleteEndInclusive, change.partition.bytes, to);
        if !is_after && !to.is_empty() {
            end.set_operation(self.own.operation, Operation::RangeDeleteEndExclusive);
        }
        vec![start, end]
    }

    /// What is written of a row, or of the partition's own row.
    fn row_rows<'a>(&self, context: &Context, change: &RowChange<'a>, rows: &dyn RowStore) -> Result<Vec<LogRow<'a>>, Stop> {
        let is_partitions_own = change.clustering.is_empty();
        let kind = if is_partitions_own && self.base.clustering_len > 0 { ColumnKind::Static } else { ColumnKind::Regular };
        let place = Place { partition: change.partition, clustering: change.clustering, kind };
        let (old, new) = (change.old.map(RowView::new), RowView::new(change.new));
        let covering = if is_partitions_own { None } else { covering(change, rows)? };
        let is_deleted = covering.is_some() || new_deletion(old.and_then(|old| old.deletion()), new.deletion()).is_some();
        // After the deletion of many rows what they were is not told any more.
        let shows_old = self.options.preimage != Preimage::None && covering.is_none();
        let hidden_until = if is_partitions_own || !(is_deleted || shows_old) { HIDES_NOTHING } else { hidden_until(change, rows)? };
        let mut delta = RowDelta::new(old, new, context.now_s(), Some(hidden_until).filter(|_| is_deleted));
        delta.pieces.retain(|piece| self.column(piece.column).is_some_and(|column| column.kind == kind));
        // The deletion of the range or partition says it.
        delta.deletion = delta.deletion.filter(|deletion| covering.is_none_or(|covering| covering.timestamp < deletion.timestamp));
        if delta.is_empty() {
            return Ok(Vec::new());
        }
        let mut staged = Vec::new();
        if shows_old
            && (kind == ColumnKind::Regular || !delta.pieces.is_empty())
            && let Some(old) = old
        {
            let changed: BTreeSet<ColumnId> = delta.pieces.iter().map(|piece| piece.column).collect();
            let shows_all = self.options.preimage == Preimage::Full || delta.deletion.is_some();
            let columns = Some(&changed).filter(|_| !shows_all);
            staged.extend(self.image(Operation::Preimage, place, &old, hidden_until, context.now_s(), columns));
        }
        self.delta_rows(place, &delta, &mut staged);
        if self.options.postimage && (kind == ColumnKind::Regular || !delta.pieces.is_empty()) {
            staged.extend(self.image(Operation::Postimage, place, &new, hidden_until, context.now_s(), None));
        }
        Ok(staged)
    }

    /// A row for the deletion, then one for each time to live.
    fn delta_rows<'a>(&self, place: Place<'a>, delta: &RowDelta<'a>, staged: &mut Vec<LogRow<'a>>) {
        if delta.deletion.is_some() {
            let operation = if place.clustering.is_empty() { Operation::PartitionDelete } else { Operation::RowDelete };
            staged.push(self.row(operation, place.partition.bytes, place.clustering));
        }
        let marked = delta.marker.map(|marker| marker.ttl_s);
        let mut next = marked.into_iter().chain(delta.pieces.iter().map(|piece| piece.ttl_s)).min();
        while let Some(ttl_s) = next {
            next = marked.into_iter().chain(delta.pieces.iter().map(|piece| piece.ttl_s)).filter(|other| *other > ttl_s).min();
            let is_insert = delta.marker.is_some_and(|marker| marker.ttl_s == ttl_s);
            let operation = if is_insert { Operation::Insert } else { Operation::Update };
            let mut row = self.row(operation, place.partition.bytes, place.clustering);
            if ttl_s > 0 {
                row.cells.push((self.own.ttl, i64::from(ttl_s).to_be_bytes().to_vec().into()));
            }
            if self.options.delta == Delta::Full {
                for of_column in delta.pieces.chunk_by(|one, other| one.column == other.column) {
                    self.column_cells(of_column, ttl_s, &mut row);
                }
            }
            staged.push(row);
        }
    }

    /// What the pieces of one column with this time to live come to.
    fn column_cells<'a>(&self, pieces: &[Piece<'a>], ttl_s: u32, row: &mut LogRow<'a>) {
        let Some(column) = pieces.first().and_then(|piece| self.column(piece.column)) else { return };
        let (mut elements, mut deleted) = (Vec::new(), Vec::new());
        for piece in pieces.iter().filter(|piece| piece.ttl_s == ttl_s) {
            match piece.what {
                What::Value(value) => row.cells.push((column.value, value.into())),
                What::Deleted => row.cells.push((column.deleted, TRUE)),
                What::Element(path, value) => elements.push((path, value)),
                What::DeletedElement(path) => deleted.push(path),
            }
        }
        if !elements.is_empty() {
            row.cells.push((column.value, frozen_value(&column.data_type, &elements).into()));
        }
        if let Some(id) = column.deleted_elements.filter(|_| !deleted.is_empty()) {
            row.cells.push((id, path_set(&column.data_type, &deleted).into()));
        }
    }

    /// The row as a reader sees it, or `columns` of it; none if it sees none.
    fn image<'a>(
        &self,
        operation: Operation,
        place: Place<'a>,
        row: &RowView<'a>,
        hidden_until: i64,
        now_s: u32,
        columns: Option<&BTreeSet<ColumnId>>,
    ) -> Option<LogRow<'a>> {
        let is_visible = |stamp: Stamp| stamp.timestamp > hidden_until && stamp.is_live(now_s);
        let mut image = self.row(operation, place.partition.bytes, place.clustering);
        let mut lives = row.liveness().is_some_and(is_visible);
        for cell in row.cells() {
            let Some(column) = self.column(cell.column).filter(|column| column.kind == place.kind) else { continue };
            let value = match cell.content {
                Content::Value(value) if is_visible(cell.stamp) => Cow::Borrowed(value),
                Content::Complex(complex) => {
                    let live = complex.live(now_s).filter(|(_, _, stamp)| stamp.timestamp > hidden_until);
                    let elements: Vec<(&[u8], &[u8])> = live.map(|(path, value, _)| (path, value)).collect();
                    if elements.is_empty() {
                        continue;
                    }
                    frozen_value(&column.data_type, &elements).into()
                }
                _ => continue,
            };
            lives = true;
            if columns.is_none_or(|columns| columns.contains(&cell.column)) {
                image.cells.push((column.value, value));
            }
        }
        lives.then_some(image)
    }
}

/// The latest deletion of a range or of the partition that the same operation makes and that covers the row.
fn covering(change: &RowChange<'_>, rows: &dyn RowStore) -> Result<Option<Deletion>, Stop> {
    let stored = |key: &[u8]| Ok::<_, Stop>(rows.get(&change.partition, key)?.and_then(|row| RowView::new(row).deletion()));
    let mut covering = None;
    if let Some(deletion) = change.group.find(&change.partition, &[]).and_then(|row| RowView::new(row).deletion()) {
        covering = new_deletion(stored(&[])?, Some(deletion));
    }
    let ranges =
        change.group.rows().filter(|row| row.clustering.first() == Some(&RANGE_DELETION_PREFIX) && row.partition == change.partition);
    for range in ranges {
        let Some((from, to)) = range_of_deletion(range.clustering) else { continue };
        if from <= change.clustering && (to.is_empty() || change.clustering < to) {
            covering = Deletion::later(covering, new_deletion(stored(range.clustering)?, RowView::new(range.row).deletion()));
        }
    }
    Ok(covering)
}

/// What was written at or before this timestamp in the row as it was is hidden by a deletion of a range or of the partition.
fn hidden_until(change: &RowChange<'_>, rows: &dyn RowStore) -> Result<i64, Stop> {
    let mut cover = Cover::default();
    rows.scan(&change.partition, &[], Some(&[RANGE_DELETION_PREFIX + 1]), Direction::Forward, &mut |clustering, row| {
        if clustering.is_empty() {
            cover.note_partition(row);
        } else {
            cover.note_range(clustering, row);
        }
        Visit::Continue
    })?;
    Ok(cover.hidden_until(change.clustering))
}

impl RowObserver for Recorder {
    fn changed(&self, context: &Context, change: &RowChange<'_>, rows: &dyn RowStore, derived: &mut WriteSet) -> Result<(), Stop> {
        let mut staged = match change.clustering.first() {
            Some(&RANGE_DELETION_PREFIX) if self.base.clustering_len > 0 => self.range_rows(change),
            _ => self.row_rows(context, change, rows)?,
        };
        let Some(last) = staged.last_mut() else { return Ok(()) };
        last.cells.push((self.own.end_of_batch, TRUE));
        let stream = stream::of_slot(change.partition.token.slot());
        let partition = PartitionKey { table: self.log.id, token: stream.token, bytes: &stream.id };
        let (timestamp, ttl_s) = (context.timestamp_us, self.options.ttl_s);
        let stamp = match ttl_s {
            0 => Stamp::at(timestamp),
            ttl_s => Stamp { timestamp, ttl_s, expires_at_s: context.now_s().saturating_add(ttl_s) },
        };
        // Each change that is logged makes the group longer. What a deletion of many rows has left comes after it, wherever the operation has staged it.
        let is_of_many = self.base.clustering_len > 0 && change.clustering.first().is_none_or(|first| *first == RANGE_DELETION_PREFIX);
        let time = timeuuid(timestamp, change.group.len() as u64 | if is_of_many { 0 } else { SINGLE_ROWS_FROM });
        stage(&partition, time, (stamp, self.log.options.gc_grace_seconds), staged, derived);
        Ok(())
    }
}
