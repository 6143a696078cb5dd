//! The filter of a query: values of a bin, or of what is in it, that an index has entries of.
//!
//! | bytes | the field with the range |
//! |---|---|
//! | 1 | number of ranges: 1 |
//! | 1, … | length of the bin's name, and the name; empty if the index is named |
//! | 1 | type of the values |
//! | 4, … | length of the lowest value, and the value |
//! | 4, … | length of the highest one, and the value |
//!
//! A region or a point comes as its GeoJSON, twice.

use super::definition::{Definition, IndexedPart, ValueKind};
use super::key::EntryRanges;
use crate::ResultCode;
use crate::geo::Shape;
use crate::record::Record;
use crate::value::ParticleType;
use crate::wire::IndexFields;
use base::TableId;
use model::Table;
use model::record_set::RecordSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The values of one record may take as long to ask as so many bytes of rows: other requests wait meanwhile. What comes after them is not looked at.
const ASKED_BYTES_MAX: usize = 16 << 20;

/// What a query asks for.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    definition: Definition,
    bin_kind: ParticleType,
    wanted: Wanted,
    pub(crate) entries: EntryRanges,
}

/// Which values are asked for.
#[derive(Clone, Debug)]
enum Wanted {
    Numbers(RangeInclusive<i64>),
    Bytes(Vec<u8>),
    /// Points in a region, or regions with a point.
    Shape(Arc<Shape>),
}

impl Filter {
    /// Reads a query's fields; `None` of a scan. An index that is named tells what it is of.
    ///
    /// # Errors
    /// [`ResultCode::INDEX_NOT_FOUND`] for values that no index has; a range that is none.
    pub(crate) fn read(fields: &IndexFields<'_>, table: Option<&Table>) -> Result<Option<Self>, ResultCode> {
        let Some(range) = fields.range else {
            // An index without values is asked for nothing.
            let has_others = fields.name.is_some() || fields.context.is_some() || fields.part.is_some();
            return if has_others { Err(ResultCode::PARAMETER) } else { Ok(None) };
        };
        let Range { bin, particle, low, high } = Range::read(range).ok_or(ResultCode::PARAMETER)?;
        let kind = ValueKind::of_particle(particle).ok_or(ResultCode::INDEX_NOT_FOUND)?;
        let wanted = Wanted::read(kind, low, high)?;
        let definition = match fields.name {
            Some(name) => named(name, table).filter(|found| found.kind == kind).ok_or(ResultCode::INDEX_NOT_FOUND)?,
            None => {
                let part = match fields.part.unwrap_or(&[0]) {
                    [code] => IndexedPart::of_code(*code).ok_or(ResultCode::PARAMETER)?,
                    _ => return Err(ResultCode::PARAMETER),
                };
                let bin = std::str::from_utf8(bin).map_err(|_| ResultCode::INDEX_NOT_FOUND)?.to_owned();
                Definition { bin, kind, part, context: fields.context.unwrap_or_default().to_vec() }
            }
        };
        let entries = match &wanted {
            Wanted::Shape(shape) => EntryRanges::of_shape(shape),
            Wanted::Numbers(_) | Wanted::Bytes(_) => EntryRanges::new(kind, low, high),
        };
        Ok(Some(Self { bin_kind: definition.bin_kind()?, definition, wanted, entries }))
    }

    /// The table of the entries that it asks for; `None` if the set has no such index.
    pub(crate) fn index_of(&self, table: &Table) -> Option<TableId> {
        let column = table.records.as_ref()?.column(self.definition.bin.as_bytes(), self.bin_kind as u8)?;
        let mut indexes = table.indexes.values().filter(|index| index.column == column);
        indexes.find(|index| Definition::of(table, index).as_ref() == Some(&self.definition)).map(|index| index.id)
    }

    /// Whether a record has what is asked for. To `asked_bytes` it adds as many bytes of rows as take as long to look at.
    pub(crate) fn is_met(&self, record: &Record<'_>, records: &RecordSet, asked_bytes: &mut usize) -> bool {
        let Some(bin) = record.bin(records, self.definition.bin.as_bytes()).filter(|bin| bin.kind == self.bin_kind) else { return false };
        let value_bytes = match &self.wanted {
            Wanted::Shape(shape) => shape.bytes_a_place(),
            Wanted::Numbers(_) | Wanted::Bytes(_) => 0,
        };
        let (mut is_met, mut bytes) = (false, 0);
        self.definition.visit_values(&bin.bytes, &mut |value| {
            if !is_met && bytes < ASKED_BYTES_MAX {
                bytes += value_bytes;
                is_met = self.wanted.has(value);
            }
        });
        *asked_bytes += bytes;
        is_met
    }
}

impl Wanted {
    /// What is asked for from one value to another.
    fn read(kind: ValueKind, low: &[u8], high: &[u8]) -> Result<Self, ResultCode> {
        match (kind, number(low).zip(number(high))) {
            (ValueKind::Numeric, Some((low, high))) if low <= high => Ok(Self::Numbers(low..=high)),
            (ValueKind::String | ValueKind::Blob, _) if low == high => Ok(Self::Bytes(low.to_vec())),
            (ValueKind::Geo, _) if low == high => Ok(Self::Shape(Arc::new(Shape::parse(low).ok_or(ResultCode::GEO_INVALID_GEOJSON)?))),
            _ => Err(ResultCode::PARAMETER),
        }
    }

    fn has(&self, value: &[u8]) -> bool {
        match self {
            Self::Numbers(range) => number(value).is_some_and(|number| range.contains(&number)),
            Self::Bytes(bytes) => value == bytes,
            Self::Shape(shape) => Shape::parse(value).is_some_and(|value| shape.meets(&value)),
        }
    }
}

fn named(name: &[u8], table: Option<&Table>) -> Option<Definition> {
    let (table, name) = (table?, std::str::from_utf8(name).ok()?);
    Definition::of(table, table.indexes.get(name)?)
}

fn number(bytes: &[u8]) -> Option<i64> {
    bytes.try_into().ok().map(i64::from_be_bytes)
}

struct Range<'a> {
    bin: &'a [u8],
    particle: u8,
    low: &'a [u8],
    high: &'a [u8],
}

impl<'a> Range<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let [1, name_bytes, rest @ ..] = bytes else { return None };
        let (bin, rest) = rest.split_at_checked(usize::from(*name_bytes))?;
        let (particle, rest) = rest.split_first()?;
        let (low, rest) = sized(rest)?;
        let (high, rest) = sized(rest)?;
        rest.is_empty().then_some(Self { bin, particle: *particle, low, high })
    }
}

/// Bytes after their length, and what follows.
fn sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}
