//! The seams of crate `io`, served to one core's handler.
//!
//! Nothing here waits: calls change state that the event loop acts on when the handler has returned.

use crate::backlog::Client;
use crate::blobs::{BlobRequest, BlobSender};
use crate::clock;
use crate::connection::{Connection, Phase};
use crate::connections::Connections;
use crate::control::Control;
use crate::disk::DiskQueue;
use crate::entropy::fill_with_entropy;
use crate::errno::Errno;
use crate::helper::{Job, Task, TaskSender};
use crate::mailbox::Mailbox;
use crate::outgoing;
use base::{BufferPool, CoreId};
use io::{ConnectionId, DiskLatencies, DiskRequest, DiskTag, Now, Reactor};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a connection's new buffer for replies can hold before it grows.
const OUTPUT_BYTES_FIRST: usize = 16 * 1024;
/// What buffers for replies that no connection uses hold at most.
const IDLE_OUTPUT_BYTES_MAX: usize = 8 << 20;

/// How long a connection may take to send its last bytes and to see its peer close.
const CLOSE_US_MAX: u64 = 5_000_000;

/// How long a connection may take to be made.
const CONNECT_US_MAX: u64 = 3_000_000;

/// What goes between cores.
pub(crate) enum Envelope<M> {
    /// The handlers' own.
    Message(M),
    /// A connection that another core accepted for this one.
    Connection(Client),
}

/// One core's reactor; `M` is what cores send one another.
pub struct LinuxReactor<M> {
    pub(crate) now: Now,
    /// How long it has slept so far.
    pub(crate) slept_us: u64,
    pub(crate) control: Arc<Control>,
    pub(crate) mailbox: Mailbox<Envelope<M>>,
    pub(crate) connections: Connections,
    pub(crate) pool: BufferPool,
    /// Connections with output to flush.
    pub(crate) dirty: Vec<ConnectionId>,
    /// Connections to read from without waiting for an event.
    pub(crate) readable: Vec<ConnectionId>,
    /// Connections that end, by the monotonic time at which they are cut; all are given equally long, so this is in order.
    pub(crate) ending: VecDeque<(u64, ConnectionId)>,
    /// Connections that are being made, by the monotonic time at which they are given up; in order, as above.
    pub(crate) connecting: VecDeque<(u64, ConnectionId)>,
    /// Those of them that nobody watches yet.
    pub(crate) unwatched: Vec<ConnectionId>,
    /// Connections that could not even be begun: the handler has not heard of it.
    pub(crate) failed_connects: Vec<(ConnectionId, Errno)>,
    pub(crate) disk: DiskQueue,
    helpers: Helpers,
}

/// Where a core sends what other threads do for it.
#[derive(Clone)]
pub(crate) struct Helpers {
    pub(crate) blobs: BlobSender,
    pub(crate) new_memory: TaskSender,
    pub(crate) computing: TaskSender,
}

impl<M> LinuxReactor<M> {
    pub(crate) fn new(control: Arc<Control>, mailbox: Mailbox<Envelope<M>>, disk: DiskQueue, helpers: Helpers) -> Self {
        Self {
            now: clock::read(),
            slept_us: 0,
            control,
            mailbox,
            connections: Connections::default(),
            pool: BufferPool::new(IDLE_OUTPUT_BYTES_MAX),
            dirty: Vec::new(),
            readable: Vec::new(),
            ending: VecDeque::new(),
            connecting: VecDeque::new(),
            unwatched: Vec::new(),
            failed_connects: Vec::new(),
            disk,
            helpers,
        }
    }

    /// Has the connection flushed at the end of this batch.
    pub(crate) fn mark_dirty(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(id)
            && !connection.dirty
        {
            connection.dirty = true;
            self.dirty.push(id);
        }
    }

    /// Has the connection read from in the next batch, if there may be something to read.
    pub(crate) fn mark_readable(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(id)
            && connection.wants_reading()
            && !connection.queued
        {
            connection.queued = true;
            self.readable.push(id);
        }
    }
}

