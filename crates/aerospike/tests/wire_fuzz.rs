//! Mutated requests: no panic, no memory beyond what was received, and what is accepted reads back the same.
#![allow(clippy::unwrap_used)]

mod fuzzer;

use aerospike::exec::{Namespace, Options, Work, start};
use aerospike::index::{Definition, IndexChange};
use aerospike::info::{NodeView, Truncation};
use aerospike::jobs::{Abort, Jobs};
use aerospike::security::{self, Command};
use aerospike::session::{Progress, Server, Session};
use aerospike::udf::ModuleChange;
use aerospike::wire::*;
use base::BufferPool;
use fuzzer::{fuzz, is_full_run};
use model::Schema;
use std::sync::Arc;

const CREATE: &str = "sindex-create:ns=test;set=demo;indexname=i;context=kiI=;indextype=LIST;indexdata=a,NUMERIC\n";

const BODY_BYTES_MAX: usize = 1 << 16;

fn corpus() -> Vec<Vec<u8>> {
    let lines = include_str!("wire_golden/python-19.txt").lines().filter(|line| !line.starts_with('#'));
    let hex = lines.map(|line| line.split_once(' ').unwrap().1);
    let of_hex = |line: &str| (0..line.len()).step_by(2).map(|at| u8::from_str_radix(&line[at..at + 2], 16).unwrap()).collect();
    let mut corpus: Vec<Vec<u8>> = hex.map(of_hex).collect();
    let of_scans = [
        (field::NAMESPACE, &b"test"[..]),
        (field::SET, b"demo"),
        (field::PARTITIONS, &[1, 0, 2, 0]),
        (field::DIGESTS, &[7; 40]),
        (field::RECORDS_MAX, &[0, 0, 0, 0, 0, 0, 0, 5]),
        (field::QUERY_BINS, b"\x02\x01a\x01b"),
    ];
    let of_queries = [
        (field::INDEX_TYPE, &[1][..]),
        (field::INDEX_RANGE, b"\x01\x01a\x01\0\0\0\x08\0\0\0\0\0\0\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x05"),
        (field::INDEX_CONTEXT, &[0x92, 0x22, 0xA2, 3, b'k']),
    ];
    for fields in [of_scans.to_vec(), [&of_scans[..], &of_queries].concat()] {
        let mut scan = Vec::new();
        let proto = Proto::begin(&mut scan, Kind::Message);
        let mut message = MessageWriter::begin(&mut scan);
        message.attributes.info1 = info1::READ;
        fields.iter().for_each(|(kind, data)| message.field(&mut scan, *kind, data, &[]));
        message.end(&mut scan, aerospike::ResultCode::OK);
        proto.end(&mut scan);
        corpus.push(scan);
    }
    for info in
        ["node\npartition-generation\nbuild\n", "replicas\nsets/test/demo\nbins/test\n", "truncate:namespace=test;set=demo\n", CREATE, ""]
    {
        let mut bytes = Vec::new();
        let proto = Proto::begin(&mut bytes, Kind::Info);
        bytes.extend_from_slice(info.as_bytes());
        proto.end(&mut bytes);
        corpus.push(bytes);
    }
    corpus
}

/// Declares whatever is needed, and runs nothing.
struct Node {
    schema: Schema,
    namespaces: Vec<Namespace>,
    jobs: Arc<Jobs>,
    started: u32,
    declared: u32,
    buffers: BufferPool,
}

impl Node {
    fn new() -> Self {
        let namespaces = vec![Namespace { name: "test".to_owned(), default_ttl_s: 0 }];
        Self { schema: Schema::empty(), namespaces, jobs: Arc::default(), started: 0, declared: 0, buffers: BufferPool::default() }
    }

    fn start(&mut self, message: &Message<'_>, body: &[u8]) {
        for _ in 0..2 {
            let options = Options {
                namespaces: &self.namespaces,
                cores: 2,
                record_bytes_max: 1 << 20,
                is_primary: None,
                jobs: Some(&self.jobs),
                may_read: None,
                is_forwarded: false,
            };
            match start(&self.schema, message, body, &options) {
                Ok(Work::Declare(needs)) => {
                    self.declared += 1;
                    for need in needs {
                        let Ok(declared) = self.schema.declare_bins(&need.namespace, &need.set, &need.bins, 0) else { return };
                        if let Some(declared) = declared {
                            self.schema = declared.schema;
                        }
                        if need.remembers {
                            self.schema.remember_deletions(&need.namespace, &need.set);
                        }
                    }
                    // Else the schema grows with every mutation.
                    if self.declared.is_multiple_of(64) {
                        self.schema = Schema::empty();
                        return;
                    }
                }
                Ok(Work::Record(_) | Work::Coordinate(_) | Work::Background(_)) => {
                    self.started += 1;
                    return;
                }
                Err(_) => return,
            }
        }
        panic!("what was declared is needed still");
    }
}

impl Server for Node {
    fn buffers(&mut self) -> &mut BufferPool {
        &mut self.buffers
    }

    fn is_let_in(&self) -> bool {
        true
    }

    fn security(&mut self, body: &[u8], out: &mut Vec<u8>) -> Progress {
        security::write_result(out, Command::decode(body).err().unwrap_or(aerospike::ResultCode::OK));
        Progress::Replied
    }

