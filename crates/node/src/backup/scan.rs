//! The slices of a backup's scan: chunks between requests, and before each what was written meanwhile.
//!
//! Where there are clients a slice is followed by a [`Rest`](crate::cluster::Rest), as in a migration: so a backup takes at most a quarter of what clients leave of a core,
//! and not a slice between any two requests.

use super::frames::FrameKind;
use super::session::CoreBackup;
use crate::cluster::{Budget, Slice};
use crate::core::Core;
use crate::message::Message;
use engine::WriteBatch;
use io::Reactor;
use shard::{BACKUP_SCAN, Chunk, Shard, SlotScan};

/// What is done between two looks at the clock.
const CHUNK_BYTES: usize = 16 << 10;
/// By how much the scan may lengthen a request: a slice takes a sixteenth of it.
const LATENCY_US: u64 = 4_000;
/// Slots without rows cost little, and are not waited for.
const SLOTS_PER_TURN: usize = 64;
/// No chunk is made while so much waits for the tool.
const WAITING_BYTES_MAX: usize = 1 << 20;

impl Core {
    /// Sends what was written, and chunks for a slice of time. Returns when the next slice may begin, if the backup goes on.
    pub(super) fn send_backup<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let now = reactor.now();
        let mut backup = self.backup.take()?;
        if self.cluster.as_mut().is_some_and(|cluster| cluster.replication.take_clients_came()) {
            backup.client_came();
        }
        let mut slice = Slice::begin(Budget::new(LATENCY_US), reactor.clock_us());
        if backup.waits && self.shard.take_scan_ready(BACKUP_SCAN) {
            backup.waits = false;
            let took_us = backup.reads.came(backup.rest.has_clients(), Budget::new(LATENCY_US), reactor.clock_us());
            backup.rest.waited(took_us, reactor.slept_us(), reactor.clock_us());
        }
        let rests_until_us = backup.rest.due_us(reactor.slept_us(), reactor.clock_us());
        let mut goes_on = backup.is_heard(now.monotonic_us);
        // What is left in the shard is bounded there.
        goes_on = goes_on && (backup.frames.waiting() >= WAITING_BYTES_MAX || backup.send_kept(&mut self.shard));
        for _ in 0..SLOTS_PER_TURN {
            let must_wait = backup.waits || backup.is_scanned || backup.frames.waiting() >= WAITING_BYTES_MAX;
            if !goes_on || must_wait || rests_until_us.is_some() || slice.is_over(reactor.clock_us()) {
                break;
            }
            slice.take();
            match backup.send_chunk(&mut self.shard, now) {
                Some(Chunk::Waits) => {
                    backup.waits = true;
                    backup.reads.asked(reactor.clock_us());
                }
                Some(Chunk::More | Chunk::End) => {}
                None => goes_on = false,
            }
        }
        if slice.has_chunks() {
            backup.rest.worked(&slice, reactor.slept_us(), reactor.clock_us());
        }
        goes_on = goes_on && backup.is_whole(&self.shard);
        self.backup = Some(backup);
        goes_on.then_some(rests_until_us.unwrap_or(u64::MAX))
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
        scan.read_at_once(self.reads.records());
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
