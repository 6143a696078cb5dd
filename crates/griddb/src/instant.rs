//! Times more precise than a millisecond: on the wire, in cells, and computed with.
//!
//! | type | on the wire | in a cell |
//! |---|---|---|
//! | `TIMESTAMP(6)` | microseconds since 1970: 8 bytes | the same, big-endian: CQL's `bigint` |
//! | `TIMESTAMP(9)` | quarters of a microsecond since 1970: 8 bytes, then a byte with the nanoseconds beyond them, 0 to 249 | nanoseconds since 1970 in as few bytes as they take: CQL's `varint` |
//!
//! Nanoseconds up to the year 9999 do not fit into 64 bits.

use std::cmp::Ordering;

/// Bytes of a time of nanoseconds on the wire.
pub const NANO_BYTES: usize = 9;

/// The end of the year 9999, in microseconds, is before this.
const MICROS_END: i64 = 253_402_300_800_000_000;
/// Nanoseconds of the wire's quarters.
const QUARTER_NS: u64 = 250;
const QUARTERS: i64 = 4;

/// How finely a time is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// Milliseconds.
    Milli,
    /// Microseconds.
    Micro,
    /// Nanoseconds.
    Nano,
}

/// A time since 1970, to the nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant {
    /// Microseconds.
    pub us: i64,
    /// Nanoseconds beyond them: 0 to 999.
    pub ns: u16,
}

impl Instant {
    /// The time of so many milliseconds.
    #[must_use]
    pub fn of_ms(time_ms: i64) -> Self {
        Self { us: time_ms.saturating_mul(1_000), ns: 0 }
    }

    /// Milliseconds; what is less is left out.
    #[must_use]
    pub fn ms(self) -> i64 {
        self.us.div_euclid(1_000)
    }

    /// Nanoseconds.
    #[must_use]
    pub fn total_ns(self) -> i128 {
        i128::from(self.us) * 1_000 + i128::from(self.ns)
    }

    /// The time of so many nanoseconds; none if it does not fit.
    #[must_use]
    pub fn of_total_ns(total_ns: i128) -> Option<Self> {
        let us = i64::try_from(total_ns.div_euclid(1_000)).ok()?;
        Some(Self { us, ns: total_ns.rem_euclid(1_000) as u16 })
    }

    /// Without what the precision does not tell.
    #[must_use]
    pub fn cut(self, precision: Precision) -> Self {
        match precision {
            Precision::Milli => Self::of_ms(self.ms()),
            Precision::Micro => Self { ns: 0, ..self },
            Precision::Nano => self,
        }
    }

    /// Whether a container can hold it: the years 1970 to 9999.
    #[must_use]
    pub fn is_valid(self) -> bool {
        (0..MICROS_END).contains(&self.us)
    }

    /// Reads microseconds off the wire; none of what no container holds.
    #[must_use]
    pub fn of_micro_wire(bytes: &[u8]) -> Option<Self> {
        let us = i64::from_le_bytes(bytes.try_into().ok()?);
        Some(Self { us, ns: 0 }).filter(|time| time.is_valid())
    }

    /// Reads nanoseconds off the wire; none of what no container holds.
    #[must_use]
    pub fn of_nano_wire(bytes: &[u8]) -> Option<Self> {
        Self::of_any_nano_wire(bytes).filter(|time| time.is_valid())
    }

    /// Reads nanoseconds off the wire, of any year.
    #[must_use]
    pub fn of_any_nano_wire(bytes: &[u8]) -> Option<Self> {
        let (quarters, [rest]) = bytes.split_first_chunk::<8>()? else { return None };
        let quarters = i64::from_le_bytes(*quarters);
        if u64::from(*rest) >= QUARTER_NS {
            return None;
        }
        let ns = quarters.rem_euclid(QUARTERS) as u16 * QUARTER_NS as u16 + u16::from(*rest);
        Some(Self { us: quarters.div_euclid(QUARTERS), ns })
    }

    /// Whether the wire has room for it, whether or not a container can hold it.
    #[must_use]
    pub fn fits_wire(self) -> bool {
        // What is more than whole quarters of a microsecond is less than the last bits.
        self.us.checked_mul(QUARTERS).is_some()
    }

