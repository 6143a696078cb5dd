//! A core's connections, and the memory that they hold.

use crate::limits::ShareNumber;
use crate::protocol::Session;
use crate::requests::RequestId;
use crate::transport::Transport;
use io::ConnectionId;
use std::collections::VecDeque;

/// A client is stalled if it takes less than half of what is sent to it, and less than [`STEADY_BYTES`], in this time.
const STALL_US: u64 = 1_000_000;
/// A reply may be tens of megabytes: who takes so many bytes of it in that time is slow, and not stalled.
const STEADY_BYTES: usize = 1 << 20;

/// A connection.
pub(crate) struct Connection {
    pub(crate) id: ConnectionId,
    pub(crate) session: Session,
    /// What its bytes pass.
    pub(crate) transport: Transport,
    /// Whether it is not served until it holds less memory. The session may have requests left.
    pub(crate) paused: bool,
    /// The request whose next piece of reply waits until the pieces before are sent.
    pub(crate) stream: Option<RequestId>,
    /// Of its role's limits.
    pub(crate) share: ShareNumber,
    /// The role that it counts as, where any has limits.
    pub(crate) counted_as: Option<Box<str>>,
    /// Whether it is in the queue of paused ones.
    queued: bool,
    /// Its memory as last counted: bytes of requests that have arrived in part, and of replies that are unsent or still to come.
    partial: usize,
    unsent: usize,
    /// As [`Connections::stalled`] has seen.
    stall: Option<Stall>,
}

impl Connection {
    pub(crate) fn new(id: ConnectionId, session: Session, transport: Transport) -> Self {
        Self {
            id,
            session,
            transport,
            paused: false,
            stream: None,
            share: ShareNumber::NONE,
            counted_as: None,
            queued: false,
            partial: 0,
            unsent: 0,
            stall: None,
        }
    }
}

/// A client that has not taken enough of what is sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stall {
    since_us: u64,
    /// All bytes that it had taken by then.
    taken: u64,
    /// The most that was unsent since.
    unsent: usize,
}

impl Stall {
    /// What is known of a client now, by what was known of it.
    fn next(former: Option<Self>, now: Self) -> Self {
        match former {
            Some(former) if now.taken - former.taken < STEADY_BYTES.min(former.unsent / 2) as u64 => {
                Self { unsent: former.unsent.max(now.unsent), ..former }
            }
            _ => now,
        }
    }
}

/// All of a core.
#[derive(Default)]
pub(crate) struct Connections {
    slots: Vec<Option<Box<Connection>>>,
    count: u32,
    paused: VecDeque<ConnectionId>,
    partial_bytes: usize,
    unsent_bytes: usize,
}

impl Connections {
    /// Bytes of requests that have arrived in part, on all connections, as last counted.
    pub(crate) fn partial_bytes(&self) -> usize {
        self.partial_bytes
    }

    /// Bytes of replies that are unsent or still to come, on all connections, as last counted.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.unsent_bytes
    }

    pub(crate) fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.slots.get(id.index as usize)?.as_deref().filter(|connection| connection.id == id)
    }

    pub(crate) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.slots.get_mut(id.index as usize)?.as_deref_mut().filter(|connection| connection.id == id)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.slots.iter_mut().flatten().map(|connection| &mut **connection)
    }

    /// Takes a connection out to serve it; [`Connections::put`] gives it back.
    pub(crate) fn take(&mut self, id: ConnectionId) -> Option<Box<Connection>> {
        let slot = self.slots.get_mut(id.index as usize)?;
        if slot.as_ref().is_some_and(|connection| connection.id == id) { slot.take() } else { None }
    }

    /// Takes a new connection.
    pub(crate) fn insert(&mut self, connection: Connection) {
        self.count += 1;
        self.put(Box::new(connection));
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    pub(crate) fn put(&mut self, connection: Box<Connection>) {
        let index = connection.id.index as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index] = Some(connection);
    }

    /// Forgets a connection, and returns it.
    pub(crate) fn remove(&mut self, id: ConnectionId) -> Option<Box<Connection>> {
        let connection = self.take(id)?;
        self.count -= 1;
        self.partial_bytes -= connection.partial;
        self.unsent_bytes -= connection.unsent;
        Some(connection)
    }

    /// Counts a connection again, now with `unsent` bytes to send.
    pub(crate) fn weigh(&mut self, id: ConnectionId, unsent: usize) -> Option<&mut Connection> {
        let connection = self.slots.get_mut(id.index as usize)?.as_deref_mut().filter(|connection| connection.id == id)?;
        let partial = connection.session.buffered_bytes();
        let unsent = unsent + connection.session.outstanding_bytes();
        self.partial_bytes = self.partial_bytes + partial - connection.partial;
        self.unsent_bytes = self.unsent_bytes + unsent - connection.unsent;
        (connection.partial, connection.unsent) = (partial, unsent);
        Some(connection)
    }

    /// Forgets what clients have taken: that nobody has looked for a while says nothing of them.
    pub(crate) fn forget_stalls(&mut self) {
        self.slots.iter_mut().flatten().for_each(|connection| connection.stall = None);
    }

    /// Counts all connections again and returns those with stalled clients, the one with the most unsent bytes first.
    /// `bytes` says how many of a connection are unsent, and how many its client has taken.
    pub(crate) fn stalled(&mut self, now_us: u64, bytes: impl Fn(ConnectionId) -> (usize, u64)) -> Vec<ConnectionId> {
        let mut stalled = Vec::new();
        for index in 0..self.slots.len() {
            let Some(id) = self.slots[index].as_ref().map(|connection| connection.id) else { continue };
            let (unsent, taken) = bytes(id);
            let Some(connection) = self.weigh(id, unsent) else { continue };
            let stall = Stall::next(connection.stall, Stall { since_us: now_us, taken, unsent });
            connection.stall = (unsent > 0).then_some(stall);
            if unsent > 0 && now_us - stall.since_us >= STALL_US {
                stalled.push((unsent, id));
            }
        }
        stalled.sort_unstable_by_key(|(unsent, _)| std::cmp::Reverse(*unsent));
        stalled.into_iter().map(|(_, id)| id).collect()
    }

    /// Queues a paused connection for [`Connections::next_paused`].
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

    /// Takes the connection out of the queue that has been paused longest.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_half_or_a_mebibyte_is_not_stalled() {
        let seen = |since_us, taken, unsent| Stall { since_us, taken, unsent };
        let short = Some(seen(1, 70, 1_000));
        let next = |former, taken, unsent| Stall::next(former, seen(7, taken, unsent));
        assert_eq!(next(None, 0, 1_000), seen(7, 0, 1_000));
        assert_eq!(next(short, 569, 501), seen(1, 70, 1_000));
        assert_eq!(next(short, 570, 500), seen(7, 570, 500));
        assert_eq!(next(short, 70, 2_000), seen(1, 70, 2_000), "more has come, and nothing was taken");
        assert_eq!(next(short, 1_070, 3_000), seen(7, 1_070, 3_000), "more has come than was taken");
        let long = Some(seen(1, 0, 32 << 20));
        assert_eq!(next(long, (1 << 20) - 1, 32 << 20), seen(1, 0, 32 << 20));
        assert_eq!(next(long, 1 << 20, 32 << 20), seen(7, 1 << 20, 32 << 20));
    }
}
