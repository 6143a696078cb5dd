//! A backup's session on a core: begun, scanned, cut, over.
//!
//! | state | ends when |
//! |---|---|
//! | scan: chunks of its slots, with changes before each | the last slot is scanned |
//! | changes: what is written | the tool ends it, or nobody reads the stream |
//! | paused, during either | it is released, or the pause has lasted too long |

use super::frames::{FrameKind, FrameSender};
use super::read_pacing::ReadPace;
use crate::cluster::Rest;
use base::{Slot, TableId};
use shard::SlotScan;

/// A stream without anything to say says so this often.
const IDLE_US: u64 = 250_000;
/// A stream that nobody has begun to read by then has lost its tool.
const UNREAD_US_MAX: u64 = 10_000_000;

/// A backup on this core.
pub(crate) struct CoreBackup {
    pub(super) session: u64,
    pub(super) keyspaces: Vec<String>,
    pub(super) frames: FrameSender,
    /// What was kept last, to be used again.
    pub(super) kept: Vec<u8>,
    /// The slots that are left, the next one last, each with the tables that this core is primary of.
    pub(super) slots: Vec<(Slot, Vec<TableId>)>,
    pub(super) scan: Option<SlotScan>,
    /// Whether the scan waits for the device.
    pub(super) waits: bool,
    /// When the scan goes on, where there are clients.
    pub(super) rest: Rest,
    /// How many records it reads at once.
    pub(super) reads: ReadPace,
    pub(super) is_scanned: bool,
    pub(super) places: Vec<Place>,
    pub(super) pause: Option<Pause>,
    pub(super) said_us: u64,
    pub(super) begun_us: u64,
}

/// A slot of a keyspace, by its index in the backup, that this core is the primary of in a term.
pub(super) type Place = (usize, u16, u64);

pub(super) struct Pause {
    pub(super) number: u32,
    pub(super) until_us: u64,
}

impl CoreBackup {
    /// A client has sent work to this core.
    pub(crate) fn client_came(&mut self) {
        self.rest.client_came();
    }

    /// Whether the tool still hears of it; says now and then that the stream lives.
    pub(super) fn is_heard(&mut self, now_us: u64) -> bool {
        if !self.frames.is_read() && now_us >= self.begun_us + UNREAD_US_MAX {
            return false;
        }
        if now_us < self.said_us + IDLE_US {
            return true;
        }
        self.said_us = now_us;
        self.frames.send(FrameKind::Idle, &[])
    }
}
