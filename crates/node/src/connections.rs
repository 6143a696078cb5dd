//! A core's connections, and what memory they hold.

use crate::protocol::Session;
use crate::requests::RequestId;
use io::ConnectionId;
use std::collections::VecDeque;

/// A client that does not take half of what is sent to it in so long is not reading.
const STALL_US: u64 = 1_000_000;

/// A connection.
pub(crate) struct Connection {
    pub(crate) id: ConnectionId,
    pub(crate) session: Session,
    /// Whether it is not served until it holds less: received requests may be waiting in the session.
    pub(crate) paused: bool,
    /// The request whose reply comes in pieces and waits until those before are sent.
    pub(crate) stream: Option<RequestId>,
    /// Whether it stands in the queue of paused ones.
    queued: bool,
    /// What was last counted of it: bytes that arrived in part, bytes of replies that are not sent or still to come.
    partial: usize,
    unsent: usize,
    /// Since when at least half of so many bytes have not been taken, as [`Connections::stalled`] saw it.
    stall: Option<(u64, usize)>,
}

impl Connection {
    pub(crate) fn new(id: ConnectionId, session: Session) -> Self {
        Self { id, session, paused: false, stream: None, queued: false, partial: 0, unsent: 0, stall: None }
    }
}

/// All of a core.
#[derive(Default)]
pub(crate) struct Connections {
    slots: Vec<Option<Connection>>,
    count: u32,
    paused: VecDeque<ConnectionId>,
    partial_bytes: usize,
    unsent_bytes: usize,
}

impl Connections {
    /// Bytes that arrived in part, of all connections as last counted.
    pub(crate) fn partial_bytes(&self) -> usize {
        self.partial_bytes
    }

    /// Bytes of replies that are not sent or still to come, of all connections as last counted.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.unsent_bytes
    }

    pub(crate) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.slots.get_mut(id.index as usize)?.as_mut().filter(|connection| connection.id == id)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.slots.iter_mut().flatten()
    }

    /// Takes a connection out to serve it; [`Connections::put`] gives it back.
    pub(crate) fn take(&mut self, id: ConnectionId) -> Option<Connection> {
        let slot = self.slots.get_mut(id.index as usize)?;
        if slot.as_ref().is_some_and(|connection| connection.id == id) { slot.take() } else { None }
    }

    /// Takes a new connection.
    pub(crate) fn insert(&mut self, connection: Connection) {
        self.count += 1;
        self.put(connection);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    pub(crate) fn put(&mut self, connection: Connection) {
        let index = connection.id.index as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index] = Some(connection);
    }

    /// Forgets a connection; gives the request that only waited for it.
    pub(crate) fn remove(&mut self, id: ConnectionId) -> Option<RequestId> {
        let connection = self.take(id)?;
        self.count -= 1;
        self.partial_bytes -= connection.partial;
        self.unsent_bytes -= connection.unsent;
        connection.stream
    }

    /// Counts a connection again, now with `unsent` bytes to send.
    pub(crate) fn weigh(&mut self, id: ConnectionId, unsent: usize) -> Option<&mut Connection> {
        let connection = self.slots.get_mut(id.index as usize)?.as_mut().filter(|connection| connection.id == id)?;
        let partial = connection.session.buffered_bytes();
        let unsent = unsent + connection.session.outstanding_bytes();
        self.partial_bytes = self.partial_bytes + partial - connection.partial;
        self.unsent_bytes = self.unsent_bytes + unsent - connection.unsent;
        (connection.partial, connection.unsent) = (partial, unsent);
        Some(connection)
    }

    /// Counts all again, with what `unsent` tells of each, and names those whose clients do not read, the one with the most to send first.
    pub(crate) fn stalled(&mut self, now_us: u64, unsent: impl Fn(ConnectionId) -> usize) -> Vec<ConnectionId> {
        let mut stalled = Vec::new();
        for index in 0..self.slots.len() {
            let Some(id) = self.slots[index].as_ref().map(|connection| connection.id) else { continue };
            let unsent = unsent(id);
            let Some(connection) = self.weigh(id, unsent) else { continue };
            let (since_us, seen) = match connection.stall {
                Some((since_us, seen)) if unsent > seen / 2 => (since_us, seen.max(unsent)),
                _ => (now_us, unsent),
            };
            connection.stall = (unsent > 0).then_some((since_us, seen));
            if unsent > 0 && now_us - since_us >= STALL_US {
                stalled.push((unsent, id));
            }
        }
        stalled.sort_unstable_by_key(|(unsent, _)| std::cmp::Reverse(*unsent));
        stalled.into_iter().map(|(_, id)| id).collect()
    }

    /// Lets [`Connections::next_paused`] come to a connection.
    pub(crate) fn pause(&mut self, id: ConnectionId) {
        if let Some(connection) = self.get_mut(id)
            && !connection.queued
        {
            connection.queued = true;
            self.paused.push_back(id);
        }
    }

    pub(crate) fn paused_count(&self) -> usize {
        self.paused.len()
    }

    /// The connection that has been paused longest; it stands in the queue no more.
    pub(crate) fn next_paused(&mut self) -> Option<ConnectionId> {
        while let Some(id) = self.paused.pop_front() {
            if let Some(connection) = self.get_mut(id) {
                connection.queued = false;
                return Some(id);
            }
        }
        None
    }
}
