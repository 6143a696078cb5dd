//! The machine: which core has which events when, what survives its end, and how it starts again.

use crate::connection::{Connection, Flushed, Phase};
use crate::planted::Planted;
use crate::reactor::SimReactor;
use crate::remains::{Loss, Remains};
use crate::setup::Setup;
use crate::trace::Trace;
use base::{CoreId, Rng, TableId, checksum};
use engine::Engine;
use io::{ConnectionId, DiskCompletion, DiskError, DiskTag, Handler, ListenerId, Now, Turn};
use model::{Schema, schema_blob};
use node::{Core, CoreParts, Message, SCHEMA_BLOB, SharedStatements, truncations_blob};
use shard::{Shard, decode_truncations};
use sim_disk::{Disk, Fault, Faults, Stable};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// The core gets no more bytes of a connection at once, as from a real one.
const RECEIVE_BYTES_MAX: usize = 64 << 10;
/// Whoever waits for something waits no longer than this.
pub(crate) const STEPS_MAX: u32 = 300_000;

/// A core with what it stands on.
struct Station {
    core: Core,
    reactor: SimReactor,
    stable: Stable,
    turn: Turn,
}

/// A node's cores and everything around them.
pub struct Machine {
    stations: Vec<Station>,
    mail: BTreeMap<(u16, u16), VecDeque<Message>>,
    blob_queue: VecDeque<(u16, DiskTag, String, Vec<u8>)>,
    blobs: BTreeMap<String, Vec<u8>>,
    now: Now,
    dice: Rng,
    dead: bool,
    bite_us: u64,
    /// In so many of a hundred, a blob cannot be stored.
    blob_failures: u64,
    planted: Option<Planted>,
    trace: Trace,
}

impl Machine {
    /// A node with empty data that accepts clients.
    pub fn start(setup: &Setup) -> Self {
        Self::restart(setup, Remains::none(setup))
    }

    /// A node on what another left; ready once it has recovered.
    pub fn restart(setup: &Setup, remains: Remains) -> Self {
        let mut machine = Self::boot(setup, remains);
        let ready = machine.run_until(|machine| machine.stations.iter().any(|station| station.reactor.accepting));
        assert!(ready, "the node does not become ready");
        machine
    }

