//! Where rows are: keyspaces, slots and sets by their numbers.

use base::{Slot, TableId};
use engine::Sequence;

/// A keyspace of replicated tables, as the node numbers them: dense from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyspaceNumber(pub u16);

/// Members besides this one that have the same slots, as the node numbers them: dense from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetId(pub u16);

impl SetId {
    /// How many there may be.
    pub const COUNT_MAX: u16 = u16::MAX - 1;
}

/// Slots `first..=last` of a keyspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) keyspace: KeyspaceNumber,
    pub(crate) first: Slot,
    pub(crate) last: Slot,
}

/// A reason to hold a reply: the set must be committed up to a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) set: SetId,
    pub(crate) sequence: Sequence,
    pub(crate) slots: Slots,
    pub(crate) wrote: bool,
}

/// A slot of a replicated table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(super) keyspace: KeyspaceNumber,
    pub(super) slot: Slot,
    pub(super) set: SetId,
}

/// Where the rows of a batch go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spread {
    /// All to one place; the first row to this table.
    One(Option<Place>, TableId),
    Several,
}
