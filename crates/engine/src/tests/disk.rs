//! A disk that forgets what was not synced, and a stable memory that forgets what power loss takes.

use base::Rng;
use io::{DiskCompletion, DiskError, DiskRequest, DiskTag, StableMemory, WriteSource};
use std::cell::RefCell;
use std::rc::Rc;

const SECTOR: usize = 512;

struct Unsynced {
    offset: usize,
    bytes: Vec<u8>,
}

struct InFlight {
    tag: DiskTag,
    request: DiskRequest,
    /// For a sync: how many of the unsynced writes it covers.
    covers: usize,
}

/// One file in memory.
pub(super) struct FakeDisk {
    /// What reads see.
    current: Vec<u8>,
    /// What survives power loss.
    durable: Vec<u8>,
    unsynced: Vec<Unsynced>,
    in_flight: Vec<InFlight>,
    pub(super) fail_writes: bool,
    pub(super) fail_syncs: bool,
    /// Reads that touch these bytes fail.
    pub(super) bad: Option<std::ops::Range<usize>>,
    pub(super) capacity: usize,
}

fn source_bytes(source: &WriteSource) -> &[u8] {
    match source {
        WriteSource::Owned(buffer, bytes) => &buffer[..*bytes],
        WriteSource::Shared(buffer, range) => &buffer[range.clone()],
    }
}

