//! GridDB's clients in a cluster, through kills and losses of power: what was acknowledged is there, a put of many rows is there as a whole or not at all, also one
//! that was under way, and clients are told who serves a partition.

#![allow(clippy::unwrap_used)]

mod clients;
mod members;

use base::Rng;
use clients::{At, Clients};
use griddb::client::{self, ContainerId, LoginArguments};
use griddb::schema::{ColumnDefinition, Kind};
use griddb::wire::{FrameHeader, Reader, ReplyBody, ReplyHeader, put_i64, statement};
use griddb::{ContainerName, ElementType, PARTITION_COUNT, token_of_partition};
use io::ListenerId;
use sim::{Loss, Network};
use std::collections::BTreeMap;
use std::net::IpAddr;

const NODES: usize = 3;
const CORES: u16 = 2;
const LISTENER: ListenerId = ListenerId(4);
const CONTAINERS: usize = 8;
const KEYS: i64 = 12;
/// Of a row as it comes: its number, which columns are null, id and value.
const ROW_BYTES: usize = 8 + 1 + 16;

type Rows = BTreeMap<i64, i64>;

struct Cluster {
    network: Network,
    rng: Rng,
    clients: Clients,
    /// The last request's number.
    id: i64,
    containers: Vec<ContainerId>,
    /// What each container has.
    model: Vec<Rows>,
    value: i64,
}

fn name(container: usize) -> ContainerName {
    ContainerName::parse(&format!("c{container}"))
}

fn columns() -> [ColumnDefinition; 2] {
    let column = |name: &str| ColumnDefinition { name: name.to_owned(), element: ElementType::Long, is_array: false, is_not_null: true };
    [column("id"), column("v")]
}

/// Rows as clients send them: which columns are null, then their values.
fn put_rows(keys: &[i64], value: i64, out: &mut Vec<u8>) {
    for key in keys {
        out.push(0);
        put_i64(out, *key);
        put_i64(out, value);
    }
}

impl Cluster {
    fn start(seed: u64) -> Self {
        let network = members::start(NODES, CORES);
        let (clients, model) = (Clients::new(LISTENER), vec![Rows::new(); CONTAINERS]);
        let mut cluster = Self { network, rng: Rng::new(seed), clients, id: 0, containers: Vec::new(), model, value: 0 };
        for container in 0..CONTAINERS {
            let write = |out: &mut Vec<u8>| client::put_container((&name(container), Kind::Collection), (&columns(), 1), false, out);
            let made = cluster.ask((container % NODES, 0), statement::PUT_CONTAINER, container, write).unwrap();
            assert!(!made.is_empty());
        }
        members::wait(&mut cluster.network, "every slot has its replicas", |network| {
            (0..NODES).all(|node| network.machine(node).unwrap().takes_part() && members::is_replicated(network, node, "public", 3))
        });
        for container in 0..CONTAINERS {
            let write = |out: &mut Vec<u8>| client::name_container(&name(container), Kind::Collection, out);
            let found = cluster.ask((0, 0), statement::GET_CONTAINER, container, write).unwrap();
            cluster.containers.push(client::read_container(&mut Reader::new(&found)).unwrap().unwrap());
        }
        cluster
    }

    fn partition(container: usize) -> i32 {
        client::partition_of(&name(container), PARTITION_COUNT)
    }

    /// Sends a statement, as a client that has logged in.
    fn send(&mut self, at: At, number: i32, partition: i32, write: impl FnOnce(&mut Vec<u8>)) {
        if self.clients.connect(&mut self.network, at) {
            self.log_in(at);
        }
        self.send_at_once(at, number, partition, write);
    }

    fn log_in(&mut self, at: At) {
        self.send_at_once(at, statement::CONNECT, 0, client::connect);
        self.receive(at).unwrap().unwrap();
        let arguments = LoginArguments { user: "ann", digest: "", cluster_name: "", database: None };
        self.send_at_once(at, statement::LOGIN, 0, |out| client::log_in(&arguments, out));
        self.receive(at).unwrap().unwrap();
    }

    fn send_at_once(&mut self, at: At, number: i32, partition: i32, write: impl FnOnce(&mut Vec<u8>)) {
        self.id += 1;
        let mut request = Vec::new();
        ReplyHeader { statement: number, id: self.id, is_ipv6: false, is_repeatable: false }.write_request(partition, &mut request, write);
        self.clients.send(&mut self.network, at, &request);
    }

    /// The results, or the number of the error; none if the machine has ended.
    fn receive(&mut self, at: At) -> Option<Result<Vec<u8>, i32>> {
        let whole = |bytes: &[u8]| FrameHeader::read(bytes, false, 1 << 24).unwrap().map(|header| (header.bytes, header.body_bytes));
        let body = self.clients.receive(&mut self.network, at, whole)?;
        let outcome = ReplyBody::read(&body).unwrap().outcome;
        Some(outcome.map(|results| results.rest().to_vec()).map_err(|(_, error)| error.code.0))
    }

    fn ask(&mut self, at: At, number: i32, container: usize, write: impl FnOnce(&mut Vec<u8>)) -> Result<Vec<u8>, i32> {
        self.send(at, number, Self::partition(container), write);
        self.receive(at).unwrap()
    }

