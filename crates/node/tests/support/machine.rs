//! The machine: which core has which events when, what survives its end, and how it starts again.

use super::connection::{Connection, Flushed, Phase};
use super::disk::FakeDisk;
use super::reactor::FakeReactor;
use super::stable::FakeStable;
use base::{CoreId, Rng, TableId};
use engine::Engine;
use io::{ConnectionId, DiskCompletion, DiskTag, Handler, ListenerId, Now, Turn};
use model::{Schema, schema_blob};
use node::{Core, CoreParts, Message, NodeConfig, SCHEMA_BLOB, SharedStatements, truncations_blob};
use shard::{Durability, Shard, decode_truncations};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

/// Open and not yet durable segments, as the server has.
const MIRRORS: usize = 3;
/// The core gets no more bytes of a connection at once, as from a real one.
const RECEIVE_BYTES_MAX: usize = 64 << 10;
/// Whoever waits for something waits no longer than this.
pub(crate) const STEPS_MAX: u32 = 300_000;

/// What a node is made of.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) seed: u64,
    pub(crate) cores: u16,
    pub(crate) segment_bytes: u32,
    pub(crate) capacity_bytes: u64,
    pub(crate) memory_bytes: usize,
    pub(crate) durability: Durability,
    pub(crate) unsent_bytes_max: usize,
    pub(crate) requests_bytes_max: usize,
}

impl Setup {
    /// Small enough that a few hundred rows reach the device, leave memory and are defragmented.
    pub(crate) fn small(seed: u64) -> Self {
        Self {
            seed,
            cores: 1 + (seed % 3) as u16,
            segment_bytes: 64 << 10,
            capacity_bytes: 4 << 20,
            memory_bytes: 1 << 20,
            durability: if seed.is_multiple_of(4) { Durability::Device } else { Durability::Memory },
            unsent_bytes_max: 256 << 10,
            requests_bytes_max: 1 << 20,
        }
    }

    fn engine_config(&self, core: u16, file_bytes: u64) -> engine::Config {
        let mut config = engine::Config::new(0x7A5E, u32::from(core), file_bytes, self.capacity_bytes, self.memory_bytes);
        config.segment_bytes = self.segment_bytes;
        config
    }
}

/// How a machine ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// `kill -9`.
    Process,
    /// Nothing survives but what was synced.
    Power,
}

/// What is left of a machine.
pub(crate) struct Remains {
    disks: Vec<FakeDisk>,
    stables: Vec<FakeStable>,
    blobs: BTreeMap<String, Vec<u8>>,
    now: Now,
}

impl Remains {
    fn none(setup: &Setup) -> Self {
        let stable_bytes = setup.engine_config(0, 0).stable_bytes(MIRRORS);
        Self {
            disks: (0..setup.cores).map(|_| FakeDisk::default()).collect(),
            stables: (0..setup.cores).map(|_| FakeStable::new(stable_bytes)).collect(),
            blobs: BTreeMap::new(),
            now: Now { monotonic_us: 1, wall_us: 1_700_000_000_000_000 },
        }
    }

    /// The next start sees another time: clocks are set, forth and back.
    pub(crate) fn shift_clock(&mut self, by_us: i64) {
        self.now.wall_us += by_us;
    }

    /// Something writes over the files and the stable memory.
    pub(crate) fn damage(&mut self, dice: &mut Rng) {
        for (disk, stable) in self.disks.iter_mut().zip(&self.stables) {
            disk.damage(dice);
            stable.damage(dice);
        }
    }

    /// The device has been replaced by one that works, with the same bytes.
    pub(crate) fn repair(&mut self) {
        for disk in &mut self.disks {
            disk.set_failing(false);
        }
    }
}

/// A core with what it stands on.
struct Station {
    core: Core,
    reactor: FakeReactor,
    stable: FakeStable,
    turn: Turn,
}

/// A node's cores and everything around them.
pub(crate) struct Machine {
    stations: Vec<Station>,
    mail: BTreeMap<(u16, u16), VecDeque<Message>>,
    blob_queue: VecDeque<(u16, DiskTag, String, Vec<u8>)>,
    blobs: BTreeMap<String, Vec<u8>>,
    now: Now,
    dice: Rng,
    dead: bool,
}

