//! Times of a log (`cdc$time`, a version 1 UUID) as numbers in the order of the log.

/// Between 1582-10-15, from which UUIDs count, and 1970-01-01: in steps of 100 ns.
const GREGORIAN_TICKS: i64 = 122_192_928_000_000_000;
const TICKS_A_US: i64 = 10;
const VERSION_1: u64 = 1 << 60;
/// CQL compares the second half byte by byte, with signs.
const SIGNS: u64 = 0x8080_8080_8080_8080;

/// The time of a change: which microsecond, then which change of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimeId(u128);

impl TimeId {
    /// Before all others.
    pub(super) const FIRST: Self = Self((VERSION_1 as u128) << 64);

    /// After all changes of a microsecond since 1970.
    pub(super) fn last_of(time_us: i64) -> Self {
        let ticks = time_us.saturating_mul(TICKS_A_US).saturating_add(GREGORIAN_TICKS).clamp(0, (1 << 60) - 1).cast_unsigned();
        Self(u128::from(VERSION_1 | ticks) << 64 | u128::from(u64::MAX))
    }

    /// Of the bytes of a UUID.
    pub(super) fn from_bytes(bytes: [u8; 16]) -> Self {
        let whole = u128::from_be_bytes(bytes);
        let (high, low) = ((whole >> 64) as u64, whole as u64);
        let high = (high & 0xFFFF) << 48 | (high & 0xFFFF_0000) << 16 | high >> 32;
        Self(u128::from(high) << 64 | u128::from(low ^ SIGNS))
    }

    /// As the log has it.
    pub(super) fn bytes(self) -> [u8; 16] {
        let (high, low) = ((self.0 >> 64) as u64, self.0 as u64);
        let high = high << 32 | (high >> 16) & 0xFFFF_0000 | high >> 48;
        (u128::from(high) << 64 | u128::from(low ^ SIGNS)).to_be_bytes()
    }

    /// Microseconds since 1970.
    pub(crate) fn time_us(self) -> i64 {
        (((self.0 >> 64) as u64 & (VERSION_1 - 1)).cast_signed() - GREGORIAN_TICKS) / TICKS_A_US
    }
}

/// In the order of the log.
impl std::fmt::LowerHex for TimeId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cql::value::compare;
    use model::DataType;

    #[test]
    fn order_and_bytes_are_those_of_the_log() {
        let now = 1_764_248_400_123_456;
        let mut bytes = TimeId::last_of(now).bytes();
        assert_eq!(bytes[8..], [0x7F; 8], "as maxTimeuuid() has it");
        let mut ids = vec![TimeId::FIRST, TimeId::last_of(now - 1)];
        for last in [0x80, 0xFF, 0, 0x7E] {
            bytes[15] = last;
            ids.push(TimeId::from_bytes(bytes));
        }
        ids.extend([TimeId::last_of(now), TimeId::last_of(now + 1)]);
        assert!(ids.is_sorted());
        assert!(ids.windows(2).all(|pair| compare(&DataType::TimeUuid, &pair[0].bytes(), &pair[1].bytes()).is_lt()));
        assert!(ids[2..7].iter().all(|id| id.time_us() == now && TimeId::from_bytes(id.bytes()) == *id));
    }
}
