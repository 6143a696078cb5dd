//! Newtypes for the ids that cross crates.

/// How many slots a namespace is cut into. A slot belongs to one shard on each node that holds it.
pub const SLOT_COUNT: u32 = 4096;

/// A CPU core of this node, and so its shard: dense from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CoreId(pub u16);

/// A table, container or set. Ids grow and are never used again, so records of a dropped table are recognised for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// A member of the cluster, from 1 in the order of joining. Never used again; 0 is nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A version of a slot's assignment to members: grows with each change of it, and is the same on all members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Epoch(pub u64);

/// Where a partition key lies on the ring: the protocol's own hash, ordered as signed 64-bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub i64);

/// One of [`SLOT_COUNT`] pieces of the ring: the top twelve bits of the biased token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u16);

impl Token {
    /// The token as unsigned, such that unsigned order is ring order.
    #[must_use]
    pub fn biased(self) -> u64 {
        (self.0 as u64) ^ (1 << 63)
    }

    /// The inverse of [`Token::biased`].
    #[must_use]
    pub fn from_biased(biased: u64) -> Self {
        Self((biased ^ (1 << 63)) as i64)
    }

    /// The slot this token falls in.
    #[must_use]
    pub fn slot(self) -> Slot {
        Slot((self.biased() >> 52) as u16)
    }
}

impl Slot {
    /// The smallest token that falls in it.
    #[must_use]
    pub fn first_token(self) -> Token {
        Token::from_biased(u64::from(self.0) << 52)
    }

    /// The largest token that falls in it.
    #[must_use]
    pub fn last_token(self) -> Token {
        Token::from_biased((u64::from(self.0) << 52) | ((1 << 52) - 1))
    }

    /// The core that owns this slot on a node with `cores` cores: contiguous runs of slots, so that ring order is core order.
    ///
    /// Drivers with ScyllaDB's `biased-token-round-robin` rule (ignoring 0 bits) compute the same core for every token except in
    /// the `cores - 1` slots that a boundary cuts; those requests pay one hop.
    #[must_use]
    pub fn core(self, cores: u16) -> CoreId {
        CoreId(((u32::from(self.0) * u32::from(cores)) / SLOT_COUNT) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_follow_ring_order() {
        assert_eq!(Token(i64::MIN).slot(), Slot(0));
        assert_eq!(Token(-1).slot(), Slot(2047));
        assert_eq!(Token(0).slot(), Slot(2048));
        assert_eq!(Token(i64::MAX).slot(), Slot(4095));
        assert_eq!(Token::from_biased(Token(-42).biased()), Token(-42));
    }

    #[test]
    fn every_core_owns_a_contiguous_run_of_slots() {
        for cores in [1u16, 2, 3, 7, 64] {
            let mut last = 0;
            let mut seen = std::collections::BTreeSet::new();
            for slot in 0..SLOT_COUNT as u16 {
                let core = Slot(slot).core(cores).0;
                assert!(core == last || core == last + 1);
                last = core;
                seen.insert(core);
            }
            assert_eq!(seen.len(), usize::from(cores));
        }
    }
}
