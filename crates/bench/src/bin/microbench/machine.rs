//! A node of one core over the fake reactor, and its clients' side.

use crate::failure::Failure;
use crate::options::Options;
use crate::reactor::FakeReactor;
use crate::stable::PlainMemory;
use base::CoreId;
use cql::exec::BatchLimits;
use cql::roles::with_first_superuser;
use cql::wire::ProtocolVersion;
use engine::{Engine, LogKey};
use io::{ConnectionId, Handler, ListenerId, Now};
use load::cql::client::{Client, Credentials, PreparedStatement};
use load::transport::Transport;
use model::Schema;
use node::{AerospikeConfig, Core, CoreParts, MetadataBlobs, NodeConfig, Protocol, SharedStatements};
use shard::{Durability, Shard};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Of clients that have to log in, and its password.
pub(crate) const ROLE: &str = "microbench";
/// Open and not yet durable segments, as the server has.
const MIRRORS: usize = 3;
/// The core gets no more turns than this to answer what waits.
const TURNS_MAX: u32 = 100_000;
/// Turns without output after which none is to come.
const QUIET_TURNS: u32 = 64;

/// A core and all that it needs.
pub(crate) struct Machine {
    core: Core,
    pub(crate) reactor: FakeReactor,
    /// Time spent in the disk, which a real core does not spend.
    pub(crate) disk_time: Duration,
}

/// Of the password `cassandra`.
const BOSS_HASH: &str = "$2b$10$TEDwZiPAH1KeXETkWVTqb.ChLV738ekqWq4LAZKqz63Mku3r2aMRm";

impl Machine {
    /// A node with empty data, and connections to it.
    pub(crate) fn start(options: &Options, capacity_bytes: u64, memory_bytes: usize) -> Result<Self, Failure> {
        let &Options { connections, login, encrypted, .. } = options;
        let log_key = encrypted.then(|| LogKey::new([1; 32]));
        let config = engine::Config { log_key, ..engine::Config::new(0x7A5E, 0, 0, capacity_bytes, memory_bytes) };
        let stable = PlainMemory(vec![0; config.stable_bytes(MIRRORS)].into_boxed_slice());
        let reactor = FakeReactor::new(connections);
        let engine = Engine::open(config, Box::new(stable), &BTreeMap::new(), io::Reactor::now(&reactor))?;
        let shard = Shard::new(engine, Durability::Memory, BTreeSet::new(), BTreeMap::new(), 1);
        let schema = Schema::empty();
        let schema = if login { with_first_superuser(&schema, BOSS_HASH).unwrap_or(schema) } else { schema };
        let core = Core::new(CoreParts {
            core: CoreId(0),
            cores: 1,
            config: Arc::new(node_config(io::Reactor::now(&reactor), login)),
            schema: Arc::new(schema),
            shard,
            statements: Arc::new(SharedStatements::new(8 << 20)),
            replication: None,
            metadata: MetadataBlobs::default(),
            on_ready: None,
        });
        let mut machine = Self { core, reactor, disk_time: Duration::ZERO };
        while !machine.reactor.accepting {
            machine.turn();
        }
        for index in 0..connections {
            machine.connect(index);
        }
        Ok(machine)
    }

    fn connect(&mut self, index: u16) {
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        self.core.accepted(&mut self.reactor, connection(index), ListenerId(0), peer);
    }

    /// Delivers to each connection its input, and gives the core its turn: the part that is measured.
    #[inline]
    pub(crate) fn serve(&mut self, inputs: &[Vec<u8>]) {
        self.reactor.read_clocks();
        for (index, input) in inputs.iter().enumerate() {
            self.core.received(&mut self.reactor, connection(index as u16), input);
        }
        self.core.turn(&mut self.reactor);
    }

    /// [`Machine::serve`] under a name of its own, for callgrind.
    #[inline(never)]
    pub(crate) fn serve_measured(&mut self, inputs: &[Vec<u8>]) {
        self.serve(inputs);
        // Without this the call above could become a jump, and the profiler would not see the end.
        std::hint::black_box(&mut self.reactor);
    }

    /// Lets the disk do what the core has asked for.
    #[inline]
    pub(crate) fn serve_disk(&mut self) {
        if !self.reactor.disk.is_idle() {
            self.perform();
        }
    }

