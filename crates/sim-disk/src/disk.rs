//! One file in memory: what reads see, what survives the loss of power, and what is still on its way.
//!
//! ```text
//! submit ──► in flight ── step: any of them, by chance ──► current ── sync ──► durable
//!                └─ lose_process: torn ───────────────────────┘  └─ lose_power: torn ─┘
//! ```
//! Invariants: a sync covers the writes that had completed when it was asked, and no others; sectors that are durable change only by later
//! writes and by [`Fault`]s; every fault that occurs is in [`Disk::events`].

use crate::faults::{Fault, FaultEvent, Faults};
use crate::tear::{Arrived, tear};
use base::{AlignedBuffer, BLOCK_BYTES, Rng, SECTOR_BYTES};
use io::{DiskCompletion, DiskError, DiskRequest, DiskTag, WriteSource};
use std::ops::Range;

/// `EIO`.
const DEVICE: DiskError = DiskError::Device { code: 5 };

/// A write that was done and that no sync has covered.
struct Unsynced {
    offset: usize,
    bytes: Vec<u8>,
    /// A sync that lied has claimed it.
    claimed: bool,
}

struct InFlight {
    tag: DiskTag,
    request: DiskRequest,
    /// For a sync: how many of the unsynced writes had completed when it was asked.
    covers: usize,
    /// Not done before this time; nothing, as long as it has not been found slow.
    due_us: Option<u64>,
}

/// A file that forgets what was not synced.
pub struct Disk {
    current: Vec<u8>,
    durable: Vec<u8>,
    /// What reads would see if nothing that was done had ever been lost or changed: kept only when asked for.
    ideal: Option<Vec<u8>>,
    unsynced: Vec<Unsynced>,
    in_flight: Vec<InFlight>,
    events: Vec<FaultEvent>,
    /// What occurs by chance.
    pub faults: Faults,
    /// Writes, and extensions of the file, fail.
    pub fail_writes: bool,
    /// Syncs fail.
    pub fail_syncs: bool,
    /// Reads that touch these bytes fail.
    pub bad: Option<Range<usize>>,
    /// The file cannot become longer than this.
    pub capacity: usize,
}

impl Default for Disk {
    fn default() -> Self {
        Self::new()
    }
}

impl Disk {
    /// An empty file on a device that works.
    #[must_use]
    pub fn new() -> Self {
        Self {
            current: Vec::new(),
            durable: Vec::new(),
            ideal: None,
            unsynced: Vec::new(),
            in_flight: Vec::new(),
            events: Vec::new(),
            faults: Faults::none(),
            fail_writes: false,
            fail_syncs: false,
            bad: None,
            capacity: usize::MAX,
        }
    }