impl<M: Send + 'static> Reactor for LinuxReactor<M> {
    type Message = M;

    #[inline]
    fn now(&self) -> Now {
        self.now
    }

    #[inline]
    fn clock_us(&self) -> u64 {
        clock::read_again(self.now).monotonic_us
    }

    #[inline]
    fn slept_us(&self) -> u64 {
        self.slept_us
    }

    #[inline]
    fn core(&self) -> CoreId {
        self.mailbox.core()
    }

    #[inline]
    fn cores(&self) -> u16 {
        self.mailbox.cores()
    }

    #[inline]
    fn output(&mut self, id: ConnectionId) -> Option<&mut Vec<u8>> {
        let connection = self.connections.get_mut(id)?;
        if !connection.takes_output() {
            return None;
        }
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push(id);
        }
        if connection.output.capacity() == 0 {
            connection.output = self.pool.take(OUTPUT_BYTES_FIRST);
        }
        Some(&mut connection.output)
    }

    #[inline]
    fn put_output(&mut self, id: ConnectionId, output: Vec<u8>) {
        match self.connections.get_mut(id) {
            Some(connection) if connection.takes_output() => connection.output = output,
            _ => self.pool.give(output),
        }
    }

    #[inline]
    fn unsent_bytes(&self, id: ConnectionId) -> usize {
        self.connections.get(id).map_or(0, |connection| connection.unsent_bytes())
    }

    fn sent_bytes(&self, id: ConnectionId) -> u64 {
        self.connections.get(id).map_or(0, |connection| connection.sent_bytes)
    }

    fn set_reading(&mut self, id: ConnectionId, reading: bool) {
        if let Some(connection) = self.connections.get_mut(id) {
            connection.reading = reading;
            self.mark_readable(id);
        }
    }

    fn close(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        match connection.phase {
            Phase::Open => {
                connection.phase = Phase::Flushing;
                self.ending.push_back((self.now.monotonic_us + CLOSE_US_MAX, id));
                self.mark_dirty(id);
                self.mark_readable(id);
            }
            Phase::Connecting => self.abort(id),
            Phase::Flushing | Phase::Lingering => {}
        }
    }

    fn abort(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.phase = Phase::Flushing;
        connection.release(&mut self.pool);
        // Due before all others; the event loop tells the handler.
        self.ending.push_front((0, id));
    }

    fn connect(&mut self, to: SocketAddr, lands_on: Option<(CoreId, u16)>) -> ConnectionId {
        match outgoing::connect(&to, lands_on) {
            Ok(socket) => {
                let id = self.connections.insert(Connection::connecting(socket));
                self.control.cores[usize::from(self.core().0)].connections.fetch_add(1, Ordering::Relaxed);
                self.connecting.push_back((self.now.monotonic_us + CONNECT_US_MAX, id));
                self.unwatched.push(id);
                id
            }
            Err(errno) => {
                let id = self.connections.used_up();
                self.failed_connects.push((id, errno));
                id
            }
        }
    }

    fn submit(&mut self, tag: DiskTag, request: DiskRequest) {
        let core = self.mailbox.core();
        match request {
            DiskRequest::ReplaceBlob { name, bytes } => {
                self.helpers.blobs.send(BlobRequest { core, tag, name, bytes }).expect("the blob thread outlives the cores");
            }
            DiskRequest::Populate { buffer } => {
                self.helpers.new_memory.send(Task { core, tag, job: Job::Touch(buffer) }).expect("the memory thread outlives the cores");
            }
            DiskRequest::Compute { work } => {
                self.helpers.computing.send(Task { core, tag, job: Job::Compute(work) }).expect("the computing thread outlives the cores");
            }
            request => {
                self.disk.set_now(self.now.monotonic_us);
                self.disk.start(tag, request);
            }
        }
    }

    fn disk_latencies(&self) -> DiskLatencies {
        self.disk.latencies()
    }

    fn send(&mut self, to: CoreId, message: M) {
        self.mailbox.send(to, Envelope::Message(message));
    }

    fn entropy(&mut self, bytes: &mut [u8]) {
        fill_with_entropy(bytes);
    }

    fn start_accepting(&mut self) {
        self.control.start_accepting();
    }

    fn stop_accepting(&mut self) {
        self.control.stop_accepting();
    }

    fn stop(&mut self) {
        self.control.stop();
    }
}