impl Machine {
    /// A node with empty data that accepts clients.
    pub(crate) fn start(setup: &Setup) -> Self {
        Self::restart(setup, Remains::none(setup))
    }

    /// A node on what another left; ready once it has recovered.
    pub(crate) fn restart(setup: &Setup, remains: Remains) -> Self {
        let mut machine = Self::boot(setup, remains);
        let ready = machine.run_until(|machine| machine.stations.iter().any(|station| station.reactor.accepting));
        assert!(ready, "the node does not become ready");
        machine
    }

    /// As [`Machine::restart`], without waiting until it is ready.
    pub(crate) fn boot(setup: &Setup, remains: Remains) -> Self {
        let Remains { disks, stables, blobs, now } = remains;
        let mut dice = Rng::new(setup.seed ^ now.monotonic_us);
        let schema = Arc::new(blobs.get(SCHEMA_BLOB).map_or_else(Schema::empty, |bytes| schema_blob::decode(bytes).unwrap()));
        let statements = Arc::new(SharedStatements::new(1 << 20));
        let config = Arc::new(node_config(setup, now));
        let tables: BTreeSet<TableId> =
            schema.keyspaces.values().flat_map(|keyspace| keyspace.tables.values()).map(|table| table.id).collect();
        let stations = disks.into_iter().zip(stables).enumerate().map(|(core, (disk, stable))| {
            let stable = stable.reopened();
            let core = CoreId(core as u16);
            let truncations = blobs.get(&truncations_blob(core)).map_or_else(BTreeMap::new, |blob| decode_truncations(blob).unwrap());
            let marks = tables.iter().map(|table| (*table, truncations.get(table).copied().unwrap_or_default())).collect();
            let engine = Engine::open(setup.engine_config(core.0, disk.len()), Box::new(stable.clone()), &marks, now).unwrap();
            let nonce = (dice.next_u64() >> 16) | (u64::from(core.0) << 48);
            let parts = CoreParts {
                core,
                cores: setup.cores,
                config: Arc::clone(&config),
                schema: Arc::clone(&schema),
                shard: Shard::new(engine, setup.durability, tables.clone(), truncations, nonce),
                statements: Arc::clone(&statements),
                on_ready: None,
            };
            let reactor = FakeReactor {
                core,
                cores: setup.cores,
                now,
                connections: Vec::new(),
                disk,
                outbox: Vec::new(),
                blobs: Vec::new(),
                dice: Rng::new(dice.next_u64()),
                accepting: false,
                stopped: false,
            };
            Station { core: Core::new(parts), reactor, stable, turn: Turn::Again }
        });
        let stations = stations.collect();
        Self { stations, mail: BTreeMap::new(), blob_queue: VecDeque::new(), blobs, now, dice, dead: false }
    }

    /// Ends the machine in the middle of whatever it does.
    pub(crate) fn end(mut self, loss: Loss) -> Remains {
        let arrived = self.dice.below(self.blob_queue.len() as u64 + 1) as usize;
        for (_, _, name, bytes) in self.blob_queue.drain(..arrived) {
            self.blobs.insert(name, bytes);
        }
        let (mut disks, mut stables) = (Vec::new(), Vec::new());
        for station in self.stations {
            let (mut disk, stable) = (station.reactor.disk, station.stable);
            disk.lose_process(&mut self.dice);
            if loss == Loss::Power {
                disk.lose_power(&mut self.dice);
                stable.lose_power(&mut self.dice);
            }
            disks.push(disk);
            stables.push(stable);
        }
        let now = Now { monotonic_us: self.now.monotonic_us + 1_000, wall_us: self.now.wall_us + 1_000 };
        Remains { disks, stables, blobs: self.blobs, now }
    }

    /// Asks the node to end, as SIGTERM does, and waits until it has.
    pub(crate) fn drain(&mut self) {
        for core in 0..self.stations.len() {
            self.call(core, |core, reactor| core.stopping(reactor));
        }
        let ended = self.run_until(|machine| machine.stations.iter().any(|station| station.reactor.stopped));
        assert!(ended, "the node does not end");
    }