    /// The time as nanoseconds on the wire. It fits there.
    #[must_use]
    pub fn nano_wire(self) -> [u8; NANO_BYTES] {
        let (quarters, rest) = (u64::from(self.ns) / QUARTER_NS, u64::from(self.ns) % QUARTER_NS);
        let mut bytes = [0; NANO_BYTES];
        bytes[..8].copy_from_slice(&self.us.wrapping_mul(QUARTERS).wrapping_add(quarters as i64).to_le_bytes());
        bytes[8] = rest as u8;
        bytes
    }

    /// Appends the cell of nanoseconds.
    pub(crate) fn put_nano_cell(self, out: &mut Vec<u8>) {
        let bytes = self.total_ns().to_be_bytes();
        // A byte before the first that is not zero, if that one would make the number negative.
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count().min(bytes.len() - 1);
        let start = if bytes[zeros] & 0x80 == 0 { zeros } else { zeros.saturating_sub(1) };
        out.extend_from_slice(&bytes[start..]);
    }

    /// The time of a cell of nanoseconds. Such a cell is not negative; what no client has written reads as 1970.
    pub(crate) fn of_nano_cell(cell: &[u8]) -> Self {
        if cell.len() > NANO_BYTES || cell.first().is_some_and(|byte| byte & 0x80 != 0) {
            return Self::default();
        }
        let total_ns = cell.iter().fold(0_i128, |value, byte| value << 8 | i128::from(*byte));
        Self::of_total_ns(total_ns).unwrap_or_default()
    }

    /// The time of a cell of microseconds.
    pub(crate) fn of_micro_cell(cell: &[u8]) -> Self {
        Self { us: cell.first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes)), ns: 0 }
    }

    /// Compares it with a time of milliseconds.
    #[must_use]
    pub fn cmp_ms(&self, time_ms: i64) -> Ordering {
        self.cmp(&Self::of_ms(time_ms))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LAST: Instant = Instant { us: MICROS_END - 1, ns: 999 };

    #[test]
    fn nanoseconds_come_back_from_the_wire_and_from_cells() {
        let times = [(0, 0), (0, 1), (0, 127), (0, 128), (0, 249), (0, 250), (0, 999), (1, 0), (1_764_000_000_123_456, 789)];
        for time in times.map(|(us, ns)| Instant { us, ns }).into_iter().chain([LAST]) {
            assert_eq!(Instant::of_nano_wire(&time.nano_wire()), Some(time));
            let mut cell = Vec::new();
            time.put_nano_cell(&mut cell);
            assert_eq!(Instant::of_nano_cell(&cell), time, "{cell:?}");
            let is_shortest = cell.len() == 1 || cell[0] != 0 || cell[1] & 0x80 != 0;
            assert!(is_shortest && cell[0] & 0x80 == 0 && cell.len() <= NANO_BYTES, "{cell:?}");
        }
    }

    #[test]
    fn what_no_container_holds_is_refused() {
        let after = Instant { us: MICROS_END, ns: 0 };
        let before = Instant { us: -1, ns: 999 };
        for time in [after, before] {
            assert_eq!(Instant::of_nano_wire(&time.nano_wire()), None);
            assert_eq!(Instant::of_any_nano_wire(&time.nano_wire()), Some(time), "a value that no container holds compares all the same");
            assert_eq!(Instant::of_micro_wire(&time.us.to_le_bytes()), None);
        }
        let mut bytes = LAST.nano_wire();
        bytes[8] = 250;
        assert_eq!(Instant::of_any_nano_wire(&bytes), None, "more than a quarter of a microsecond");
        assert_eq!(Instant::of_nano_wire(&bytes[..8]), None);
        assert_eq!(Instant::of_micro_wire(&bytes[..7]), None);
        for us in [i64::MIN / 4, i64::MAX / 4] {
            let time = Instant { us, ns: 999 };
            assert!(time.fits_wire());
            assert_eq!(Instant::of_any_nano_wire(&time.nano_wire()), Some(time));
            assert!(!Instant { us: us + us.signum(), ns: 0 }.fits_wire());
        }
    }
}
