//! Machines of one core each whose work takes time: what the production code takes the thread that runs it, by its CPU clock, and a little for each call of a
//! kernel that there would be.
//!
//! ```text
//! a core sleeps ─► something has come, or its time has ─► a turn: everything that has come ─► it is busy for as long as that took; then what it has sent is
//! on its way, and what came meanwhile is the next turn
//! ```
//! All cores take turns on one thread, and each has its own time: so latencies are those of a machine that nobody else uses, however busy or slow to wake the one is that computes
//! them. What does not show is what cores of one machine take from each other, and what a device does when it has much to do. Faults there are none. Two runs differ by as much as the CPU's speed does.

use crate::connection::Phase;
use crate::durable_state::DurableState;
use crate::machine::{Arrival, Machine, Rest, TimedTurn};
use crate::network::Network;
use crate::reactor::KernelRequest;
use crate::setup::{LISTENERS, Setup};
use io::{ConnectionId, DiskCompletion, ListenerId, Now};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

const START_NS: u64 = 1_000_000_000;
const WALL_US: i64 = 1_700_000_000_000_000;
const PORT: u16 = 40_000;

/// What everything takes that is not the production code.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// To wait for events, each turn.
    pub wait_ns: u64,
    /// To receive from a connection, or to send to one.
    pub call_ns: u64,
    /// From one machine to another.
    pub network_ns: u64,
    /// A request of a device.
    pub disk_ns: u64,
}

struct Host {
    machine: Machine,
    /// Its core is busy until then.
    free_ns: u64,
    slept_ns: u64,
    worked_ns: u64,
    /// By when and in what order they are done.
    completions: BTreeMap<(u64, u64), DiskCompletion>,
}

impl Host {
    /// When it has a turn.
    fn due_ns(&self) -> u64 {
        let rest_ns = match self.machine.rest() {
            Rest::None => 0,
            Rest::Until(at_us) => at_us * 1_000,
            Rest::Forever => u64::MAX,
        };
        let done_ns = self.completions.keys().next().map_or(u64::MAX, |(at_ns, _)| *at_ns);
        rest_ns.min(done_ns).max(self.free_ns)
    }
}

/// One end of a connection between machines: unknown until the machine has accepted it.
struct End {
    host: usize,
    connection: Option<ConnectionId>,
    /// What is on its way to it.
    coming: VecDeque<(u64, Vec<u8>)>,
}

struct Link {
    ends: [End; 2],
    /// The question arrives then.
    asked_ns: Option<u64>,
    listener: ListenerId,
}

/// See the module.
pub struct TimedNetwork {
    hosts: Vec<Host>,
    links: BTreeMap<u64, Link>,
    count: u64,
    now_ns: u64,
    costs: Costs,
}

impl TimedNetwork {
    /// No machines yet.
    #[must_use]
    pub fn new(costs: Costs) -> Self {
        Self { hosts: Vec::new(), links: BTreeMap::new(), count: 0, now_ns: START_NS, costs }
    }

    /// A new machine of one core, at [`TimedNetwork::address`]; gives its number.
    pub fn add(&mut self, setup: &Setup) -> usize {
        let mut remains = DurableState::none(setup);
        remains.now = self.now();
        let machine = Machine::boot(setup, remains);
        self.hosts.push(Host { machine, free_ns: self.now_ns, slept_ns: 0, worked_ns: 0, completions: BTreeMap::new() });
        self.hosts.len() - 1
    }

    /// A machine's address.
    #[must_use]
    pub fn address(host: usize) -> std::net::IpAddr {
        <Network>::address(host)
    }

    /// The machine, for its clients: what they send comes at once.
    pub fn machine(&mut self, host: usize) -> &mut Machine {
        &mut self.hosts[host].machine
    }

    /// The time, in nanoseconds.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Up to when the machine's core has worked: its replies are sent then.
    #[must_use]
    pub fn free_ns(&self, host: usize) -> u64 {
        self.hosts[host].free_ns
    }

    /// For how long it has worked.
    #[must_use]
    pub fn worked_ns(&self, host: usize) -> u64 {
        self.hosts[host].worked_ns
    }

    fn now(&self) -> Now {
        Now { monotonic_us: self.now_ns / 1_000, wall_us: WALL_US + (self.now_ns / 1_000) as i64 }
    }

