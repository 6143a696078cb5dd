//! In which data partition a value's row is. This is part of the format: rows lie where it says.

use super::Partitioning;
use crate::instant::Instant;
use crate::schema::{ColumnDefinition, ElementType};

/// FNV-1a's.
const OFFSET_BASIS: u64 = 0xCBF2_9CE4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01B3;

impl Partitioning {
    /// The interval of a value of the column of intervals, which counts as its values do, times in milliseconds.
    #[must_use]
    pub fn interval_of(&self, value: i64) -> i64 {
        self.intervals.as_ref().and_then(super::Intervals::width).map_or(0, |width| value.div_euclid(width))
    }

    /// Which data partition of its interval a row is in, by the bytes of its column as they are on the wire; none where it is null.
    #[must_use]
    pub fn hash_of(&self, bytes: Option<&[u8]>) -> u32 {
        let Some(bytes) = bytes else { return 0 };
        let mut hash = bytes.iter().fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
        // The low bits of values that are close to each other are, too.
        hash ^= hash >> 33;
        hash = hash.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        hash ^= hash >> 33;
        (hash % u64::from(self.count())) as u32
    }

    /// Interval and data partition of a row, whose columns' bytes on the wire `value` gives.
    pub fn place<'v>(&self, columns: &[ColumnDefinition], value: impl Fn(usize) -> Option<&'v [u8]>) -> (i64, u32) {
        let position = |name: &str| columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let interval = self.intervals.as_ref().and_then(|intervals| {
            let position = position(&intervals.column)?;
            number(columns[position].element, value(position)?)
        });
        let hash = self.hash.as_ref().and_then(|hash| position(&hash.column));
        (interval.map_or(0, |value| self.interval_of(value)), hash.map_or(0, |position| self.hash_of(value(position))))
    }
}

/// What a value of a column of intervals counts as; none if it is of another type.
#[must_use]
pub(super) fn number(element: ElementType, bytes: &[u8]) -> Option<i64> {
    Some(match element {
        ElementType::Byte => i64::from(*bytes.first()? as i8),
        ElementType::Short => i64::from(i16::from_le_bytes(*bytes.first_chunk()?)),
        ElementType::Integer => i64::from(i32::from_le_bytes(*bytes.first_chunk()?)),
        ElementType::Long | ElementType::Timestamp => i64::from_le_bytes(*bytes.first_chunk()?),
        ElementType::MicroTimestamp => i64::from_le_bytes(*bytes.first_chunk()?).div_euclid(1_000),
        ElementType::NanoTimestamp => Instant::of_any_nano_wire(bytes)?.ms(),
        _ => return None,
    })
}
