//! Clusters under trouble: nodes of a [`Network`], clients at any of them, faults; then peace, and what must be true then.
//!
//! 1. **Faults**: processes die, power goes, a disk is lost, machines pause, directions are cut, links and disks are slow, clocks are set; members
//!    join, are drained, removed and replaced, replication factors change. Clients read and write all the while, and note when they asked and what they were told.
//! 2. **Peace**: everything that broke is mended. The cluster must become whole by itself, in bounded time; then every row is read, and
//!    must be the same at every member.
//!
//! Promised: the history of each row is linearizable, the last reads included, so no acknowledged write is lost; batches of a partition are
//! done whole or not at all, and so are logged ones over several in the end; a read at ONE gives something that was written.

mod customer;
mod ledger;
mod members;
mod shop;
mod trouble;
mod upgrade;

use crate::client::Client;
use crate::linearizability::Operation;
use crate::machine::Machine;
use crate::network::Network;
use crate::setup::{ClusterSetup, NODE_PORT, Setup};
use crate::statement::Statement;
use base::{NodeId, Rng};
use cluster::{MemberState, Versions};
use cql::wire::{Consistency, ProtocolVersion};
use customer::Customer;
use ledger::{RowId, Table};
use shard::Durability;
use shop::Shop;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use trouble::Trouble;
pub use upgrade::run_upgrade_seed;

/// How many clients there are: with many of them something is under way wherever trouble strikes.
const CUSTOMERS: [usize; 3] = [5, 12, 24];
/// In peace the cluster is whole after so long at most.
const PEACE_US_MAX: u64 = 60_000_000;
/// No request is on its way for longer, whoever has given it up.
const REQUEST_US_MAX: u64 = 6_000_000;
/// Whether it is, is looked at so often.
const LOOK_US: u64 = 50_000;
/// Batches that their coordinators have left are done after so long.
const ABANDONED_US: u64 = 16_000_000;
/// At the end so many rows are read at a time.
const ROWS_AT_ONCE: usize = 64;
/// Nothing that anybody waits for takes more steps.
const STEPS_MAX: u32 = 3_000_000;

/// What a seed of a cluster came to.
#[derive(Clone, Debug, Default)]
pub struct ClusterOutcome {
    /// The digest of its trace.
    pub digest: u64,
    /// Events in the trace.
    pub events: u64,
    /// Operations that were answered.
    pub acknowledged: u64,
    /// Operations whose outcome is unknown.
    pub unknown: u64,
    /// Rows whose history would take too long to check.
    pub undecided: u64,
    /// Errors by their code.
    pub errors: BTreeMap<i32, u64>,
    /// Troubles by their name.
    pub troubles: BTreeMap<&'static str, u64>,
}

impl ClusterOutcome {
    /// Adds another seed's figures.
    pub fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.acknowledged += other.acknowledged;
        self.unknown += other.unknown;
        self.undecided += other.undecided;
        for (code, count) in &other.errors {
            *self.errors.entry(*code).or_default() += count;
        }
        for (name, count) in &other.troubles {
            *self.troubles.entry(name).or_default() += count;
        }
    }
}

/// Runs a seed, with a bug or without.
///
/// # Panics
/// When a promise is broken.
#[must_use]
pub fn run_cluster_seed(seed: u64, planted: Option<node::Planted>) -> ClusterOutcome {
    let mut dice = Rng::new(seed ^ 0xC1_057E);
    let setup = choose_setup(seed, planted, &mut dice);
    let nodes = [1, 2, 3, 3, 3, 3, 3, 5][dice.below(8) as usize];
    let factors = match dice.below(4) {
        0 if nodes > 1 => vec![1, nodes.min(3)],
        1 => vec![1 + dice.below(u64::from(nodes)) as u8],
        _ => vec![nodes.min(3)],
    };
    let mut network = Network::new(seed, Box::new(Machine::boot));
    for node in 0..usize::from(nodes) {
        network.add(&member(&setup, node));
    }
    let mut run = Run::new(seed, &setup, factors, network, &mut dice);
    run.found();
    run.progress("founded");
    run.suffer(3_000_000 + dice.below(12_000_000));
    run.progress("has suffered");
    run.finish();
    run.outcome()
}

fn choose_setup(seed: u64, planted: Option<node::Planted>, dice: &mut Rng) -> Setup {
    Setup {
        cluster: Some(ClusterSetup {
            address: <Network>::address(0),
            join: Vec::new(),
            replaces: None,
            protocol_versions: Versions::KNOWN,
            planted,
        }),
        cores: 1 + dice.below(2) as u16,
        durability: if dice.below(2) == 0 { Durability::Device } else { Durability::Memory },
        // Batches over several slots are logged in slots all over the ring, each of which takes its share of an index.
        memory_bytes: 2 << 20,
        ..Setup::small(seed)
    }
}

