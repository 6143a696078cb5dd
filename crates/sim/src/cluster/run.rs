//! A cluster, its clients and its faults, from bootstrap to the final check.

use super::faults::FaultInjector;
use super::history::{RowId, Table};
use super::members;
use super::state::{describe, is_formed, is_settled};
use super::worker::{self, Worker};
use super::workload::Workload;
use crate::client::Client;
use crate::linearizability::Operation;
use crate::network::Network;
use crate::setup::Setup;
use crate::statement::Statement;
use base::Rng;
use cql::wire::{Consistency, ProtocolVersion};
use std::collections::BTreeMap;

/// How many clients there are: with many of them an operation is in flight wherever a fault occurs.
const WORKERS: [usize; 3] = [5, 12, 24];

/// Without faults every replica is in sync after this time at most.
pub(super) const SETTLE_US_MAX: u64 = 60_000_000;

/// No request is on its way for longer, whoever has given it up.
const REQUEST_US_MAX: u64 = 6_000_000;

/// How often that is checked.
pub(super) const POLL_US: u64 = 50_000;

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
    /// Faults by their name.
    pub faults: BTreeMap<&'static str, u64>,
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
        for (name, count) in &other.faults {
            *self.faults.entry(name).or_default() += count;
        }
    }
}

/// A seed on its way.
pub(super) struct Run {
    pub(super) network: Network,
    pub(super) workload: Workload,
    pub(super) faults: FaultInjector,
    pub(super) workers: Vec<Worker>,
}

impl Run {
    pub(super) fn new(seed: u64, setup: &Setup, factors: Vec<u8>, network: Network, rng: &mut Rng) -> Self {
        Self {
            workload: Workload::new(seed, factors),
            faults: FaultInjector::new(setup, rng.next_u64()),
            workers: (0..WORKERS[rng.below(3) as usize]).map(|_| Worker::new(rng)).collect(),
            network,
        }
    }

    /// Heals all faults, and checks the promises.
    pub(super) fn finish(&mut self) {
        self.settle();
        self.progress("is whole");
        self.read_all();
        self.progress("is read");
        // Who has been removed since then serves nobody.
        members::stop_removed(&mut self.network);
        self.read_every_replica();
        self.workload.history.check();
    }

    /// The first nodes find one another, and get their tables.
    pub(super) fn bootstrap(&mut self) {
        self.wait_for("the first nodes are members", is_formed);
        for factor in self.workload.factors.clone() {
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
        self.wait_for("the first nodes are in sync", is_settled);
    }

    /// Asks the first node for something that must be done.
    pub(super) fn call(&mut self, text: &str) {
        let mut client = self.first_client();
        let network = &mut self.network;
        let stream = client.send(network.machine(0).unwrap(), &Statement::new(text).with(Consistency::Quorum));
        let mut reply = None;
        network.run_until(|network| {
            reply = client.poll(network.machine(0).unwrap(), stream);
            reply.is_some()
        });
        reply.unwrap().done();
        network.machine(0).unwrap().disconnect(client.end);
    }

    /// A client of the first node, which lets nobody begin before it knows its cluster.
    pub(super) fn first_client(&mut self) -> Client {
        let until_us = self.network.now_us() + SETTLE_US_MAX;
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
            machine.disconnect(client.end);
            assert!(network.now_us() < until_us, "the first node lets no client begin");
            network.sleep(POLL_US);
        }
    }

    pub(super) fn wait_for(&mut self, what: &str, mut holds: impl FnMut(&mut Network) -> bool) {
        let until_us = self.network.now_us() + SETTLE_US_MAX;
        while self.network.now_us() < until_us {
            self.network.sleep(POLL_US);
            if holds(&mut self.network) {
                return;
            }
        }
        panic!("{what}: not within {SETTLE_US_MAX} µs: {}", describe(&mut self.network));
    }

    /// Clients work while faults occur.
    pub(super) fn run_with_faults(&mut self, us: u64) {
        let until_us = self.network.now_us() + us;
        while self.network.now_us() < until_us {
            self.faults.advance(&mut self.network, &self.workload);
            self.step();
        }
    }

