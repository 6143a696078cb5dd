//! One connection: its socket, what waits to be sent, and how far its life is.
//!
//! ```text
//! Connecting ──made──▶
//! Open ──close, or the peer's end of stream──▶ Flushing ──all sent──▶ Lingering ──the peer's end of stream──▶ gone
//!   └──── error ────────────────────────────────┴── error, or 5 s ─────┴─────────────────────────────────────▶ gone
//! ```
//! Lingering reads and drops: a socket closed with unread bytes would reset the connection, and the reset would destroy replies (the error
//! message that says why we close) that the peer has not read yet.

use crate::errno::Errno;
use crate::socket;
use base::BufferPool;
use std::os::fd::{AsRawFd, OwnedFd};

/// How far a connection's life is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Asked for by this core and not made yet: takes output.
    Connecting,
    /// In use.
    Open,
    /// The handler or the peer ended it; output remains.
    Flushing,
    /// Everything is sent; waiting for the peer to close.
    Lingering,
}

/// What a flush left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flush {
    /// Nothing.
    Done,
    /// Bytes that the kernel will take later; it tells by an event.
    Blocked,
}

/// A connection of this core.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: OwnedFd,
    pub(crate) phase: Phase,
    /// The handler's reply bytes, not yet given to the kernel. Borrowed from the pool while not empty.
    pub(crate) output: Vec<u8>,
    /// Older bytes, of which the kernel took the first `pending_sent`.
    pending: Vec<u8>,
    pending_sent: usize,
    /// All that the kernel took.
    pub(crate) sent_bytes: u64,
    /// The kernel's buffer is full: sending waits for its event.
    pub(crate) blocked: bool,
    /// The handler wants bytes.
    pub(crate) reading: bool,
    /// The kernel may have bytes: set by events, cleared when it had fewer than asked for.
    pub(crate) readable: bool,
    /// The peer has ended its stream or the connection broke: no further event will tell, so reading goes on to the end.
    pub(crate) ending: bool,
    /// The peer's end of stream was read.
    pub(crate) ended: bool,
    /// It is in the reactor's list of connections to read from.
    pub(crate) queued: bool,
    /// It is in the reactor's list of connections to flush.
    pub(crate) dirty: bool,
}

impl Connection {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            phase: Phase::Open,
            output: Vec::new(),
            pending: Vec::new(),
            pending_sent: 0,
            sent_bytes: 0,
            blocked: false,
            reading: true,
            readable: false,
            ending: false,
            ended: false,
            queued: false,
            dirty: false,
        }
    }

    /// One that is being made: the kernel takes nothing yet.
    pub(crate) fn connecting(socket: OwnedFd) -> Self {
        Self { phase: Phase::Connecting, blocked: true, ..Self::new(socket) }
    }

    /// It is made, or has failed. Whether there was anything to send before.
    pub(crate) fn made(&mut self) -> Result<bool, Errno> {
        socket::finish_connecting(&self.socket)?;
        (self.phase, self.blocked) = (Phase::Open, false);
        Ok(self.unsent_bytes() > 0)
    }

    /// Whether the handler may write.
    #[inline]
    pub(crate) fn takes_output(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Connecting)
    }

    pub(crate) fn descriptor(&self) -> i32 {
        self.socket.as_raw_fd()
    }

    /// Bytes that the kernel has not taken.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.output.len() + self.pending.len() - self.pending_sent
    }

    /// Whether reading makes sense now: the handler wants bytes, or they are dropped because the connection ends.
    pub(crate) fn wants_reading(&self) -> bool {
        self.readable && !self.ended && (self.reading || self.phase != Phase::Open)
    }

    /// Receives into `bytes`, and remembers whether there may be more.
    pub(crate) fn receive(&mut self, bytes: &mut [u8]) -> Result<usize, Errno> {
        let received = socket::receive(self.descriptor(), bytes);
        match received {
            Ok(0) => self.ended = true,
            // Fewer than asked for: the next bytes will make a new event.
            Ok(count) => self.readable = self.ending || count == bytes.len(),
            Err(errno) if errno.is_would_block() => {
                self.readable = false;
                self.ending = false;
            }
            Err(_) => {}
        }
        received
    }

    /// Gives the kernel as much as it takes.
    pub(crate) fn flush(&mut self, pool: &mut BufferPool) -> Result<Flush, Errno> {
        if self.blocked {
            return Ok(Flush::Blocked);
        }
        loop {
            if self.unsent_bytes() == 0 {
                self.release(pool);
                return Ok(Flush::Done);
            }
            let sent = if self.pending.is_empty() {
                socket::send(self.descriptor(), &self.output)
            } else {
                socket::send_two(self.descriptor(), &self.pending[self.pending_sent..], &self.output)
            };
            match sent {
                Ok(count) => self.sent(count, pool),
                Err(errno) if errno.is_would_block() => {
                    self.blocked = true;
                    return Ok(Flush::Blocked);
                }
                Err(Errno(libc::EINTR)) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// The kernel took `count` bytes, older ones first. The rest of a buffer that was begun becomes `pending`, so that the handler's buffer
    /// holds only what is untouched and no byte is moved.
    fn sent(&mut self, count: usize, pool: &mut BufferPool) {
        self.sent_bytes += count as u64;
        let of_pending = count.min(self.pending.len() - self.pending_sent);
        self.pending_sent += of_pending;
        if self.pending_sent < self.pending.len() {
            return;
        }
        pool.give(std::mem::take(&mut self.pending));
        self.pending_sent = 0;
        let of_output = count - of_pending;
        if of_output == self.output.len() {
            self.output.clear();
        } else {
            self.pending = std::mem::take(&mut self.output);
            self.pending_sent = of_output;
        }
    }

    /// Gives its buffers back, with what was not sent.
    pub(crate) fn release(&mut self, pool: &mut BufferPool) {
        self.pending_sent = 0;
        if self.output.capacity() > 0 {
            pool.give(std::mem::take(&mut self.output));
        }
        if self.pending.capacity() > 0 {
            pool.give(std::mem::take(&mut self.pending));
        }
    }

    /// Tells the peer that nothing more comes, and waits for its end.
    pub(crate) fn linger(&mut self) {
        self.phase = Phase::Lingering;
        socket::shutdown_sending(self.descriptor());
    }
}
