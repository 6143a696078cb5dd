//! A connection: the core's end, the client's end, and a wire between them that holds so many bytes.

use io::ConnectionId;
use std::collections::VecDeque;

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Both ends are there.
    Open,
    /// The core, or the client, has ended it; its output is still being sent.
    Closing,
    /// It has ended.
    Gone,
}

/// Both ends.
pub struct Connection {
    pub(crate) id: ConnectionId,
    /// How far it is.
    pub phase: Phase,
    /// What the client has sent and the core has not received.
    pub to_core: VecDeque<u8>,
    /// What the core has written and the wire has not taken.
    pub output: Vec<u8>,
    /// What the client can read.
    pub to_client: Vec<u8>,
    /// So many bytes fit on the wire before the client reads.
    pub window: usize,
    /// Whether the core wants more bytes.
    pub reading: bool,
    pub(crate) blocked: bool,
    /// The client has gone: nothing of it is delivered any more.
    pub(crate) hung_up: bool,
    /// The most that ever waited in `output`.
    pub output_most: usize,
}

/// What a flush came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flushed {
    Nothing,
    /// Everything was taken after a time when it was not, or while reading was stopped.
    Drained,
    /// It had ended and its last byte is sent.
    Gone,
}

impl Connection {
    pub(crate) fn new(id: ConnectionId) -> Self {
        Self {
            id,
            phase: Phase::Open,
            to_core: VecDeque::new(),
            output: Vec::new(),
            to_client: Vec::new(),
            window: usize::MAX,
            reading: true,
            blocked: false,
            hung_up: false,
            output_most: 0,
        }
    }

    /// Gives the wire as much as it takes.
    pub(crate) fn flush(&mut self) -> Flushed {
        if self.phase == Phase::Gone {
            return Flushed::Nothing;
        }
        self.output_most = self.output_most.max(self.output.len());
        let room = self.window.saturating_sub(self.to_client.len()).min(self.output.len());
        self.to_client.extend(self.output.drain(..room));
        if self.hung_up {
            self.output.clear();
        }
        if !self.output.is_empty() {
            self.blocked = true;
            return Flushed::Nothing;
        }
        let was_blocked = std::mem::take(&mut self.blocked);
        if self.phase == Phase::Closing {
            self.phase = Phase::Gone;
            return Flushed::Gone;
        }
        if was_blocked || !self.reading { Flushed::Drained } else { Flushed::Nothing }
    }
}
