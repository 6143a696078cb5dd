//! The slices of a backup's scan: chunks between requests, and before each what was written meanwhile.

use super::frames::FrameKind;
use super::session::CoreBackup;
use crate::core::Core;
use crate::message::Message;
use engine::WriteBatch;
use io::Reactor;
use shard::{BACKUP_SCAN, Chunk, Shard, SlotScan};

/// What is done between two looks at the clock.
const CHUNK_BYTES: usize = 16 << 10;
/// A slice of a turn.
const SLICE_US: u64 = 250;
/// Slots without rows cost little, and are not waited for.
const SLOTS_PER_TURN: usize = 64;
/// No chunk is made while so much waits for the tool.
const WAITING_BYTES_MAX: usize = 1 << 20;

impl Core {
    /// Sends what was written, and chunks for a slice of time. Returns whether the backup goes on.
    pub(super) fn send_backup<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> bool {
        let now = reactor.now();
        let Some(mut backup) = self.backup.take() else { return false };
        let begun_us = reactor.clock_us();
        let mut goes_on = backup.is_heard(now.monotonic_us);
        // What is left in the shard is bounded there.
        goes_on = goes_on && (backup.frames.waiting() >= WAITING_BYTES_MAX || backup.send_kept(&mut self.shard));
        backup.waits = backup.waits && !self.shard.take_scan_ready(BACKUP_SCAN);
        for _ in 0..SLOTS_PER_TURN {
            if !goes_on
                || backup.waits
                || backup.is_scanned
                || backup.frames.waiting() >= WAITING_BYTES_MAX
                || reactor.clock_us() >= begun_us + SLICE_US
            {
                break;
            }
            match backup.send_chunk(&mut self.shard, now) {
                Some(chunk) => backup.waits = chunk == Chunk::Waits,
                None => goes_on = false,
            }
        }
        goes_on = goes_on && backup.is_whole(&self.shard);
        self.backup = Some(backup);
        goes_on
    }
}

impl CoreBackup {
    /// Sends what was written since the last time.
    pub(super) fn send_kept(&mut self, shard: &mut Shard) -> bool {
        self.kept.clear();
        if let Err(fault) = shard.take_kept(&mut self.kept) {
            self.frames.send(FrameKind::Fault, fault.to_string().as_bytes());
            return false;
        }
        self.kept.is_empty() || self.frames.send(FrameKind::Rows, &self.kept)
    }

    /// Whether everything that was written is kept.
    fn is_whole(&self, shard: &Shard) -> bool {
        match shard.kept_fault() {
            None => true,
            Some(fault) => {
                self.frames.send(FrameKind::Fault, fault.to_string().as_bytes());
                false
            }
        }
    }

    /// The next chunk; `None` if the backup is over.
    fn send_chunk(&mut self, shard: &mut Shard, now: base::Now) -> Option<Chunk> {
        if self.scan.is_none() {
            let Some((slot, tables)) = self.slots.pop() else {
                self.is_scanned = true;
                return self.frames.send(FrameKind::Scanned, &[]).then_some(Chunk::End);
            };
            shard.keep_slot(slot);
            self.scan = Some(SlotScan::new(tables, slot));
        }
        // What was written before the chunk comes before it.
        if !self.send_kept(shard) {
            return None;
        }
        let scan = self.scan.as_mut()?;
        let mut rows = WriteBatch::new();
        let chunk = match shard.scan_slot(now, BACKUP_SCAN, scan, CHUNK_BYTES, &mut rows) {
            Ok(chunk) => chunk,
            Err(error) => {
                self.frames.send(FrameKind::Fault, format!("rows cannot be read: {error}").as_bytes());
                return None;
            }
        };
        if !rows.is_empty() && !self.frames.send(FrameKind::Rows, rows.bytes()) {
            return None;
        }
        if chunk == Chunk::End {
            if scan.damaged() > 0 {
                let text = format!("{} rows of slot {} are damaged; `tarndb inspect` shows them", scan.damaged(), scan.slot().0);
                self.frames.send(FrameKind::Fault, text.as_bytes());
                return None;
            }
            self.scan = None;
        }
        Some(chunk)
    }
}
