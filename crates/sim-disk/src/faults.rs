//! What can go wrong with a disk, how often, and what went wrong.

/// One way in which a device fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A request takes longer than its neighbours: see [`Faults::slow_by`].
    Slow,
    /// A read ends in an error.
    FailedRead,
    /// A write ends in an error and may have been done in part.
    FailedWrite,
    /// A sync ends in an error: of what it covered, each sector may be lost for good.
    FailedSync,
    /// The file cannot grow.
    Full,
    /// The process or the power went while a write was under way, or before it was synced: of its sectors some are as before.
    Torn,
    /// Bytes have changed by themselves.
    BitRot,
    /// A read returned other blocks than the requested ones.
    MisdirectedRead,
    /// A write went to other blocks than those it was meant for.
    MisdirectedWrite,
    /// A write was acknowledged and never done.
    LostWrite,
    /// A sync was acknowledged and nothing was made durable by it. As an event: what was lost by that.
    LyingSync,
}

impl Fault {
    /// All, in order.
    pub const ALL: [Self; 11] = [
        Self::Slow,
        Self::FailedRead,
        Self::FailedWrite,
        Self::FailedSync,
        Self::Full,
        Self::Torn,
        Self::BitRot,
        Self::MisdirectedRead,
        Self::MisdirectedWrite,
        Self::LostWrite,
        Self::LyingSync,
    ];

    /// Whether the medium then breaks what the log assumes of it: what was acknowledged may be gone, and must be missed.
    #[must_use]
    pub fn corrupts(self) -> bool {
        matches!(self, Self::BitRot | Self::MisdirectedRead | Self::MisdirectedWrite | Self::LostWrite | Self::LyingSync)
    }
}

/// How likely each fault is, in each 10,000 operations that could have it. [`Fault::Torn`] and [`Fault::BitRot`] need no chance: they come
/// with the end of a process, and when they are asked for.
#[derive(Clone, Debug)]
pub struct Faults {
    chances: [u16; Fault::ALL.len()],
    pub(crate) slow_us: u64,
}

impl Faults {
    /// A certain fault.
    pub const ALWAYS: u16 = 10_000;

    /// None.
    #[must_use]
    pub fn none() -> Self {
        Self { chances: [0; Fault::ALL.len()], slow_us: 0 }
    }

    /// The same with a fault in so many of 10,000 operations.
    #[must_use]
    pub fn with(mut self, fault: Fault, chance: u16) -> Self {
        self.chances[fault as usize] = chance;
        self
    }

    /// The same, and a slow request takes so much longer.
    #[must_use]
    pub fn slow_by(mut self, us: u64) -> Self {
        self.slow_us = us;
        self
    }

    /// Whether it happens now. No die is rolled for what cannot happen.
    pub(crate) fn occurs(&self, fault: Fault, rng: &mut base::Rng) -> bool {
        let chance = self.chances[fault as usize];
        chance > 0 && rng.below(u64::from(Self::ALWAYS)) < u64::from(chance)
    }
}

/// A fault that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultEvent {
    /// Which.
    pub fault: Fault,
    /// The first byte of the file that it touches.
    pub offset: u64,
    /// How many bytes it touches.
    pub bytes: u64,
}