    #[cold]
    fn perform(&mut self) {
        let started = Instant::now();
        let completions = self.reactor.disk.perform();
        self.disk_time += started.elapsed();
        for completion in completions {
            self.core.completed(&mut self.reactor, completion);
        }
    }

    /// A batch of events without input.
    pub(crate) fn turn(&mut self) {
        self.reactor.read_clocks();
        while let Some(message) = self.reactor.messages.pop_front() {
            self.core.message(&mut self.reactor, CoreId(0), message);
        }
        self.serve_disk();
        self.core.turn(&mut self.reactor);
    }

    /// Gives turns until every connection has `wanted` bytes of output; false if it never has.
    #[cold]
    pub(crate) fn wait_for_output(&mut self, wanted: usize) -> bool {
        (0..TURNS_MAX).any(|_| {
            self.turn();
            self.reactor.outputs.iter().all(|output| output.len() >= wanted)
        })
    }

    /// Gives turns until no connection has got more output for a while.
    #[cold]
    pub(crate) fn wait_until_quiet(&mut self) {
        let got = |machine: &Self| machine.reactor.outputs.iter().map(Vec::len).sum::<usize>();
        let (mut before, mut after) = (usize::MAX, got(self));
        while before != after {
            (0..QUIET_TURNS).for_each(|_| self.turn());
            (before, after) = (after, got(self));
        }
    }

    /// Opens the protocol on every connection, makes a table on the first and prepares two statements.
    pub(crate) fn set_up(
        &mut self,
        version: ProtocolVersion,
        schema: &[String],
        select: &str,
        insert: &str,
    ) -> Result<(PreparedStatement, PreparedStatement), Failure> {
        let boss = Credentials { user: "cassandra", password: "cassandra" };
        let mut first = Client::start_as(Wire { machine: self, index: 0 }, version, Some(boss))?;
        for statement in schema {
            first.query(statement)?;
        }
        // Who has made the table may do everything: the one that is measured is another client.
        self.core.closed(&mut self.reactor, connection(0));
        self.connect(0);
        let role = Credentials { user: ROLE, password: ROLE };
        for index in 1..self.reactor.outputs.len() {
            Client::start_as(Wire { machine: self, index: index as u16 }, version, Some(role))?;
        }
        let mut first = Client::start_as(Wire { machine: self, index: 0 }, version, Some(role))?;
        Ok((first.prepare(select)?, first.prepare(insert)?))
    }
}

fn connection(index: u16) -> ConnectionId {
    ConnectionId { index: u32::from(index), generation: 0 }
}

fn node_config(now: Now, login: bool) -> NodeConfig {
    NodeConfig {
        role_uses: Arc::default(),
        live: Arc::new(BatchLimits::default().into()),
        requires_login: login,
        certificates: None,
        first_superuser: None,
        checks_permissions: login,
        client_tls: None,
        audit: None,
        cluster_name: "microbench".to_owned(),
        data_center: "datacenter1".to_owned(),
        rack: "rack1".to_owned(),
        host_id: 1,
        listeners: [Protocol::Cql, Protocol::Cql, Protocol::Aerospike].map(Into::into).to_vec(),
        aerospike: AerospikeConfig::new(1, vec!["test".to_owned()], 2),
        cluster: None,
        board: None,
        listening: OnceLock::new(),
        started_s: now.wall_s() as u32,
        frame_body_bytes_max: 16 << 20,
        unsent_bytes_max: 64 << 20,
        requests_bytes_max: 256 << 20,
    }
}

/// One connection, as a client that waits for each reply has it.
struct Wire<'m> {
    machine: &'m mut Machine,
    index: u16,
}

impl Transport for Wire<'_> {
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.machine.core.received(&mut self.machine.reactor, connection(self.index), bytes);
        Ok(())
    }

    fn receive(&mut self, bytes: &mut Vec<u8>) -> std::io::Result<()> {
        for _ in 0..TURNS_MAX {
            let output = &mut self.machine.reactor.outputs[usize::from(self.index)];
            if !output.is_empty() {
                bytes.append(output);
                return Ok(());
            }
            self.machine.turn();
        }
        Err(std::io::ErrorKind::TimedOut.into())
    }
}
