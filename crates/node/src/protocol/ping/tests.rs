//! A node of two cores that serves the protocol for tests.

use super::*;
use crate::core::CoreParts;
use crate::{AerospikeConfig, MetadataBlobs, NodeConfig, Protocol, SharedStatements};
use base::Rng;
use cql::exec::BatchLimits;
use engine::{Config, Engine};
use io::{DiskCompletion, DiskRequest, DiskTag, Handler, ListenerId, Now};
use shard::{Durability, Shard};
use sim_disk::{Disk, Stable};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv4Addr;
use std::sync::OnceLock;

const CLIENT: ConnectionId = ConnectionId { index: 0, generation: 0 };
const READER: ConnectionId = ConnectionId { index: 1, generation: 0 };

/// A reactor whose connections are buffers.
struct Machine {
    core: CoreId,
    now: Now,
    slept_us: u64,
    output: Vec<u8>,
    /// How often that was asked for: the real reactor flushes a connection then, and tells when all is sent.
    touched: usize,
    disk: Disk,
    blobs: Vec<DiskTag>,
    sent: VecDeque<(CoreId, Message)>,
}

impl Reactor for Machine {
    type Message = Message;

    fn now(&self) -> Now {
        self.now
    }

    fn clock_us(&self) -> u64 {
        self.now.monotonic_us
    }

    fn slept_us(&self) -> u64 {
        self.slept_us
    }

    fn core(&self) -> CoreId {
        self.core
    }

    fn cores(&self) -> u16 {
        2
    }

    fn output(&mut self, _: ConnectionId) -> Option<&mut Vec<u8>> {
        self.touched += 1;
        Some(&mut self.output)
    }

    fn put_output(&mut self, _: ConnectionId, output: Vec<u8>) {
        self.output = output;
    }

    fn unsent_bytes(&self, _: ConnectionId) -> usize {
        self.output.len()
    }

    fn sent_bytes(&self, _: ConnectionId) -> u64 {
        0
    }

    fn set_reading(&mut self, _: ConnectionId, _: bool) {}

    fn close(&mut self, _: ConnectionId) {}

    fn abort(&mut self, _: ConnectionId) {}

    fn connect(&mut self, _: SocketAddr, _: Option<(CoreId, u16)>) -> ConnectionId {
        crate::cluster::NOBODY
    }

    fn submit(&mut self, tag: DiskTag, request: DiskRequest) {
        match request {
            DiskRequest::ReplaceBlob { .. } => self.blobs.push(tag),
            request => self.disk.submit(tag, request),
        }
    }

    fn send(&mut self, to: CoreId, message: Message) {
        self.sent.push_back((to, message));
    }

    fn entropy(&mut self, bytes: &mut [u8]) {
        bytes.fill(7);
    }

    fn stop(&mut self) {}
}

/// A node of two cores, with two clients at the first.
struct Node {
    cores: Vec<(Core, Machine)>,
    dice: Rng,
}

impl Node {
    fn start() -> Self {
        let now = Now { monotonic_us: 1, wall_us: 1_700_000_000_000_000 };
        let config = Arc::new(NodeConfig {
            role_uses: Arc::default(),
            live: Arc::new(BatchLimits::default().into()),
            requires_login: false,
            certificates: None,
            first_superuser: None,
            checks_permissions: false,
            client_tls: None,
            audit: None,
            cluster_name: "ping".to_owned(),
            data_center: "here".to_owned(),
            rack: "rack".to_owned(),
            host_id: 1,
            listeners: [Protocol::Ping].map(Into::into).to_vec(),
            aerospike: AerospikeConfig::default(),
            cluster: None,
            board: None,
            listening: OnceLock::new(),
            started_s: 0,
            frame_body_bytes_max: 1 << 20,
            unsent_bytes_max: 1 << 20,
            requests_bytes_max: 8 << 20,
        });
        let statements = Arc::new(SharedStatements::new(1 << 20));
        let core = |core: u16| {
            let engine_config = Config { segment_bytes: 64 << 10, ..Config::new(7, core.into(), 0, 4 << 20, 4 << 20) };
            let stable = Stable::new(engine_config.stable_bytes(3));
            let engine = Engine::open(engine_config, Box::new(stable), &BTreeMap::new(), now);
            let parts = CoreParts {
                core: CoreId(core),
                cores: 2,
                config: Arc::clone(&config),
                schema: Arc::new(Schema::empty()),
                shard: Shard::new(engine.expect("an empty disk"), Durability::Memory, BTreeSet::new(), BTreeMap::new(), core.into()),
                statements: Arc::clone(&statements),
                replication: None,
                metadata: MetadataBlobs::default(),
                on_ready: None,
            };
            let machine = Machine {
                core: CoreId(core),
                now,
                slept_us: 0,
                output: Vec::new(),
                touched: 0,
                disk: Disk::new(),
                blobs: Vec::new(),
                sent: VecDeque::new(),
            };
            (Core::new(parts), machine)
        };
        let mut node = Self { cores: vec![core(0), core(1)], dice: Rng::new(1) };
        node.settle();
        let (core, machine) = &mut node.cores[0];
        for client in [CLIENT, READER] {
            core.accepted(machine, client, ListenerId(0), (Ipv4Addr::LOCALHOST, 1).into());
        }
        node
    }

