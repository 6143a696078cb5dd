//! Where GridDB's clients reach who serves a partition: the primary of its slot.

use super::declarations::REPLICATION_FACTOR;
use crate::cluster::View;
use base::NodeId;
use cluster::{Member, MemberState};
use griddb::token_of_partition;
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// The address of the member that serves a partition of a database, if it is another one than this node, serves GridDB's clients and answers this node. Otherwise this
/// node takes its statements, and sends them on.
pub(super) fn owner_elsewhere(view: &View, missed: &BTreeSet<NodeId>, database: &str, partition: u32) -> Option<SocketAddr> {
    if !view.is_current {
        return None;
    }
    let slot = token_of_partition(partition).slot();
    let slots = view.keyspaces.iter().find(|keyspace| keyspace.name == database).and_then(|keyspace| keyspace.slots.as_ref());
    let primary = match slots {
        Some(slots) => slots.at(slot).primary,
        // Clients ask before they make the first container, and keep the answer.
        None => {
            let members = view.state.members.values().filter(|member| member.state != MemberState::Removed).count();
            view.state.primary_of_new(slot, members.clamp(1, REPLICATION_FACTOR) as u8)?
        }
    };
    let member =
        view.state.member(primary).filter(|member| member.id != view.me && Member::is_up(member) && !missed.contains(&member.id))?;
    member.profile.griddb_address.as_ref()?.parse().ok()
}
