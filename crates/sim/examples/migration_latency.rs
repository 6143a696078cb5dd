//! What clients notice of it when rows are moved between two nodes that have a core each for themselves, whatever else this machine does: see [`sim::TimedNetwork`].
//!
//! ```sh
//! export MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=68719476736 MALLOC_TOP_PAD_=268435456
//! cargo run --release -p tarndb-sim --example migration_latency -- [--rate 20000] [--mebibytes 64] [--seconds 10] [--rounds 3] [--budget-us 1000] [--reads 50] [--passes 8]
//! ```
//! The variables have glibc keep memory that was freed, as the server's allocator does: to get it anew costs a turn milliseconds.
//!
//! Each node is primary of half of the rows, of 1 KB, in memory. Requests come at a fixed rate, at random moments, over eight connections a node, to the node that is the row's
//! primary; latency is from that moment to when the reply is sent. First with one replica; then the replication factor becomes 2, which is measured until every
//! slot has both; then with two, where an update is a round trip longer, and back to one; so many rounds. Before that all rows are written so many times, and one round goes unmeasured.
#![allow(clippy::unwrap_used, reason = "whoever runs it sees it")]

use base::Rng;
use cluster::Versions;
use cql::wire::ProtocolVersion;
use shard::Durability;
use sim::{Client, ClusterSetup, Costs, NODE_PORT, Reply, Setup, Statement, TimedNetwork, int};
use std::collections::BTreeMap;
use std::net::SocketAddr;

const CONNECTIONS: usize = 8;
const ROW_BYTES: usize = 1_000;
const SECOND_NS: u64 = 1_000_000_000;
/// Waited for at most.
const WAIT_NS: u64 = 600 * SECOND_NS;
/// epoll_wait, recv and send over loopback take about as much on a virtual machine of these years.
const COSTS: Costs = Costs { wait_ns: 1_500, call_ns: 2_500, network_ns: 50_000, disk_ns: 100_000 };

struct Arguments(BTreeMap<String, u64>);

impl Arguments {
    fn get(&self, name: &str, default: u64) -> u64 {
        self.0.get(name).copied().unwrap_or(default)
    }
}

/// The load, and the nodes.
struct Bench {
    network: TimedNetwork,
    clients: Vec<Vec<Client>>,
    /// By client: what was asked, by stream.
    asked: BTreeMap<(usize, usize, i16), (bool, u64)>,
    rows: u64,
    /// The primary of each row.
    homes: Vec<u8>,
    read: Statement,
    update: Statement,
    rng: Rng,
    errors: u64,
    /// Latencies in nanoseconds, of updates and of reads.
    latencies: [Vec<u64>; 2],
    /// How long turns took.
    turns: Vec<u64>,
}

fn setup(node: usize, memory_bytes: usize, budget_us: u64) -> Setup {
    let join = if node == 0 { Vec::new() } else { vec![SocketAddr::new(TimedNetwork::address(0), NODE_PORT)] };
    let address = TimedNetwork::address(node);
    Setup {
        cores: 1,
        host_id: node as u128 + 1,
        segment_bytes: 8 << 20,
        capacity_bytes: 2 << 30,
        memory_bytes,
        checkpoint_bytes_min: 256 << 20,
        durability: Durability::Memory,
        unsent_bytes_max: 16 << 20,
        requests_bytes_max: 64 << 20,
        cluster: Some(ClusterSetup { address, join, replaces: None, protocol_versions: Versions::KNOWN, planted: None }),
        migration_latency_us: budget_us,
        ..Setup::small(7 + node as u64)
    }
}

impl Bench {
    fn new(rows: u64, memory_bytes: usize, budget_us: u64) -> Self {
        let mut network = TimedNetwork::new(COSTS);
        for node in 0..2 {
            network.add(&setup(node, memory_bytes, budget_us));
        }
        let until_ns = network.now_ns() + WAIT_NS;
        while (0..2).any(|node| network.machine(node).cluster_state().is_none_or(|state| state.members.len() < 2)) {
            network.step(until_ns);
            assert!(network.now_ns() < until_ns, "the nodes do not find each other");
        }
        let clients = (0..2)
            .map(|node| (0..CONNECTIONS).map(|_| Client::begin(network.machine(node), 0, ProtocolVersion::V4, None)).collect())
            .collect();
        let mut bench = Self {
            network,
            clients,
            asked: BTreeMap::new(),
            rows,
            homes: vec![0; rows as usize],
            read: Statement::default(),
            update: Statement::default(),
            rng: Rng::new(1),
            errors: 0,
            latencies: [Vec::new(), Vec::new()],
            turns: Vec::new(),
        };
        bench.wait("clients are let in", |bench| {
            let Self { clients, network, .. } = bench;
            clients.iter_mut().enumerate().all(|(node, clients)| clients.iter_mut().all(|client| client.is_ready(network.machine(node))))
        });
        bench
    }

