//! Rows that become the aggregates of SQL: what this server's own SQL asks for in place of rows.

use crate::GridError;
use crate::container::Container;
use crate::row::StoredRow;
use crate::schema::{ColumnDefinition, ElementType};
use model::aggregate::{Partials, Spec, Value};
use std::borrow::Cow;

/// Columns that aggregates look at.
pub const AGGREGATED_COLUMNS_MAX: usize = 16;
/// As many as most aggregates look at.
const FEW_COLUMNS: usize = 4;

/// What rows are so far.
pub(super) struct Folded {
    /// By the columns that are looked at.
    spec: Spec,
    columns: Vec<usize>,
    partials: Partials,
    memory_max: usize,
    /// Bytes of cells that were looked at.
    read_bytes: usize,
}

/// Whether a column's values are aggregated: what SQL makes of them compares and adds as these do.
#[must_use]
pub fn can_aggregate(column: &ColumnDefinition) -> bool {
    !column.is_array && !column.element.is_precise_time() && column.element != ElementType::Geometry
}

/// The spec of a request, by the columns of its container.
///
/// # Errors
/// It cannot be read, or is about columns whose values are not aggregated, or too many.
pub fn read_spec(bytes: &[u8], container: &Container) -> Result<Spec, GridError> {
    let columns = &container.definition.columns;
    let malformed = || GridError::malformed("aggregates that are not known");
    let (spec, rest) = Spec::decode(bytes, columns.len()).map_err(|_| malformed())?;
    let looked_at = spec.columns();
    let is_known =
        looked_at.len() <= AGGREGATED_COLUMNS_MAX && looked_at.iter().all(|column| can_aggregate(&columns[usize::from(*column)]));
    if is_known && rest.is_empty() { Ok(spec) } else { Err(malformed()) }
}

impl Folded {
    /// Of no rows; what groups have is told up to so many bytes. The columns of the spec are those of the container.
    pub(super) fn new(spec: Spec, memory_max: usize) -> Self {
        let columns = spec.columns();
        let spec = spec.over(&columns);
        let partials = Partials::new(&spec);
        Self { spec, columns: columns.into_iter().map(usize::from).collect(), partials, memory_max, read_bytes: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.partials.bytes()
    }

    pub(super) fn read_bytes(&self) -> usize {
        self.read_bytes
    }

    pub(super) fn push(&mut self, row: &StoredRow<'_>) {
        // Most look at few, and making room for others would cost as much as the rest.
        if self.columns.len() <= FEW_COLUMNS {
            self.push_of::<FEW_COLUMNS>(row);
        } else {
            self.push_of::<AGGREGATED_COLUMNS_MAX>(row);
        }
    }

    #[inline]
    fn push_of<const COLUMNS: usize>(&mut self, row: &StoredRow<'_>) {
        let mut cells: [Option<Cow<'_, [u8]>>; COLUMNS] = [const { None }; COLUMNS];
        for (cell, column) in cells.iter_mut().zip(&self.columns) {
            *cell = row.cell(*column);
        }
        let mut values = [Value::Null; COLUMNS];
        for ((value, cell), column) in values.iter_mut().zip(&cells).zip(&self.columns) {
            let Some(cell) = cell else { continue };
            self.read_bytes += cell.len();
            match value_of(row.container.definition.columns[*column].element, cell) {
                Some(found) => *value = found,
                None => self.partials.lose(),
            }
        }
        self.partials.add(&self.spec, |column| values.get(usize::from(column)).copied().unwrap_or(Value::Null));
        self.bound();
    }

    /// The reply has no room for more: rows have to be read instead.
    fn bound(&mut self) {
        if self.partials.bytes() > self.memory_max {
            self.partials.lose();
        }
    }

    /// What is encoded has no more bytes than it has in memory.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        self.bound();
        let mut encoded = Vec::new();
        self.partials.encode(&self.spec, &mut encoded);
        encoded
    }
}

/// What SQL has of a cell; none if that is not known.
#[inline]
fn value_of(element: ElementType, cell: &[u8]) -> Option<Value<'_>> {
    let integer = |value: Option<i64>| Some(value.map_or(Value::Null, Value::Integer));
    match element {
        ElementType::Bool => integer(cell.first().map(|byte| i64::from(*byte != 0))),
        ElementType::Byte => integer(cell.try_into().ok().map(|bytes| i64::from(i8::from_be_bytes(bytes)))),
        ElementType::Short => integer(cell.try_into().ok().map(|bytes| i64::from(i16::from_be_bytes(bytes)))),
        ElementType::Integer => integer(cell.try_into().ok().map(|bytes| i64::from(i32::from_be_bytes(bytes)))),
        ElementType::Long | ElementType::Timestamp => integer(cell.try_into().ok().map(i64::from_be_bytes)),
        ElementType::Float => Some(cell.try_into().map_or(Value::Null, |bytes| Value::real(f64::from(f32::from_be_bytes(bytes))))),
        ElementType::Double => Some(cell.try_into().map_or(Value::Null, |bytes| Value::real(f64::from_be_bytes(bytes)))),
        ElementType::String => std::str::from_utf8(cell).ok().map(|text| Value::Bytes(text.as_bytes())),
        ElementType::Blob => Some(Value::Bytes(cell)),
        ElementType::MicroTimestamp | ElementType::NanoTimestamp | ElementType::Geometry => None,
    }
}
