//! A container that exists, as its table says.

use super::index::ContainerIndex;
use crate::name::ContainerName;
use crate::partitioning::Partitioning;
use crate::schema::{ColumnDefinition, Definition, ElementType, Kind};
use crate::wire::PRECISE_TIMES_FEATURE;
use crate::{ErrorCode, GridError, token_of_partition};
use base::{Slot, Token};
use model::operation::PartitionKey;
use model::{CONTAINER_OPTION, ColumnId, KeptOption, PARTITIONING_ENTRY, Table};
use std::sync::Arc;

/// How many partitions clients are told of.
pub const PARTITION_COUNT: u32 = 128;

/// Data partitions have values of the partition column from here on.
const FIRST_OF_PARTS: u32 = 128;
/// Values of which one is taken for a data partition: one whose slot is where it should be.
const CHOICES: u32 = 16;

/// The number by which clients know a data partition of a table.
#[must_use]
pub fn id_of_part(table: i64, part: Option<u32>) -> i64 {
    table | part.map_or(0, |part| (i64::from(part) + 1) << 32)
}

/// The slot of a data partition of a table whose clients compute this partition.
#[must_use]
pub fn slot_of_part(part: u32, home: u32) -> Slot {
    token_of_partition(partition_of_part(part, home)).slot()
}

/// The partition column's value of a data partition. Of the values that it may have it takes one whose slot is in the eighth of all slots that is its turn, and
/// the turns alternate between halves, quarters, eighths: so few data partitions are on different cores, too.
fn partition_of_part(part: u32, home: u32) -> u32 {
    let first = FIRST_OF_PARTS + part * CHOICES;
    let turn = (part.wrapping_add(home) % 8) as u16;
    let eighth = turn.reverse_bits() >> 13;
    let is_there = |partition: &u32| token_of_partition(*partition).slot().0 >> 9 == eighth;
    (first..first + CHOICES).find(is_there).unwrap_or(first)
}

/// A container that exists.
#[derive(Debug)]
pub struct Container {
    /// Its table.
    pub table: Arc<Table>,
    /// How it was declared.
    pub definition: Arc<Definition>,
    /// The table's column of each of its columns.
    ids: Arc<[ColumnId]>,
    /// Positions by ascending id.
    by_id: Arc<[usize]>,
    /// How many columns it had at first: rows that are older than another column have no value of it.
    pub(super) first_columns: u16,
    indexes: Arc<[ContainerIndex]>,
    /// Which data partition it is, of a partitioned table.
    part: Option<u32>,
    /// When all its rows are gone: seconds since the epoch.
    expires_at_s: Option<u32>,
    partition: [u8; 4],
    token: Token,
}

impl Container {
    /// The container that a table is.
    pub(super) fn of(table: &Arc<Table>) -> Option<Self> {
        let KeptOption::Map(kept) = table.options.kept.get(CONTAINER_OPTION)? else { return None };
        let partition = kept.get("partition")?.parse().ok().filter(|partition| *partition < PARTITION_COUNT)?;
        let column = |line: &str| {
            let mut words = line.split(' ');
            let id = ColumnId(words.next()?.parse().ok()?);
            let name = words.next()?.to_owned();
            let (element, is_array) = words.next().map(|word| word.strip_suffix("[]").map_or((word, false), |element| (element, true)))?;
            let element = ElementType::of_name(element)?;
            Some((id, ColumnDefinition { name, element, is_array, is_not_null: words.next().is_some() }))
        };
        let (ids, columns): (Vec<_>, Vec<_>) = kept.get("columns")?.lines().map(column).collect::<Option<Vec<_>>>()?.into_iter().unzip();
        let mut by_id: Vec<usize> = (0..ids.len()).collect();
        by_id.sort_by_key(|position| ids[*position]);
        let definition = Definition {
            name: ContainerName::parse(kept.get("name")?),
            partition,
            kind: if kept.get("type")? == "TIME_SERIES" { Kind::TimeSeries } else { Kind::Collection },
            columns,
            key_len: kept.get("row_key_columns")?.parse().ok()?,
            version: kept.get("version")?.parse().ok()?,
            partitioning: match kept.get(PARTITIONING_ENTRY) {
                Some(text) => Some(Arc::new(Partitioning::of_text(text)?)),
                None => None,
            },
        };
        let (partition, token) = (partition.to_be_bytes(), token_of_partition(partition));
        let first_columns = kept.get("first_columns").and_then(|count| count.parse().ok()).unwrap_or(0);
        let indexes = ContainerIndex::all_of(table, &definition, &ids).into();
        let (table, definition, ids, by_id) = (Arc::clone(table), Arc::new(definition), ids.into(), by_id.into());
        Some(Self { table, definition, ids, by_id, first_columns, indexes, part: None, expires_at_s: None, partition, token })
    }

    /// A data partition of it, whose rows are gone at a time.
    pub(super) fn part(&self, part: u32, expires_at_s: Option<u32>) -> Self {
        let partition = partition_of_part(part, self.definition.partition);
        Self {
            table: Arc::clone(&self.table),
            definition: Arc::clone(&self.definition),
            ids: Arc::clone(&self.ids),
            by_id: Arc::clone(&self.by_id),
            first_columns: self.first_columns,
            indexes: Arc::clone(&self.indexes),
            part: Some(part),
            expires_at_s,
            partition: partition.to_be_bytes(),
            token: token_of_partition(partition),
        }
    }

    /// Whether its rows are in data partitions, and this is not one of them.
    #[must_use]
    pub fn is_divided(&self) -> bool {
        self.part.is_none() && self.definition.partitioning.is_some()
    }

