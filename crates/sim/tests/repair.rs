//! Replicas whose devices are damaged while they serve: whoever reads gets what was written, and the replicas get their rows anew.

#![allow(clippy::unwrap_used)]

mod members;

use base::Rng;
use cql::wire::{Consistency, ProtocolVersion};
use sim::{Bound, Client, Loss, Network, Reply, Statement, int, run_seeds, seeds};

/// More than memory holds.
const ROWS: i32 = 2_600;

fn value(key: i32, version: u8) -> Bound {
    Some([&key.to_le_bytes()[..], &[version; 500]].concat())
}

struct Cluster {
    network: Network,
    nodes: usize,
    factor: usize,
    rng: Rng,
    /// By key, the version of its row.
    versions: Vec<u8>,
    clients: Vec<Client>,
}

impl Cluster {
    /// Some rows on all members, most of them on the devices only.
    fn begin(seed: u64, nodes: usize, factor: usize) -> Self {
        let network = members::start_with(seed, nodes, 1 + (seed % 2) as u16);
        let mut cluster = Self { network, nodes, factor, rng: Rng::new(seed), versions: vec![0; ROWS as usize], clients: Vec::new() };
        cluster.connect();
        let keyspace = format!("CREATE KEYSPACE k WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {factor}}}");
        for text in [&keyspace, "CREATE TABLE k.t (k int PRIMARY KEY, v blob)"] {
            cluster.ask(0, &Statement::new(text)).done();
        }
        cluster.wait_whole("every slot has its replicas");
        // Those of members that did not take part yet may have been closed.
        cluster.connect();
        (0..ROWS).for_each(|key| cluster.write(key));
        cluster.network.sleep(20_000_000);
        cluster
    }

    fn connect(&mut self) {
        self.clients.clear();
        for node in 0..self.nodes {
            let mut client = Client::begin(self.network.machine(node).unwrap(), 0, ProtocolVersion::V4, None);
            assert!(self.network.run_until(|network| client.is_ready(network.machine(node).unwrap())));
            self.clients.push(client);
        }
    }

    fn ask(&mut self, node: usize, statement: &Statement) -> Reply {
        members::ask(&mut self.network, node, &mut self.clients[node], statement).unwrap()
    }

    fn write(&mut self, key: i32) {
        let node = self.rng.below(self.nodes as u64) as usize;
        let version = self.versions[key as usize] + 1;
        let write = Statement::new("INSERT INTO k.t (k, v) VALUES (?, ?)").bind([int(key), value(key, version)]);
        // A replica that is being repaired is none for level ALL.
        self.ask(node, &write.with(Consistency::LocalQuorum)).done();
        self.versions[key as usize] = version;
    }

    fn read(&mut self, node: usize, key: i32, consistency: Consistency) {
        let read = Statement::new("SELECT v FROM k.t WHERE k = ?").bind([int(key)]).with(consistency);
        let rows = self.ask(node, &read).rows();
        assert_eq!(rows, [[value(key, self.versions[key as usize])]], "row {key} at node {node}");
    }

    fn wait_replicated(&mut self) {
        let (nodes, factor) = (self.nodes, self.factor);
        members::wait(&mut self.network, "every slot has its replicas", |network| {
            (0..nodes).all(|node| members::is_replicated(network, node, "k", factor))
        });
    }

    fn wait_whole(&mut self, what: &str) {
        let (nodes, factor) = (self.nodes, self.factor);
        members::wait(&mut self.network, what, |network| {
            (0..nodes).all(|node| {
                let report = network.machine(node).unwrap().report();
                network.machine(node).unwrap().takes_part()
                    && members::is_replicated(network, node, "k", factor)
                    && report.cores.iter().all(|core| core.slots_to_repair == 0 && core.damaged_members.is_empty())
            })
        });
    }

    /// Changes bytes on the devices of a member that runs.
    fn rot(&mut self, node: usize, places: usize) {
        let machine = self.network.machine(node).unwrap();
        for _ in 0..places {
            (0..machine.cores()).for_each(|core| machine.disk(core).rot(&mut self.rng));
        }
    }

    /// Cuts a member off for longer than the others wait for it.
    fn isolate(&mut self, node: usize, us: u64) {
        for other in (0..self.nodes).filter(|other| *other != node) {
            self.network.cut(node, other);
            self.network.cut(other, node);
        }
        self.network.sleep(us);
        self.network.heal_links();
        self.wait_replicated();
    }

    fn repaired(&mut self, node: usize) -> u64 {
        self.network.machine(node).unwrap().report().cores.iter().map(|core| core.slots_repaired).sum()
    }

    /// How many places of its devices a member knows to be damaged.
    fn damaged_places(&mut self, node: usize) -> u64 {
        let machine = self.network.machine(node).unwrap();
        (0..machine.cores()).map(|core| machine.engine(core).damage_reports().len() as u64).sum()
    }

