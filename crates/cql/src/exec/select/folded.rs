//! Rows that become the aggregates of SQL: what this server's own SQL asks for in place of pages of rows.
//!
//! A page ends after a number of rows, of their bytes, or of groups, so that nothing that is asked of a core is long, and whoever asks can stop in between.

use super::paging::invalid;
use crate::CqlError;
use crate::exec::fetch::Gathered;
use crate::plan::Select;
use crate::wire::writer::write_int;
use crate::wire::{ColumnSpec, ProtocolVersion, Reader, ResultMetadata};
use model::DataType;
use model::aggregate::{Partials, Spec, Value};
use smallvec::SmallVec;

/// Rows of a page: some tens of milliseconds of a core.
const ROWS_MAX: u64 = 100_000;
/// Bytes of the rows of a page that are looked at: as long.
const READ_BYTES_MAX: usize = 16 << 20;
/// Groups of a page, and what they may take.
const GROUPS_MAX: usize = 4_096;
const BYTES_MAX: usize = 1 << 20;

/// Days of the years 0 to 9999, from what stands for 1970-01-01 in a `date`, and milliseconds of them: other times are null to SQL.
const DAYS: std::ops::RangeInclusive<i64> = -719_528..=2_932_896;
const DAY_ZERO: i64 = 1 << 31;
const MILLISECONDS: std::ops::RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// Whether values of a type are aggregated: what SQL makes of them compares and adds as these bytes do.
///
/// Times and identifiers are texts to SQL that compare as they do, and integers and bytes here.
#[must_use]
pub fn can_aggregate(data_type: &DataType) -> bool {
    Kind::of(data_type).is_some()
}

/// How a value's bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Byte,
    Short,
    Int,
    Long,
    Float,
    Double,
    Text,
    Bytes,
    Identifier,
    Timestamp,
    Date,
}

impl Kind {
    fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Boolean => Self::Bool,
            DataType::TinyInt => Self::Byte,
            DataType::SmallInt => Self::Short,
            DataType::Int => Self::Int,
            DataType::BigInt | DataType::Counter | DataType::Time => Self::Long,
            DataType::Float => Self::Float,
            DataType::Double => Self::Double,
            DataType::Text | DataType::Ascii => Self::Text,
            DataType::Blob => Self::Bytes,
            DataType::Uuid | DataType::TimeUuid => Self::Identifier,
            DataType::Timestamp => Self::Timestamp,
            DataType::Date => Self::Date,
            _ => return None,
        })
    }

    /// What SQL has of a cell; none if that is not known.
    #[inline]
    fn value(self, cell: &[u8]) -> Option<Value<'_>> {
        let within = |value: Option<i64>, range: &std::ops::RangeInclusive<i64>| integer(value.filter(|value| range.contains(value)));
        Some(match self {
            Self::Bool => integer(cell.first().map(|byte| i64::from(*byte != 0))),
            Self::Byte => integer(cell.try_into().ok().map(|bytes| i64::from(i8::from_be_bytes(bytes)))),
            Self::Short => integer(cell.try_into().ok().map(|bytes| i64::from(i16::from_be_bytes(bytes)))),
            Self::Int => integer(cell.try_into().ok().map(|bytes| i64::from(i32::from_be_bytes(bytes)))),
            Self::Long => integer(cell.try_into().ok().map(i64::from_be_bytes)),
            Self::Float => cell.try_into().map_or(Value::Null, |bytes| Value::real(f64::from(f32::from_be_bytes(bytes)))),
            Self::Double => cell.try_into().map_or(Value::Null, |bytes| Value::real(f64::from_be_bytes(bytes))),
            // Others are bytes to SQL, which are behind all texts.
            Self::Text => return std::str::from_utf8(cell).ok().map(|text| Value::Bytes(text.as_bytes())),
            Self::Bytes => Value::Bytes(cell),
            Self::Identifier if cell.is_empty() => Value::Null,
            Self::Identifier => Value::Bytes(cell),
            Self::Timestamp => within(cell.try_into().ok().map(i64::from_be_bytes), &MILLISECONDS),
            Self::Date => within(cell.try_into().ok().map(|bytes| i64::from(u32::from_be_bytes(bytes)) - DAY_ZERO), &DAYS),
        })
    }
}