    /// What happens next, if it happens before `until_ns`; gives the machine that has had a turn. Otherwise it is that time.
    pub fn step(&mut self, until_ns: u64) -> Option<usize> {
        let link_ns = |link: &Link| {
            link.ends
                .iter()
                .filter_map(|end| end.coming.front().filter(|_| end.connection.is_some()).map(|(at_ns, _)| *at_ns))
                .chain(link.asked_ns)
                .min()
        };
        let links_ns = self.links.values().filter_map(link_ns).min().unwrap_or(u64::MAX);
        let host = (0..self.hosts.len()).min_by_key(|host| self.hosts[*host].due_ns())?;
        let host_ns = self.hosts[host].due_ns();
        let next_ns = host_ns.min(links_ns);
        if next_ns >= until_ns {
            self.now_ns = self.now_ns.max(until_ns);
            return None;
        }
        self.now_ns = self.now_ns.max(next_ns);
        if links_ns <= host_ns {
            self.move_bytes();
            return None;
        }
        self.turn(host);
        Some(host)
    }

    fn turn(&mut self, number: usize) {
        let now = self.now();
        let host = &mut self.hosts[number];
        host.slept_ns += self.now_ns - host.free_ns;
        let later = host.completions.split_off(&(self.now_ns + 1, 0));
        let done = std::mem::replace(&mut host.completions, later).into_values().collect();
        let TimedTurn { took, calls, completions } = host.machine.timed_turn(now, host.slept_ns / 1_000, done);
        let took_ns = took.as_nanos() as u64 + self.costs.wait_ns + u64::from(calls) * self.costs.call_ns;
        host.worked_ns += took_ns;
        host.free_ns = self.now_ns + took_ns;
        let end_ns = host.free_ns;
        for completion in completions {
            self.count += 1;
            host.completions.insert((end_ns + self.costs.disk_ns, self.count), completion);
        }
        let (sent, accepted, asked) = (host.machine.take_sent(), host.machine.take_accepted(), host.machine.take_kernel_requests());
        for (name, _, connection) in accepted {
            if let Some(link) = self.links.get_mut(&name) {
                link.ends[1].connection = Some(connection);
                self.set_linked(number, connection);
            }
        }
        for (connection, bytes) in sent {
            let is_from = |end: &End| end.host == number && end.connection == Some(connection);
            for link in self.links.values_mut() {
                if let Some(side) = link.ends.iter().position(is_from) {
                    link.ends[1 - side].coming.push_back((end_ns + self.costs.network_ns, bytes));
                    break;
                }
            }
        }
        for (_, asked) in asked {
            self.ask(number, &asked, end_ns);
        }
        self.end_links(number);
    }

    fn set_linked(&mut self, host: usize, connection: ConnectionId) {
        if let Some(connection) = self.hosts[host].machine.connection((0, connection)) {
            connection.linked = true;
        }
    }

    fn ask(&mut self, host: usize, asked: &KernelRequest, at_ns: u64) {
        let listener = LISTENERS.iter().position(|(port, _)| *port == asked.to.port());
        let target = (0..self.hosts.len()).find(|target| Self::address(*target) == asked.to.ip());
        let (Some(listener), Some(target)) = (listener, target) else {
            self.hosts[host].machine.disconnect((0, asked.connection));
            return;
        };
        self.count += 1;
        let end = |host, connection| End { host, connection, coming: VecDeque::new() };
        let ends = [end(host, Some(asked.connection)), end(target, None)];
        let link = Link { ends, asked_ns: Some(at_ns + self.costs.network_ns), listener: ListenerId(listener as u16) };
        self.links.insert(self.count, link);
        self.set_linked(host, asked.connection);
    }

    /// What has arrived is there.
    fn move_bytes(&mut self) {
        let Self { hosts, links, now_ns, .. } = self;
        links.retain(|name, link| {
            if link.asked_ns.is_some_and(|at_ns| at_ns <= *now_ns) {
                link.asked_ns = None;
                let [from, to] = &link.ends;
                let accepts = hosts[to.host].machine.is_accepting();
                let connection = from.connection.and_then(|connection| hosts[from.host].machine.connection((0, connection)));
                let Some(connection) = connection.filter(|connection| connection.phase == Phase::Connecting) else { return false };
                if !accepts {
                    connection.cut();
                    return false;
                }
                connection.made = true;
                let peer = SocketAddr::new(Self::address(from.host), PORT);
                hosts[to.host].machine.arrive(Arrival { core: 0, listener: link.listener, peer, link: *name });
            }
            for end in &mut link.ends {
                let Some(connection) = end.connection.and_then(|connection| hosts[end.host].machine.connection((0, connection))) else {
                    continue;
                };
                let arrived = end.coming.partition_point(|(at_ns, _)| *at_ns <= *now_ns);
                connection.to_core.extend(end.coming.drain(..arrived).flat_map(|(_, bytes)| bytes));
            }
            true
        });
    }

