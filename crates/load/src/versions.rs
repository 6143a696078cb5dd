//! What has been written to each row, so that a reader can tell lost, stale and wrong apart. Only there when a load verifies.
//!
//! ```text
//! row     u32   busy (bit 31): a write is in flight; issued (bits 0..15): version of the last write that was sent
//! field   u16   known (bit 15); acknowledged (bits 0..15): version of the last write that was acknowledged
//! ```
//! A row takes 4 + 2 × fields bytes. Versions go round after 32,768; older and newer are told by the shorter way round, so that fewer than
//! 16,384 writes of one row may be unacknowledged. One write of a row is in flight at a time: then their order is known, also among threads.
//! A write without a reply may have happened, or happen later: every version between the last acknowledged one before the read was sent
//! and the last issued one when its reply came is right.

use std::sync::atomic::{
    AtomicU16, AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

const BUSY: u32 = 1 << 31;
const KNOWN: u16 = 1 << 15;
const MASK: u32 = 0x7FFF;
const HALF: u32 = 0x4000;
/// A version that says of itself that nobody keeps account of it.
const UNACCOUNTED: u32 = 1 << 31;

/// The version of a write of a load that does not verify.
#[must_use]
pub(crate) fn unaccounted(random: u64) -> u32 {
    (random as u32 & 0x3FFF_FFFF) | UNACCOUNTED
}

/// Not the version of any write.
pub(crate) const NO_VERSION: u32 = u32::MAX;

/// What was known of a field when a read of it was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acknowledged(u16);

impl Acknowledged {
    /// Whether it is known what the field must at least have.
    #[must_use]
    pub(crate) fn is_known(self) -> bool {
        self.0 & KNOWN != 0
    }
}

/// What a value that was read is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// What must be there, or may be.
    Right,
    /// Older than what was acknowledged.
    Stale,
    /// Never written.
    Wrong,
}

/// Versions of all fields of all rows.
#[derive(Debug)]
pub(crate) struct Versions {
    fields: usize,
    rows: Box<[AtomicU32]>,
    acknowledged: Box<[AtomicU16]>,
}

impl Versions {
    /// For `rows` rows. Those below `pristine` have their first version, 0, which was acknowledged; nothing is known of the others.
    #[must_use]
    pub(crate) fn new(rows: u64, fields: u32, pristine: u64) -> Self {
        let fields = fields as usize;
        let acknowledged = |cell: usize| AtomicU16::new(if ((cell / fields) as u64) < pristine { KNOWN } else { 0 });
        Self {
            fields,
            rows: (0..rows).map(|_| AtomicU32::new(0)).collect(),
            acknowledged: (0..rows as usize * fields).map(acknowledged).collect(),
        }
    }

    /// Nothing is known of a row's fields any more.
    pub(crate) fn forget(&self, row: u64) {
        let start = row as usize * self.fields;
        self.acknowledged[start..start + self.fields].iter().for_each(|cell| cell.store(0, Release));
    }

    /// How many rows it keeps account of.
    #[must_use]
    pub(crate) fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Takes a row for one write and gives the write's version, unless another write of it is in flight.
    pub(crate) fn issue(&self, row: u64) -> Option<u32> {
        let cell = &self.rows[row as usize];
        let issued = cell.load(Relaxed);
        if issued & BUSY != 0 {
            return None;
        }
        let next = (issued + 1) & MASK;
        cell.compare_exchange(issued, next | BUSY, Acquire, Relaxed).is_ok().then_some(next)
    }

    /// A write was acknowledged: of one field or of all.
    pub(crate) fn acknowledge(&self, row: u64, field: Option<u32>, version: u32) {
        let start = row as usize * self.fields;
        let written = match field {
            Some(field) => start + field as usize..start + field as usize + 1,
            None => start..start + self.fields,
        };
        for cell in &self.acknowledged[written] {
            cell.store(version as u16 | KNOWN, Release);
        }
        self.release(row);
    }

