//! Reading what nobody reads: every stored segment is verified once in `scrub_interval_us`, in slices, when the device has nothing else to do.
//!
//! 1. When a slice is due and the device is idle, a stored segment is read on, a slice at a time, at an even pace.
//! 2. The records' checksums are computed as the bytes come by, so that no frame is needed, however large records are.
//! 3. If something is wrong, the whole segment is read again, block by block where the device fails, to tell what is damaged and what is
//!    not, and that it was not a read that went wrong.
//!
//! Invariant: what is reported belongs to the use of the segment that the index knows: a segment that is reclaimed meanwhile is left alone.

use crate::engine::Engine;
use crate::format::record::{FLAG_SEAL, HEADER_BYTES, Salt};
use crate::format::segment_header::{HeaderBlock, HeaderState, SegmentHeader};
use crate::load::Pace;
use crate::location::{SegmentId, padded};
use crate::segments::Usage;
use crate::tags::Purpose;
use crate::walk::{Step, Walk};
use base::{AlignedBuffer, BLOCK_BYTES, Checksum};
use io::{DiskCompletion, DiskRequest};

/// Bytes of one read.
const SLICE_BYTES: usize = 256 << 10;
/// How long to wait when the device is busy.
const BUSY_US: u64 = 10_000;
/// How a suspicious segment is read.
const PACE: Pace = Pace { piece_bytes: SLICE_BYTES, in_flight_max: 1 };

/// A record whose end has not come by yet.
struct Body {
    checksum: Checksum,
    expected: u32,
    /// Offsets in the segment: where the record ends, and how far it has come by.
    end: usize,
    seen: usize,
    /// Nothing counts behind it.
    is_seal: bool,
}

/// Verifies the records of a segment as its bytes come by.
struct Stream {
    salt: Salt,
    /// The end at the latest: after a start from a checkpoint it may not be known better than this.
    used: usize,
    /// Where the record starts that is looked at.
    offset: usize,
    body: Option<Body>,
}

/// What a slice has shown.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// The next slice starts here.
    Next(usize),
    Good,
    Suspicious,
}

impl Stream {
    fn new(salt: Salt, used: usize) -> Self {
        Self { salt, used, offset: BLOCK_BYTES, body: None }
    }

    /// The bytes of the segment from `start` on.
    fn feed(&mut self, start: usize, bytes: &[u8]) -> Verdict {
        let stop = start + bytes.len();
        loop {
            if let Some(body) = &mut self.body {
                let until = body.end.min(stop);
                body.checksum.update(&bytes[body.seen - start..until - start]);
                body.seen = until;
                if until < body.end {
                    return Verdict::Next(stop);
                }
                if body.checksum.value() != body.expected {
                    return Verdict::Suspicious;
                }
                if body.is_seal {
                    return Verdict::Good;
                }
                self.offset += padded(body.end - self.offset);
                self.body = None;
            }
            let offset = self.offset;
            if offset >= self.used {
                return Verdict::Good;
            }
            let Some(header) = bytes.get(offset - start..).and_then(|rest| rest.first_chunk::<HEADER_BYTES>()) else {
                // The block in which the header begins is read again, unless nothing comes after it.
                return if stop < self.used { Verdict::Next(offset / BLOCK_BYTES * BLOCK_BYTES) } else { Verdict::Suspicious };
            };
            let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
            let length = word(4) as usize;
            if length < HEADER_BYTES || length > self.used - offset {
                return Verdict::Suspicious;
            }
            let expected = word(0) ^ self.salt.at(offset);
            let is_seal = header[15] & FLAG_SEAL != 0;
            self.body = Some(Body { checksum: Checksum::new(), expected, end: offset + length, seen: offset + 4, is_seal });
        }
    }
}

/// A segment being verified.
struct Job {
    segment: SegmentId,
    generation: u64,
    stream: Stream,
    /// Where the next slice starts.
    next: usize,
    /// The load that reads the whole of it again.
    locating: Option<u64>,
}

/// The state of the scrub.
#[derive(Default)]
pub(crate) struct Scrub {
    job: Option<Job>,
    /// A slice is at the device.
    reading: bool,
    /// The segment to look at next; drawn from the clock at first, so that frequent restarts do not verify the same ones for ever.
    cursor: Option<usize>,
    /// When the next slice is due.
    due_us: u64,
}

impl Scrub {
    pub(crate) fn is_idle(&self) -> bool {
        !self.reading
    }

    /// Memory of the slice in flight.
    pub(crate) fn buffer_bytes(&self) -> usize {
        if self.reading { SLICE_BYTES } else { 0 }
    }
}