    fn wait(&mut self, what: &str, mut holds: impl FnMut(&mut Self) -> bool) {
        let until_ns = self.network.now_ns() + WAIT_NS;
        while !holds(self) {
            self.network.step(until_ns);
            assert!(self.network.now_ns() < until_ns, "{what}: in vain");
        }
    }

    fn ask(&mut self, node: usize, statement: &Statement) -> Reply {
        let stream = self.clients[node][0].send(self.network.machine(node), statement);
        self.reply(node, stream)
    }

    fn reply(&mut self, node: usize, stream: i16) -> Reply {
        let mut reply = None;
        self.wait("a reply", |bench| {
            reply = bench.clients[node][0].poll(bench.network.machine(node), stream);
            reply.is_some()
        });
        reply.unwrap()
    }

    fn prepare(&mut self, text: &str) -> Statement {
        let ids = [0, 1].map(|node| {
            let stream = self.clients[node][0].send_prepare(self.network.machine(node), text);
            let Reply::Prepared(id) = self.reply(node, stream) else { panic!("{text} cannot be prepared") };
            id
        });
        assert_eq!(ids[0], ids[1]);
        Statement::prepared(&ids[0])
    }

    fn set_factor(&mut self, factor: usize) {
        let replication = format!("{{'class': 'SimpleStrategy', 'replication_factor': {factor}}}");
        self.ask(0, &Statement::new(format!("ALTER KEYSPACE k WITH replication = {replication}"))).done();
    }

    fn is_whole(&mut self, factor: usize) -> bool {
        let state = self.network.machine(0).cluster_state().unwrap();
        let is_settled =
            |slot: &cluster::Assignment| slot.in_sync.len() == factor && slot.learners.is_empty() && slot.transfer_from.is_none();
        state.keyspaces["k"].iter().all(is_settled)
    }

    /// Until nothing is left to do of it.
    fn wait_settled(&mut self, factor: usize) {
        self.wait("replicas", |bench| bench.is_whole(factor));
        let until_ns = self.network.now_ns() + 2 * SECOND_NS;
        while self.network.now_ns() < until_ns {
            self.network.step(until_ns);
        }
    }

    /// Rows, and where each of them is.
    fn load(&mut self) {
        self.ask(0, &Statement::new("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")).done();
        self.ask(0, &Statement::new("CREATE TABLE k.t (k int PRIMARY KEY, v blob)")).done();
        self.wait_settled(1);
        self.read = self.prepare("SELECT v FROM k.t WHERE k = ?");
        self.update = self.prepare("UPDATE k.t SET v = ? WHERE k = ?");
        let state = self.network.machine(0).cluster_state().unwrap();
        let first = state.members.values().find(|member| member.profile.host_id == 1).unwrap().id;
        for row in 0..self.rows {
            let slot = cql::value::token(&(row as i32).to_be_bytes()).slot();
            self.homes[row as usize] = u8::from(state.keyspaces["k"].get(slot).unwrap().primary != first);
        }
        self.write_all();
    }

    fn write_all(&mut self) {
        for row in 0..self.rows {
            self.send(false, row, self.network.now_ns());
            self.wait("room for more requests", |bench| {
                bench.take_replies();
                bench.asked.len() < 64
            });
        }
        self.settle();
    }

    fn send(&mut self, is_read: bool, row: u64, due_ns: u64) {
        let node = usize::from(self.homes[row as usize]);
        let connection = self.rng.below(CONNECTIONS as u64) as usize;
        let statement = match is_read {
            true => self.read.clone().bind([int(row as i32)]),
            false => self.update.clone().bind([Some(vec![self.rng.next_u64() as u8; ROW_BYTES]), int(row as i32)]),
        };
        let stream = self.clients[node][connection].send(self.network.machine(node), &statement);
        self.asked.insert((node, connection, stream), (is_read, due_ns));
    }

    fn take_replies(&mut self) {
        (0..2).for_each(|node| self.take_replies_of(node));
    }

    fn take_replies_of(&mut self, node: usize) {
        let sent_ns = self.network.free_ns(node);
        let asked: Vec<(usize, usize, i16)> = self.asked.range((node, 0, i16::MIN)..(node + 1, 0, i16::MIN)).map(|(key, _)| *key).collect();
        for key in asked {
            let Some(reply) = self.clients[node][key.1].poll(self.network.machine(node), key.2) else { continue };
            let (is_read, due_ns) = self.asked.remove(&key).unwrap();
            self.errors += u64::from(reply.code().is_some() || reply == Reply::Nothing);
            self.latencies[usize::from(is_read)].push(sent_ns - due_ns);
        }
    }

    fn settle(&mut self) {
        self.wait("replies", |bench| {
            bench.take_replies();
            bench.asked.is_empty()
        });
        self.latencies.iter_mut().for_each(Vec::clear);
    }