/// The setup of one of the first members. The first of all founds the cluster, the others ask it to be taken in.
fn member(setup: &Setup, node: usize) -> Setup {
    joining(setup, node, usize::from(node > 0), node as u128 + 1, None)
}

/// The setup of a machine that asks the first `count` machines but itself to be taken in; of a founder if there is none.
fn joining(setup: &Setup, node: usize, count: usize, host_id: u128, replaces: Option<NodeId>) -> Setup {
    let others = (0..count).filter(|other| *other != node);
    let join = others.map(|other| SocketAddr::new(<Network>::address(other), NODE_PORT)).collect();
    let cluster = setup.cluster.clone().map(|cluster| ClusterSetup { address: <Network>::address(node), join, replaces, ..cluster });
    Setup { seed: setup.seed << 8 | node as u64, host_id, cluster, ..setup.clone() }
}

/// A seed on its way.
struct Run {
    network: Network,
    shop: Shop,
    trouble: Trouble,
    customers: Vec<Customer>,
}

impl Run {
    fn new(seed: u64, setup: &Setup, factors: Vec<u8>, network: Network, dice: &mut Rng) -> Self {
        Self {
            shop: Shop::new(seed, factors),
            trouble: Trouble::new(setup, dice.next_u64()),
            customers: (0..CUSTOMERS[dice.below(3) as usize]).map(|_| Customer::new(dice)).collect(),
            network,
        }
    }

    /// Peace, and what must be true then.
    fn finish(&mut self) {
        self.make_peace();
        self.progress("is whole");
        self.read_all();
        self.progress("is read");
        // Who has been removed since then serves nobody.
        members::retire(&mut self.network);
        self.read_everywhere();
        self.shop.ledger.check();
    }

    /// The first nodes find one another, and get their tables.
    fn found(&mut self) {
        self.wait_for("the first nodes are members", is_formed);
        for factor in self.shop.factors.clone() {
            let replication = format!("{{'class': 'SimpleStrategy', 'replication_factor': {factor}}}");
            self.call(&format!("CREATE KEYSPACE r{factor} WITH replication = {replication}"));
            for table in Table::ALL {
                let columns = match table {
                    Table::Rows | Table::Twins => "k int PRIMARY KEY, v bigint",
                    Table::Counts => "k int PRIMARY KEY, n counter",
                    Table::Pairs => "k int, c int, v bigint, PRIMARY KEY (k, c)",
                };
                self.call(&format!("CREATE TABLE r{factor}.{} ({columns})", table.name()));
            }
        }
        self.wait_for("the first nodes are in sync", is_whole);
    }

    /// Asks the first node for something that must be done.
    fn call(&mut self, text: &str) {
        let mut client = self.first_client();
        let network = &mut self.network;
        let stream = client.send(network.machine(0).unwrap(), &Statement::new(text).with(Consistency::Quorum));
        let mut reply = None;
        network.run_until(|network| {
            reply = client.poll(network.machine(0).unwrap(), stream);
            reply.is_some()
        });
        reply.unwrap().done();
        network.machine(0).unwrap().hang_up(client.end);
    }

    /// A client of the first node, which lets nobody begin before it knows its cluster.
    fn first_client(&mut self) -> Client {
        let until_us = self.network.now_us() + PEACE_US_MAX;
        loop {
            let network = &mut self.network;
            let mut client = Client::begin(network.machine(0).unwrap(), 0, ProtocolVersion::V4, None);
            network.run_until(|network| {
                let machine = network.machine(0).unwrap();
                client.is_ready(machine) || client.is_over(machine)
            });
            let machine = network.machine(0).unwrap();
            if !client.is_over(machine) {
                return client;
            }
            machine.hang_up(client.end);
            assert!(network.now_us() < until_us, "the first node lets no client begin");
            network.sleep(LOOK_US);
        }
    }

    fn wait_for(&mut self, what: &str, mut holds: impl FnMut(&mut Network) -> bool) {
        let until_us = self.network.now_us() + PEACE_US_MAX;
        while self.network.now_us() < until_us {
            self.network.sleep(LOOK_US);
            if holds(&mut self.network) {
                return;
            }
        }
        panic!("{what}: not within {PEACE_US_MAX} µs: {}", describe(&mut self.network));
    }

    /// Work and trouble.
    fn suffer(&mut self, us: u64) {
        let until_us = self.network.now_us() + us;
        while self.network.now_us() < until_us {
            self.trouble.advance(&mut self.network, &self.shop);
            self.step();
        }
    }