    /// Of what a machine has ended the others hear.
    fn end_links(&mut self, number: usize) {
        let Self { hosts, links, .. } = self;
        links.retain(|_, link| {
            let mut is_over = |end: &End| {
                let connection =
                    end.connection.map(|connection| hosts[end.host].machine.connection((0, connection)).map(|connection| connection.phase));
                connection.is_some_and(|phase| phase.is_none_or(|phase| phase == Phase::Gone))
            };
            let Some(side) = link.ends.iter().position(|end| end.host == number && is_over(end)) else { return true };
            let other = &link.ends[1 - side];
            if let Some(connection) = other.connection.and_then(|connection| hosts[other.host].machine.connection((0, connection))) {
                connection.to_core.extend(other.coming.iter().flat_map(|(_, bytes)| bytes));
                connection.ended = true;
            }
            false
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Client, ClusterSetup, NODE_PORT, Reply, Statement, int};
    use cluster::Versions;
    use cql::wire::ProtocolVersion;

    const COSTS: Costs = Costs { wait_ns: 1_000, call_ns: 1_000, network_ns: 300_000, disk_ns: 100_000 };
    const WAIT_NS: u64 = 60_000_000_000;

    fn wait(network: &mut TimedNetwork, what: &str, mut holds: impl FnMut(&mut TimedNetwork) -> bool) {
        let until_ns = network.now_ns() + WAIT_NS;
        while !holds(network) {
            network.step(until_ns);
            assert!(network.now_ns() < until_ns, "{what}: in vain");
        }
    }

    /// The reply, and how long it took.
    fn ask(network: &mut TimedNetwork, client: &mut Client, statement: &Statement) -> (Reply, u64) {
        wait(network, "the client is let in", |network| client.is_ready(network.machine(0)));
        let sent_ns = network.now_ns();
        let stream = client.send(network.machine(0), statement);
        let mut reply = None;
        wait(network, "a reply", |network| {
            reply = client.poll(network.machine(0), stream);
            reply.is_some()
        });
        (reply.unwrap(), network.free_ns(0) - sent_ns)
    }

    #[test]
    fn what_needs_another_machine_takes_the_way_there_and_back() {
        let mut network = TimedNetwork::new(COSTS);
        for node in 0..2 {
            let join = (0..node).map(|first| SocketAddr::new(TimedNetwork::address(first), NODE_PORT)).collect();
            let address = TimedNetwork::address(node);
            let cluster = ClusterSetup { address, join, replaces: None, protocol_versions: Versions::KNOWN, planted: None };
            network.add(&Setup { cores: 1, host_id: node as u128 + 1, cluster: Some(cluster), ..Setup::small(7 + node as u64) });
        }
        wait(&mut network, "two members", |network| network.machine(1).cluster_state().is_some_and(|state| state.members.len() == 2));
        let mut client = Client::begin(network.machine(0), 0, ProtocolVersion::V4, None);
        for text in [
            "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}",
            "CREATE TABLE k.t (k int PRIMARY KEY, v int)",
        ] {
            ask(&mut network, &mut client, &Statement::new(text)).0.done();
        }
        wait(&mut network, "every slot has its replicas", |network| {
            let state = network.machine(0).cluster_state().unwrap();
            state.keyspaces["k"].iter().all(|slot| slot.in_sync.len() == 2 && slot.learners.is_empty() && slot.transfer_from.is_none())
        });
        for key in 0..40 {
            let write = Statement::new("INSERT INTO k.t (k, v) VALUES (?, 1)").bind([int(key)]);
            let (reply, took_ns) = ask(&mut network, &mut client, &write);
            reply.done();
            assert!(took_ns >= 2 * COSTS.network_ns, "a write was acknowledged after {took_ns} ns");
            let read = Statement::new("SELECT v FROM k.t WHERE k = ?").bind([int(key)]).with(cql::wire::Consistency::One);
            assert_eq!(ask(&mut network, &mut client, &read).0.rows(), [[int(1)]]);
        }
        assert!(network.worked_ns(0) > 0 && network.worked_ns(1) > 0);
    }
}
