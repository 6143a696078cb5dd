//! The machine: cores on disks, stable memory and blobs, what survives its end, and how it starts again.
//!
//! It runs [`SimCore`]s, or any other handler that tests give it. By itself it has a clock of its own and no network: clients are moved
//! by whoever holds it. A [`crate::Network`] moves several of them, and says what time it is.

mod boot;
mod timed;
mod turns;

use crate::blobs::Blobs;
use crate::connection::{Connection, Phase};
use crate::durable_state::{DurableState, Loss};
use crate::planted::Planted;
use crate::reactor::{KernelRequest, SimReactor};
use crate::sim_core::SimCore;
use crate::trace::Trace;
use base::{Rng, checksum};
use io::{ConnectionId, DiskTag, Handler, ListenerId, Now, Turn};
use node::{Board, Message, SCHEMA_BLOB};
use sim_disk::{Disk, Stable};
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

pub use boot::CoreEnv;
pub(crate) use timed::TimedTurn;
pub(crate) use turns::Rest;

/// Whoever waits for something waits no longer than this.
pub(crate) const STEPS_MAX: u32 = 300_000;

/// A core with what it stands on.
struct Station<H> {
    core: H,
    reactor: SimReactor,
    stable: Stable,
    turn: Turn,
}

/// A connection that the kernel has made and a core has not been told of.
pub(crate) struct Arrival {
    pub(crate) core: u16,
    pub(crate) listener: ListenerId,
    pub(crate) peer: SocketAddr,
    /// The network's name for it.
    pub(crate) link: u64,
}

/// A node's cores and everything around them.
pub struct Machine<H = SimCore> {
    stations: Vec<Station<H>>,
    mail: BTreeMap<(u16, u16), VecDeque<Message>>,
    blob_queue: VecDeque<(u16, DiskTag, String, Vec<u8>)>,
    blobs: Blobs,
    boot: u64,
    now: Now,
    rng: Rng,
    dead: bool,
    step_us: u64,
    /// In so many of a hundred, a blob cannot be stored.
    blob_failures: u64,
    planted: Option<Planted>,
    trace: Trace,
    arrivals: VecDeque<Arrival>,
    accepted: Vec<(u64, u16, ConnectionId)>,
    board: Option<Arc<Board>>,
}

impl<H: Handler<SimReactor>> Machine<H> {
    /// Ends the machine in the middle of whatever it does.
    pub fn end(mut self, loss: Loss) -> DurableState {
        self.trace.add("end", &[loss as u64, self.now.monotonic_us]);
        let arrived = self.rng.below(self.blob_queue.len() as u64 + 1) as usize;
        for (_, _, name, bytes) in self.blob_queue.drain(..arrived).collect::<Vec<_>>() {
            self.store_blob(name, bytes);
        }
        let (mut disks, mut stables) = (Vec::new(), Vec::new());
        for station in self.stations {
            let (mut disk, stable) = (station.reactor.disk, station.stable);
            disk.lose_process(&mut self.rng);
            if loss == Loss::Power {
                disk.lose_power(&mut self.rng);
                stable.lose_power(&mut self.rng);
            }
            disks.push(disk);
            stables.push(stable);
        }
        let now = Now { monotonic_us: self.now.monotonic_us + 1_000, wall_us: self.now.wall_us + 1_000 };
        for disk in &disks {
            self.trace.add("left", &[disk.len(), u64::from(checksum(disk.bytes())), disk.events().len() as u64]);
        }
        let boot = self.boot + u64::from(loss == Loss::Power);
        DurableState { disks, stables, blobs: self.blobs, boot, now, trace: self.trace }
    }

    /// Asks the node to end, as SIGTERM does, and waits until it has.
    pub fn drain(&mut self) {
        self.request_shutdown();
        let ended = self.run_until(Self::has_shut_down);
        assert!(ended, "the node does not end");
    }

    /// Asks the node to end, as SIGTERM does.
    pub fn request_shutdown(&mut self) {
        for core in 0..self.stations.len() {
            self.call(core, |core, reactor| core.stopping(reactor));
        }
    }