impl FakeDisk {
    pub(super) fn new() -> Self {
        Self {
            current: Vec::new(),
            durable: Vec::new(),
            unsynced: Vec::new(),
            in_flight: Vec::new(),
            fail_writes: false,
            fail_syncs: false,
            bad: None,
            capacity: usize::MAX,
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.current.len() as u64
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.current
    }

    /// Changes bytes behind the engine's back, for good.
    pub(super) fn damage(&mut self, offset: usize, mask: u8) {
        self.current[offset] ^= mask;
        self.durable[offset] ^= mask;
    }

    pub(super) fn load(&mut self, bytes: &[u8]) {
        self.current = bytes.to_vec();
        self.durable = bytes.to_vec();
    }

    pub(super) fn submit(&mut self, tag: DiskTag, request: DiskRequest) {
        match &request {
            DiskRequest::Read { offset, buffer, .. } => {
                assert!(*offset as usize + buffer.len() <= self.current.len(), "a read past the end of the file");
                assert!(offset.is_multiple_of(4096) && buffer.len().is_multiple_of(4096));
            }
            DiskRequest::Write { offset, source, .. } => {
                let bytes = source_bytes(source);
                let range = *offset as usize..*offset as usize + bytes.len();
                assert!(range.end <= self.current.len(), "a write past the end of the file");
                assert!(offset.is_multiple_of(4096) && bytes.len().is_multiple_of(4096) && !bytes.is_empty());
                for other in &self.in_flight {
                    if let DiskRequest::Write { offset, source, .. } = &other.request {
                        let start = *offset as usize;
                        let end = start + source_bytes(source).len();
                        assert!(end <= range.start || start >= range.end, "two writes to the same place in flight");
                    }
                }
            }
            DiskRequest::Sync { .. } | DiskRequest::Extend { .. } => {}
            DiskRequest::ReplaceBlob { .. } => panic!("the engine has no blobs"),
        }
        let covers = self.unsynced.len();
        self.in_flight.push(InFlight { tag, request, covers });
    }

    /// Does one of the requests in flight, whichever chance picks.
    pub(super) fn step(&mut self, rng: &mut Rng) -> Option<DiskCompletion> {
        if self.in_flight.is_empty() {
            return None;
        }
        let chosen = rng.below(self.in_flight.len() as u64) as usize;
        let InFlight { tag, request, covers } = self.in_flight.swap_remove(chosen);
        let device = Err(DiskError::Device { code: 5 });
        let (result, buffer) = match request {
            DiskRequest::Read { offset, mut buffer, .. } => {
                let start = offset as usize;
                let end = start + buffer.len();
                buffer.copy_from_slice(&self.current[start..end]);
                let bad = self.bad.as_ref().is_some_and(|bad| bad.start < end && bad.end > start);
                (if bad { device } else { Ok(()) }, Some(buffer))
            }
            DiskRequest::Write { offset, source, .. } => {
                let bytes = source_bytes(&source).to_vec();
                let buffer = if let WriteSource::Owned(buffer, _) = source { Some(buffer) } else { None };
                if self.fail_writes {
                    (device, buffer)
                } else {
                    let start = offset as usize;
                    self.current[start..start + bytes.len()].copy_from_slice(&bytes);
                    self.unsynced.push(Unsynced { offset: start, bytes });
                    (Ok(()), buffer)
                }
            }
            DiskRequest::Sync { .. } if self.fail_syncs => (device, None),
            DiskRequest::Sync { .. } => {
                for write in self.unsynced.drain(..covers) {
                    self.durable[write.offset..write.offset + write.bytes.len()].copy_from_slice(&write.bytes);
                }
                for other in &mut self.in_flight {
                    other.covers = other.covers.saturating_sub(covers);
                }
                (Ok(()), None)
            }
            DiskRequest::Extend { length, .. } if length as usize > self.capacity => (Err(DiskError::Full), None),
            DiskRequest::Extend { length, .. } => {
                self.current.resize(self.current.len().max(length as usize), 0);
                self.durable.resize(self.current.len(), 0);
                (Ok(()), None)
            }
            DiskRequest::ReplaceBlob { .. } => unreachable!("refused when submitted"),
        };
        Some(DiskCompletion { tag, result, buffer })
    }

    /// The process dies: what was on its way may still arrive, in part or in whole.
    pub(super) fn kill(&mut self, rng: &mut Rng) {
        for flight in std::mem::take(&mut self.in_flight) {
            if let DiskRequest::Write { offset, source, .. } = flight.request {
                let mut torn = self.current[offset as usize..offset as usize + source_bytes(&source).len()].to_vec();
                tear(rng, &mut torn, source_bytes(&source));
                self.current[offset as usize..offset as usize + torn.len()].copy_from_slice(&torn);
                self.unsynced.push(Unsynced { offset: offset as usize, bytes: torn });
            }
        }
    }

    /// The power goes: each sector that was not synced is as before or as written.
    pub(super) fn lose_power(&mut self, rng: &mut Rng) {
        self.kill(rng);
        for write in std::mem::take(&mut self.unsynced) {
            let range = write.offset..write.offset + write.bytes.len();
            tear(rng, &mut self.durable[range], &write.bytes);
        }
        self.current = self.durable.clone();
    }
}

fn tear(rng: &mut Rng, old: &mut [u8], new: &[u8]) {
    let mode = rng.below(4);
    let cut = rng.below(new.len() as u64 / SECTOR as u64 + 1) as usize;
    for (number, (old, new)) in old.chunks_mut(SECTOR).zip(new.chunks(SECTOR)).enumerate() {
        let written = match mode {
            0 => true,
            1 => number < cut,
            2 => number >= cut,
            _ => rng.below(2) == 0,
        };
        if written {
            old.copy_from_slice(new);
        }
    }
}

/// Stable memory whose bytes outlive the engine that it is lent to.
#[derive(Clone)]
pub(super) struct FakeStable {
    pub(super) bytes: Rc<RefCell<Vec<u8>>>,
    /// How many more bytes are written before the process "dies": later writes are lost.
    pub(super) fuse: Rc<RefCell<Option<usize>>>,
}

impl FakeStable {
    pub(super) fn new(length: usize) -> Self {
        Self { bytes: Rc::new(RefCell::new(vec![0; length])), fuse: Rc::default() }
    }

    pub(super) fn has_blown(&self) -> bool {
        *self.fuse.borrow() == Some(0)
    }

    /// What a file mapping holds after power loss: pages of any age. Here nothing, garbage, or holes.
    pub(super) fn lose_power(&self, rng: &mut Rng) {
        let mut bytes = self.bytes.borrow_mut();
        match rng.below(3) {
            0 => bytes.fill(0),
            1 => rng.fill(&mut bytes),
            _ => {
                for page in bytes.chunks_mut(4096) {
                    if rng.below(2) == 0 {
                        page.fill(0);
                    }
                }
            }
        }
    }
}

impl StableMemory for FakeStable {
    fn len(&self) -> usize {
        self.bytes.borrow().len()
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let mut fuse = self.fuse.borrow_mut();
        let length = fuse.map_or(bytes.len(), |left| left.min(bytes.len()));
        if let Some(left) = &mut *fuse {
            *left -= length;
        }
        self.bytes.borrow_mut()[offset..offset + length].copy_from_slice(&bytes[..length]);
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.bytes.borrow()[offset..offset + bytes.len()]);
    }
}
