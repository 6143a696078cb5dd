//! What drivers are told of where partitions are: [`cql::wire::Tablet`].
//!
//! A tablet is a run of slots with the same primary and the same core there, as long as it gets. It names the primary alone and not the other
//! replicas: drivers send requests to any of those named, and all but the primary would only send them on. What a driver has learned holds until
//! a request comes to the wrong member again, whose answer tells it better.

use crate::cluster::core::ClusterCore;
use crate::cluster::membership::view::View;
use base::{CoreId, SLOT_COUNT, Slot, TableId, Token};
use cql::wire::Tablet;

impl ClusterCore {
    /// Whether a request for a partition would be better sent to another member, or to another core of this one.
    pub(crate) fn is_misplaced(&self, table: TableId, token: Token, own_core: CoreId, cores: u16) -> bool {
        !self.is_primary(table, token.slot()) || token.slot().core(cores) != own_core
    }

    /// Where a partition is, and those around it; none of what this member does not know.
    pub(crate) fn tablet(&self, table: TableId, token: Token, cores: u16) -> Option<Tablet> {
        tablet(&self.view, table, token, cores)
    }
}

fn tablet(view: &View, table: TableId, token: Token, cores: u16) -> Option<Tablet> {
    let slots = view.slots_of(view.keyspace_of(table)?)?;
    let primary = slots.at(token.slot()).primary;
    let cores = if primary == view.me { cores } else { view.peers.get(&primary)?.cores };
    let host_id = view.state.member(primary)?.profile.host_id;
    let Slot(slot) = token.slot();
    let core = Slot(slot).core(cores);
    let (after, last) = range(slot, |slot| slots.at(Slot(slot)).primary == primary && Slot(slot).core(cores) == core);
    Some(Tablet { after, last, replica: (host_id, core.0) })
}

/// The tokens of a slot and of those around it that are like it: the last one before, and the last one.
fn range(slot: u16, is_alike: impl Fn(u16) -> bool) -> (i64, i64) {
    let first = (0..slot).rev().take_while(|slot| is_alike(*slot)).last().unwrap_or(slot);
    let last = (slot + 1..SLOT_COUNT as u16).take_while(|slot| is_alike(*slot)).last().unwrap_or(slot);
    let after = first.checked_sub(1).map_or(i64::MIN, |before| Slot(before).last_token().0);
    (after, Slot(last).last_token().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_as_long_as_slots_are_alike() {
        assert_eq!(range(7, |_| true), (i64::MIN, i64::MAX));
        assert_eq!(range(0, |_| false), (i64::MIN, i64::MIN + (1 << 52) - 1));
        assert_eq!(range(4095, |_| false), (i64::MAX - (1 << 52), i64::MAX));
        let (after, last) = range(12, |slot| (10..=13).contains(&slot) || slot > 14);
        assert_eq!((Token(after).slot(), Token(after + 1).slot()), (Slot(9), Slot(10)));
        assert_eq!((Token(last).slot(), Token(last + 1).slot()), (Slot(13), Slot(14)));
    }
}