    /// Requests at a rate for so long, or until it is over.
    fn run(&mut self, rate: u64, reads: u64, most_ns: u64, mut is_over: impl FnMut(&mut Self) -> bool) -> Phase {
        let (begun_ns, worked_ns) = (self.network.now_ns(), self.worked_ns());
        let mut due_ns = begun_ns;
        let mut looked_ns = begun_ns;
        while due_ns < begun_ns + most_ns {
            // Exponential gaps: the clients know nothing of each other.
            let gap = -((self.rng.below(1 << 30) + 1) as f64 / (1u64 << 30) as f64).ln();
            due_ns += (gap * SECOND_NS as f64 / rate as f64) as u64;
            while self.network.now_ns() < due_ns {
                if let Some(node) = self.network.step(due_ns) {
                    let turn_ns = self.network.free_ns(node) - self.network.now_ns();
                    self.turns.push(turn_ns);
                    self.take_replies_of(node);
                }
            }
            let row = self.rng.below(self.rows);
            let is_read = self.rng.below(100) < reads;
            self.send(is_read, row, due_ns);
            if due_ns >= looked_ns + 1_000_000 {
                looked_ns = due_ns;
                if is_over(self) {
                    break;
                }
            }
        }
        let (took_ns, worked_ns) = (self.network.now_ns() - begun_ns, self.worked_ns() - worked_ns);
        let (latencies, turns) = (std::mem::take(&mut self.latencies), std::mem::take(&mut self.turns));
        self.settle();
        Phase { took_ns, worked_ns, latencies, turns }
    }

    fn worked_ns(&self) -> u64 {
        (0..2).map(|node| self.network.worked_ns(node)).sum()
    }
}

#[derive(Default)]
struct Phase {
    took_ns: u64,
    worked_ns: u64,
    latencies: [Vec<u64>; 2],
    turns: Vec<u64>,
}

impl Phase {
    fn add(&mut self, other: Self) {
        self.took_ns += other.took_ns;
        self.worked_ns += other.worked_ns;
        self.turns.extend(other.turns);
        for (all, more) in self.latencies.iter_mut().zip(other.latencies) {
            all.extend(more);
        }
    }

    fn show(&mut self, name: &str) {
        let busy = self.worked_ns as f64 / (2 * self.took_ns.max(1)) as f64 * 100.0;
        println!("{name}: {:.2} s, the cores are busy for {busy:.0} % of it", self.took_ns as f64 / SECOND_NS as f64);
        for (what, values) in ["updates", "reads", "turns"].into_iter().zip(self.latencies.iter_mut().chain([&mut self.turns])) {
            values.sort_unstable();
            let at = |share: f64| {
                values
                    .get(((values.len() as f64 * share) as usize).min(values.len().saturating_sub(1)))
                    .map_or(0.0, |ns| *ns as f64 / 1_000.0)
            };
            println!(
                "  {what:8} {:8}   p50 {:7.0}   p95 {:7.0}   p99 {:7.0}   p99.9 {:7.0}   max {:7.0} us",
                values.len(),
                at(0.5),
                at(0.95),
                at(0.99),
                at(0.999),
                at(1.0)
            );
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let pairs = words.chunks(2).map(|pair| match pair {
        [name, value] => (name.trim_start_matches("--").to_owned(), value.parse().expect("a number after each name")),
        _ => panic!("--name number ..."),
    });
    let arguments = Arguments(pairs.collect());
    let (rate, seconds, reads) = (arguments.get("rate", 20_000), arguments.get("seconds", 10), arguments.get("reads", 50));
    let bytes = arguments.get("mebibytes", 64) << 20;
    let mut bench = Bench::new(bytes / ROW_BYTES as u64, 4 * bytes as usize, arguments.get("budget-us", 1_000));
    bench.load();
    // Memory that is new to a process costs more than anything else.
    (0..arguments.get("passes", 8)).for_each(|_| bench.write_all());
    let (mut alone, mut moving, mut with_both, mut fills) = (Phase::default(), Phase::default(), Phase::default(), Vec::new());
    for round in 0..=arguments.get("rounds", 3) {
        let quiet = bench.run(rate, reads, seconds * SECOND_NS, |_| false);
        bench.set_factor(2);
        let fill = bench.run(rate, reads, WAIT_NS, |bench| bench.is_whole(2));
        bench.wait_settled(2);
        let quiet_with_both = bench.run(rate, reads, seconds * SECOND_NS, |_| false);
        bench.set_factor(1);
        bench.wait_settled(1);
        if round > 0 {
            fills.push(fill.took_ns as f64 / SECOND_NS as f64);
            alone.add(quiet);
            moving.add(fill);
            with_both.add(quiet_with_both);
        }
    }
    alone.show("one replica");
    moving.show("while the second is filled");
    with_both.show("two replicas");
    println!("fills under load: {fills:.2?} s; {} errors", bench.errors);
}