    /// Clients go on.
    pub(super) fn work(&mut self, us: u64) {
        let until_us = self.network.now_us() + us;
        while self.network.now_us() < until_us {
            self.step();
        }
    }

    pub(super) fn step(&mut self) {
        self.network.step();
        for worker in &mut self.workers {
            worker.advance(&mut self.network, &mut self.workload);
        }
    }

    /// Heals all faults; replicas become in sync while clients go on.
    pub(super) fn settle(&mut self) {
        self.faults.end(&mut self.network);
        let until_us = self.network.now_us() + SETTLE_US_MAX;
        while !is_settled(&mut self.network) {
            members::stop_removed(&mut self.network);
            let look_us = self.network.now_us() + POLL_US;
            while self.network.now_us() < look_us {
                self.step();
            }
            assert!(self.network.now_us() < until_us, "the cluster does not become whole: {}", describe(&mut self.network));
        }
        self.workload.pausing = true;
        let idle = |run: &mut Self| run.workers.iter().all(Worker::is_idle);
        (0..STEPS_MAX).find(|_| {
            self.step();
            idle(self)
        });
        assert!(idle(self), "a client waits for ever");
        // What was given up is not done after what is read now.
        while self.network.now_us() < self.workload.lost_us + REQUEST_US_MAX {
            self.step();
        }
        if self.workload.has_twins {
            self.network.sleep(ABANDONED_US);
        }
        self.workload.closed = true;
    }

    /// Reads every row, as clients do who try again until they are answered.
    pub(super) fn read_all(&mut self) {
        let before = self.workload.history.acknowledged;
        let rows = self.workload.history.rows();
        self.workload.first = rows.iter().map(|row| (*row, Operation::Read(None))).collect();
        let until_us = self.network.now_us() + SETTLE_US_MAX;
        while self.workload.history.acknowledged - before < rows.len() as u64 {
            self.step();
            assert!(
                self.network.now_us() < until_us,
                "rows cannot be read in peace: {:?}\n{}",
                self.workload.errors,
                describe(&mut self.network)
            );
        }
    }

    /// Reads every row at every member: what replicas have is the same.
    pub(super) fn read_every_replica(&mut self) {
        self.workload.pausing = true;
        for node in 0..self.network.len() {
            let Some(machine) = self.network.machine(node) else { continue };
            let mut client = Client::begin(machine, 0, ProtocolVersion::V4, None);
            let ready = self.network.run_until(|network| network.machine(node).is_some_and(|machine| client.is_ready(machine)));
            assert!(ready, "machine {node} does not answer");
            let rows = self.workload.history.rows();
            let twins = rows.iter().filter(|row| row.table == Table::Twins).map(|row| (*row, worker::other_twin(*row)));
            let read = |row: &RowId| (*row, worker::statement(*row, &Operation::Read(None), Consistency::One));
            let statements: Vec<_> = rows.iter().map(read).chain(twins).collect();
            for some in statements.chunks(ROWS_AT_ONCE) {
                let machine = self.network.machine(node).unwrap();
                let mut waiting: Vec<_> = some.iter().map(|(row, statement)| (*row, statement, client.send(machine, statement))).collect();
                let answered = self.network.run_until(|network| {
                    let Some(machine) = network.machine(node) else { return false };
                    waiting.retain(|(row, statement, stream)| {
                        let Some(reply) = client.poll(machine, *stream) else { return true };
                        let told = worker::told(&Operation::Read(None), *row, reply);
                        let last = self.workload.history.last_seen(*row);
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
    pub(super) fn progress(&mut self, what: &str) {
        if self.network.trace().prints() {
            eprintln!("the cluster {what} at {} µs: {}", self.network.now_us(), describe(&mut self.network));
        }
    }

    pub(super) fn outcome(self) -> ClusterOutcome {
        let (history, trace) = (&self.workload.history, self.network.trace());
        ClusterOutcome {
            digest: trace.digest(),
            events: trace.events(),
            acknowledged: history.acknowledged,
            unknown: history.unknown,
            undecided: history.undecided,
            errors: self.workload.errors,
            faults: self.faults.counts,
        }
    }
}