    /// All rows of a container, by one multi-get.
    fn rows(&mut self, at: At, container: usize) -> Rows {
        let keys = |out: &mut Vec<u8>| (0..KEYS).for_each(|key| put_i64(out, key));
        let write = |out: &mut Vec<u8>| client::get_rows(&name(container), ElementType::Long, KEYS as usize, keys, out);
        let found = self.ask(at, statement::GET_MULTIPLE_CONTAINER_ROWS, container, write).unwrap();
        let mut reader = Reader::new(&found);
        let count = client::read_rows_head(&mut reader).unwrap() as usize;
        assert_eq!(reader.rest().len(), count * ROW_BYTES);
        let number = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().unwrap());
        reader.rest().chunks(ROW_BYTES).map(|row| (number(&row[9..17]), number(&row[17..]))).collect()
    }

    /// Sends a statement that changes rows of a container; gives what it has once that is done.
    fn change(&mut self, at: At, container: usize) -> Rows {
        let (id, mut after) = (self.containers[container], self.model[container].clone());
        let first = self.rng.below(KEYS as u64) as i64;
        self.value += 1;
        let value = self.value;
        let partition = Self::partition(container);
        match self.rng.below(4) {
            0 => {
                self.send(at, statement::PUT_ROW, partition, |out| {
                    client::head(id, out);
                    put_rows(&[first], value, out);
                });
                after.insert(first, value);
            }
            1 => {
                self.send(at, statement::DELETE_ROW, partition, |out| {
                    client::head(id, out);
                    put_i64(out, first);
                });
                after.remove(&first);
            }
            _ => {
                let keys: Vec<i64> = (first..KEYS).take(2 + self.rng.below(6) as usize).collect();
                self.send(at, statement::PUT_MULTIPLE_ROWS, partition, |out| {
                    client::head(id, out);
                    put_i64(out, keys.len() as i64);
                    put_rows(&keys, value, out);
                });
                after.extend(keys.iter().map(|key| (*key, value)));
            }
        }
        after
    }

    /// Any core of a member that lives.
    fn anyone(&mut self, down: Option<usize>) -> At {
        let alive: Vec<usize> = (0..NODES).filter(|node| Some(*node) != down).collect();
        (alive[self.rng.below(alive.len() as u64) as usize], self.rng.below(u64::from(CORES)) as u16)
    }

    fn changes(&mut self, count: usize, down: Option<usize>) {
        for _ in 0..count {
            let (at, container) = (self.anyone(down), self.rng.below(CONTAINERS as u64) as usize);
            let after = self.change(at, container);
            assert!(self.receive(at).unwrap().is_ok());
            self.model[container] = after;
        }
    }

    /// A member ends with statements of clients under way, at it and at others.
    fn kill_under_way(&mut self, down: usize, loss: Loss) {
        let mut under_way: Vec<(At, usize, Rows)> = Vec::new();
        for container in 0..CONTAINERS {
            let at = (if container % 2 == 0 { down } else { (down + 1) % NODES }, self.rng.below(u64::from(CORES)) as u16);
            if under_way.iter().all(|(other, ..)| *other != at) {
                let after = self.change(at, container);
                under_way.push((at, container, after));
            }
        }
        self.network.sleep(self.rng.below(3_000));
        self.network.kill(down, loss);
        let mut unknown = Vec::new();
        for (at, container, after) in under_way {
            match if at.0 == down { None } else { self.receive(at) } {
                Some(Ok(_)) => self.model[container] = after,
                // The node says that it does not know: it may have been done.
                Some(Err(_)) | None => unknown.push((container, after)),
            }
        }
        // Whatever is still on its way arrives.
        self.network.sleep(3_000_000);
        for (container, after) in unknown {
            let at = self.anyone(Some(down));
            let found = self.rows(at, container);
            assert!(
                found == after || found == self.model[container],
                "{container}: {found:?} is neither {after:?} nor {:?}",
                self.model[container]
            );
            self.model[container] = found;
        }
    }

    fn check(&mut self, what: &str, down: Option<usize>) {
        for node in (0..NODES).filter(|node| Some(*node) != down) {
            for container in 0..CONTAINERS {
                assert_eq!(self.rows((node, 0), container), self.model[container], "{what}: container {container} at {node}");
            }
        }
    }

    /// Each member names for each partition its slot's primary.
    fn check_owners(&mut self) {
        for node in 0..NODES {
            for partition in (0..PARTITION_COUNT).step_by(7) {
                self.send((node, 0), statement::GET_PARTITION_ADDRESS, partition as i32, client::no_options);
                let told = self.receive((node, 0)).unwrap().unwrap();
                let state = self.network.machine(node).unwrap().cluster_state().unwrap();
                let primary = state.keyspaces["public"].at(token_of_partition(partition).slot()).primary;
                let machine = members::machine_of(&mut self.network, primary);
                let IpAddr::V4(address) = <Network>::address(machine) else { panic!("machines have addresses of IPv4") };
                assert_eq!(told[5..9], address.octets(), "partition {partition}, as {node} tells it");
            }
        }
    }
}

#[test]
fn rows_outlive_members_and_puts_of_many_are_whole() {
    // More seeds where there is time for them.
    let seeds = if std::env::var_os("TARNDB_TEST_LONG").is_some() { 2..=20 } else { 1..=1 };
    for seed in seeds {
        let mut cluster = Cluster::start(seed);
        cluster.check_owners();
        cluster.changes(100, None);
        for round in 0..3 {
            let down = cluster.rng.below(NODES as u64) as usize;
            let loss = if cluster.rng.below(2) == 0 { Loss::Process } else { Loss::Power };
            cluster.kill_under_way(down, loss);
            cluster.changes(60, Some(down));
            cluster.check(&format!("seed {seed}, round {round}, with a member away"), Some(down));
            cluster.network.start(down);
            members::wait(&mut cluster.network, "every slot has its replicas again", |network| {
                (0..NODES).all(|node| network.machine(node).unwrap().takes_part() && members::is_replicated(network, node, "public", 3))
            });
            cluster.changes(60, None);
            cluster.check(&format!("seed {seed}, round {round}, whole again"), None);
            cluster.check_owners();
        }
    }
}
