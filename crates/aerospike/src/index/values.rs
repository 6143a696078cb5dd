//! The values of a bin that an index has entries of.

use super::definition::{Definition, IndexedPart, ValueKind};
use crate::geo::{self, Shape};
use crate::operate::within;
use crate::value::ParticleType;
use crate::value::msgpack::{Head, List, Map, Reader};
use model::operation::{INDEXED_VALUES_MAX, IndexedValues};
use model::{DataType, Index, Table};
use std::sync::Arc;

/// Tells the values of a bin's cells that have entries; `None` if these are the cells' own values.
#[must_use]
pub fn values_within(table: &Table, index: &Index) -> Option<Arc<dyn IndexedValues>> {
    let definition = Definition::of(table, index).filter(|definition| !definition.is_of_whole_bin())?;
    Some(Arc::new(Within { data_type: definition.kind.data_type(), definition }))
}

struct Within {
    data_type: DataType,
    definition: Definition,
}

impl IndexedValues for Within {
    fn visit(&self, cell: &[u8], visit: &mut dyn FnMut(&DataType, &[u8])) {
        let (mut count, mut left) = (0, geo::COMPARED_MAX);
        self.definition.visit_values(cell, &mut |value| {
            if self.definition.kind != ValueKind::Geo {
                return visit(&self.data_type, value);
            }
            if count > INDEXED_VALUES_MAX {
                return;
            }
            let cells = Shape::parse(value).map(|shape| shape.entries(&mut left)).unwrap_or_default();
            count += cells.len();
            // Entries of integers have their sign bit flipped.
            cells.iter().for_each(|cell| visit(&self.data_type, &(cell ^ 1 << 63).to_be_bytes()));
        });
    }
}

impl Definition {
    /// Visits the values of a bin of the kind that has entries, GeoJSON as its text: none of another kind, and nothing if the place is not there.
    pub(crate) fn visit_values(&self, bin: &[u8], visit: &mut dyn FnMut(&[u8])) {
        if self.is_of_whole_bin() {
            return visit(bin);
        }
        if self.part == IndexedPart::Whole && self.context.is_empty() {
            return geo::text(bin).into_iter().for_each(visit);
        }
        let Some(place) = (if self.context.is_empty() { Some(bin) } else { within(bin, &self.context) }) else { return };
        let mut element = |value: &[u8]| visit_scalar(self.kind, value, visit);
        match self.part {
            IndexedPart::Whole => element(place),
            IndexedPart::List => {
                let list = List::parse(place).ok().flatten();
                list.iter().flat_map(|list| &list.items).for_each(|item| element(item));
            }
            IndexedPart::MapKeys | IndexedPart::MapValues => {
                let map = Map::parse(place).ok().flatten();
                let of_keys = self.part == IndexedPart::MapKeys;
                map.iter().flat_map(|map| &map.entries).for_each(|entry| element(if of_keys { &entry.key } else { &entry.value }));
            }
        }
    }
}

/// Visits the value of an element of this kind, as a bin would have it.
fn visit_scalar(kind: ValueKind, element: &[u8], visit: &mut dyn FnMut(&[u8])) {
    const STRING: u8 = ParticleType::String as u8;
    const BLOB: u8 = ParticleType::Blob as u8;
    const GEOJSON: u8 = ParticleType::GeoJson as u8;
    match (kind, Reader::new(element).head()) {
        (ValueKind::Numeric, Ok(Head::Integer(number))) => visit(&number.to_be_bytes()),
        (ValueKind::String, Ok(Head::Raw([STRING, value @ ..])))
        | (ValueKind::Blob, Ok(Head::Raw([BLOB, value @ ..])))
        | (ValueKind::Geo, Ok(Head::Raw([GEOJSON, value @ ..]))) => visit(value),
        _ => {}
    }
}
