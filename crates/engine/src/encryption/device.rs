//! Requests on their way to the device, and completions on their way back.
//!
//! 1. The key of a segment follows from its header block, which passes here before anything else of the segment: read in recovery, written
//!    with each new use.
//! 2. A buffer that the request owns is encrypted in place. A frame stays plain: what is written from it is copied, a piece a turn, into a
//!    few buffers that are kept; further pieces wait.
//! 3. What the stable memory has of a segment is taken from there: it has the same bytes, encrypted already.
//! 4. A read is decrypted when it comes back, of a fetch just the records that were asked for.
//!
//! Invariants: no byte of a segment but its header block goes out plain. A segment without a known key is never written. Of waiting pieces at
//! least one is in flight, whose completion brings the next.

use super::keys::{LogKey, SegmentCipher, UseCiphers, use_of};
use super::stable::Stable;
use crate::config::Config;
use crate::location::SegmentId;
use crate::log::Log;
use crate::tags::Purpose;
use base::{AlignedBuffer, BLOCK_BYTES};
use io::{DiskCompletion, DiskRequest, DiskTag, FileId, WriteSource};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

/// Pieces of frames in flight.
const PIECES_MAX: usize = 4;
/// A piece is at most this long: the longest write of a flush.
const PIECE_BYTES_MAX: usize = 1 << 20;

/// A write from a frame that waits for a buffer.
struct Waiting {
    tag: DiskTag,
    file: FileId,
    offset: u64,
    frame: Rc<AlignedBuffer>,
    range: Range<usize>,
    /// Of the segment when the write was asked for.
    nonce: u64,
}

/// Where the stable memory has what is on its way to the device.
pub(crate) struct Mirrors<'a> {
    pub(crate) stable: &'a Stable,
    pub(crate) log: &'a Log,
}

impl Mirrors<'_> {
    /// Where the stable memory has a piece of a segment, and how much of it. The piece's last block does not count: more may have been appended
    /// to it since the piece was made.
    fn place(&self, segment: usize, within: Range<usize>, segment_bytes: usize) -> Option<(usize, usize)> {
        let (slot, mirrored) = self.log.mirror_of(SegmentId(segment as u32))?;
        let bytes = mirrored.min(within.end.saturating_sub(BLOCK_BYTES)).saturating_sub(within.start);
        Some((slot * segment_bytes + within.start, bytes))
    }
}

/// A read at the device: which segment in which use, and where in it.
struct Reading {
    segment: usize,
    within: usize,
    nonce: Option<u64>,
}

/// What a shard's device is reached through if its data is encrypted.
pub(crate) struct DeviceCipher {
    ciphers: UseCiphers,
    segment_bytes: u64,
    /// Of each segment, as far as it is known.
    nonces: Vec<Option<u64>>,
    reading: BTreeMap<DiskTag, Reading>,
    waiting: VecDeque<Waiting>,
    /// Longer by a block than any other buffer of the engine that is written, by which they are known when they come back.
    piece_bytes: usize,
    buffers: Vec<AlignedBuffer>,
    pieces: usize,
}

impl DeviceCipher {
    pub(crate) fn new(key: &LogKey, config: &Config) -> Self {
        Self {
            ciphers: UseCiphers::new(SegmentCipher::new(key, config.store, config.shard)),
            segment_bytes: u64::from(config.segment_bytes),
            nonces: Vec::new(),
            reading: BTreeMap::new(),
            waiting: VecDeque::new(),
            piece_bytes: PIECE_BYTES_MAX.min(config.segment_bytes as usize) + BLOCK_BYTES,
            buffers: Vec::new(),
            pieces: 0,
        }
    }

    /// Memory of keys and of buffers, in flight and kept.
    pub(crate) fn buffer_bytes(&self) -> usize {
        UseCiphers::BYTES + (self.buffers.len() + self.pieces) * self.piece_bytes
    }

    /// Encrypts what is about to be written, notes what is about to be read, and holds back what has to wait.
    pub(crate) fn requested(&mut self, requests: &mut Vec<(DiskTag, DiskRequest)>, mirrors: &Mirrors<'_>) {
        let mut index = 0;
        while index < requests.len() {
            let tag = requests[index].0;
            match &mut requests[index].1 {
                DiskRequest::Write { offset, source: WriteSource::Owned(buffer, length), .. } => {
                    let (segment, within) = self.place(*offset);
                    let nonce = self.nonce_of_write(segment, within, buffer);
                    self.encrypt((segment, nonce), within, &mut buffer[..*length], mirrors);
                }
                DiskRequest::Write { file, offset, source: WriteSource::Shared(frame, range) } => {
                    let (segment, within) = self.place(*offset);
                    let nonce = self.nonce_of_write(segment, within, &frame[range.clone()]);
                    let (file, offset, frame, range) = (*file, *offset, Rc::clone(frame), range.clone());
                    self.waiting.push_back(Waiting { tag, file, offset, frame, range, nonce });
                    requests.remove(index);
                    continue;
                }
                DiskRequest::Read { offset, .. } => {
                    let (segment, within) = self.place(*offset);
                    let nonce = self.nonces.get(segment).copied().flatten();
                    self.reading.insert(tag, Reading { segment, within, nonce });
                }
                _ => {}
            }
            index += 1;
        }
        if self.pieces < PIECES_MAX
            && let Some(piece) = self.waiting.pop_front()
        {
            requests.push(self.piece(piece, mirrors));
        }
    }

