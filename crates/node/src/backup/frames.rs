//! The frames of a core's stream: bounded on the core's side, for a thread on the other.
//!
//! | bytes | frame |
//! |---|---|
//! | 4 | bytes of the payload |
//! | 4 | checksum of kind and payload |
//! | 1 | kind: [`FrameKind`] |
//! | … | payload |
//!
//! Integers are little-endian.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Bytes before the payload.
pub const FRAME_HEAD_BYTES: usize = 9;

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// Rows, as [`engine::ReceivedRows`] reads them. Of two images of a row the later one is the row.
    Rows = 1,
    /// The core is paused; all rows before are before the cut. The payload is the cut's number, 4 bytes.
    Cut = 2,
    /// The backup cannot go on; the payload says why.
    Fault = 3,
    /// Nothing: the stream lives.
    Idle = 4,
    /// The scan of all slots is over; from here on there are only changes.
    Scanned = 5,
}

impl FrameKind {
    const ALL: [Self; 5] = [Self::Rows, Self::Cut, Self::Fault, Self::Idle, Self::Scanned];
}

/// A frame's kind, the bytes of its payload, and the checksum of both.
#[must_use]
pub fn read_frame_head(head: &[u8; FRAME_HEAD_BYTES]) -> Option<(FrameKind, usize, u32)> {
    let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let kind = FrameKind::ALL.into_iter().find(|kind| *kind as u8 == head[8])?;
    Some((kind, number(0) as usize, number(4)))
}

/// What both ends of a stream know.
#[derive(Default)]
struct Shared {
    waiting: AtomicUsize,
    is_read: AtomicBool,
}

/// A core's end.
pub struct FrameSender {
    sender: Sender<Vec<u8>>,
    shared: Arc<Shared>,
}

/// A thread's end.
pub struct FrameReceiver {
    receiver: Receiver<Vec<u8>>,
    shared: Arc<Shared>,
}

/// A stream's two ends.
#[must_use]
pub fn frames() -> (FrameSender, FrameReceiver) {
    let (sender, receiver) = channel();
    let shared = Arc::new(Shared::default());
    (FrameSender { sender, shared: Arc::clone(&shared) }, FrameReceiver { receiver, shared })
}

impl FrameSender {
    /// Bytes that nobody has taken yet.
    pub(crate) fn waiting(&self) -> usize {
        self.shared.waiting.load(Ordering::Acquire)
    }

    /// Whether somebody has begun to take them.
    pub(crate) fn is_read(&self) -> bool {
        self.shared.is_read.load(Ordering::Acquire)
    }

    /// Whether somebody is still there.
    pub(crate) fn send(&self, kind: FrameKind, payload: &[u8]) -> bool {
        let mut frame = Vec::with_capacity(FRAME_HEAD_BYTES + payload.len());
        let mut checksum = base::Checksum::new();
        checksum.update(&[kind as u8]);
        checksum.update(payload);
        frame.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        frame.extend_from_slice(&checksum.value().to_le_bytes());
        frame.push(kind as u8);
        frame.extend_from_slice(payload);
        self.shared.waiting.fetch_add(frame.len(), Ordering::AcqRel);
        self.sender.send(frame).is_ok()
    }
}

impl FrameReceiver {
    /// The next frame; `Ok(None)` if none comes in time.
    ///
    /// # Errors
    /// When the core has ended the stream.
    pub fn next(&self, timeout: Duration) -> Result<Option<Vec<u8>>, StreamEnded> {
        self.shared.is_read.store(true, Ordering::Release);
        match self.receiver.recv_timeout(timeout) {
            Ok(frame) => {
                self.shared.waiting.fetch_sub(frame.len(), Ordering::AcqRel);
                Ok(Some(frame))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(StreamEnded),
        }
    }
}

/// The core sends no more.
#[derive(Debug)]
pub struct StreamEnded;
