//! Indexes that clients ask for, or want to be gone.

use super::existing::Container;
use super::index::{COLUMNS_OPTION, ContainerIndex, IndexKind, NAME_OPTION};
use crate::schema::{Definition, ElementType, Kind};
use crate::wire::Reader;
use crate::{ErrorCode, GridError};
use base::TableId;
use model::{Index, IndexPart, Keyspace};
use std::collections::BTreeMap;

/// The kind of CQL's indexes that answer ranges.
const CLASS: &str = "StorageAttachedIndex";

/// The number of the type that fits the column.
const DEFAULT: u8 = 0xFF;

/// How many indexes a container may have.
const INDEXES_MAX: usize = 64;
/// The longest name of an index.
const NAME_BYTES_MAX: usize = 256;

/// An index that a client asks for, or which indexes are to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRequest {
    /// The container.
    pub container: i64,
    /// The schema version that the columns are of.
    pub version: i32,
    /// Its name; none for one without a name, or for all names.
    name: Option<String>,
    /// Its columns; none for all.
    columns: Vec<usize>,
    /// Its type; none for all.
    kind: Option<u8>,
}

impl IndexRequest {
    /// Reads what follows the head of CREATE_INDEX, or of DROP_INDEX if `is_drop`.
    pub(crate) fn read((container, version): (i64, i32), reader: &mut Reader<'_>, is_drop: bool) -> Result<Self, GridError> {
        let mut body = Reader::new(reader.bytes()?);
        let name = body.string()?;
        let count = body.count()?;
        let column = |_| usize::try_from(body.i32()?).map_err(|_| unknown_column());
        let columns = (0..count).map(column).collect::<Result<Vec<_>, _>>()?;
        let kind = body.u8()?;
        let (is_any_name, is_any_kind) = if is_drop { (reader.bool()?, reader.bool()?) } else { (false, false) };
        let name = (!is_any_name && !name.is_empty()).then(|| name.to_owned());
        Ok(Self { container, version, name, columns, kind: (!is_any_kind).then_some(kind) })
    }

    /// Whether the container has this index already.
    ///
    /// # Errors
    /// It cannot have it.
    pub(crate) fn is_there(&self, container: &Container) -> Result<bool, GridError> {
        self.check_columns(&container.definition)?;
        let has_name = |index: &ContainerIndex| self.name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(&index.name));
        let clash = |index: &ContainerIndex| {
            let message = format!("the container has an index {:?} of the columns {:?} already", index.name, index.columns);
            Err(GridError::new(ErrorCode::CM_NOT_SUPPORTED, message))
        };
        for index in container.indexes() {
            match (has_name(index), index.columns == self.columns) {
                (true, true) => return Ok(true),
                (true, false) => return clash(index),
                (false, true) if self.name.is_some() => return clash(index),
                (false, true) => return Ok(true),
                (false, false) => {}
            }
        }
        if container.indexes().count() >= INDEXES_MAX {
            let message = format!("a container has at most {INDEXES_MAX} indexes");
            return Err(GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, message));
        }
        Ok(false)
    }

    /// Whether an index of this kind is what it asks for.
    fn is_of(&self, kind: IndexKind) -> bool {
        matches!(self.kind, Some(DEFAULT)) || self.kind == Some(kind as u8)
    }

    fn check_columns(&self, definition: &Definition) -> Result<(), GridError> {
        let refused = |message: String| Err(GridError::new(ErrorCode::CM_NOT_SUPPORTED, message));
        if self.columns.is_empty() {
            return Err(unknown_column());
        }
        if self.name.as_ref().is_some_and(|name| name.len() > NAME_BYTES_MAX || name.contains(char::is_control)) {
            return refused(format!("the name of an index has at most {NAME_BYTES_MAX} bytes"));
        }
        for (at, position) in self.columns.iter().enumerate() {
            let column = definition.columns.get(*position).ok_or_else(unknown_column)?;
            if self.columns[..at].contains(position) {
                return refused(format!("an index has the column {} twice", column.name));
            }
            if column.is_array || column.element == ElementType::Blob {
                return refused(format!("the column {} is of a type that has no index", column.name));
            }
            let kind = IndexKind::of(column.element);
            if !self.is_of(kind) {
                return refused(format!("the column {} has {} indexes only", column.name, kind.name()));
            }
            if kind == IndexKind::Spatial && (self.columns.len() > 1 || definition.kind == Kind::TimeSeries) {
                return refused(format!("an index of the column {}, of GEOMETRY, is of it alone, and of a collection", column.name));
            }
            if definition.kind == Kind::TimeSeries && *position == 0 {
                let message = "the row key of a time series needs no index";
                return Err(GridError::new(ErrorCode::DS_TIM_CREATEINDEX_ON_ROWKEY, message));
            }
        }
        Ok(())
    }

    /// Whether an index is among those that are to go.
    pub(crate) fn is_about(&self, index: &ContainerIndex) -> bool {
        index.entries.is_some()
            && (self.kind.is_none() || self.is_of(index.kind))
            && (self.columns.is_empty() || self.columns == index.columns)
            && self.name.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(&index.name))
    }

    /// The table's index.
    pub(super) fn declare(&self, id: TableId, keyspace: &Keyspace, container: &Container) -> Index {
        let ids: Vec<String> = self.columns.iter().map(|position| container.column_id(*position).0.to_string()).collect();
        let mut options = BTreeMap::from([(COLUMNS_OPTION.to_owned(), ids.join(" "))]);
        options.extend(self.name.clone().map(|name| (NAME_OPTION.to_owned(), name)));
        let column = container.column_id(self.columns[0]);
        // What a cell has entries of is told by `values_within`, and no statement of CQL asks for it.
        let part = match IndexKind::of(container.definition.columns[self.columns[0]].element) {
            IndexKind::Tree => IndexPart::Value,
            IndexKind::Spatial => IndexPart::Values,
        };
        let name = free_name(keyspace, container, self.columns[0]);
        Index { id, name, column, part, class: Some(CLASS.to_owned()), options }
    }
}

fn unknown_column() -> GridError {
    GridError::new(ErrorCode::DS_COLUMN_ID_INVALID, "an index is of columns that the container has")
}

/// A name that no index of the keyspace has.
fn free_name(keyspace: &Keyspace, container: &Container, position: usize) -> String {
    let plain = |text: &str| text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect::<String>();
    let base = format!("{}_{}_idx", plain(&container.table.name), plain(&container.definition.columns[position].name.to_ascii_lowercase()));
    let is_free = |name: &String| !keyspace.tables.values().any(|table| table.indexes.contains_key(name));
    let numbered = (1_u64..).map(|number| format!("{base}_{number}"));
    std::iter::once(base.clone()).chain(numbered).find(is_free).expect("there are more numbers than indexes")
}