impl Engine {
    /// Goes on with the scrub if it is time. Returns when it wants to be called again although nothing happens.
    pub(crate) fn scrub_tick(&mut self, now_us: u64) -> Option<u64> {
        if self.config.scrub_interval_us == 0 || self.closing || self.poisoned.is_some() || self.scrub.reading {
            return None;
        }
        let len = self.segments.len();
        if self.scrub.cursor.is_none() && len > 0 {
            self.scrub.cursor = Some(now_us as usize % len);
            self.scrub.due_us = now_us.saturating_add(self.slice_interval_us());
        }
        if let Some(serial) = self.scrub.job.as_ref().and_then(|job| job.locating) {
            if self.loads.is_done(serial) {
                self.locate(serial);
            }
            return None;
        }
        if self.scrub.due_us > now_us {
            return Some(self.scrub.due_us);
        }
        if self.device_is_busy() {
            self.scrub.due_us = now_us.saturating_add(BUSY_US);
            return Some(self.scrub.due_us);
        }
        if !self.scrub_job_holds() {
            self.scrub.job = self.next_segment();
        }
        let Some(job) = &self.scrub.job else {
            self.scrub.due_us = now_us.saturating_add(self.slice_interval_us());
            return Some(self.scrub.due_us);
        };
        let end = job.stream.used.next_multiple_of(BLOCK_BYTES).min(job.next + SLICE_BYTES);
        let offset = u64::from(job.segment.0) * u64::from(self.config.segment_bytes) + job.next as u64;
        let buffer = AlignedBuffer::zeroed(end - job.next);
        self.scrub.reading = true;
        self.outbox.push((Purpose::Scrub.tag(), DiskRequest::Read { file: self.config.file, offset, buffer }));
        None
    }

    /// A slice has come, or has not.
    pub(crate) fn scrubbed(&mut self, now_us: u64, completion: &DiskCompletion) {
        self.scrub.reading = false;
        self.scrub.due_us = now_us.saturating_add(self.slice_interval_us());
        if !self.scrub_job_holds() {
            self.scrub.job = None;
            return;
        }
        let Some(mut job) = self.scrub.job.take() else { return };
        let verdict = match (&completion.result, completion.buffer.as_deref()) {
            (Ok(()), Some(bytes)) => {
                self.counters.scrub_bytes += bytes.len() as u64;
                if job.next == 0 && !self.is_header_of(job.segment, bytes) {
                    Verdict::Suspicious
                } else {
                    // The first slice begins with the header block.
                    let skipped = if job.next == 0 { BLOCK_BYTES } else { 0 };
                    job.stream.feed(job.next + skipped, &bytes[skipped..])
                }
            }
            _ => {
                self.counters.device_failures += 1;
                Verdict::Suspicious
            }
        };
        match verdict {
            Verdict::Good => {
                self.counters.scrub_segments += 1;
                return;
            }
            Verdict::Next(next) => job.next = next,
            Verdict::Suspicious => {
                let staging = self.take_log_frame();
                job.locating = Some(self.load(job.segment, job.stream.used, staging, PACE));
            }
        }
        self.scrub.job = Some(job);
    }

    /// Says what of a suspicious segment is damaged, if anything still is.
    fn locate(&mut self, serial: u64) {
        let holds = self.scrub_job_holds();
        let (Some(job), Some((segment, image))) = (self.scrub.job.take(), self.loads.take(serial)) else { return };
        if holds {
            let mut places = Vec::new();
            if !self.is_header_of(segment, &image) {
                places.push((0, BLOCK_BYTES));
            }
            let mut walk = Walk::finished(&image[..job.stream.used], job.stream.salt, 0);
            while let Some(step) = walk.next() {
                if let Step::Damage { offset, end } = step {
                    places.push((offset, end - offset));
                }
            }
            for (offset, bytes) in places {
                let before = self.counters.damaged_records;
                self.damage_found(segment, offset, bytes);
                self.counters.scrub_damaged += self.counters.damaged_records - before;
            }
            self.counters.scrub_segments += 1;
        }
        self.memory.recycle(image);
    }

    /// Whether the segment being verified is still in the same use, and not being reclaimed.
    fn scrub_job_holds(&self) -> bool {
        self.scrub.job.as_ref().is_some_and(|job| {
            let entry = self.segments.get(job.segment);
            entry.usage == Usage::Stored && entry.generation == job.generation
        })
    }

    /// The next stored segment, in the order of the device.
    fn next_segment(&mut self) -> Option<Job> {
        let len = self.segments.len();
        let from = self.scrub.cursor?;
        let stored = |index: &usize| self.segments.get(SegmentId(*index as u32)).usage == Usage::Stored;
        let index = (from..len).chain(0..from.min(len)).find(stored)?;
        self.scrub.cursor = Some((index + 1) % len);
        let segment = SegmentId(index as u32);
        let entry = self.segments.get(segment);
        let stream = Stream::new(self.segments.salt(segment), entry.used as usize);
        Some(Job { segment, generation: entry.generation, stream, next: 0, locating: None })
    }