    /// A write from a frame, in a buffer of its own.
    fn piece(&mut self, piece: Waiting, mirrors: &Mirrors<'_>) -> (DiskTag, DiskRequest) {
        let Waiting { tag, file, offset, frame, range, nonce } = piece;
        self.pieces += 1;
        let mut buffer = self.buffers.pop().unwrap_or_else(|| AlignedBuffer::zeroed(self.piece_bytes));
        let bytes = range.len();
        buffer[..bytes].copy_from_slice(&frame[range]);
        let (segment, within) = self.place(offset);
        self.encrypt((segment, nonce), within, &mut buffer[..bytes], mirrors);
        (tag, DiskRequest::Write { file, offset, source: WriteSource::Owned(buffer, bytes) })
    }

    /// Encrypts a piece of a segment in its use, or takes what the stable memory has of it.
    fn encrypt(&mut self, (segment, nonce): (usize, u64), within: usize, bytes: &mut [u8], mirrors: &Mirrors<'_>) {
        let start = BLOCK_BYTES.saturating_sub(within).min(bytes.len());
        let range = within + start..within + bytes.len();
        let cipher = self.ciphers.of_use(segment, nonce);
        let mut taken = start;
        if let Some((offset, known)) = mirrors.place(segment, range, self.segment_bytes as usize) {
            let (plain, known) = (cfg!(debug_assertions).then(|| bytes.to_vec()), &mut bytes[start..start + known]);
            mirrors.stable.read_as_it_is(offset, known);
            taken += known.len();
            if let Some(mut plain) = plain {
                cipher.encrypt(within, &mut plain);
                assert!(
                    plain[start..taken] == bytes[start..taken],
                    "the stable memory has other bytes of segment {segment} than its frame"
                );
            }
        }
        cipher.encrypt(within + taken, &mut bytes[taken..]);
    }

    /// Decrypts what was read: the given ranges of the buffer, or all of it.
    pub(crate) fn completed(&mut self, completion: &mut DiskCompletion, ranges: Option<impl Iterator<Item = Range<usize>>>) {
        if matches!(Purpose::of(completion.tag), Some(Purpose::FlushWrite))
            && let Some(buffer) = completion.buffer.take_if(|buffer| buffer.len() == self.piece_bytes)
        {
            self.pieces -= 1;
            self.buffers.push(buffer);
            return;
        }
        let Some(Reading { segment, within, nonce }) = self.reading.remove(&completion.tag) else { return };
        let (Ok(()), Some(buffer)) = (&completion.result, &mut completion.buffer) else { return };
        if within == 0
            && nonce.is_none()
            && let Some((named, nonce)) = use_of(&buffer[..buffer.len().min(BLOCK_BYTES)])
            && named as usize == segment
        {
            self.learn(segment, nonce);
        }
        let Some(nonce) = nonce.or_else(|| self.nonces.get(segment).copied().flatten()) else { return };
        let cipher = self.ciphers.of_use(segment, nonce);
        match ranges {
            None => cipher.decrypt(within, buffer),
            Some(ranges) => ranges.for_each(|range| cipher.decrypt(within + range.start, &mut buffer[range])),
        }
    }

    fn place(&self, offset: u64) -> (usize, usize) {
        ((offset / self.segment_bytes) as usize, (offset % self.segment_bytes) as usize)
    }

    fn learn(&mut self, segment: usize, nonce: u64) {
        if self.nonces.len() <= segment {
            self.nonces.resize(segment + 1, None);
        }
        self.nonces[segment] = Some(nonce);
    }

    /// The use of a segment that is written to; a header block says which one begins.
    fn nonce_of_write(&mut self, segment: usize, within: usize, bytes: &[u8]) -> u64 {
        if within == 0
            && let Some((_, nonce)) = use_of(&bytes[..BLOCK_BYTES])
        {
            self.learn(segment, nonce);
        }
        self.nonces.get(segment).copied().flatten().expect("a segment's header is written first")
    }
}
