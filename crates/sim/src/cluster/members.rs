//! Changes of membership: machines join, are drained and removed, lose their disks and are replaced; replication factors change.

use super::setups::joining;
use super::state::{is_settled, newest_state};
use super::workload::Workload;
use crate::client::Client;
use crate::durable_state::Loss;
use crate::network::Network;
use crate::setup::Setup;
use crate::statement::Statement;
use base::{NodeId, Rng};
use cluster::{Member, MemberState};
use cql::wire::{Consistency, ProtocolVersion};
use node::Order;

/// There are no more machines than this.
const MACHINES_MAX: usize = 6;
/// A statement times out after this.
const TIMEOUT_US: u64 = 6_000_000;

/// A statement in flight, by a client of its own.
struct PendingStatement {
    node: usize,
    boot: u64,
    client: Client,
    text: String,
    stream: Option<i16>,
    until_us: u64,
}

/// Membership changes, as operators make them.
pub(super) struct Members {
    setup: Setup,
    rng: Rng,
    pending: Option<PendingStatement>,
    /// Of the next machine, or the next disk of one.
    host_id: u128,
}

impl Members {
    /// `setup` is what machines are set up with.
    pub(super) fn new(setup: Setup, seed: u64) -> Self {
        Self { setup, rng: Rng::new(seed), pending: None, host_id: 1000 }
    }

    /// Makes a change.
    pub(super) fn change(&mut self, network: &mut Network, workload: &Workload) -> &'static str {
        match self.rng.below(8) {
            0 | 1 => self.join(network),
            2 => self.drain(network),
            3 | 4 => self.remove(network),
            5 | 6 => self.lose_disk(network),
            _ => self.alter(network, workload),
        }
    }

    /// A machine that was never there.
    fn join(&mut self, network: &mut Network) -> &'static str {
        if network.len() >= MACHINES_MAX {
            return "nothing";
        }
        let node = network.len();
        self.host_id += 1;
        let setup = joining(&self.setup, node, network.len() + 1, self.host_id, None);
        network.add(&setup);
        "join"
    }

    fn drain(&mut self, network: &mut Network) -> &'static str {
        let Some(node) = self.any_member(network, |_| true).filter(|_| can_spare_one(network)) else { return "nothing" };
        self.order(network, Order::Drain { node: node.0 });
        "drain"
    }

    /// Mostly it is refused: the member is needed. One whose place is to be taken is not removed before that.
    fn remove(&mut self, network: &mut Network) -> &'static str {
        let can_spare = can_spare_one(network);
        // Who comes in place of one that is gone already is refused for ever.
        let replaced: Vec<_> =
            (0..network.len()).filter_map(|node| network.setup(node).cluster.as_ref().and_then(|cluster| cluster.replaces)).collect();
        let node = self.any_member(network, |member| {
            !replaced.contains(&member.id) && (!member.is_placeable() || (member.state == MemberState::Down && can_spare))
        });
        let Some(node) = node else { return "nothing" };
        self.order(network, Order::Remove { node: node.0, force: false });
        "remove"
    }

    /// A machine comes back with nothing, to take its own place. Others have all that it had.
    fn lose_disk(&mut self, network: &mut Network) -> &'static str {
        let node = self.rng.below(network.len() as u64) as usize;
        let host_id = network.setup(node).host_id;
        let Some(state) = newest_state(network) else { return "nothing" };
        let member = state.members.values().find(|member| member.profile.host_id == host_id && member.is_placeable());
        let is_bearable = is_settled(network) && has_majority_without_any(network) && state.keyspaces.values().all(|map| map.factor >= 2);
        let (Some(member), true) = (member.map(|member| member.id), is_bearable) else { return "nothing" };
        self.host_id += 1;
        let setup = joining(&self.setup, node, network.len(), self.host_id, Some(member));
        network.kill(node, Loss::Power);
        *network.setup(node) = setup.clone();
        if let Some((_, remains)) = network.durable_state(node) {
            remains.wipe(&setup);
        }
        "disk lost"
    }

    fn alter(&mut self, network: &mut Network, workload: &Workload) -> &'static str {
        let keyspace = workload.factors[self.rng.below(workload.factors.len() as u64) as usize];
        let Some(state) = newest_state(network) else { return "nothing" };
        let most = state.members.values().filter(|member| member.is_placeable()).count().min(5);
        let factor = 1 + self.rng.below(most as u64);
        let text = format!("ALTER KEYSPACE r{keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {factor}}}");
        let node = self.rng.below(network.len() as u64) as usize;
        let (boot, until_us) = (network.boots(node), network.now_us() + TIMEOUT_US);
        let Some(machine) = network.machine(node).filter(|machine| machine.is_accepting() && self.pending.is_none()) else {
            return "nothing";
        };
        let client = Client::begin(machine, 0, ProtocolVersion::V4, None);
        self.pending = Some(PendingStatement { node, boot, client, text, stream: None, until_us });
        "alter"
    }

    /// Moves the statement that is on its way.
    pub(super) fn advance(&mut self, network: &mut Network) {
        let Some(mut pending) = self.pending.take() else { return };
        let (now_us, boot) = (network.now_us(), network.boots(pending.node));
        let Some(machine) = network.machine(pending.node).filter(|_| boot == pending.boot) else { return };
        if let Some(stream) = pending.stream {
            if pending.client.poll(machine, stream).is_some() || now_us > pending.until_us {
                machine.disconnect(pending.client.end);
                return;
            }
        } else if pending.client.is_ready(machine) {
            let statement = Statement::new(&pending.text).with(Consistency::Quorum);
            pending.stream = Some(pending.client.send(machine, &statement));
        }
        if !pending.client.is_over(machine) {
            self.pending = Some(pending);
        }
    }

    fn any_member(&mut self, network: &mut Network, fits: impl Fn(&Member) -> bool) -> Option<NodeId> {
        let state = newest_state(network)?;
        let members: Vec<_> = state.members.values().filter(|member| member.state != MemberState::Removed && fits(member)).collect();
        (!members.is_empty()).then(|| members[self.rng.below(members.len() as u64) as usize].id)
    }

    fn order(&mut self, network: &mut Network, order: Order) {
        let node = self.rng.below(network.len() as u64) as usize;
        if let Some(machine) = network.machine(node) {
            machine.order(order);
        }
    }
}

/// Whether the metadata's group can decide without any one of its voters.
fn has_majority_without_any(network: &mut Network) -> bool {
    let voters = (0..network.len()).filter_map(|node| Some(network.machine(node)?.cluster_voters()));
    voters.map(|voters| voters.len()).min().is_some_and(|least| least >= 3)
}

/// Whether, with one member fewer, each keyspace can have as many replicas as it asks for.
fn can_spare_one(network: &mut Network) -> bool {
    let Some(state) = newest_state(network) else { return false };
    let placeable = state.members.values().filter(|member| member.is_placeable()).count();
    state.keyspaces.values().all(|map| usize::from(map.factor) < placeable)
}

/// Stops the processes of members that are removed.
pub(super) fn stop_removed(network: &mut Network) {
    let Some(state) = newest_state(network) else { return };
    for node in 0..network.len() {
        let host_id = network.setup(node).host_id;
        let mut members = state.members.values().filter(|member| member.profile.host_id == host_id);
        if members.any(|member| member.state == MemberState::Removed) {
            network.kill(node, Loss::Process);
        }
    }
}