    fn is_header_of(&self, segment: SegmentId, block: &[u8]) -> bool {
        block.len() >= BLOCK_BYTES
            && SegmentHeader::read_block(&block[..BLOCK_BYTES]) == HeaderBlock::Valid(self.header_of(segment, HeaderState::Used))
    }

    /// Whether somebody waits for the device, or soon will.
    fn device_is_busy(&self) -> bool {
        !(self.fetches.is_idle() && self.loads.is_idle() && self.flush.is_idle()) || self.is_short_of_space()
    }

    /// So that all slices of all stored segments take one interval.
    fn slice_interval_us(&self) -> u64 {
        let slices = (self.config.segment_bytes as usize).div_ceil(SLICE_BYTES) as u64;
        let in_use = self.segments.len().saturating_sub(self.segments.free_count()).max(1) as u64;
        self.config.scrub_interval_us / (in_use * slices)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::batch::WriteBatch;
    use crate::format::record::{self, Record};
    use crate::key::{Key, Kind, Sequence};
    use base::{Rng, TableId, Token};

    /// A sealed segment of records with these many bytes of row; returns the image up to its end.
    fn image(rows: &[usize]) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK_BYTES];
        for (number, row) in rows.iter().enumerate() {
            let offset = bytes.len();
            let mut batch = WriteBatch::new();
            let key = Key { table: TableId(1), token: Token(1), partition: b"partition", clustering: b"" };
            batch.put(&key, Kind::Live, &vec![number as u8; *row]).unwrap();
            bytes.extend_from_slice(batch.bytes());
            let length = Record::trusted(batch.bytes()).length();
            record::set_sequence(&mut bytes[offset..], Sequence(number as u64));
            record::finish(&mut bytes[offset..], length, salt(), offset);
        }
        let offset = bytes.len();
        bytes.resize(offset + HEADER_BYTES, 0);
        record::write_seal(&mut bytes[offset..], Sequence(rows.len() as u64), salt(), offset);
        bytes
    }

    fn salt() -> Salt {
        Salt::new(1, 2, 3)
    }

    /// Feeds an image in slices.
    fn verify(image: &[u8], slice_bytes: usize) -> bool {
        let mut stream = Stream::new(salt(), image.len());
        let mut device = image.to_vec();
        device.resize(image.len().next_multiple_of(BLOCK_BYTES), 0xEE);
        let mut next = BLOCK_BYTES;
        for _ in 0..1000 {
            match stream.feed(next, &device[next..device.len().min(next + slice_bytes)]) {
                Verdict::Next(start) => {
                    assert!(start > next, "the stream goes on");
                    next = start;
                }
                verdict => return verdict == Verdict::Good,
            }
        }
        panic!("no end");
    }

    #[test]
    fn slices_of_any_size_verify_records_of_any_size() {
        let mut rng = Rng::new(7);
        for round in 0..100 {
            let rows: Vec<usize> =
                (0..rng.below(60)).map(|_| if rng.below(10) == 0 { rng.below(40_000) } else { rng.below(900) } as usize).collect();
            let good = image(&rows);
            for slice_bytes in [2 * BLOCK_BYTES, 3 * BLOCK_BYTES, SLICE_BYTES] {
                assert!(verify(&good, slice_bytes), "round {round}");
                let mut bad = good.clone();
                // Padding between records means nothing; everything else does.
                let at = BLOCK_BYTES + rng.below((good.len() - BLOCK_BYTES) as u64 / 16) as usize * 16 + 4;
                bad[at] ^= 1 << rng.below(8);
                let in_padding = Walk::new(&bad, salt(), 0).next().is_some() && {
                    let mut walk = Walk::new(&bad, salt(), 0);
                    let mut clean = true;
                    while let Some(step) = walk.next() {
                        clean &= matches!(step, Step::Record { .. } | Step::Seal { .. });
                    }
                    clean
                };
                assert_eq!(verify(&bad, slice_bytes), in_padding, "round {round}, byte {at}");
            }
        }
    }

    #[test]
    fn any_bytes_end_in_a_verdict() {
        let mut rng = Rng::new(8);
        for _ in 0..200 {
            let mut bytes = vec![0; BLOCK_BYTES + 16 * rng.below(3000) as usize];
            rng.fill(&mut bytes);
            verify(&bytes, 2 * BLOCK_BYTES);
        }
    }
}