    /// The file's length.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.current.len() as u64
    }

    /// Whether nothing has been written or reserved yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.current.is_empty()
    }

    /// What reads see.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.current
    }

    /// What reads would see if nothing that was done had ever been lost or changed, once [`Disk::keep_ideal`] was called.
    #[must_use]
    pub fn ideal(&self) -> Option<&[u8]> {
        self.ideal.as_deref()
    }

    /// From now on remembers what would be there without faults: who looks for what they cost needs it.
    pub fn keep_ideal(&mut self) {
        self.ideal = Some(self.current.clone());
    }

    /// All faults that struck so far.
    #[must_use]
    pub fn events(&self) -> &[FaultEvent] {
        &self.events
    }

    /// Replaces the whole content, durably.
    pub fn load(&mut self, bytes: &[u8]) {
        self.current = bytes.to_vec();
        self.durable = bytes.to_vec();
    }

    /// Flips bits of a byte behind everybody's back, for good.
    pub fn damage(&mut self, offset: usize, mask: u8) {
        self.current[offset] ^= mask;
        self.durable[offset] ^= mask;
        self.record(Fault::BitRot, offset, 1);
    }

    /// Flips one bit somewhere, or replaces a stretch of up to a block and a half.
    pub fn rot(&mut self, rng: &mut Rng) {
        if self.current.is_empty() {
            return;
        }
        let at = rng.below(self.current.len() as u64) as usize;
        let bytes = [1, 16, 5_000][rng.below(3) as usize];
        if bytes == 1 {
            return self.damage(at, 1 << rng.below(8));
        }
        let end = (at + bytes).min(self.current.len());
        rng.fill(&mut self.current[at..end]);
        self.durable[at..end].copy_from_slice(&self.current[at..end]);
        self.record(Fault::BitRot, at, end - at);
    }

    /// Asks for something.
    ///
    /// # Panics
    /// When the engine asks for what no real disk would do: a bug of the caller.
    pub fn submit(&mut self, tag: DiskTag, request: DiskRequest) {
        match &request {
            DiskRequest::Read { offset, buffer, .. } => self.check_range(*offset, buffer.len(), SECTOR_BYTES),
            DiskRequest::Write { offset, source, .. } => {
                let bytes = source_bytes(source).len();
                self.check_range(*offset, bytes, BLOCK_BYTES);
                assert!(bytes > 0, "an empty write");
                let range = *offset as usize..*offset as usize + bytes;
                assert!(!self.is_being_written(&range), "two writes to the same place in flight");
            }
            DiskRequest::Sync { .. } | DiskRequest::Extend { .. } | DiskRequest::Populate { .. } | DiskRequest::Compute { .. } => {}
            DiskRequest::ReplaceBlob { .. } => panic!("a blob is not of this file"),
        }
        self.in_flight.push(InFlight { tag, request, covers: self.unsynced.len(), due_us: None });
    }

    /// How many requests are in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Only the first so many requests in flight were ever made: the process died before it could make the others.
    pub fn never_submitted_after(&mut self, count: usize) {
        self.in_flight.truncate(count);
    }

    fn check_range(&self, offset: u64, bytes: usize, unit: usize) {
        assert!(offset as usize + bytes <= self.current.len(), "a read or write past the end of the file");
        assert!(offset.is_multiple_of(unit as u64) && bytes.is_multiple_of(unit), "a read or write of parts of units of {unit}");
    }

    fn is_being_written(&self, range: &Range<usize>) -> bool {
        self.in_flight.iter().any(|other| match &other.request {
            DiskRequest::Write { offset, source, .. } => {
                let start = *offset as usize;
                start < range.end && range.start < start + source_bytes(source).len()
            }
            _ => false,
        })
    }

    /// When the next request can be done: now, later, or never because there is none.
    #[must_use]
    pub fn next_us(&self, now_us: u64) -> Option<u64> {
        self.in_flight.iter().map(|flight| flight.due_us.unwrap_or(now_us)).min()
    }

    /// Does one of the requests in flight, whichever chance picks, as if time did not matter.
    pub fn step(&mut self, rng: &mut Rng) -> Option<DiskCompletion> {
        self.step_at(u64::MAX, rng)
    }

    /// Does one of the requests that can be done now. `None` also when the one that chance picked turns out to be slow.
    pub fn step_at(&mut self, now_us: u64, rng: &mut Rng) -> Option<DiskCompletion> {
        let ready = |flight: &InFlight| flight.due_us.is_none_or(|due| due <= now_us);
        let count = self.in_flight.iter().filter(|flight| ready(flight)).count();
        let chosen = rng.below(count as u64) as usize;
        let index = (0..self.in_flight.len()).filter(|index| ready(&self.in_flight[*index])).nth(chosen)?;
        if self.in_flight[index].due_us.is_none() && self.faults.occurs(Fault::Slow, rng) {
            self.in_flight[index].due_us = Some(now_us.saturating_add(self.faults.slow_us));
            self.record(Fault::Slow, 0, 0);
            return None;
        }
        let InFlight { tag, request, covers, .. } = self.in_flight.swap_remove(index);
        let (result, buffer) = match request {
            DiskRequest::Read { offset, mut buffer, .. } => (self.read(offset as usize, &mut buffer, rng), Some(buffer)),
            DiskRequest::Write { offset, source, .. } => {
                let result = self.write(offset as usize, source_bytes(&source), rng);
                (result, owned_buffer(source))
            }
            DiskRequest::Sync { .. } => (self.sync(covers, rng), None),
            DiskRequest::Extend { length, .. } => (self.extend(length as usize, rng), None),
            DiskRequest::Populate { buffer } => (Ok(()), Some(buffer)),
            DiskRequest::Compute { work } => {
                work.run();
                (Ok(()), None)
            }
            DiskRequest::ReplaceBlob { .. } => unreachable!("refused when submitted"),
        };
        Some(DiskCompletion { tag, result, buffer })
    }

    fn read(&mut self, offset: usize, buffer: &mut AlignedBuffer, rng: &mut Rng) -> Result<(), DiskError> {
        let end = offset + buffer.len();
        let mut from = offset;
        if self.faults.occurs(Fault::MisdirectedRead, rng) {
            from = self.elsewhere(buffer.len(), rng);
            self.record(Fault::MisdirectedRead, offset, buffer.len());
        }
        let length = buffer.len();
        buffer.copy_from_slice(&self.current[from..from + length]);
        if self.bad.as_ref().is_some_and(|bad| bad.start < end && offset < bad.end) {
            return Err(DEVICE);
        }
        if self.faults.occurs(Fault::FailedRead, rng) {
            self.record(Fault::FailedRead, offset, buffer.len());
            return Err(DEVICE);
        }
        Ok(())
    }

    fn write(&mut self, offset: usize, bytes: &[u8], rng: &mut Rng) -> Result<(), DiskError> {
        if self.fail_writes || self.faults.occurs(Fault::FailedWrite, rng) {
            self.record(Fault::FailedWrite, offset, bytes.len());
            self.write_torn(offset, bytes, rng);
            return Err(DEVICE);
        }
        if let Some(ideal) = &mut self.ideal {
            ideal[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        if self.faults.occurs(Fault::LostWrite, rng) {
            self.record(Fault::LostWrite, offset, bytes.len());
            return Ok(());
        }
        let mut to = offset;
        if self.faults.occurs(Fault::MisdirectedWrite, rng) {
            to = self.elsewhere(bytes.len(), rng);
            self.record(Fault::MisdirectedWrite, offset, bytes.len());
            self.record(Fault::MisdirectedWrite, to, bytes.len());
        }
        self.put(to, bytes.to_vec());
        Ok(())
    }

    /// Any other place for so many bytes; the same when there is no other.
    fn elsewhere(&self, bytes: usize, rng: &mut Rng) -> usize {
        let places = (self.current.len() - bytes) / BLOCK_BYTES + 1;
        rng.below(places as u64) as usize * BLOCK_BYTES
    }

    fn put(&mut self, offset: usize, bytes: Vec<u8>) {
        self.current[offset..offset + bytes.len()].copy_from_slice(&bytes);
        self.unsynced.push(Unsynced { offset, bytes, claimed: false });
    }

    fn write_torn(&mut self, offset: usize, bytes: &[u8], rng: &mut Rng) {
        let mut torn = self.current[offset..offset + bytes.len()].to_vec();
        if tear(rng, &mut torn, bytes) == Arrived::InPart {
            self.record(Fault::Torn, offset, bytes.len());
        }
        if let Some(ideal) = &mut self.ideal {
            ideal[offset..offset + torn.len()].copy_from_slice(&torn);
        }
        self.put(offset, torn);
    }

    fn sync(&mut self, covers: usize, rng: &mut Rng) -> Result<(), DiskError> {
        if self.fail_syncs || self.faults.occurs(Fault::FailedSync, rng) {
            self.record(Fault::FailedSync, 0, 0);
            self.lose_unsynced(covers, rng);
            return Err(DEVICE);
        }
        if self.faults.occurs(Fault::LyingSync, rng) {
            self.unsynced[..covers].iter_mut().for_each(|write| write.claimed = true);
            return Ok(());
        }
        for write in self.unsynced.drain(..covers) {
            self.durable[write.offset..write.offset + write.bytes.len()].copy_from_slice(&write.bytes);
        }
        for other in &mut self.in_flight {
            other.covers = other.covers.saturating_sub(covers);
        }
        Ok(())
    }

    /// What a sync could not bring out is not tried again by anybody: each sector is as before or as written, from now on.
    fn lose_unsynced(&mut self, covers: usize, rng: &mut Rng) {
        let lost: Vec<Unsynced> = self.unsynced.drain(..covers).collect();
        for other in &mut self.in_flight {
            other.covers = other.covers.saturating_sub(covers);
        }
        for Unsynced { offset, bytes, claimed } in &lost {
            if tear(rng, &mut self.durable[*offset..offset + bytes.len()], bytes) == Arrived::InPart {
                self.record(if *claimed { Fault::LyingSync } else { Fault::Torn }, *offset, bytes.len());
            }
        }
        for Unsynced { offset, bytes, .. } in &lost {
            let range = *offset..offset + bytes.len();
            self.current[range.clone()].copy_from_slice(&self.durable[range]);
        }
        for Unsynced { offset, bytes, .. } in &self.unsynced {
            self.current[*offset..offset + bytes.len()].copy_from_slice(bytes);
        }
    }

    fn extend(&mut self, length: usize, rng: &mut Rng) -> Result<(), DiskError> {
        if self.fail_writes {
            return Err(DEVICE);
        }
        if length > self.capacity || self.faults.occurs(Fault::Full, rng) {
            self.record(Fault::Full, length, 0);
            return Err(DiskError::Full);
        }
        let length = length.max(self.current.len());
        self.current.resize(length, 0);
        self.durable.resize(length, 0);
        if let Some(ideal) = &mut self.ideal {
            ideal.resize(length, 0);
        }
        Ok(())
    }

    /// The process dies: what was on its way arrives in part or in whole.
    pub fn lose_process(&mut self, rng: &mut Rng) {
        for flight in std::mem::take(&mut self.in_flight) {
            if let DiskRequest::Write { offset, source, .. } = flight.request {
                self.write_torn(offset as usize, source_bytes(&source), rng);
            }
        }
    }

    /// The power goes, and the process with it: each sector that was not synced is as before or as written.
    pub fn lose_power(&mut self, rng: &mut Rng) {
        self.lose_process(rng);
        self.lose_unsynced(self.unsynced.len(), rng);
    }

    fn record(&mut self, fault: Fault, offset: usize, bytes: usize) {
        self.events.push(FaultEvent { fault, offset: offset as u64, bytes: bytes as u64 });
    }
}

fn source_bytes(source: &WriteSource) -> &[u8] {
    match source {
        WriteSource::Owned(buffer, bytes) => &buffer[..*bytes],
        WriteSource::Shared(buffer, range) => &buffer[range.clone()],
    }
}

fn owned_buffer(source: WriteSource) -> Option<AlignedBuffer> {
    match source {
        WriteSource::Owned(buffer, _) => Some(buffer),
        WriteSource::Shared(..) => None,
    }
}

const _: () = assert!(BLOCK_BYTES.is_multiple_of(SECTOR_BYTES), "a block is whole sectors");

#[cfg(test)]
mod tests;
