//! What operators and drivers hear of members when the metadata changes.
//!
//! A driver knows a node by its address. When it hears that a node has left or is down, it drops its connections. Hence the invariant: nothing is said of a member
//! whose address a later member has, as when a machine was replaced in place.

use crate::cluster::membership::view::members_by_address;
use crate::core::Core;
use crate::message::Message;
use base::{CoreId, NodeId};
use cluster::{Member, MemberState};
use cql::wire::Event;
use io::Reactor;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Core {
    /// Tells people and drivers what has become of members.
    pub(crate) fn announce_members<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, before: &Arc<BTreeMap<NodeId, Member>>) {
        let Some(cluster) = &self.cluster else { return };
        let view = Arc::clone(&cluster.view);
        let members = &view.state.members;
        if Arc::ptr_eq(before, members) {
            return;
        }
        if self.core == CoreId(0) {
            for member in members.values().filter(|member| state_before(before, member) != Some(member.state)) {
                tracing::info!(node = member.id.0, address = member.profile.node_address, state = member.state.name(), "member");
            }
        }
        for event in client_events(before, members, view.me) {
            self.broadcast(reactor, &event);
        }
    }
}

fn state_before(before: &BTreeMap<NodeId, Member>, member: &Member) -> Option<MemberState> {
    before.get(&member.id).map(|member| member.state)
}

/// What clients of member `me` are told when `after` follows `before`.
fn client_events(before: &BTreeMap<NodeId, Member>, after: &BTreeMap<NodeId, Member>, me: NodeId) -> Vec<Event<'static>> {
    let by_address = members_by_address(after);
    let mut events = Vec::new();
    for member in after.values().filter(|member| member.id != me) {
        let former = state_before(before, member);
        let is_another_there = by_address.get(member.profile.cql_address.as_str()).is_some_and(|id| *id != member.id);
        if former == Some(member.state) || is_another_there {
            continue;
        }
        let Ok(address) = member.profile.cql_address.parse() else { continue };
        if former.is_none() {
            events.push(Event::NewNode(address));
        }
        events.push(match member.state {
            MemberState::Up | MemberState::Draining => Event::Up(address),
            // It serves its clients to the end, which they will see.
            MemberState::ShuttingDown => continue,
            MemberState::Down => Event::Down(address),
            MemberState::Removed => Event::RemovedNode(address),
        });
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use cluster::{Profile, Versions};
    use std::net::SocketAddr;

    /// Members by id: where they are, and how.
    fn members(all: &[(u32, u8, MemberState)]) -> BTreeMap<NodeId, Member> {
        let member = |&(id, host, state): &(u32, u8, MemberState)| {
            let profile = Profile {
                host_id: u128::from(id),
                incarnation: 1,
                node_address: format!("10.0.0.{host}:7000"),
                cql_address: at(host).to_string(),
                shard_aware_port: 0,
                aerospike_address: None,
                griddb_address: None,
                cores: 1,
                rack: "rack1".to_owned(),
                data_center: "datacenter1".to_owned(),
                version: "0.1.0".to_owned(),
                protocol_versions: Versions::KNOWN,
                boot: 0,
                is_durable: false,
            };
            (NodeId(id), Member { id: NodeId(id), profile, previous_incarnation: 0, state, leaving: false, place: u64::from(id) })
        };
        all.iter().map(member).collect()
    }

    fn at(host: u8) -> SocketAddr {
        ([10, 0, 0, host], 9042).into()
    }

    #[test]
    fn clients_are_told_of_the_others() {
        use MemberState::{Down, Removed, ShuttingDown, Up};
        let told = |before: &[_], after: &[_]| client_events(&members(before), &members(after), NodeId(1));
        let two = [(1, 1, Up), (2, 2, Up)];
        assert_eq!(told(&two, &two), []);
        assert_eq!(told(&[(1, 1, Up)], &two), [Event::NewNode(at(2)), Event::Up(at(2))]);
        assert_eq!(told(&two, &[(1, 1, Down), (2, 2, Down)]), [Event::Down(at(2))]);
        assert_eq!(told(&two, &[(1, 1, Up), (2, 2, ShuttingDown)]), []);
        assert_eq!(told(&two, &[(1, 1, Up), (2, 2, Removed)]), [Event::RemovedNode(at(2))]);
    }

    #[test]
    fn who_takes_the_address_of_another_is_not_taken_for_gone() {
        use MemberState::{Down, Removed, Up};
        let told = |before: &[_], after: &[_]| client_events(&members(before), &members(after), NodeId(1));
        let lost = [(1, 1, Up), (2, 2, Down)];
        // Replaced in one step, or joined and the other one removed later.
        assert_eq!(told(&lost, &[(1, 1, Up), (2, 2, Removed), (3, 2, Up)]), [Event::NewNode(at(2)), Event::Up(at(2))]);
        let both = [(1, 1, Up), (2, 2, Down), (3, 2, Up)];
        assert_eq!(told(&[(1, 1, Up), (2, 2, Up)], &both), [Event::NewNode(at(2)), Event::Up(at(2))]);
        assert_eq!(told(&both, &[(1, 1, Up), (2, 2, Removed), (3, 2, Up)]), []);
        // It goes, too.
        assert_eq!(
            told(&[(1, 1, Up), (2, 2, Removed), (3, 2, Up)], &[(1, 1, Up), (2, 2, Removed), (3, 2, Removed)]),
            [Event::RemovedNode(at(2))]
        );
        // The address is this member's own.
        assert_eq!(told(&[(1, 1, Up), (2, 1, Down)], &[(1, 1, Up), (2, 1, Removed)]), []);
    }
}