    /// When all its rows are gone, if they expire: seconds since the epoch.
    #[must_use]
    pub fn expires_at_s(&self) -> Option<u32> {
        self.expires_at_s
    }

    /// Whether all its rows are gone, and those that are put are gone at once.
    #[must_use]
    pub fn is_expired(&self, now_s: u32) -> bool {
        self.expires_at_s.is_some_and(|gone_s| gone_s <= now_s)
    }

    /// Refuses a row that belongs to another data partition: `value` gives its columns' bytes on the wire.
    pub(crate) fn check_place<'v>(&self, value: impl Fn(usize) -> Option<&'v [u8]>) -> Result<(), GridError> {
        let Some((partitioning, part)) = self.definition.partitioning.as_ref().zip(self.part) else { return Ok(()) };
        let (interval, hash) = partitioning.place(&self.definition.columns, value);
        if partitioning.part(interval, hash) == Some(part) {
            return Ok(());
        }
        let message = format!("the row belongs to another data partition of the table {}", self.definition.name);
        Err(GridError::new(ErrorCode::DS_COL_ROWDATA_INVALID, message))
    }

    /// The partition that all its rows are in.
    #[must_use]
    pub fn partition(&self) -> PartitionKey<'_> {
        PartitionKey { table: self.table.id, token: self.token, bytes: &self.partition }
    }

    /// The number by which clients know it.
    #[must_use]
    pub fn id(&self) -> i64 {
        id_of_part(i64::from(self.table.id.0), self.part)
    }

    /// The columns that make the row key.
    #[must_use]
    pub fn key_columns(&self) -> &[ColumnDefinition] {
        &self.definition.columns[..self.definition.key_len]
    }

    /// Whether it is a time series.
    #[must_use]
    pub fn is_time_series(&self) -> bool {
        self.definition.kind == Kind::TimeSeries
    }

    /// The table's column of one of its columns.
    #[must_use]
    pub fn column_id(&self, position: usize) -> ColumnId {
        self.ids[position]
    }

    /// Its indexes, that of the row key of a collection first.
    pub fn indexes(&self) -> impl Iterator<Item = &ContainerIndex> {
        self.indexes.iter()
    }

    /// Whether rows may lack the value of a column that is not null: such have its zero.
    pub(crate) fn may_lack_values(&self, position: usize) -> bool {
        self.definition.columns[position].is_not_null && self.ids[position].0 > self.first_columns
    }

    /// Refuses a client that knows another schema.
    pub(crate) fn check_version(&self, version: i32) -> Result<(), GridError> {
        if version == self.definition.version {
            return Ok(());
        }
        let message = format!("the schema of {} has changed since the client has read it: get the container again", self.definition.name);
        let error = GridError::new(ErrorCode::TXN_CONTAINER_SCHEMA_UNMATCH, message);
        Err(if version > self.definition.version { error.behind() } else { error })
    }

    /// Refuses a client that does not know types of its columns.
    pub(crate) fn check_client(&self, acceptable_version: i32) -> Result<(), GridError> {
        let is_precise = |column: &ColumnDefinition| column.element.is_precise_time();
        if acceptable_version >= PRECISE_TIMES_FEATURE || !self.definition.columns.iter().any(is_precise) {
            return Ok(());
        }
        let message =
            format!("the container {} has columns of TIMESTAMP(6) or TIMESTAMP(9): take a client of 5.3 or later", self.definition.name);
        Err(GridError::new(ErrorCode::TXN_CLIENT_VERSION_NOT_ACCEPTABLE, message))
    }

    /// Its columns besides the row key, with their positions, by ascending ids.
    pub(crate) fn in_order_of_ids(&self) -> impl Iterator<Item = (usize, &ColumnDefinition)> {
        let values = self.by_id.iter().filter(|position| **position >= self.definition.key_len);
        values.map(|position| (*position, &self.definition.columns[*position]))
    }

    /// Whether it is as it is wanted; if not, and it may not be changed to that, an error.
    pub(crate) fn accepts(&self, wanted: &Definition, is_modifiable: bool) -> Result<bool, GridError> {
        let has = &self.definition;
        if has.kind != wanted.kind {
            return Err(GridError::new(ErrorCode::TXN_CONTAINER_TYPE_INVALID, format!("the container {} is of the other type", has.name)));
        }
        // Without leave to change it, the order of columns does not matter.
        let is_same = has.has_columns(wanted.kind, &wanted.columns, wanted.key_len);
        let is_in_order = || has.columns.iter().zip(&wanted.columns).all(|(own, other)| own.is_same(other));
        if is_same && (!is_modifiable || is_in_order()) {
            return Ok(true);
        }
        let disabled = |why: &str| GridError::new(ErrorCode::DS_DS_CHANGE_SCHEMA_DISABLE, format!("the container {} {why}", has.name));
        if !is_modifiable {
            return Err(disabled("has other columns, and it was not asked to change them"));
        }
        if !has.has_key(&wanted.columns, wanted.key_len) {
            return Err(disabled("has another row key, which cannot be changed"));
        }
        if let Some(partitioning) = &has.partitioning {
            partitioning.check(&wanted.columns, wanted.key_len)?;
        }
        for column in &wanted.columns {
            if self.position(&column.name).is_some_and(|position| !has.columns[position].is_same(column)) {
                return Err(disabled(&format!("has a column {} of another type, which cannot be changed", column.name)));
            }
        }
        Ok(false)
    }

    /// The position of a column.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.definition.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }
}