    /// Whether the node has ended by itself.
    pub fn has_shut_down(&mut self) -> bool {
        self.stations.iter().any(|station| station.reactor.stopped)
    }

    /// Whether the node lets clients in.
    #[must_use]
    pub fn is_accepting(&self) -> bool {
        self.stations.iter().any(|station| station.reactor.accepting)
    }

    /// The process dies within a write to the stable memory of `core`, so many bytes from now.
    pub fn crash_in_write(&mut self, core: u16, bytes: usize) {
        self.stations[usize::from(core)].stable.crash_in_write(bytes);
    }

    /// The process does not die after all.
    pub fn cancel_crash(&mut self, core: u16) {
        if !self.dead {
            self.stations[usize::from(core)].stable.reopen();
        }
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
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
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

    /// A client connects to a core, on one of the listeners that [`crate::Setup`] makes: CQL, CQL's shard-aware one, Aerospike.
    pub fn accept_on(&mut self, core: u16, listener: ListenerId) -> (u16, ConnectionId) {
        self.accept_from(core, listener, SocketAddr::from((Ipv4Addr::LOCALHOST, 40_000)))
    }

    fn accept_from(&mut self, core: u16, listener: ListenerId, peer: SocketAddr) -> (u16, ConnectionId) {
        let reactor = &mut self.stations[usize::from(core)].reactor;
        let gone = reactor.connections.iter().position(|connection| connection.phase == Phase::Gone);
        let id = reactor.open(gone, Phase::Open);
        self.call(usize::from(core), |core, reactor| core.accepted(reactor, id, listener, peer));
        (core, id)
    }

    /// The connection, unless another one has its place.
    pub fn connection(&mut self, (core, id): (u16, ConnectionId)) -> Option<&mut Connection> {
        self.stations[usize::from(core)].reactor.get_mut(id)
    }

    /// The kernel has made a connection; its core is told in its next turn.
    pub(crate) fn arrive(&mut self, arrival: Arrival) {
        self.arrivals.push_back(arrival);
    }

    /// What became of those that arrived: the network's name, the core, the connection there.
    pub(crate) fn take_accepted(&mut self) -> Vec<(u64, u16, ConnectionId)> {
        std::mem::take(&mut self.accepted)
    }

    /// Connections that cores have requested, each with its core.
    pub(crate) fn take_kernel_requests(&mut self) -> Vec<(u16, KernelRequest)> {
        let cores = self.stations.iter_mut().enumerate();
        cores
            .flat_map(|(core, station)| {
                station.reactor.kernel_requests.drain(..).map(move |kernel_requests| (core as u16, kernel_requests))
            })
            .collect()
    }

    /// The client goes away without a word.
    pub fn disconnect(&mut self, (core, id): (u16, ConnectionId)) {
        let reactor = &mut self.stations[usize::from(core)].reactor;
        if let Some(connection) = reactor.get_mut(id)
            && connection.phase != Phase::Gone
        {
            connection.cut();
        }
    }

    /// Takes steps until `holds`; false if it never does.
    pub fn run_until(&mut self, mut holds: impl FnMut(&mut Self) -> bool) -> bool {
        (0..STEPS_MAX).any(|_| {
            self.step();
            holds(self)
        })
    }

    fn store_blob(&mut self, name: String, bytes: Vec<u8>) {
        if self.planted != Some(Planted::ForgottenTruncations) || name == SCHEMA_BLOB {
            self.blobs.store(&name, bytes);
        }
    }

    /// Calls a core's handler and takes along what it sent. `None`, and nothing of it, when the process died within.
    fn call<T>(&mut self, core: usize, act: impl FnOnce(&mut H, &mut SimReactor) -> T) -> Option<T> {
        if self.dead {
            return None;
        }
        let station = &mut self.stations[core];
        let requests = station.reactor.disk.in_flight();
        let result = act(&mut station.core, &mut station.reactor);
        if station.stable.has_crashed() {
            station.reactor.disk.never_submitted_after(requests);
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
}
