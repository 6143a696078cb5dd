//! Aerospike's clients in a cluster: any member serves every record, whoever its primary is, and what nobody serves is told of.

#![allow(clippy::unwrap_used)]

mod clients;
mod members;

use aerospike::operate::code;
use aerospike::wire::{Attributes, HEADER_BYTES, Header, Kind, Message, MessageWriter, Operation, Proto, field, info1, info2, info3};
use clients::{At, Clients};
use io::ListenerId;
use sim::{Loss, Network};
use std::collections::{BTreeMap, BTreeSet};

const NODES: usize = 3;
const CORES: u16 = 2;
const KEYS: u32 = 150;
const PARTITIONS: u16 = 4_096;
const LISTENER: ListenerId = ListenerId(2);
const UNAVAILABLE: u8 = 11;

type Digest = [u8; 20];

/// One message of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    code: u8,
    info3: u8,
    generation: u32,
    index: u32,
    digest: Option<Digest>,
    value: Option<i64>,
}

impl Said {
    fn is_last(&self) -> bool {
        self.info3 & info3::LAST != 0
    }

    /// The partition whose end it tells, and how that went.
    fn end(&self) -> Option<(u16, u8)> {
        (self.info3 & info3::PARTITION_DONE != 0).then_some((self.generation as u16, self.code))
    }
}

struct Cluster {
    network: Network,
    clients: Clients,
}

fn digest(key: u32) -> Digest {
    let mut digest = [0; 20];
    base::Rng::new(u64::from(key)).fill(&mut digest);
    digest
}

fn partition(digest: &Digest) -> u16 {
    u16::from_le_bytes([digest[0], digest[1]]) % PARTITIONS
}

fn framed(kind: Kind, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let proto = Proto::begin(&mut out, kind);
    out.extend_from_slice(body);
    proto.end(&mut out);
    out
}

