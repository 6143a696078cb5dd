//! A connection: the core's end, the client's end, and a wire between them that holds so many bytes.
//!
//! Of a connection between two machines each has such an end; a [`crate::Network`] is the client of both.

use io::ConnectionId;
use std::collections::VecDeque;

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The core has asked for it.
    Connecting,
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
    pub(crate) disconnected: bool,
    /// What the core asked for is made.
    pub(crate) made: bool,
    /// After what is in `to_core` comes the end.
    pub(crate) ended: bool,
    /// The other end is another machine's.
    pub(crate) linked: bool,
    /// The most that ever waited in `output`.
    pub output_most: usize,
    /// All that the wire took.
    pub(crate) sent_bytes: u64,
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
    pub(crate) fn new(id: ConnectionId, phase: Phase) -> Self {
        Self {
            id,
            phase,
            to_core: VecDeque::new(),
            output: Vec::new(),
            to_client: Vec::new(),
            window: usize::MAX,
            reading: true,
            blocked: false,
            disconnected: false,
            made: false,
            ended: false,
            linked: false,
            output_most: 0,
            sent_bytes: 0,
        }
    }

    /// The other end is gone, and what was under way with it; the core does not know yet.
    pub(crate) fn cut(&mut self) {
        self.disconnected = true;
        self.phase = Phase::Closing;
        self.to_core.clear();
    }

    /// Whether what the core asked for has been made, and it does not know yet. It knows now.
    pub(crate) fn is_made(&mut self) -> bool {
        let news = self.phase == Phase::Connecting && self.made;
        if news {
            self.phase = Phase::Open;
        }
        news
    }

    /// Whether the core has nothing to do about it.
    pub(crate) fn waits(&self) -> bool {
        match self.phase {
            Phase::Connecting => !self.made,
            Phase::Open => (!self.reading || (self.to_core.is_empty() && !self.ended)) && !self.has_room(),
            Phase::Closing => false,
            Phase::Gone => true,
        }
    }

    /// Whether a network has made room for output that waits.
    fn has_room(&self) -> bool {
        self.linked && !self.output.is_empty() && self.window > self.to_client.len()
    }

    /// Gives the wire as much as it takes.
    pub(crate) fn flush(&mut self) -> Flushed {
        if matches!(self.phase, Phase::Connecting | Phase::Gone) {
            return Flushed::Nothing;
        }
        self.output_most = self.output_most.max(self.output.len());
        let room = self.window.saturating_sub(self.to_client.len()).min(self.output.len());
        self.to_client.extend(self.output.drain(..room));
        self.sent_bytes += room as u64;
        if self.disconnected {
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
