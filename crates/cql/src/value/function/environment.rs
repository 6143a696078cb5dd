//! What a call takes from outside: time and randomness.

use super::time;
use crate::value::script::Meter;

/// What a call takes from outside.
#[derive(Debug)]
pub struct Environment<'a> {
    /// Microseconds since 1970 when the statement began: one time for all of its calls.
    pub now_microseconds: i64,
    /// Makes the UUIDs of `now()` and `uuid()` different.
    pub random: &'a mut base::Rng,
    /// Sums up what functions of users cost.
    pub meter: &'a Meter,
}

impl Environment<'_> {
    /// A timeuuid of the present, different at each call.
    pub(super) fn timeuuid(&mut self) -> [u8; 16] {
        let ticks = time::ticks(0).wrapping_add((self.now_microseconds as u64).wrapping_mul(10));
        // The variant of RFC 9562, and the multicast bit of a node that is no network card.
        let clock_and_node = (self.random.next_u64() & !(0b11 << 62)) | (1 << 63) | (1 << 40);
        // A microsecond has ten ticks.
        time::timeuuid(ticks.wrapping_add(self.random.below(10)), clock_and_node)
    }

    pub(super) fn random_uuid(&mut self) -> [u8; 16] {
        let high = (self.random.next_u64() & !0xF000) | 0x4000;
        let low = (self.random.next_u64() & !(0b11 << 62)) | (1 << 63);
        ((u128::from(high) << 64) | u128::from(low)).to_be_bytes()
    }

    pub(super) fn now_milliseconds(&self) -> i64 {
        self.now_microseconds.div_euclid(1000)
    }
}
