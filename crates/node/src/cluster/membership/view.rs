//! What the metadata means to this node: who serves which slot, and where members are. Core 0 makes a view, all cores share it, nobody changes it.

use crate::cluster::membership::ring::Ring;
use base::{CoreId, Epoch, NodeId, Slot, TableId};
use cluster::{Assignment, Identity, Member, MemberState, Profile, SlotMap, State};
use cql::system::PeerView;
use model::operation::batch_log;
use shard::KeyspaceNumber;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

/// A member other than this one.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) cores: u16,
    pub(crate) incarnation: u64,
    pub(crate) is_up: bool,
}

/// A keyspace's slots.
#[derive(Clone, Debug)]
pub(crate) struct KeyspaceView {
    pub(crate) name: String,
    pub(crate) slots: Option<Arc<SlotMap>>,
    /// The newest epoch of a slot: larger once any has moved.
    pub(crate) newest: Epoch,
}

/// The metadata of one version.
#[derive(Debug)]
pub struct View {
    pub(crate) me: NodeId,
    pub(crate) identity: Option<Identity>,
    /// Whether the metadata knows of this process, not of one before it: until then this node takes part in nothing.
    pub(crate) is_current: bool,
    pub(crate) state: Arc<State>,
    pub(crate) peers: Arc<BTreeMap<NodeId, Peer>>,
    /// Whether all of them are up.
    pub(crate) are_all_up: bool,
    /// By number. Numbers are never used for another keyspace while the process lives.
    pub(crate) keyspaces: Vec<KeyspaceView>,
    /// Ascending.
    pub(crate) tables: Vec<(TableId, KeyspaceNumber)>,
    /// The version in which members last came, went or moved.
    pub(crate) members_since: u64,
    /// Made when somebody asks for it.
    ring: Arc<OnceLock<Ring>>,
}

impl View {
    /// Before this node knows of any member.
    pub(crate) fn nothing() -> Self {
        Self {
            me: NodeId(0),
            identity: None,
            is_current: false,
            state: Arc::new(State::empty()),
            peers: Arc::default(),
            are_all_up: true,
            keyspaces: Vec::new(),
            tables: Vec::new(),
            members_since: 0,
            ring: Arc::new(OnceLock::from(Ring::default())),
        }
    }

    /// What `state` means to this member, after `before`.
    pub(crate) fn new(before: &Self, identity: Option<Identity>, state: &Arc<State>, is_current: bool) -> Self {
        let me = identity.as_ref().map_or(NodeId(0), |identity| identity.node);
        let mut keyspaces: Vec<KeyspaceView> =
            before.keyspaces.iter().map(|known| KeyspaceView { name: known.name.clone(), slots: None, newest: known.newest }).collect();
        let mut tables = Vec::new();
        for (name, slots) in state.keyspaces.iter().filter(|_| is_current) {
            let number = keyspaces.iter().position(|known| known.name == *name).unwrap_or_else(|| {
                keyspaces.push(KeyspaceView { name: name.clone(), slots: None, newest: Epoch(0) });
                keyspaces.len() - 1
            });
            keyspaces[number].newest = slots.newest();
            keyspaces[number].slots = Some(Arc::clone(slots));
            let of_schema = state.schema.keyspaces.get(name).into_iter().flat_map(|keyspace| keyspace.tables.values());
            let stored = of_schema.flat_map(|table| table.stored().chain([batch_log(table.id)]));
            tables.extend(stored.map(|table| (table, KeyspaceNumber(number as u16))));
        }
        tables.sort_unstable();
        let has_moved = !Arc::ptr_eq(&before.state.members, &state.members) && !are_where_they_were(&before.state, state);
        let members_since = if has_moved { state.version } else { before.members_since };
        let peers = if Arc::ptr_eq(&before.state.members, &state.members) && before.me == me {
            Arc::clone(&before.peers)
        } else {
            Arc::new(peers(state, me))
        };
        let ring = if is_current {
            Arc::default()
        } else {
            // What this node shows while it takes no part is what it showed before.
            before.ring();
            Arc::clone(&before.ring)
        };
        let are_all_up = peers.values().all(|peer| peer.is_up);
        Self { me, identity, is_current, state: Arc::clone(state), peers, are_all_up, keyspaces, tables, members_since, ring }
    }

