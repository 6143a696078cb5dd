//! One core's file: what reads see, what survives the loss of power, and what is still on its way.

use base::Rng;
use io::{DiskCompletion, DiskError, DiskRequest, DiskTag, WriteSource};

const SECTOR_BYTES: usize = 512;

struct Unsynced {
    offset: usize,
    bytes: Vec<u8>,
}

struct InFlight {
    tag: DiskTag,
    request: DiskRequest,
    /// For a sync: how many of the unsynced writes had completed when it was asked.
    covers: usize,
}

/// A file in memory that forgets what was not synced.
#[derive(Default)]
pub(crate) struct FakeDisk {
    current: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Unsynced>,
    in_flight: Vec<InFlight>,
    /// The device has failed: it reads, and nothing else.
    failing: bool,
}

fn bytes_of(source: &WriteSource) -> &[u8] {
    match source {
        WriteSource::Owned(buffer, length) => &buffer[..*length],
        WriteSource::Shared(buffer, range) => &buffer[range.clone()],
    }
}

impl FakeDisk {
    pub(crate) fn len(&self) -> u64 {
        self.current.len() as u64
    }

    pub(crate) fn submit(&mut self, tag: DiskTag, request: DiskRequest) {
        assert!(!matches!(request, DiskRequest::ReplaceBlob { .. }), "blobs are not of a file");
        self.in_flight.push(InFlight { tag, request, covers: self.unsynced.len() });
    }

    /// From now on, or no longer, writes, syncs and extensions fail.
    pub(crate) fn set_failing(&mut self, failing: bool) {
        self.failing = failing;
    }

    /// Changes bytes behind everybody's back, for good.
    pub(crate) fn damage(&mut self, dice: &mut Rng) {
        if self.current.is_empty() {
            return;
        }
        for _ in 0..1 + dice.below(20) {
            let at = dice.below(self.current.len() as u64) as usize;
            let end = (at + [1, 16, 5_000][dice.below(3) as usize]).min(self.current.len());
            dice.fill(&mut self.current[at..end]);
            self.durable[at..end].copy_from_slice(&self.current[at..end]);
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Does one of the requests in flight, whichever chance picks.
    pub(crate) fn complete_one(&mut self, dice: &mut Rng) -> Option<DiskCompletion> {
        if self.in_flight.is_empty() {
            return None;
        }
        let chosen = dice.below(self.in_flight.len() as u64) as usize;
        let InFlight { tag, request, covers } = self.in_flight.swap_remove(chosen);
        let mut returned = None;
        let result = match request {
            DiskRequest::Write { source, .. } if self.failing => {
                if let WriteSource::Owned(buffer, _) = source {
                    returned = Some(buffer);
                }
                Err(DiskError::Device { code: 5 })
            }
            DiskRequest::Sync { .. } | DiskRequest::Extend { .. } if self.failing => Err(DiskError::Device { code: 5 }),
            DiskRequest::Read { offset, mut buffer, .. } => {
                let start = offset as usize;
                let result = match self.current.get(start..start + buffer.len()) {
                    Some(bytes) => {
                        buffer.copy_from_slice(bytes);
                        Ok(())
                    }
                    None => Err(DiskError::Short { got: self.current.len().saturating_sub(start), wanted: buffer.len() }),
                };
                returned = Some(buffer);
                result
            }
            DiskRequest::Write { offset, source, .. } => {
                self.write(offset as usize, bytes_of(&source).to_vec());
                if let WriteSource::Owned(buffer, _) = source {
                    returned = Some(buffer);
                }
                Ok(())
            }
            DiskRequest::Sync { .. } => {
                for write in self.unsynced.drain(..covers) {
                    self.durable[write.offset..write.offset + write.bytes.len()].copy_from_slice(&write.bytes);
                }
                for other in &mut self.in_flight {
                    other.covers = other.covers.saturating_sub(covers);
                }
                Ok(())
            }
            DiskRequest::Extend { length, .. } => {
                self.current.resize(self.current.len().max(length as usize), 0);
                self.durable.resize(self.current.len(), 0);
                Ok(())
            }
            DiskRequest::ReplaceBlob { .. } => unreachable!("refused when submitted"),
        };
        Some(DiskCompletion { tag, result, buffer: returned })
    }

    fn write(&mut self, offset: usize, bytes: Vec<u8>) {
        assert!(offset + bytes.len() <= self.current.len(), "a write past the end of the file");
        self.current[offset..offset + bytes.len()].copy_from_slice(&bytes);
        self.unsynced.push(Unsynced { offset, bytes });
    }

    /// The process dies: what was on its way arrives in part or in whole.
    pub(crate) fn lose_process(&mut self, dice: &mut Rng) {
        for flight in std::mem::take(&mut self.in_flight) {
            if let DiskRequest::Write { offset, source, .. } = flight.request {
                let new = bytes_of(&source);
                let mut torn = self.current[offset as usize..offset as usize + new.len()].to_vec();
                tear(dice, &mut torn, new);
                self.write(offset as usize, torn);
            }
        }
    }

    /// The power goes, after the process: each sector that was not synced is as before or as written.
    pub(crate) fn lose_power(&mut self, dice: &mut Rng) {
        for write in std::mem::take(&mut self.unsynced) {
            tear(dice, &mut self.durable[write.offset..write.offset + write.bytes.len()], &write.bytes);
        }
        self.current.clone_from(&self.durable);
    }
}

fn tear(dice: &mut Rng, old: &mut [u8], new: &[u8]) {
    let sectors = new.len().div_ceil(SECTOR_BYTES) as u64;
    let (mode, cut) = (dice.below(4), dice.below(sectors + 1));
    for (number, (old, new)) in old.chunks_mut(SECTOR_BYTES).zip(new.chunks(SECTOR_BYTES)).enumerate() {
        let arrives = match mode {
            0 => true,
            1 => (number as u64) < cut,
            2 => (number as u64) >= cut,
            _ => dice.below(2) == 0,
        };
        if arrives {
            old.copy_from_slice(new);
        }
    }
}