    fn step(&mut self) {
        self.network.step();
        for customer in &mut self.customers {
            customer.advance(&mut self.network, &mut self.shop);
        }
    }

    /// Everything is mended; the cluster becomes whole while clients go on.
    fn make_peace(&mut self) {
        self.trouble.end(&mut self.network);
        let until_us = self.network.now_us() + PEACE_US_MAX;
        while !is_whole(&mut self.network) {
            members::retire(&mut self.network);
            let look_us = self.network.now_us() + LOOK_US;
            while self.network.now_us() < look_us {
                self.step();
            }
            assert!(self.network.now_us() < until_us, "the cluster does not become whole: {}", describe(&mut self.network));
        }
        self.shop.pausing = true;
        let idle = |run: &mut Self| run.customers.iter().all(Customer::is_idle);
        (0..STEPS_MAX).find(|_| {
            self.step();
            idle(self)
        });
        assert!(idle(self), "a client waits for ever");
        // What was given up is not done after what is read now.
        while self.network.now_us() < self.shop.lost_us + REQUEST_US_MAX {
            self.step();
        }
        if self.shop.has_twins {
            self.network.sleep(ABANDONED_US);
        }
        self.shop.closed = true;
    }

    /// Reads every row, as clients do who try again until they are answered.
    fn read_all(&mut self) {
        let before = self.shop.ledger.acknowledged;
        let rows = self.shop.ledger.rows();
        self.shop.first = rows.iter().map(|row| (*row, Operation::Read(None))).collect();
        let until_us = self.network.now_us() + PEACE_US_MAX;
        while self.shop.ledger.acknowledged - before < rows.len() as u64 {
            self.step();
            assert!(
                self.network.now_us() < until_us,
                "rows cannot be read in peace: {:?}\n{}",
                self.shop.errors,
                describe(&mut self.network)
            );
        }
    }

    /// Reads every row at every member: what replicas have is the same.
    fn read_everywhere(&mut self) {
        self.shop.pausing = true;
        for node in 0..self.network.len() {
            let Some(machine) = self.network.machine(node) else { continue };
            let mut client = Client::begin(machine, 0, ProtocolVersion::V4, None);
            let ready = self.network.run_until(|network| network.machine(node).is_some_and(|machine| client.is_ready(machine)));
            assert!(ready, "machine {node} does not answer");
            let rows = self.shop.ledger.rows();
            let twins = rows.iter().filter(|row| row.table == Table::Twins).map(|row| (*row, customer::other_twin(*row)));
            let read = |row: &RowId| (*row, customer::statement(*row, &Operation::Read(None), Consistency::One));
            let statements: Vec<_> = rows.iter().map(read).chain(twins).collect();
            for some in statements.chunks(ROWS_AT_ONCE) {
                let machine = self.network.machine(node).unwrap();
                let mut waiting: Vec<_> = some.iter().map(|(row, statement)| (*row, statement, client.send(machine, statement))).collect();
                let answered = self.network.run_until(|network| {
                    let Some(machine) = network.machine(node) else { return false };
                    waiting.retain(|(row, statement, stream)| {
                        let Some(reply) = client.poll(machine, *stream) else { return true };
                        let told = customer::told(&Operation::Read(None), *row, reply);
                        let last = self.shop.ledger.last_seen(*row);
                        assert_eq!(
                            told,
                            Operation::Read(last),
                            "{statement:?} of {row:?} at machine {node}, and what was read at its primary"
                        );
                        false
                    });
                    waiting.is_empty()
                });
                assert!(answered, "machine {node} does not answer");
            }
        }
    }

    /// With TARNDB_TRACE, how far the seed is.
    fn progress(&mut self, what: &str) {
        if self.network.trace().prints() {
            eprintln!("the cluster {what} at {} µs: {}", self.network.now_us(), describe(&mut self.network));
        }
    }

    fn outcome(self) -> ClusterOutcome {
        let (ledger, trace) = (&self.shop.ledger, self.network.trace());
        ClusterOutcome {
            digest: trace.digest(),
            events: trace.events(),
            acknowledged: ledger.acknowledged,
            unknown: ledger.unknown,
            undecided: ledger.undecided,
            errors: self.shop.errors,
            troubles: self.trouble.counts,
        }
    }
}

/// Whether all nodes that run are members of one cluster, there are no others, and each knows.
fn is_formed(network: &mut Network) -> bool {
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

/// Whether everybody is there, and every replica has everything.
fn is_whole(network: &mut Network) -> bool {
    is_formed(network) && members::newest_state(network).is_some_and(|state| state.is_settled())
}

/// For messages: what each node knows.
fn describe(network: &mut Network) -> String {
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