    fn count(&mut self, node: usize, consistency: Consistency) {
        let count = Statement::new("SELECT count(*) FROM k.t").with(consistency);
        assert_eq!(self.ask(node, &count).rows(), [[Some(i64::from(ROWS).to_be_bytes().to_vec())]], "at node {node}");
    }

    fn check_all(&mut self) {
        for node in 0..self.nodes {
            (0..ROWS).for_each(|key| self.read(node, key, Consistency::One));
        }
        self.count(0, Consistency::One);
    }
}

#[test]
fn damage_that_reads_find_is_repaired_and_no_reader_notices() {
    let repaired = run_seeds(seeds(1), "damage_that_reads_find", |seed| {
        let mut cluster = Cluster::begin(seed, 3, 3);
        let node = seed as usize % 3;
        cluster.rot(node, 12);
        for key in 0..ROWS {
            if cluster.rng.below(8) == 0 {
                cluster.write(key);
            }
            let (at, consistency) = match cluster.rng.below(3) {
                0 => (node, Consistency::One),
                _ => (cluster.rng.below(3) as usize, Consistency::LocalQuorum),
            };
            cluster.read(at, key, consistency);
        }
        cluster.wait_whole("it has all rows anew");
        cluster.check_all();
        cluster.wait_whole("nothing is damaged");
        cluster.repaired(node)
    });
    assert!(repaired.iter().sum::<u64>() > 0, "nothing was repaired");
}

/// Scans of the whole table, a slot a piece: the slots whose damaged rows they have met are repaired, and none besides.
#[test]
fn scans_name_the_slots_that_are_damaged() {
    let repaired = run_seeds(seeds(1), "scans_name_the_slots", |seed| {
        let mut cluster = Cluster::begin(seed, 3, 3);
        let node = seed as usize % 3;
        cluster.rot(node, 12);
        for consistency in [Consistency::LocalQuorum, Consistency::One, Consistency::One] {
            cluster.count(node, consistency);
            cluster.wait_whole("what the scan has met is repaired");
        }
        let (repaired, places) = (cluster.repaired(node), cluster.damaged_places(node));
        assert!(repaired <= places, "{repaired} slots were repaired for {places} damaged rows");
        // What was in memory for the scans may be damaged.
        (0..ROWS).for_each(|key| cluster.read(node, key, Consistency::One));
        cluster.wait_whole("what the reads have met is repaired");
        let (later, more) = (cluster.repaired(node) - repaired, cluster.damaged_places(node) - places);
        assert!(later <= more, "the scans have missed {later} slots, {more} damaged rows are new");
        assert!((0..3).all(|other| other == node || cluster.repaired(other) == 0), "the others are whole");
        cluster.repaired(node)
    });
    assert!(repaired.iter().sum::<u64>() > 0, "nothing was repaired");
}

/// Only whole replicas are left when others die after a repair: what was copied is all there is of it.
#[test]
fn what_was_repaired_is_enough_when_the_others_are_gone() {
    run_seeds(seeds(1), "what_was_repaired_is_enough", |seed| {
        let mut cluster = Cluster::begin(seed, 3, 3);
        let node = seed as usize % 3;
        cluster.rot(node, 12);
        cluster.count(0, Consistency::LocalQuorum);
        (0..ROWS).for_each(|key| cluster.read(node, key, Consistency::One));
        cluster.wait_whole("it has all rows anew");
        let other = (node + 1) % 3;
        cluster.network.kill(other, Loss::Process);
        for key in 0..ROWS {
            cluster.read(node, key, Consistency::LocalQuorum);
        }
    });
}

/// Two replicas of each row, all members damaged, and one of them is away for a while: what no replica has is an error and never a wrong answer, and who has come
/// out of sync for another reason than its damage keeps the rows that only it has.
#[test]
fn of_two_damaged_replicas_none_answers_wrongly() {
    run_seeds(seeds(1), "of_two_damaged_replicas", |seed| {
        let mut cluster = Cluster::begin(seed, 3, 2);
        (0..3).for_each(|node| cluster.rot(node, 6));
        let (mut failures, away) = (0, seed as usize % 3);
        for (number, key) in (0..ROWS).chain(0..ROWS).enumerate() {
            if number == ROWS as usize / 2 {
                cluster.isolate(away, 3_000_000);
            }
            let node = cluster.rng.below(3) as usize;
            let read = Statement::new("SELECT v FROM k.t WHERE k = ?").bind([int(key)]).with(Consistency::LocalQuorum);
            match cluster.ask(node, &read) {
                Reply::Error { .. } => failures += 1,
                reply => assert_eq!(reply.rows(), [[value(key, cluster.versions[key as usize])]], "row {key} at node {node}"),
            }
        }
        assert!(failures < 200, "{failures} reads failed");
    });
}