    /// A write has ended, and nobody knows whether it happened.
    pub(crate) fn release(&self, row: u64) {
        self.rows[row as usize].fetch_and(!BUSY, AcqRel);
    }

    /// What is known of a row's fields when a read is sent.
    pub(crate) fn snapshot(&self, row: u64, acknowledged: &mut [Acknowledged]) {
        let start = row as usize * self.fields;
        for (known, cell) in acknowledged.iter_mut().zip(&self.acknowledged[start..start + self.fields]) {
            *known = Acknowledged(cell.load(Acquire));
        }
    }

    /// What a field's `version` is, given what was known when the read was sent.
    #[must_use]
    pub(crate) fn judge(&self, row: u64, before: Acknowledged, version: u32) -> Verdict {
        if !before.is_known() {
            return Verdict::Right;
        }
        if version & UNACCOUNTED != 0 {
            return Verdict::Stale;
        }
        if version & !MASK != 0 {
            return Verdict::Wrong;
        }
        let least = u32::from(before.0 & !KNOWN);
        let issued = self.rows[row as usize].load(Acquire) & MASK;
        if version.wrapping_sub(least) & MASK <= issued.wrapping_sub(least) & MASK {
            Verdict::Right
        } else if least.wrapping_sub(version) & MASK < HALF {
            Verdict::Stale
        } else {
            Verdict::Wrong
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn known(versions: &Versions, row: u64) -> Acknowledged {
        let mut known = [Acknowledged::default()];
        versions.snapshot(row, &mut known);
        known[0]
    }

    #[test]
    fn a_read_may_see_what_was_in_flight_and_must_see_what_was_acknowledged() {
        let versions = Versions::new(2, 1, 2);
        let before = known(&versions, 1);
        let first = versions.issue(1).unwrap();
        assert_eq!(versions.issue(1), None, "one write of a row at a time");
        assert_eq!(versions.judge(1, before, 0), Verdict::Right);
        assert_eq!(versions.judge(1, before, first), Verdict::Right);
        assert_eq!(versions.judge(1, before, first + 1), Verdict::Wrong);
        versions.acknowledge(1, None, first);
        assert_eq!(versions.judge(1, known(&versions, 1), 0), Verdict::Stale);
        assert_eq!(versions.judge(1, known(&versions, 1), first), Verdict::Right);
        assert_eq!(versions.judge(1, known(&versions, 1), unaccounted(7)), Verdict::Stale);
    }

    #[test]
    fn a_write_without_reply_may_show_until_a_later_one_is_acknowledged() {
        let versions = Versions::new(1, 1, 1);
        let lost = versions.issue(0).unwrap();
        versions.release(0);
        assert_eq!(versions.judge(0, known(&versions, 0), lost), Verdict::Right);
        let later = versions.issue(0).unwrap();
        versions.acknowledge(0, None, later);
        assert_eq!(versions.judge(0, known(&versions, 0), lost), Verdict::Stale);
    }

    #[test]
    fn versions_go_round() {
        let versions = Versions::new(1, 1, 1);
        for _ in 0..100_000 {
            let before = known(&versions, 0);
            let version = versions.issue(0).unwrap();
            assert_eq!(versions.judge(0, before, version), Verdict::Right);
            versions.acknowledge(0, None, version);
            assert_eq!(versions.judge(0, known(&versions, 0), version.wrapping_sub(1) & MASK), Verdict::Stale);
        }
    }

    #[test]
    fn what_is_not_known_is_right() {
        let versions = Versions::new(1, 2, 0);
        let version = versions.issue(0).unwrap();
        versions.acknowledge(0, Some(1), version);
        let mut known = [Acknowledged::default(); 2];
        versions.snapshot(0, &mut known);
        assert_eq!(known.map(Acknowledged::is_known), [false, true]);
        assert_eq!(versions.judge(0, known[0], 77), Verdict::Right);
        assert_eq!(versions.judge(0, known[1], 77), Verdict::Wrong);
    }
}