    /// The process dies within a write to the stable memory of `core`, so many bytes from now.
    pub(crate) fn light_fuse(&mut self, core: u16, bytes: usize) {
        self.stations[usize::from(core)].stable.light_fuse(bytes);
    }

    /// The device of a core fails: it reads, and nothing else.
    pub(crate) fn fail_device(&mut self, core: u16) {
        self.stations[usize::from(core)].reactor.disk.set_failing(true);
    }

    /// Whether the process is dead: nothing happens any more.
    pub(crate) fn is_dead(&self) -> bool {
        self.dead
    }

    /// The machine's die, for whoever needs chance that belongs to the seed.
    pub(crate) fn dice(&mut self) -> &mut Rng {
        &mut self.dice
    }

    pub(crate) fn cores(&self) -> u16 {
        self.stations.len() as u16
    }

    /// Lets time pass.
    pub(crate) fn sleep(&mut self, us: u64) {
        let until = self.now.monotonic_us + us;
        while self.now.monotonic_us < until && !self.dead {
            self.step();
        }
    }

    /// A client connects to a core.
    pub(crate) fn accept(&mut self, core: u16) -> (u16, ConnectionId) {
        let reactor = &mut self.stations[usize::from(core)].reactor;
        let gone = reactor.connections.iter().position(|connection| connection.phase == Phase::Gone);
        let index = gone.unwrap_or(reactor.connections.len());
        let generation = gone.map_or(0, |index| reactor.connections[index].id.generation + 1);
        let id = ConnectionId { index: index as u32, generation };
        match gone {
            Some(index) => reactor.connections[index] = Connection::new(id),
            None => reactor.connections.push(Connection::new(id)),
        }
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 40_000));
        self.call(usize::from(core), |core, reactor| core.accepted(reactor, id, ListenerId(0), peer));
        (core, id)
    }

    /// The connection, unless another one has its place.
    pub(crate) fn connection(&mut self, (core, id): (u16, ConnectionId)) -> Option<&mut Connection> {
        self.stations[usize::from(core)].reactor.get_mut(id)
    }

    /// The client goes away without a word.
    pub(crate) fn hang_up(&mut self, (core, id): (u16, ConnectionId)) {
        let reactor = &mut self.stations[usize::from(core)].reactor;
        if let Some(connection) = reactor.get_mut(id)
            && connection.phase != Phase::Gone
        {
            connection.hung_up = true;
            connection.phase = Phase::Closing;
            connection.to_core.clear();
        }
    }

    /// Takes steps until `holds`; false if it never does.
    pub(crate) fn run_until(&mut self, mut holds: impl FnMut(&mut Self) -> bool) -> bool {
        (0..STEPS_MAX).any(|_| {
            self.step();
            holds(self)
        })
    }

    /// One core has a batch of events and its turn.
    pub(crate) fn step(&mut self) {
        if self.dead {
            return;
        }
        self.pass_time();
        let core = self.dice.below(self.stations.len() as u64) as usize;
        self.stations[core].reactor.now = self.now;
        self.deliver_completions(core);
        self.deliver_mail(core);
        self.deliver_bytes(core);
        let turn = self.call(core, |core, reactor| core.turn(reactor));
        self.stations[core].turn = turn.unwrap_or(Turn::Idle);
        self.flush(core);
    }

    /// Time passes in small bites, and to the next deadline when nothing else is left.
    fn pass_time(&mut self) {
        let mut passed = self.dice.below(60);
        if self.is_quiet() {
            let next = self.stations.iter().filter_map(|station| if let Turn::At(at_us) = station.turn { Some(at_us) } else { None }).min();
            passed = next.map_or(10_000, |at_us| at_us.saturating_sub(self.now.monotonic_us)) + 1;
        }
        self.now.monotonic_us += passed;
        self.now.wall_us += passed as i64;
    }

    fn is_quiet(&self) -> bool {
        self.mail.values().all(VecDeque::is_empty)
            && self.blob_queue.is_empty()
            && self.stations.iter().all(|station| {
                station.turn != Turn::Again
                    && station.reactor.disk.is_idle()
                    && station.reactor.connections.iter().all(|connection| {
                        connection.phase == Phase::Gone
                            || (connection.phase == Phase::Open && (connection.to_core.is_empty() || !connection.reading))
                    })
            })
    }

    fn deliver_completions(&mut self, core: usize) {
        for _ in 0..self.dice.below(5) {
            let Some(completion) = self.stations[core].reactor.disk.complete_one(&mut self.dice) else { break };
            self.call(core, |core, reactor| core.completed(reactor, completion));
        }
        // Blobs are written one after another, whoever asked.
        while self.blob_queue.front().is_some_and(|(asker, ..)| usize::from(*asker) == core) && self.dice.below(3) == 0 {
            let Some((_, tag, name, bytes)) = self.blob_queue.pop_front() else { break };
            self.blobs.insert(name, bytes);
            self.call(core, |core, reactor| core.completed(reactor, DiskCompletion { tag, result: Ok(()), buffer: None }));
        }
    }

    fn deliver_mail(&mut self, core: usize) {
        for from in 0..self.stations.len() as u16 {
            let waiting = self.mail.get(&(from, core as u16)).map_or(0, VecDeque::len) as u64;
            for _ in 0..self.dice.below(waiting + 1) {
                let Some(message) = self.mail.get_mut(&(from, core as u16)).and_then(VecDeque::pop_front) else { break };
                self.call(core, |core, reactor| core.message(reactor, CoreId(from), message));
            }
        }
    }

    fn deliver_bytes(&mut self, core: usize) {
        for index in 0..self.stations[core].reactor.connections.len() {
            let most = match self.dice.below(4) {
                0 => continue,
                1 => 1 + self.dice.below(40) as usize,
                _ => RECEIVE_BYTES_MAX,
            };
            let connection = &mut self.stations[core].reactor.connections[index];
            if connection.phase != Phase::Open || !connection.reading || connection.to_core.is_empty() {
                continue;
            }
            let id = connection.id;
            let length = most.min(connection.to_core.len());
            let bytes: Vec<u8> = connection.to_core.drain(..length).collect();
            self.call(core, |core, reactor| core.received(reactor, id, &bytes));
        }
    }

    /// Calls a core's handler and takes along what it sent. `None`, and nothing of it, when the process died within.
    fn call<T>(&mut self, core: usize, act: impl FnOnce(&mut Core, &mut FakeReactor) -> T) -> Option<T> {
        if self.dead {
            return None;
        }
        let station = &mut self.stations[core];
        let result = act(&mut station.core, &mut station.reactor);
        if station.stable.has_blown() {
            self.dead = true;
            return None;
        }
        for (to, message) in station.reactor.outbox.drain(..) {
            self.mail.entry((core as u16, to.0)).or_default().push_back(message);
        }
        for (tag, name, bytes) in station.reactor.blobs.drain(..) {
            self.blob_queue.push_back((core as u16, tag, name, bytes));
        }
        Some(result)
    }

    fn flush(&mut self, core: usize) {
        for index in 0..self.stations[core].reactor.connections.len() {
            if self.dead {
                return;
            }
            let connection = &mut self.stations[core].reactor.connections[index];
            let id = connection.id;
            match connection.flush() {
                Flushed::Nothing => {}
                Flushed::Drained => drop(self.call(core, |core, reactor| core.drained(reactor, id))),
                Flushed::Gone => drop(self.call(core, |core, reactor| core.closed(reactor, id))),
            }
        }
    }
}

fn node_config(setup: &Setup, now: Now) -> NodeConfig {
    NodeConfig {
        cluster_name: "machine".to_owned(),
        data_center: "datacenter1".to_owned(),
        rack: "rack1".to_owned(),
        host_id: 1,
        listening: OnceLock::new(),
        started_s: now.wall_s() as u32,
        frame_body_bytes_max: 1 << 20,
        unsent_bytes_max: setup.unsent_bytes_max,
        requests_bytes_max: setup.requests_bytes_max,
    }
}