    /// As [`Machine::restart`], without waiting until it is ready.
    pub fn boot(setup: &Setup, remains: Remains) -> Self {
        let Remains { disks, stables, blobs, now, mut trace } = remains;
        trace.add("start", &[now.monotonic_us, now.wall_us as u64]);
        let mut dice = Rng::new(setup.seed ^ now.monotonic_us);
        let schema = Arc::new(blobs.get(SCHEMA_BLOB).map_or_else(Schema::empty, |bytes| schema_blob::decode(bytes).unwrap()));
        let statements = Arc::new(SharedStatements::new(1 << 20));
        let config = Arc::new(setup.node_config(now));
        let tables: BTreeSet<TableId> =
            schema.keyspaces.values().flat_map(|keyspace| keyspace.tables.values()).map(|table| table.id).collect();
        let stations = disks.into_iter().zip(stables).enumerate().map(|(core, (mut disk, stable))| {
            if setup.planted == Some(Planted::SkippedFlush) {
                disk.faults = Faults::none().with(Fault::LyingSync, Faults::ALWAYS);
            }
            stable.reopen();
            let core = CoreId(core as u16);
            let truncations = blobs.get(&truncations_blob(core)).map_or_else(BTreeMap::new, |blob| decode_truncations(blob).unwrap());
            let stored = shard::stored_tables(tables.iter().copied());
            let marks = stored.iter().map(|table| (*table, truncations.get(table).copied().unwrap_or_default())).collect();
            let engine =
                Engine::open(setup.engine_config(core.0, disk.len()), Planted::stable(setup.planted, stable.clone()), &marks, now).unwrap();
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
            let reactor = SimReactor {
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
        Self {
            stations,
            mail: BTreeMap::new(),
            blob_queue: VecDeque::new(),
            blobs,
            now,
            dice,
            dead: false,
            bite_us: setup.bite_us,
            blob_failures: 0,
            planted: setup.planted,
            trace,
        }
    }

    /// Ends the machine in the middle of whatever it does.
    pub fn end(mut self, loss: Loss) -> Remains {
        self.trace.add("end", &[loss as u64, self.now.monotonic_us]);
        let arrived = self.dice.below(self.blob_queue.len() as u64 + 1) as usize;
        for (_, _, name, bytes) in self.blob_queue.drain(..arrived).collect::<Vec<_>>() {
            self.store_blob(name, bytes);
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
        for disk in &disks {
            self.trace.add("left", &[disk.len(), u64::from(checksum(disk.bytes())), disk.events().len() as u64]);
        }
        Remains { disks, stables, blobs: self.blobs, now, trace: self.trace }
    }

    /// Asks the node to end, as SIGTERM does, and waits until it has.
    pub fn drain(&mut self) {
        for core in 0..self.stations.len() {
            self.call(core, |core, reactor| core.stopping(reactor));
        }
        let ended = self.run_until(|machine| machine.stations.iter().any(|station| station.reactor.stopped));
        assert!(ended, "the node does not end");
    }

    /// The process dies within a write to the stable memory of `core`, so many bytes from now.
    pub fn light_fuse(&mut self, core: u16, bytes: usize) {
        self.stations[usize::from(core)].stable.light_fuse(bytes);
    }

    /// The disk of a core, to make it fail.
    pub fn disk(&mut self, core: u16) -> &mut Disk {
        &mut self.stations[usize::from(core)].reactor.disk
    }

    /// All disks, by core.
    pub fn disks(&self) -> impl Iterator<Item = &Disk> {
        self.stations.iter().map(|station| &station.reactor.disk)
    }

    /// From now on so many of a hundred blobs cannot be stored: the file system is full.
    pub fn fail_blobs(&mut self, of_hundred: u64) {
        self.blob_failures = of_hundred;
    }

    /// The engine of a core, to look at.
    #[must_use]
    pub fn engine(&self, core: u16) -> &Engine {
        self.stations[usize::from(core)].core.shard().engine()
    }

    /// For messages: how each core's engine is doing.
    #[must_use]
    pub fn describe(&self) -> String {
        let describe = |station: &Station| {
            let engine = station.core.shard().engine();
            let (writable, full, poisoned) = (engine.writable(), engine.is_full(), engine.poisoned());
            format!(
                "writable {writable}, full {full}, poisoned {poisoned:?}, disk idle {}, {:?}",
                station.reactor.disk.next_us(0).is_none(),
                engine.stats()
            )
        };
        self.stations.iter().map(describe).collect::<Vec<_>>().join("; ")
    }

    /// What happened so far.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Now {
        self.now
    }

    /// Whether the process is dead: nothing happens any more.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.dead
    }

    /// The machine's die, for whoever needs chance that belongs to the seed.
    pub fn dice(&mut self) -> &mut Rng {
        &mut self.dice
    }

    /// How many cores.
    #[must_use]
    pub fn cores(&self) -> u16 {
        self.stations.len() as u16
    }

    /// Lets time pass.
    pub fn sleep(&mut self, us: u64) {
        let until = self.now.monotonic_us + us;
        while self.now.monotonic_us < until && !self.dead {
            self.step();
        }
    }

    /// A client of CQL connects to a core.
    pub fn accept(&mut self, core: u16) -> (u16, ConnectionId) {
        self.accept_on(core, ListenerId(0))
    }

    /// A client connects to a core, on one of the listeners that [`Setup`] makes: CQL, CQL's shard-aware one, Aerospike.
    pub fn accept_on(&mut self, core: u16, listener: ListenerId) -> (u16, ConnectionId) {
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
        self.call(usize::from(core), |core, reactor| core.accepted(reactor, id, listener, peer));
        (core, id)
    }

    /// The connection, unless another one has its place.
    pub fn connection(&mut self, (core, id): (u16, ConnectionId)) -> Option<&mut Connection> {
        self.stations[usize::from(core)].reactor.get_mut(id)
    }

    /// The client goes away without a word.
    pub fn hang_up(&mut self, (core, id): (u16, ConnectionId)) {
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
    pub fn run_until(&mut self, mut holds: impl FnMut(&mut Self) -> bool) -> bool {
        (0..STEPS_MAX).any(|_| {
            self.step();
            holds(self)
        })
    }

    /// One core has a batch of events and its turn.
    pub fn step(&mut self) {
        if self.dead {
            return;
        }
        self.pass_time();
        let core = self.dice.below(self.stations.len() as u64) as usize;
        self.stations[core].reactor.now = self.now;
        self.trace.add("step", &[core as u64, self.now.monotonic_us]);
        self.deliver_completions(core);
        self.deliver_mail(core);
        self.deliver_bytes(core);
        let turn = self.call(core, |core, reactor| core.turn(reactor));
        self.stations[core].turn = turn.unwrap_or(Turn::Idle);
        self.flush(core);
    }

    /// Time passes in small bites, and to the next deadline when nothing else is left.
    fn pass_time(&mut self) {
        let mut passed = self.dice.below(self.bite_us);
        if let Some(next_us) = self.quiet_until() {
            passed = next_us.saturating_sub(self.now.monotonic_us) + 1;
        }
        self.now.monotonic_us += passed;
        self.now.wall_us += passed as i64;
    }

    /// When something happens next by itself, if nothing is to be done now.
    fn quiet_until(&self) -> Option<u64> {
        let now_us = self.now.monotonic_us;
        if !self.mail.values().all(VecDeque::is_empty) || !self.blob_queue.is_empty() {
            return None;
        }
        let mut next_us = None;
        for station in &self.stations {
            let waits = |connection: &Connection| {
                connection.phase == Phase::Gone
                    || (connection.phase == Phase::Open && (connection.to_core.is_empty() || !connection.reading))
            };
            if station.turn == Turn::Again || !station.reactor.connections.iter().all(waits) {
                return None;
            }
            let turn_us = if let Turn::At(at_us) = station.turn { Some(at_us) } else { None };
            for at_us in turn_us.into_iter().chain(station.reactor.disk.next_us(now_us)) {
                next_us = Some(next_us.map_or(at_us, |next: u64| next.min(at_us)));
            }
        }
        let next_us = next_us.unwrap_or(now_us + 10_000);
        (next_us > now_us).then_some(next_us)
    }

    fn deliver_completions(&mut self, core: usize) {
        for _ in 0..self.dice.below(5) {
            let Some(completion) = self.stations[core].reactor.disk.step_at(self.now.monotonic_us, &mut self.dice) else { break };
            let digest = completion.buffer.as_ref().map_or(0, |buffer| checksum(buffer));
            self.trace.add("disk", &[core as u64, completion.tag.0, u64::from(completion.result.is_ok()), u64::from(digest)]);
            self.call(core, |core, reactor| core.completed(reactor, completion));
        }
        // Blobs are written one after another, whoever asked.
        while self.blob_queue.front().is_some_and(|(asker, ..)| usize::from(*asker) == core) && self.dice.below(3) == 0 {
            let Some((_, tag, name, bytes)) = self.blob_queue.pop_front() else { break };
            let fails = self.blob_failures > 0 && self.dice.below(100) < self.blob_failures;
            self.trace.add("blob", &[core as u64, u64::from(checksum(&bytes)), u64::from(fails)]);
            if !fails {
                self.store_blob(name, bytes);
            }
            let result = if fails { Err(DiskError::Full) } else { Ok(()) };
            self.call(core, |core, reactor| core.completed(reactor, DiskCompletion { tag, result, buffer: None }));
        }
    }

    fn store_blob(&mut self, name: String, bytes: Vec<u8>) {
        if self.planted != Some(Planted::ForgottenTruncations) || name == SCHEMA_BLOB {
            self.blobs.insert(name, bytes);
        }
    }

    fn deliver_mail(&mut self, core: usize) {
        for from in 0..self.stations.len() as u16 {
            let waiting = self.mail.get(&(from, core as u16)).map_or(0, VecDeque::len) as u64;
            for _ in 0..self.dice.below(waiting + 1) {
                let Some(message) = self.mail.get_mut(&(from, core as u16)).and_then(VecDeque::pop_front) else { break };
                self.trace.add("mail", &[u64::from(from), core as u64]);
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
            self.trace.add("received", &[core as u64, index as u64, u64::from(checksum(&bytes))]);
            self.call(core, |core, reactor| core.received(reactor, id, &bytes));
        }
    }

    /// Calls a core's handler and takes along what it sent. `None`, and nothing of it, when the process died within.
    fn call<T>(&mut self, core: usize, act: impl FnOnce(&mut Core, &mut SimReactor) -> T) -> Option<T> {
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
            if !connection.output.is_empty() {
                self.trace.add("reply", &[core as u64, index as u64, u64::from(checksum(&connection.output))]);
            }
            match connection.flush() {
                Flushed::Nothing => {}
                Flushed::Drained => drop(self.call(core, |core, reactor| core.drained(reactor, id))),
                Flushed::Gone => drop(self.call(core, |core, reactor| core.closed(reactor, id))),
            }
        }
    }
}
