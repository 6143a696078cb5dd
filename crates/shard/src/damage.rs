//! Damaged rows that operations and scans have met: in which slots, and what the operation is told.
//!
//! An operation that meets damage has done nothing. Where another replica can serve the slot it is refused as on a member that is not the primary: it waits, and
//! runs there once this member has handed the slot over. Where none can, it fails and says where the damage is.

use base::{Slot, TableId};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Slots with damaged rows, by table, that nobody has asked for yet.
#[derive(Default)]
pub(crate) struct DamageFound(pub(crate) RefCell<BTreeSet<(TableId, Slot)>>);

impl DamageFound {
    pub(crate) fn note(&self, table: TableId, slot: Slot) {
        self.0.borrow_mut().insert((table, slot));
    }
}