    fn abort_jobs(&mut self, abort: Abort, value: &mut Vec<u8>) {
        value.extend_from_slice(abort.run(&self.jobs).as_bytes());
    }

    fn view(&self) -> NodeView<'_> {
        NodeView {
            node_name: "A1",
            cluster_name: "",
            address: ([127, 0, 0, 1], 3000).into(),
            tls_address: None,
            namespaces: &self.namespaces,
            schema: &self.schema,
            built_indexes: Vec::new(),
            jobs: &self.jobs,
            now_us: 0,
            uptime_s: 0,
            client_connections: 1,
            cluster: None,
        }
    }

    fn truncate(&mut self, _: &Truncation<'_>, value: &mut Vec<u8>) -> Progress {
        value.extend_from_slice(b"ok");
        Progress::Replied
    }

    fn change_module(&mut self, change: &ModuleChange, value: &mut Vec<u8>) -> Progress {
        value.extend_from_slice(change.apply(&mut self.schema).map_or_else(|refusal| refusal.answer(), |_| "ok".to_owned()).as_bytes());
        Progress::Replied
    }

    fn change_index(&mut self, change: &IndexChange, value: &mut Vec<u8>) -> Progress {
        let (namespace, name) = (change.namespace(), change.name());
        match change {
            IndexChange::Create { set, definition, .. } => {
                let bin = definition.needed_bin().into_iter().collect::<Vec<_>>();
                if let Ok(Some(declared)) = self.schema.declare_bins(namespace, set, &bin, 0) {
                    self.schema = declared.schema;
                }
                let table = model::record_set::table_name(set).unwrap_or_default();
                let _ = definition.add(&mut self.schema, namespace, table, name);
            }
            IndexChange::Drop { .. } => drop(Definition::remove(&mut self.schema, namespace, name)),
        }
        value.extend_from_slice(b"ok");
        Progress::Replied
    }

    fn message(&mut self, message: &Message<'_>, body: &[u8], out: &mut Vec<u8>) -> Progress {
        assert_eq!(message.operations.iter().count(), message.operations.len());
        self.start(message, body);
        write_result(out, aerospike::ResultCode::OK, 0);
        Progress::Replied
    }
}

#[test]
fn sessions_survive_mutated_connections() {
    let mut node = Node::new();
    fuzz("wire_fuzz sessions", &corpus(), |bytes, rng| {
        let mut session = Session::new(([127, 0, 0, 1], 1).into(), BODY_BYTES_MAX as u32);
        let (mut out, mut rest) = (Vec::new(), bytes);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(1 + rng.below(500) as usize));
            rest = after;
            let verdict = session.receive(piece, &mut out, usize::MAX, &mut node);
            assert!(session.buffered_bytes() <= 2 * (bytes.len() + 16), "it holds what arrived, not what was announced");
            if verdict == aerospike::session::Verdict::Close {
                break;
            }
        }
    });
    // Queries of an index that is not there, and commands, start nothing.
    assert!(node.started > 800 || !is_full_run(), "{} started", node.started);
}

/// The header is right, so that every mutation reaches what reads the message.
#[test]
fn messages_survive_mutated_bodies() {
    let bodies: Vec<Vec<u8>> = corpus().iter().filter(|bytes| bytes[1] == 3).map(|bytes| bytes[HEADER_BYTES..].to_vec()).collect();
    let mut node = Node::new();
    let mut batched = 0u32;
    fuzz("wire_fuzz messages", &bodies, |body, _| {
        let Ok(message) = Message::decode(body) else { return };
        node.start(&message, body);
        let Some(batch) = message.fields.batch.and_then(|field| BatchEntries::read(field).ok()) else { return };
        assert!(batch.len() <= body.len() / 25);
        batched += batch.map_while(Result::ok).map(|entry| entry.operations.iter().count() as u32 + 1).sum::<u32>();
    });
    if is_full_run() {
        assert!(batched > 1_000 && node.started > 1_000, "mutations leave nothing to read");
    }
}

#[test]
fn compressed_messages_survive_mutations() {
    let bodies: Vec<Vec<u8>> = corpus().iter().filter(|bytes| bytes[1] == 4).map(|bytes| bytes[HEADER_BYTES..].to_vec()).collect();
    fuzz("wire_fuzz compressed", &bodies, |body, _| {
        let mut plain = b"before".to_vec();
        if decompress(body, BODY_BYTES_MAX, &mut plain).is_ok() {
            assert!(plain.len() <= BODY_BYTES_MAX + 6);
        }
    });
}

/// A reader that believes the length of a field: what the fuzzer is there to find.
#[test]
fn the_fuzzer_finds_a_planted_bug() {
    let bodies: Vec<Vec<u8>> = corpus().iter().filter(|bytes| bytes[1] == 3).map(|bytes| bytes[HEADER_BYTES..].to_vec()).collect();
    let believe = |body: &[u8]| {
        let length = u32::from_be_bytes(body.get(22..26)?.try_into().unwrap()) as usize;
        Some(body[26..26 + length].len())
    };
    assert!(bodies.iter().all(|body| believe(body).is_some()), "it takes a mutation");
    assert!(
        std::panic::catch_unwind(|| fuzz("wire_fuzz planted_bug", &bodies, |body, _| {
            believe(body);
        }))
        .is_err()
    );
}
