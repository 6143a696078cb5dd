//! One core's reactor: keeps what the core asks for until the machine does it.

use crate::connection::{Connection, Phase};
use base::{CoreId, Rng};
use io::{ConnectionId, DiskRequest, DiskTag, Now, Reactor};
use node::Message;
use sim_disk::Disk;
use std::cell::Cell;
use std::net::SocketAddr;
use std::time::Duration;

/// By how much the clock has moved on each time it is read within a turn: work that is measured by it takes some time.
const READING_US: u64 = 1;

/// Measures what a turn takes the thread that runs it.
pub(crate) struct Stopwatch {
    /// What the thread had computed when the turn began.
    pub(crate) began: Duration,
    /// How long the core has slept.
    pub(crate) slept_us: u64,
}

impl Stopwatch {
    pub(crate) fn begin(slept_us: u64) -> Self {
        Self { began: computed(), slept_us }
    }

    /// Since then.
    pub(crate) fn elapsed(&self) -> Duration {
        computed().saturating_sub(self.began)
    }
}

/// How long this thread has computed.
fn computed() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A core's window to its machine.
pub struct SimReactor {
    pub(crate) core: CoreId,
    pub(crate) cores: u16,
    pub(crate) now: Now,
    /// How often the clock was read since then.
    readings: Cell<u64>,
    /// By index; an index is used again once its connection is gone.
    pub(crate) connections: Vec<Connection>,
    pub(crate) disk: Disk,
    pub(crate) outbox: Vec<(CoreId, Message)>,
    pub(crate) blobs: Vec<(DiskTag, String, Vec<u8>)>,
    pub(crate) rng: Rng,
    pub(crate) accepting: bool,
    pub(crate) stopped: bool,
    pub(crate) kernel_requests: Vec<KernelRequest>,
    /// If what cores do takes time: as much as it takes here.
    pub(crate) stopwatch: Option<Stopwatch>,
}

/// A connection that a core wants.
pub(crate) struct KernelRequest {
    pub(crate) connection: ConnectionId,
    pub(crate) to: SocketAddr,
    pub(crate) lands_on: Option<(CoreId, u16)>,
}

impl SimReactor {
    pub(crate) fn new(core: CoreId, cores: u16, now: Now, disk: Disk, rng: Rng) -> Self {
        Self {
            core,
            cores,
            now,
            readings: Cell::default(),
            connections: Vec::new(),
            disk,
            outbox: Vec::new(),
            blobs: Vec::new(),
            rng,
            accepting: false,
            stopped: false,
            kernel_requests: Vec::new(),
            stopwatch: None,
        }
    }

    /// Time has passed outside.
    pub(crate) fn set_now(&mut self, now: Now) {
        self.now = now;
        self.readings.set(0);
    }

    /// A connection in the place of one that is gone, or in a new one.
    pub(crate) fn open(&mut self, place: Option<usize>, phase: Phase) -> ConnectionId {
        let index = place.unwrap_or(self.connections.len());
        let generation = place.map_or(0, |index| self.connections[index].id.generation + 1);
        let id = ConnectionId { index: index as u32, generation };
        match place {
            Some(index) => self.connections[index] = Connection::new(id, phase),
            None => self.connections.push(Connection::new(id, phase)),
        }
        id
    }

    pub(crate) fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(id.index as usize).filter(|connection| connection.id == id)
    }

    pub(crate) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(id.index as usize).filter(|connection| connection.id == id)
    }
}

impl Reactor for SimReactor {
    type Message = Message;

    fn now(&self) -> Now {
        self.now
    }

    fn clock_us(&self) -> u64 {
        if let Some(stopwatch) = &self.stopwatch {
            return self.now.monotonic_us + stopwatch.elapsed().as_micros() as u64;
        }
        self.readings.set(self.readings.get() + 1);
        self.now.monotonic_us + self.readings.get() * READING_US
    }

    fn slept_us(&self) -> u64 {
        // Otherwise nothing that a core does takes time.
        self.stopwatch.as_ref().map_or(self.now.monotonic_us, |stopwatch| stopwatch.slept_us)
    }

    fn core(&self) -> CoreId {
        self.core
    }

    fn cores(&self) -> u16 {
        self.cores
    }

    fn output(&mut self, id: ConnectionId) -> Option<&mut Vec<u8>> {
        self.get_mut(id)
            .filter(|connection| matches!(connection.phase, Phase::Open | Phase::Connecting))
            .map(|connection| &mut connection.output)
    }

    fn put_output(&mut self, id: ConnectionId, output: Vec<u8>) {
        if let Some(place) = self.output(id) {
            *place = output;
        }
    }

    fn unsent_bytes(&self, id: ConnectionId) -> usize {
        self.get(id).map_or(0, |connection| connection.output.len())
    }

    fn sent_bytes(&self, id: ConnectionId) -> u64 {
        self.get(id).map_or(0, |connection| connection.sent_bytes)
    }

    fn set_reading(&mut self, id: ConnectionId, reading: bool) {
        if let Some(connection) = self.get_mut(id) {
            connection.reading = reading;
        }
    }

    fn close(&mut self, id: ConnectionId) {
        match self.get_mut(id) {
            Some(connection) if connection.phase == Phase::Open => connection.phase = Phase::Closing,
            Some(connection) if connection.phase == Phase::Connecting => connection.cut(),
            _ => {}
        }
    }

    fn abort(&mut self, id: ConnectionId) {
        if let Some(connection) = self.get_mut(id)
            && connection.phase != Phase::Gone
        {
            connection.output.clear();
            connection.phase = Phase::Closing;
        }
    }

    fn connect(&mut self, to: SocketAddr, lands_on: Option<(CoreId, u16)>) -> ConnectionId {
        // What a connection that is gone has sent may still have to be taken.
        let place = self.connections.iter().position(|old| old.phase == Phase::Gone && old.to_client.is_empty());
        let connection = self.open(place, Phase::Connecting);
        self.kernel_requests.push(KernelRequest { connection, to, lands_on });
        connection
    }

    fn submit(&mut self, tag: DiskTag, request: DiskRequest) {
        match request {
            DiskRequest::ReplaceBlob { name, bytes } => self.blobs.push((tag, name, bytes)),
            request => self.disk.submit(tag, request),
        }
    }

    fn send(&mut self, to: CoreId, message: Message) {
        self.outbox.push((to, message));
    }

    fn entropy(&mut self, bytes: &mut [u8]) {
        self.rng.fill(bytes);
    }

    fn start_accepting(&mut self) {
        self.accepting = true;
    }

    fn stop_accepting(&mut self) {
        self.accepting = false;
    }

    fn stop(&mut self) {
        self.stopped = true;
    }
}