fn integer(value: Option<i64>) -> Value<'static> {
    value.map_or(Value::Null, Value::Integer)
}

/// What the rows of a page are so far.
pub(super) struct Folded {
    spec: Spec,
    /// How each column of the rows is read; none of one that is not looked at.
    kinds: Vec<Option<Kind>>,
    partials: Partials,
    rows: u64,
    read_bytes: usize,
}

impl Folded {
    /// Of no rows.
    ///
    /// # Errors
    /// The statement does more than to select columns, or some of a type that is not aggregated.
    pub(super) fn new(plan: &Select, spec: Spec) -> Result<Self, CqlError> {
        let is_plain =
            plan.plain && plan.aggregates.is_empty() && plan.group_by.is_none() && plan.sort.is_empty() && plan.nearest.is_none();
        if !is_plain || plan.distinct || plan.limit.is_some() || plan.per_partition_limit.is_some() {
            return Err(invalid());
        }
        let kinds: Vec<Option<Kind>> = plan.outputs.iter().map(|output| Kind::of(&output.data_type)).collect();
        let folds = spec.folds.iter().filter(|fold| fold.function != model::aggregate::Function::Rows).map(|fold| fold.column);
        let mut looked_at = spec.groups.iter().copied().chain(folds).chain(spec.conditions.iter().map(|condition| condition.column));
        if !looked_at.all(|column| kinds.get(usize::from(column)).copied().flatten().is_some()) {
            return Err(invalid());
        }
        let partials = Partials::new(&spec);
        Ok(Self { spec, kinds, partials, rows: 0, read_bytes: 0 })
    }

    /// Whether the page ends before more rows are added.
    pub(super) fn is_full(&self) -> bool {
        let is_long = self.rows >= ROWS_MAX || self.read_bytes >= READ_BYTES_MAX;
        is_long || self.partials.groups() >= GROUPS_MAX || self.partials.bytes() >= BYTES_MAX || self.partials.is_lost()
    }

    /// Adds the rows of a chunk.
    pub(super) fn take(&mut self, chunk: &Gathered<'_>) -> Result<(), CqlError> {
        let damaged = |_| CqlError::Server("a shard's reply cannot be read".to_owned());
        self.rows += u64::from(chunk.row_count);
        self.read_bytes += chunk.rows.len();
        let mut reader = Reader::new(chunk.rows);
        let mut values: SmallVec<[Value<'_>; 8]> = SmallVec::new();
        let mut is_lost = false;
        for _ in 0..chunk.row_count {
            values.clear();
            for kind in &self.kinds {
                let cell = reader.bytes().map_err(damaged)?;
                let value = cell.zip(*kind).map_or(Some(Value::Null), |(cell, kind)| kind.value(cell));
                is_lost |= value.is_none();
                values.push(value.unwrap_or(Value::Null));
            }
            self.partials.add(&self.spec, |column| values.get(usize::from(column)).copied().unwrap_or(Value::Null));
        }
        if is_lost {
            self.partials.lose();
        }
        Ok(())
    }

    /// Appends the page's row.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        write_int(out, 0);
        self.partials.encode(&self.spec, out);
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// What describes the page's row.
pub(super) fn metadata(plan: &Select, version: ProtocolVersion) -> ResultMetadata {
    let (keyspace, table) = (plan.table.keyspace.as_str(), plan.table.name.as_str());
    ResultMetadata::encode(version, &[ColumnSpec { keyspace, table, name: "aggregates", data_type: &DataType::Blob }])
}