    /// Lets disks and messages come to rest.
    fn settle(&mut self) {
        self.pass_ms(200);
    }

    /// Lets so much time pass, a turn of each core every millisecond.
    fn pass_ms(&mut self, ms: usize) {
        for _ in 0..ms {
            let mut sent = Vec::new();
            for (core, machine) in &mut self.cores {
                machine.now.monotonic_us += 1_000;
                machine.now.wall_us += 1_000;
                for tag in std::mem::take(&mut machine.blobs) {
                    core.completed(machine, DiskCompletion { tag, result: Ok(()), buffer: None });
                }
                while let Some(completion) = machine.disk.step(&mut self.dice) {
                    core.completed(machine, completion);
                }
                core.turn(machine);
                sent.extend(machine.sent.drain(..).map(|(to, message)| (machine.core, to, message)));
            }
            for (from, to, message) in sent {
                let (core, machine) = &mut self.cores[usize::from(to.0)];
                core.message(machine, from, message);
            }
        }
    }

    fn send(&mut self, bytes: &str) {
        self.send_from(CLIENT, bytes);
    }

    fn send_from(&mut self, client: ConnectionId, bytes: &str) {
        let (core, machine) = &mut self.cores[0];
        core.received(machine, client, bytes.as_bytes());
    }

    fn taken(&mut self) -> String {
        String::from_utf8(std::mem::take(&mut self.cores[0].1.output)).unwrap_or_default()
    }

    /// What a client has got for a line when nothing happens any more.
    fn ask(&mut self, line: &str) -> String {
        self.send(&format!("{line}\n"));
        self.settle();
        self.taken()
    }
}

#[test]
fn a_protocol_that_is_only_registered_is_served() {
    let mut node = Node::start();
    node.send("PING\nPI");
    assert_eq!(node.taken(), "PONG\n", "what needs no shard is answered while it is received");
    assert_eq!(node.ask("NG"), "PONG\n");
    assert_eq!(node.ask("SET a 1"), "ERROR what?\n", "there is no table");
    assert_eq!(node.ask("REFUSE"), "ERROR 7 never\n");
    assert_eq!(node.ask("CREATE"), "OK\n");
    // One key of each core.
    assert_eq!(node.ask("SET a 1\nSET b 2"), "OK\nOK\n");
    assert_eq!([node.ask("GET a"), node.ask("GET b"), node.ask("GET c")], ["1\n", "2\n", "NONE\n"]);
    assert_eq!(node.ask("COUNT"), "2\n");
}

#[test]
fn its_request_waits_for_the_schema_and_starts_again() {
    let mut node = Node::start();
    assert_eq!(node.ask("ENSURE a 5"), "OK\n");
    assert_eq!(node.ask("GET a"), "5\n");
}

#[test]
fn a_background_client_waits_until_the_core_has_slept_after_its_last_request() {
    let mut node = Node::start();
    assert_eq!(node.ask("ENSURE a 5"), "OK\n");
    node.send_from(READER, "BACKGROUND\n");
    assert_eq!(node.taken(), "OK\n");
    for _ in 0..20 {
        node.send_from(READER, "GET a\n");
        node.pass_ms(5);
        assert_eq!(node.taken(), "5\n", "nobody else is there");
    }
    node.send("PING\n");
    node.send_from(READER, "GET a\n");
    node.send("PING\n");
    node.pass_ms(5);
    assert_eq!(node.taken(), "PONG\nPONG\n", "others work, and the core has not slept");
    let (core, machine) = &mut node.cores[0];
    let touched = machine.touched;
    core.drained(machine, READER);
    core.turn(machine);
    assert_eq!(machine.touched, touched, "what waits is not flushed, which would have it ask again without end");
    node.cores[0].1.slept_us += 3_000;
    node.pass_ms(5);
    assert_eq!(node.taken(), "5\n");
    node.send("PING\n");
    node.send_from(READER, "GET a\n");
    node.pass_ms(40);
    assert_eq!(node.taken(), "PONG\n5\n", "a core that never sleeps serves it in the end");
}

#[test]
fn its_mark_names_it_when_a_request_travels() {
    let mut node = Node::start();
    assert_eq!(node.ask("ENSURE a 5"), "OK\n");
    let (core, machine) = &mut node.cores[1];
    let asker = Asker::Core { core: CoreId(0), id: 3 };
    core.run_forwarded_request(machine, asker, b"\xFF\x00GET a", None);
    core.run_forwarded_request(machine, asker, b"\xFF\x00PING", None);
    let mut answers = Vec::new();
    for _ in 0..3 {
        for (to, message) in std::mem::take(&mut machine.sent) {
            match message {
                Message::Forwarded { id, outcome } => answers.push((to, id, outcome.unwrap_or_default())),
                message => core.message(machine, CoreId(1), message),
            }
        }
        core.turn(machine);
    }
    answers.sort_by_key(|(.., reply)| reply.clone());
    assert_eq!(answers, [(CoreId(0), 3, b"5\n".to_vec()), (CoreId(0), 3, b"PONG\n".to_vec())]);
}