    /// Members of `before` whose processes have ended.
    pub(crate) fn gone_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = NodeId> + 'a {
        let known = if Arc::ptr_eq(&self.peers, &before.peers) { None } else { Some(before.peers.iter()) };
        let is_gone = |node: &NodeId, peer: &Peer| self.peers.get(node).is_none_or(|now| now.incarnation != peer.incarnation);
        known.into_iter().flatten().filter(move |(node, peer)| is_gone(node, peer)).map(|(node, _)| *node)
    }

    /// Whether this member is taken for alive.
    pub(crate) fn is_up(&self) -> bool {
        self.state.member(self.me).is_some_and(Member::is_up)
    }

    /// The log index of the newest entry that it shows; 0 while this node takes no part.
    pub(crate) fn version(&self) -> u64 {
        if self.is_current { self.state.version } else { 0 }
    }

    pub(crate) fn keyspace_of(&self, table: TableId) -> Option<KeyspaceNumber> {
        let position = self.tables.binary_search_by_key(&table, |(table, _)| *table).ok()?;
        Some(self.tables[position].1)
    }

    pub(crate) fn number_of(&self, keyspace: &str) -> Option<KeyspaceNumber> {
        self.keyspaces.iter().position(|known| known.name == keyspace).map(|number| KeyspaceNumber(number as u16))
    }

    pub(crate) fn slots_of(&self, keyspace: KeyspaceNumber) -> Option<&SlotMap> {
        self.keyspaces.get(usize::from(keyspace.0))?.slots.as_deref()
    }

    pub(crate) fn assignment(&self, keyspace: KeyspaceNumber, slot: Slot) -> Option<&Assignment> {
        self.slots_of(keyspace)?.get(slot)
    }

    /// The tables of a keyspace, ascending.
    pub(crate) fn tables_of(&self, keyspace: KeyspaceNumber) -> impl Iterator<Item = TableId> + '_ {
        self.tables.iter().filter(move |(_, number)| *number == keyspace).map(|(table, _)| *table)
    }

    /// The core of a member that has a slot.
    pub(crate) fn core_of(&self, node: NodeId, slot: Slot) -> Option<CoreId> {
        self.peers.get(&node).map(|peer| slot.core(peer.cores))
    }

    /// Whether another member is up.
    pub(crate) fn is_peer_up(&self, node: NodeId) -> bool {
        self.peers.get(&node).is_some_and(|peer| peer.is_up)
    }

    /// The members that are up, ascending.
    pub(crate) fn members_up(&self) -> impl Iterator<Item = &Member> {
        self.state.members.values().filter(|member| member.is_up())
    }

    /// A member for a slot of which there is no keyspace yet.
    fn anybody(&self, slot: u16) -> NodeId {
        let members: Vec<NodeId> = self.peers.keys().copied().chain([self.me]).collect();
        members[usize::from(slot) % members.len()]
    }

    /// What drivers are told of this member and the others.
    pub(crate) fn ring(&self) -> &Ring {
        self.ring.get_or_init(|| self.new_ring())
    }

    /// A range of the ring is that of the slot's primary in a keyspace with the largest factor there is, or anybody's without keyspaces. A member that is the primary of
    /// nothing - it has just joined, is drained, or was away - has one token next to the ring's beginning, and so next to nothing: drivers take one without tokens for none,
    /// and close its connections under requests that have not been answered. A member whose address a later one has is not shown, for drivers take the first they find.
    fn new_ring(&self) -> Ring {
        let widest = self.keyspaces.iter().filter_map(|keyspace| keyspace.slots.as_deref()).max_by_key(|slots| slots.factor);
        let mut tokens: BTreeMap<NodeId, Vec<i64>> = BTreeMap::new();
        for slot in 0..base::SLOT_COUNT as u16 {
            let owner = widest.map_or_else(|| self.anybody(slot), |slots| slots.at(Slot(slot)).primary);
            tokens.entry(owner).or_default().push(Slot(slot).last_token().0);
        }
        let mut tokens_of = |node: NodeId| tokens.remove(&node).unwrap_or_else(|| vec![i64::MIN + i64::from(node.0)]);
        let shown: BTreeSet<NodeId> =
            members_by_address(&self.state.members).into_values().filter(|id| self.peers.contains_key(id)).collect();
        let peers = shown.into_iter().filter_map(|id| self.state.member(id)).filter_map(|member| {
            let Profile { host_id, data_center, rack, cql_address, node_address, .. } = &member.profile;
            Some(PeerView {
                host_id: *host_id,
                data_center: data_center.clone(),
                rack: rack.clone(),
                cql_address: cql_address.parse().ok()?,
                node_address: node_address.parse().ok()?,
                tokens: tokens_of(member.id),
            })
        });
        let peers = peers.collect();
        Ring { tokens: tokens_of(self.me), peers }
    }
}

fn peers(state: &State, me: NodeId) -> BTreeMap<NodeId, Peer> {
    let others = state.members.values().filter(|member| member.id != me && member.state != MemberState::Removed);
    let peers = others.filter_map(|member| {
        let Profile { node_address, cores, incarnation, .. } = &member.profile;
        let peer = Peer { address: node_address.parse().ok()?, cores: *cores, incarnation: *incarnation, is_up: member.is_up() };
        Some((member.id, peer))
    });
    peers.collect()
}

/// Whether clients find the same members in the same places.
fn are_where_they_were(before: &State, after: &State) -> bool {
    let place = |member: &Member| (member.id, member.profile.host_id, member.profile.aerospike_address.clone(), member.is_up());
    before.members.values().map(place).eq(after.members.values().map(place))
}

/// For each address at which CQL's clients reach somebody, whom: of several members the one that joined last.
pub(crate) fn members_by_address(members: &BTreeMap<NodeId, Member>) -> BTreeMap<&str, NodeId> {
    let present = members.values().filter(|member| member.state != MemberState::Removed);
    present.map(|member| (member.profile.cql_address.as_str(), member.id)).collect()
}
