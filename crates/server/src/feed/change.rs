//! From rows of a log to changes: one for each row that tells of a write, with the images that stand around it.

use super::error::FeedError;
use super::position::Position;
use super::time_id::TimeId;
use cql::cdc::log_row::Operation;
use cql::cdc::log_table::{BATCH_SEQ_NO, END_OF_BATCH, OPERATION, TIME, TTL, deleted_elements_name, deleted_name};
use cql::wire::{ReceivedColumns, Rows};
use model::DataType;
use std::collections::HashMap;
use std::sync::Arc;

/// The columns of a page.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    by_name: HashMap<String, usize>,
    types: Vec<DataType>,
}

impl Columns {
    fn of(rows: &Rows<'_>) -> Self {
        let columns = rows.metadata.columns.iter().flat_map(ReceivedColumns::iter).enumerate();
        let mut found = Self::default();
        for (index, column) in columns {
            found.by_name.insert(column.name.to_owned(), index);
            found.types.push(column.data_type.to_data_type());
        }
        found
    }
}

/// A row of a log.
#[derive(Clone, Debug)]
pub(crate) struct LogRow {
    columns: Arc<Columns>,
    cells: Vec<Option<Vec<u8>>>,
}

impl LogRow {
    /// The value of a column, with its type.
    pub(crate) fn value(&self, name: &str) -> Option<(&DataType, &[u8])> {
        let index = *self.columns.by_name.get(name)?;
        Some((self.columns.types.get(index)?, self.cells.get(index)?.as_deref()?))
    }

    /// The type that a column has in the log.
    pub(crate) fn data_type(&self, name: &str) -> Option<&DataType> {
        self.columns.types.get(*self.columns.by_name.get(name)?)
    }

    /// Whether a column was deleted, or what it had before.
    pub(crate) fn deletes(&self, name: &str) -> bool {
        self.value(&deleted_name(name)).is_some_and(|(data_type, value)| *data_type == DataType::Boolean && value == [1])
    }

    /// The elements of a column that were deleted, a set.
    pub(crate) fn deleted_elements(&self, name: &str) -> Option<(&DataType, &[u8])> {
        self.value(&deleted_elements_name(name)).filter(|(data_type, _)| matches!(data_type, DataType::Set(..)))
    }

    fn number<const N: usize>(&self, name: &str) -> Option<[u8; N]> {
        self.value(name)?.1.try_into().ok()
    }

    /// For how many seconds what was written lives; none of what does not expire.
    pub(crate) fn ttl_s(&self) -> Option<i64> {
        self.number(TTL).map(i64::from_be_bytes)
    }
}

/// What a change does.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Makes the row be there and writes to it.
    Insert,
    /// Writes to the row.
    Update,
    /// Deletes the row.
    DeleteRow,
    /// Deletes the partition.
    DeletePartition,
    /// Deletes the rows from the change's own row on: whether with the first, until where, and whether with the last.
    DeleteRange { with_first: bool, to: Box<LogRow>, with_last: bool },
}

/// A change of a row, a range of rows or a partition.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) kind: Kind,
    pub(crate) time: TimeId,
    /// Its place among what has this time.
    pub(crate) number: i32,
    /// Which stream has it.
    pub(crate) slot: u16,
    pub(crate) row: LogRow,
    pub(crate) preimage: Option<LogRow>,
    pub(crate) postimage: Option<LogRow>,
    /// Who goes on here has this change behind.
    pub(crate) position: Position,
}

impl Change {
    /// The same each time that the change is told, and of changes of one row later for the later one.
    pub(crate) fn id(&self) -> String {
        format!("{:03x}-{:x}-{:04x}", self.slot, self.time, self.number)
    }
}

/// Rows of one time that wait for the last of them.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    changes: Vec<Change>,
    preimage: Option<LogRow>,
    range: Option<LogRow>,
}

impl Assembly {
    /// Takes the rows of a page, in their order; changes that are whole go to `whole`. `before` is where their stream was read up to.
    pub(super) fn take(&mut self, rows: &Rows<'_>, before: &mut Position, whole: &mut Vec<Change>) -> Result<(), FeedError> {
        let columns = Arc::new(Columns::of(rows));
        for row in rows.iter() {
            let cells = row.map(|cell| cell.map(<[u8]>::to_vec)).collect();
            self.row(LogRow { columns: Arc::clone(&columns), cells }, before, whole)?;
        }
        Ok(())
    }

    fn row(&mut self, row: LogRow, before: &mut Position, whole: &mut Vec<Change>) -> Result<(), FeedError> {
        let strange = FeedError::Strange;
        let time = TimeId::from_bytes(row.number(TIME).ok_or(strange("a row without a time"))?);
        let [operation] = row.number(OPERATION).ok_or(strange("a row without an operation"))?;
        let is_last = row.number(END_OF_BATCH) == Some([1]);
        let mut begin = |kind, row: LogRow, preimage| {
            let number = row.number(BATCH_SEQ_NO).map_or(0, i32::from_be_bytes);
            let change = Change { kind, time, number, slot: before.stream, row, preimage, postimage: None, position: *before };
            self.changes.push(change);
        };
        const END: [(u8, bool); 2] = [(Operation::RangeDeleteEndInclusive as u8, true), (Operation::RangeDeleteEndExclusive as u8, false)];
        match operation {
            code if code == Operation::Preimage as u8 => self.preimage = Some(row),
            code if code == Operation::RangeDeleteStartInclusive as u8 || code == Operation::RangeDeleteStartExclusive as u8 => {
                self.range = Some(row);
            }
            code if code == Operation::Postimage as u8 => {
                if let Some(last) = self.changes.last_mut() {
                    last.postimage = Some(row);
                }
            }
            code if code == Operation::Insert as u8 => begin(Kind::Insert, row, self.preimage.take()),
            code if code == Operation::Update as u8 => begin(Kind::Update, row, self.preimage.take()),
            code if code == Operation::RowDelete as u8 => begin(Kind::DeleteRow, row, self.preimage.take()),
            code if code == Operation::PartitionDelete as u8 => begin(Kind::DeletePartition, row, self.preimage.take()),
            code => {
                let (_, with_last) = END.into_iter().find(|(end, _)| *end == code).ok_or(strange("an operation of a later version"))?;
                let from = self.range.take().ok_or(strange("a range that ends and does not begin"))?;
                let with_first = from.number(OPERATION) == Some([Operation::RangeDeleteStartInclusive as u8]);
                begin(Kind::DeleteRange { with_first, to: Box::new(row), with_last }, from, None);
            }
        }
        if is_last {
            before.reached = time;
            // Whoever goes on after one of several gets all of them again: they have one image before and one after.
            if let Some(last) = self.changes.last_mut() {
                last.position = *before;
            }
            whole.append(&mut self.changes);
            *self = Self::default();
        }
        Ok(())
    }
}
