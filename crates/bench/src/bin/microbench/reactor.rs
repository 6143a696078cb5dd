//! A reactor without a kernel: outputs are buffers, messages go to the core itself.

use crate::disk::MemoryDisk;
use base::{CoreId, Rng};
use io::{ConnectionId, DiskRequest, DiskTag, Now, Reactor};
use node::Message;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// One core's.
pub(crate) struct FakeReactor {
    started: Instant,
    now: Now,
    /// By the connection's index; no index is used twice.
    pub(crate) outputs: Vec<Vec<u8>>,
    pub(crate) disk: MemoryDisk,
    pub(crate) messages: VecDeque<Message>,
    pub(crate) accepting: bool,
    entropy: Rng,
}

impl FakeReactor {
    pub(crate) fn new(connections: u16) -> Self {
        let mut reactor = Self {
            started: Instant::now(),
            now: Now { monotonic_us: 0, wall_us: 0 },
            outputs: vec![Vec::new(); usize::from(connections)],
            disk: MemoryDisk::default(),
            messages: VecDeque::new(),
            accepting: false,
            entropy: Rng::new(1),
        };
        reactor.read_clocks();
        reactor
    }

    /// As an event loop does once for each batch of events.
    #[inline]
    pub(crate) fn read_clocks(&mut self) {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.now = Now { monotonic_us: self.started.elapsed().as_micros() as u64, wall_us: wall.as_micros() as i64 };
    }
}

impl Reactor for FakeReactor {
    type Message = Message;

    fn now(&self) -> Now {
        self.now
    }

    fn clock_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    fn slept_us(&self) -> u64 {
        0
    }

    fn core(&self) -> CoreId {
        CoreId(0)
    }

    fn cores(&self) -> u16 {
        1
    }

    fn output(&mut self, connection: ConnectionId) -> Option<&mut Vec<u8>> {
        self.outputs.get_mut(connection.index as usize)
    }

    fn put_output(&mut self, connection: ConnectionId, output: Vec<u8>) {
        if let Some(place) = self.outputs.get_mut(connection.index as usize) {
            *place = output;
        }
    }

    fn unsent_bytes(&self, connection: ConnectionId) -> usize {
        self.outputs.get(connection.index as usize).map_or(0, Vec::len)
    }

    fn sent_bytes(&self, _: ConnectionId) -> u64 {
        0
    }

    fn set_reading(&mut self, _: ConnectionId, _: bool) {}

    fn close(&mut self, _: ConnectionId) {}

    fn abort(&mut self, _: ConnectionId) {}

    /// There is nobody to connect to.
    fn connect(&mut self, _: SocketAddr, _: Option<(CoreId, u16)>) -> ConnectionId {
        ConnectionId { index: u32::MAX, generation: 0 }
    }

    fn submit(&mut self, tag: DiskTag, request: DiskRequest) {
        self.disk.submit(tag, request);
    }

    fn send(&mut self, _: CoreId, message: Message) {
        self.messages.push_back(message);
    }

    fn entropy(&mut self, bytes: &mut [u8]) {
        self.entropy.fill(bytes);
    }

    fn start_accepting(&mut self) {
        self.accepting = true;
    }

    fn stop(&mut self) {}
}