fn message(attributes: Attributes, timeout_ms: u32, fields: &[(u8, &[u8])], operations: &[Operation<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut message = MessageWriter::begin(&mut body);
    (message.attributes, message.number) = (attributes, timeout_ms);
    for (kind, data) in fields {
        message.field(&mut body, *kind, data, &[]);
    }
    for operation in operations {
        message.operation(&mut body, operation);
    }
    message.end(&mut body, aerospike::ResultCode::OK);
    body
}

const READ: Attributes = Attributes { info1: info1::READ | info1::GET_ALL, info2: 0, info3: 0, info4: 0, generation: 0, ttl: 0 };
const WRITE: Attributes = Attributes { info1: 0, info2: info2::WRITE, info3: 0, info4: 0, generation: 0, ttl: 0 };

fn of_record(digest: &Digest) -> [(u8, &[u8]); 3] {
    [(field::NAMESPACE, b"test"), (field::SET, b"s"), (field::DIGEST, digest)]
}

fn set(value: &[u8; 8]) -> [Operation<'_>; 1] {
    [Operation { code: code::WRITE, particle: 1, name: b"n", value }]
}

/// The same for each of these records.
fn batch(attributes: Attributes, keys: impl Iterator<Item = u32>, operations: &[Operation<'_>]) -> Vec<u8> {
    let (mut entries, mut count) = (Vec::new(), 0u32);
    for key in keys {
        entries.extend(key.to_be_bytes());
        entries.extend(digest(key));
        // As the one before, or all that is said of it, which is how a message ends.
        entries.push(if count > 0 { 1 } else { 2 });
        if count == 0 {
            entries.extend([attributes.info1, attributes.info2, attributes.info3]);
            let whole = message(attributes, 0, &[(field::NAMESPACE, b"test"), (field::SET, b"s")], operations);
            entries.extend_from_slice(&whole[18..]);
        }
        count += 1;
    }
    let field = [&count.to_be_bytes()[..], &[0], &entries].concat();
    message(Attributes { info1: info1::BATCH, ..Attributes::default() }, 0, &[(field::BATCH, &field)], &[])
}

fn scan(partitions: Option<&[u16]>) -> Vec<u8> {
    let named: Vec<u8> = partitions.unwrap_or_default().iter().flat_map(|partition| partition.to_le_bytes()).collect();
    let fields: [(u8, &[u8]); 3] = [(field::NAMESPACE, b"test"), (field::SET, b"s"), (field::PARTITIONS, &named)];
    message(READ, 0, &fields[..2 + usize::from(partitions.is_some())], &[])
}

fn said(mut body: &[u8]) -> Vec<Said> {
    let mut all = Vec::new();
    while !body.is_empty() {
        let (message, rest) = Message::read(body).unwrap();
        body = rest;
        all.push(Said {
            code: message.result.0,
            info3: message.attributes.info3,
            generation: message.attributes.generation,
            index: message.number,
            digest: message.fields.digest.copied(),
            value: message.operations.iter().next().map(|bin| i64::from_be_bytes(bin.value.try_into().unwrap())),
        });
    }
    all
}

impl Cluster {
    /// Three members with two cores each, and records with two replicas.
    fn start() -> Self {
        Self { network: members::start(NODES, CORES), clients: Clients::new(LISTENER) }
    }

    /// The same with records `0..KEYS`, each of its key's value and with all its replicas.
    fn filled() -> Self {
        let mut cluster = Self::start();
        for key in 0..KEYS {
            cluster.put((key as usize % NODES, key as u16 % CORES), key, i64::from(key));
        }
        cluster.wait("every slot has its replicas", |network| members::is_replicated(network, 0, "test", 2));
        cluster
    }

    fn wait(&mut self, what: &str, holds: impl FnMut(&mut Network) -> bool) {
        members::wait(&mut self.network, what, holds);
    }

    fn send(&mut self, at: At, frame: &[u8]) {
        self.clients.connect(&mut self.network, at);
        self.clients.send(&mut self.network, at, frame);
    }

    /// The next whole frame's body.
    fn receive(&mut self, at: At) -> Vec<u8> {
        let whole = |bytes: &[u8]| Header::read(bytes, 1 << 24).unwrap().map(|header| (HEADER_BYTES, header.body_bytes));
        self.clients.receive(&mut self.network, at, whole).expect("the member lives")
    }

    fn info(&mut self, at: At, name: &str) -> String {
        self.send(at, &framed(Kind::Info, name.as_bytes()));
        let text = String::from_utf8(self.receive(at)).unwrap();
        text.trim_end().split_once('\t').unwrap().1.to_owned()
    }

    fn one(&mut self, at: At, body: &[u8]) -> Said {
        self.send(at, &framed(Kind::Message, body));
        let mut all = said(&self.receive(at));
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    fn put(&mut self, at: At, key: u32, value: i64) {
        let reply = self.one(at, &message(WRITE, 0, &of_record(&digest(key)), &set(&value.to_be_bytes())));
        assert_eq!(reply.code, 0);
    }

    fn get(&mut self, at: At, key: u32) -> Option<i64> {
        let reply = self.one(at, &message(READ, 0, &of_record(&digest(key)), &[]));
        assert_eq!(reply.code, 0);
        reply.value
    }

    /// The messages of a reply of many, but for the last, whose code must be 0.
    fn many(&mut self, at: At, body: &[u8]) -> Vec<Said> {
        self.send(at, &framed(Kind::Message, body));
        let mut all = Vec::new();
        loop {
            all.extend(said(&self.receive(at)));
            if let Some(last) = all.pop_if(|last| last.is_last()) {
                assert_eq!(last.code, 0);
                return all;
            }
        }
    }

    /// What a batch read of all records gives, by their numbers: code and value.
    fn read_all(&mut self, at: At) -> BTreeMap<u32, (u8, Option<i64>)> {
        let replies = self.many(at, &batch(READ, 0..KEYS, &[]));
        assert_eq!(replies.len(), KEYS as usize);
        replies.into_iter().map(|said| (said.index, (said.code, said.value))).collect()
    }

    /// By replica, the partitions that a member says it holds.
    fn held(&mut self, node: usize) -> Vec<BTreeSet<u16>> {
        let said = self.info((node, 0), "replicas");
        let (_, described) = said.split_once(':').unwrap();
        let bitmaps: Vec<&str> = described.split(',').skip(2).collect();
        let is_set = |bits: &[u8], partition: u16| bits[usize::from(partition / 8)] & (0x80 >> (partition % 8)) != 0;
        bitmaps
            .iter()
            .map(|bitmap| decode(bitmap))
            .map(|bits| (0..PARTITIONS).filter(|partition| is_set(&bits, *partition)).collect())
            .collect()
    }
}

/// Base 64.
fn decode(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for digit in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | DIGITS.iter().position(|known| *known == digit).unwrap() as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

fn everywhere() -> impl Iterator<Item = At> {
    (0..NODES).flat_map(|node| (0..CORES).map(move |core| (node, core)))
}

#[test]
fn members_tell_clients_of_each_other_and_of_their_partitions() {
    let mut cluster = Cluster::start();
    let all: Vec<u16> = (0..PARTITIONS).collect();
    let of = |cluster: &mut Cluster, nodes: std::ops::Range<usize>, replica: usize| {
        let mut held: Vec<u16> = nodes.flat_map(|node| cluster.held(node).remove(replica)).collect();
        held.sort_unstable();
        held
    };
    assert_eq!(of(&mut cluster, 0..NODES, 0), all, "somebody is to be asked about a namespace to which nobody has written");
    let before: Vec<String> = (0..NODES).map(|node| cluster.info((node, 0), "partition-generation")).collect();
    cluster.put((0, 0), 1, 1);
    cluster.wait("every slot has its replicas", |network| members::is_replicated(network, 0, "test", 2));
    cluster.network.sleep(1_000_000);
    assert_eq!(of(&mut cluster, 0..NODES, 0), all);
    assert_eq!(of(&mut cluster, 0..NODES, 1), all);
    for (node, before) in before.iter().enumerate() {
        assert_ne!(cluster.info((node, 0), "partition-generation"), *before, "clients must ask again");
        let peers = cluster.info((node, 0), "peers-clear-std");
        for other in 0..NODES {
            assert_eq!(peers.contains(&format!("[{:016X},,", other + 1)), other != node, "{peers}");
        }
    }
    let generation = |cluster: &mut Cluster| cluster.info((0, 0), "peers-generation").parse::<u64>().unwrap();
    let before = generation(&mut cluster);
    cluster.network.kill(2, Loss::Process);
    cluster.network.sleep(100_000);
    let is_known = cluster.network.machine(0).unwrap().cluster_state().unwrap().members.values().any(|member| !member.is_up());
    assert!(!is_known);
    assert_eq!(of(&mut cluster, 0..2, 0), all, "who comes now must find somebody to ask");
    cluster.wait("the member is missed", |network| {
        network.machine(0).unwrap().cluster_state().unwrap().members.values().any(|member| !member.is_up())
    });
    cluster.network.sleep(1_000_000);
    let soon = generation(&mut cluster);
    assert!(soon > before);
    assert_eq!(
        cluster.info((0, 0), "peers-clear-std").matches(",,").count(),
        2,
        "what it had must have another owner before it is forgotten"
    );
    assert_eq!(of(&mut cluster, 0..2, 0), all);
    cluster.network.sleep(5_000_000);
    assert!(generation(&mut cluster) > soon);
    assert_eq!(cluster.info((0, 0), "peers-clear-std").matches(",,").count(), 1);
    assert_eq!(cluster.info((0, 0), "cluster-stable:size=3"), "ERROR:4:cluster-specified-size");
}

#[test]
fn every_core_of_every_member_serves_every_record() {
    let mut cluster = Cluster::filled();
    for (round, at) in everywhere().enumerate() {
        let expected = |key: u32| Some(i64::from(key) + 1_000 * round as i64);
        for key in (0..KEYS).step_by(7) {
            assert_eq!(cluster.get(at, key), expected(key), "{key} at {at:?}");
        }
        let read = cluster.read_all(at);
        assert!(read.iter().all(|(key, read)| *read == (0, expected(*key))), "{read:?}");
        let add = [Operation { code: code::ADD, particle: 1, name: b"n", value: &1_000i64.to_be_bytes() }];
        let added = cluster.many(at, &batch(WRITE, 0..KEYS, &add));
        assert!(added.len() == KEYS as usize && added.iter().all(|said| said.code == 0 && said.generation == 2 + round as u32));
    }
}

#[test]
fn a_scan_gives_each_record_once_whoever_is_asked() {
    let mut cluster = Cluster::filled();
    let (all, expected): (Vec<u16>, BTreeSet<Digest>) = ((0..PARTITIONS).collect(), (0..KEYS).map(digest).collect());
    for at in everywhere() {
        let (ends, records): (Vec<Said>, Vec<Said>) =
            cluster.many(at, &scan(Some(&all))).into_iter().partition(|said| said.end().is_some());
        assert_eq!(records.len(), expected.len(), "each once");
        assert_eq!(records.iter().map(|said| said.digest.unwrap()).collect::<BTreeSet<_>>(), expected);
        assert_eq!(ends.iter().map(|said| said.end().unwrap()).collect::<Vec<_>>(), all.iter().map(|slot| (*slot, 0)).collect::<Vec<_>>());
    }
    // Clients that name no partitions ask every member.
    let found: Vec<Digest> = (0..NODES).flat_map(|node| cluster.many((node, 1), &scan(None))).map(|said| said.digest.unwrap()).collect();
    assert_eq!(found.len(), expected.len());
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn requests_wait_while_a_member_that_died_is_replaced() {
    let mut cluster = Cluster::filled();
    cluster.network.kill(2, Loss::Process);
    let began_us = cluster.network.now_us();
    let read = cluster.read_all((0, 0));
    assert!(read.iter().all(|(key, read)| *read == (0, Some(i64::from(*key)))), "{read:?}");
    assert!(cluster.network.now_us() - began_us > 500_000, "it had to wait for the end of a lease");
    for key in 0..KEYS {
        cluster.put((key as usize % 2, 0), key, -1);
    }
    cluster.network.start(2);
    cluster.wait("the member has joined again", |network| {
        let state = network.machine(0).unwrap().cluster_state().unwrap();
        state.members.values().all(cluster::Member::is_up) && state.keyspaces["test"].iter().all(|slot| slot.in_sync.len() == 2)
    });
    for at in everywhere() {
        assert!(cluster.read_all(at).values().all(|read| *read == (0, Some(-1))));
    }
}

#[test]
fn what_nobody_serves_is_told_of_in_time() {
    let mut cluster = Cluster::filled();
    cluster.network.kill(1, Loss::Process);
    cluster.network.kill(2, Loss::Process);
    cluster.network.sleep(2_000_000);
    for (timeout_ms, at_most_us) in [(300, 400_000), (0, 5_100_000), (60_000, 5_100_000)] {
        let began_us = cluster.network.now_us();
        let put = message(WRITE, timeout_ms, &of_record(&digest(1)), &set(&[9; 8]));
        assert_eq!(cluster.one((0, 0), &put).code, UNAVAILABLE);
        let took_us = cluster.network.now_us() - began_us;
        assert!(took_us <= at_most_us && took_us > at_most_us / 2, "{timeout_ms} ms: {took_us} us");
    }
    assert!(cluster.read_all((0, 1)).values().all(|read| *read == (UNAVAILABLE, None)), "each record for itself");
    let (one, other) = (partition(&digest(1)), partition(&digest(2)));
    let ends: Vec<_> = cluster.many((0, 0), &scan(Some(&[one, other]))).iter().map(|said| said.end().unwrap()).collect();
    assert_eq!(ends, [(one, UNAVAILABLE), (other, UNAVAILABLE)]);
    for node in 1..NODES {
        cluster.network.start(node);
    }
    cluster.wait("all are up", |network| network.machine(0).unwrap().cluster_state().unwrap().members.values().all(cluster::Member::is_up));
    assert_eq!(cluster.get((0, 0), 1), Some(1), "what was refused was not done");
}
