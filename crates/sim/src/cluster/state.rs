//! What the nodes of a cluster know of it.

use crate::network::Network;
use cluster::{MemberState, State};
use std::sync::Arc;

/// Whether all nodes that run are members of one cluster, there are no others, and each knows.
pub(super) fn is_formed(network: &mut Network) -> bool {
    let count = network.len();
    let running = (0..count).filter(|node| network.machine(*node).is_some()).count();
    let taking_part = (0..count).filter(|node| network.machine(*node).is_some_and(|machine| machine.takes_part())).count();
    let states: Vec<_> = (0..count).filter_map(|node| network.machine(node)?.cluster_state()).collect();
    let is_same = states.windows(2).all(|two| two[0].version == two[1].version && two[0].cluster_id == two[1].cluster_id);
    let Some(state) = states.first() else { return false };
    let (mut up, mut down) = (0, 0);
    for member in state.members.values() {
        up += usize::from(member.is_up());
        down += usize::from(member.state == MemberState::Down);
    }
    states.len() == running && taking_part == running && is_same && up == running && down == 0
}

/// Whether all members are up and all replicas are in sync.
pub(super) fn is_settled(network: &mut Network) -> bool {
    is_formed(network) && newest_state(network).is_some_and(|state| state.is_settled())
}

/// For messages: what each node knows.
pub(super) fn describe(network: &mut Network) -> String {
    let count = network.len();
    let mut describe = |node| {
        let Some(machine) = network.machine(node) else { return format!("node {node} does not run") };
        let Some(state) = machine.cluster_state() else { return format!("node {node} is alone") };
        let members: Vec<_> = state.members.values().map(|member| (member.id.0, member.state)).collect();
        let slots = state.keyspaces.iter().map(|(name, map)| {
            let learners: usize = map.iter().map(|slot| slot.learners.len()).sum();
            let in_sync: usize = map.iter().map(|slot| slot.in_sync.len()).sum();
            let transfers = map.iter().filter(|slot| slot.transfer_from.is_some()).count();
            format!("{name}: factor {}, {in_sync} in sync, {learners} learners, {transfers} transfers", map.factor)
        });
        let slots = slots.collect::<Vec<_>>().join("; ");
        format!("node {node} at {}: {members:?}; {slots}; {}", state.version, machine.describe())
    };
    (0..count).map(&mut describe).collect::<Vec<_>>().join("\n")
}

/// What the machine knows that knows most.
pub(super) fn newest_state(network: &mut Network) -> Option<Arc<State>> {
    let states = (0..network.len()).filter_map(|node| network.machine(node)?.cluster_state()).collect::<Vec<_>>();
    states.into_iter().max_by_key(|state| state.version)
}
