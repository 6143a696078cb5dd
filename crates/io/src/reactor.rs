//! The contract between the thing that waits and the thing that acts.

use crate::{ConnectionId, DiskCompletion, DiskLatencies, DiskRequest, DiskTag, ListenerId, Now};
use base::CoreId;
use std::net::SocketAddr;

/// What a handler may do while it is called. One reactor serves one core on one thread.
pub trait Reactor {
    /// What cores send one another.
    type Message: Send + 'static;

    /// The time: never before the arrival of what the handler was last called with, and it never goes back.
    fn now(&self) -> Now;

    /// The monotonic clock, read anew: later than [`Reactor::now`] by how long the handler has been at it since. For measuring work, so that it
    /// can be ended in time; everything else goes by `now`.
    fn clock_us(&self) -> u64;

    /// How long this core has slept so far, for there was nothing to do. Less than what has passed by what it has worked.
    fn slept_us(&self) -> u64;

    /// This core.
    fn core(&self) -> CoreId;

    /// How many cores the node has.
    fn cores(&self) -> u16;

    /// The connection's output: append reply bytes; they are sent after the handler returns, in order. `None` when the connection is gone.
    ///
    /// The buffer holds only what has not been handed to the kernel; its length is the backlog of this turn.
    fn output(&mut self, connection: ConnectionId) -> Option<&mut Vec<u8>>;

    /// Puts back what was taken out of [`Reactor::output`] by `std::mem::take`, with more in it. Dropped when the connection is gone.
    fn put_output(&mut self, connection: ConnectionId, output: Vec<u8>);

    /// Bytes accepted for sending and not yet taken by the kernel, `output` included: a client that does not read makes this grow.
    fn unsent_bytes(&self, connection: ConnectionId) -> usize;

    /// Bytes that the kernel has taken since the connection began: a client that reads makes this grow.
    fn sent_bytes(&self, connection: ConnectionId) -> u64;

    /// Stops (`false`) or resumes (`true`) receiving from a connection: the back-pressure of a client that sends faster than it reads.
    ///
    /// Bytes that had already been received are still delivered.
    fn set_reading(&mut self, connection: ConnectionId, reading: bool);

    /// Closes a connection once its output is sent (at most a bounded time later). `closed` follows.
    fn close(&mut self, connection: ConnectionId);

    /// Closes a connection without sending its output, whose memory is free at once. `closed` follows.
    fn abort(&mut self, connection: ConnectionId);

    /// Starts a connection to another machine; it belongs to this core. [`Handler::connected`] follows, or [`Handler::unreachable`] when it
    /// cannot be made (refused, unreachable, no answer within a bounded time).
    ///
    /// What is appended to its output before it is made is sent once it is, and dropped when it is closed before. `lands_on` names a core of
    /// the other side and how many it has: the local port is chosen for a listener there with [`crate::Placement::ByClientPort`], as far as
    /// ports are free.
    fn connect(&mut self, to: SocketAddr, lands_on: Option<(CoreId, u16)>) -> ConnectionId;

    /// Starts a disk operation.
    fn submit(&mut self, tag: DiskTag, request: DiskRequest);

    /// How long disk operations took so far; nothing of a reactor that does not measure them.
    fn disk_latencies(&self) -> DiskLatencies {
        DiskLatencies::default()
    }

    /// Sends a message to another core (or to this one: it arrives in the next turn). Never blocks; delivery keeps the order per pair of cores.
    fn send(&mut self, to: CoreId, message: Self::Message);

    /// Fills `bytes` with entropy for ids and seeds.
    fn entropy(&mut self, bytes: &mut [u8]);

    /// Lets the whole node's listeners accept from now on; until then clients are refused. Asked once, by whichever core knows that all are ready.
    ///
    /// The default does nothing, for reactors without listeners.
    fn start_accepting(&mut self) {}

    /// Closes the whole node's listeners: new clients are refused, connections stay. The first step of a drain.
    fn stop_accepting(&mut self) {}

    /// Ends the node: all cores stop after their current turn.
    fn stop(&mut self);
}

/// When the reactor must call `turn` again although nothing happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// There is more work: poll for events without waiting.
    Again,
    /// At this monotonic time in microseconds, or at the next event.
    At(u64),
    /// At the next event.
    Idle,
}

/// Whether a core that is full has a place for another client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Yes: another connection was aborted for it.
    Made,
    /// It may at this monotonic time in microseconds: the client waits.
    At(u64),
    /// Every connection is worth as much: the client is refused.
    Never,
}

/// What a core does with events. Called from one thread; must never block.
pub trait Handler<R: Reactor> {
    /// A connection was accepted on `listener` and belongs to this core now.
    fn accepted(&mut self, reactor: &mut R, connection: ConnectionId, listener: ListenerId, peer: SocketAddr);

    /// Another client waits, and this core has as many connections as it may: aborts one that is worth less, if there is any. The default has none.
    fn make_room(&mut self, _reactor: &mut R) -> Room {
        Room::Never
    }

    /// A connection that this core asked for is made.
    fn connected(&mut self, _reactor: &mut R, _connection: ConnectionId) {}

    /// A connection that this core asked for could not be made: the operating system's error number says why. It is gone.
    ///
    /// The default tells [`Handler::closed`].
    fn unreachable(&mut self, reactor: &mut R, connection: ConnectionId, _code: i32) {
        self.closed(reactor, connection);
    }

    /// Bytes arrived, in order, in whatever cut the network made.
    fn received(&mut self, reactor: &mut R, connection: ConnectionId, bytes: &[u8]);

    /// The connection's output has been taken by the kernel entirely, after a time when it was not or while reading was stopped.
    fn drained(&mut self, reactor: &mut R, connection: ConnectionId);

    /// The connection is gone, by either side.
    fn closed(&mut self, reactor: &mut R, connection: ConnectionId);

    /// A disk operation ended.
    fn completed(&mut self, reactor: &mut R, completion: DiskCompletion);

    /// Another core sent something.
    fn message(&mut self, reactor: &mut R, from: CoreId, message: R::Message);

    /// The operator asked the node to end (SIGTERM): drain, then call [`Reactor::stop`].
    fn stopping(&mut self, reactor: &mut R);

    /// Called once after each batch of events and when the time asked for has come: background work in small slices belongs here.
    fn turn(&mut self, reactor: &mut R) -> Turn;
}
