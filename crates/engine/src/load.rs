//! Reading a segment as a whole, in pieces, for defragmentation and recovery.
//!
//! Recovery, which reads all there is, has a segment read at once into the frame itself: nothing is copied.
//!
//! Invariant: a piece that the device fails to give is read again block by block; a block that fails is zero in the image, so what it
//! held shows as damage and nothing else does.

use crate::engine::Engine;
use crate::location::SegmentId;
use crate::tags::Purpose;
use base::{AlignedBuffer, BLOCK_BYTES};
use io::{DiskCompletion, DiskRequest};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Pieces of a load that are numbered within a tag.
const PIECE_BITS: u32 = 16;

/// How eagerly a segment is read.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) piece_bytes: usize,
    pub(crate) in_flight_max: usize,
}

/// A segment being read.
pub(crate) struct Load {
    pub(crate) segment: SegmentId,
    /// The image; not here while the device writes to it as a whole.
    staging: Option<Rc<AlignedBuffer>>,
    pace: Pace,
    next: usize,
    end: usize,
    /// Offset → length of pieces at the device.
    in_flight: BTreeMap<usize, usize>,
    /// Pieces to be read again.
    again: Vec<(usize, usize)>,
}

impl Load {
    fn is_done(&self) -> bool {
        self.next >= self.end && self.in_flight.is_empty() && self.again.is_empty()
    }
}

/// All loads under way.
#[derive(Default)]
pub(crate) struct Loads {
    all: BTreeMap<u64, Load>,
    next_serial: u64,
    in_flight: usize,
    /// Buffers for the next pieces.
    spare: Vec<AlignedBuffer>,
    /// Memory of buffers, in flight and spare.
    buffer_bytes: usize,
}

/// Spare buffers that are kept.
const SPARE_MAX: usize = 2;

impl Loads {
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight == 0
    }

    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    fn take_buffer(&mut self, bytes: usize) -> AlignedBuffer {
        if let Some(found) = self.spare.iter().position(|buffer| buffer.len() == bytes) {
            return self.spare.swap_remove(found);
        }
        self.buffer_bytes += bytes;
        AlignedBuffer::zeroed(bytes)
    }

    fn keep_buffer(&mut self, buffer: AlignedBuffer) {
        self.spare.push(buffer);
        if self.spare.len() > SPARE_MAX {
            self.buffer_bytes -= self.spare.remove(0).len();
        }
    }

    pub(crate) fn is_done(&self, serial: u64) -> bool {
        self.all.get(&serial).is_none_or(Load::is_done)
    }

    /// Takes the image of a load that is done.
    pub(crate) fn take(&mut self, serial: u64) -> Option<(SegmentId, Rc<AlignedBuffer>)> {
        self.all.remove(&serial).and_then(|load| Some((load.segment, load.staging?)))
    }
}

impl Engine {
    /// Starts to read the first `end` bytes of a segment into a frame; the rest of the frame is not touched.
    pub(crate) fn load(&mut self, segment: SegmentId, end: usize, staging: Rc<AlignedBuffer>, pace: Pace) -> u64 {
        let serial = self.loads.next_serial;
        self.loads.next_serial += 1;
        let end = end.next_multiple_of(BLOCK_BYTES);
        let load = Load { segment, staging: Some(staging), pace, next: 0, end, in_flight: BTreeMap::new(), again: Vec::new() };
        self.loads.all.insert(serial, load);
        self.load_more(serial);
        serial
    }

    /// Starts to read a whole segment into a frame that nobody else holds. What a read of all of it does not give is read again in
    /// pieces.
    pub(crate) fn load_whole(&mut self, segment: SegmentId, staging: Rc<AlignedBuffer>, again: Pace) -> u64 {
        let buffer = Rc::into_inner(staging).expect("a frame that was just taken is not shared");
        let serial = self.loads.next_serial;
        self.loads.next_serial += 1;
        let end = buffer.len();
        let in_flight = BTreeMap::from([(0, end)]);
        self.loads.all.insert(serial, Load { segment, staging: None, pace: again, next: end, end, in_flight, again: Vec::new() });
        self.loads.in_flight += 1;
        let offset = u64::from(segment.0) * u64::from(self.config.segment_bytes);
        self.outbox.push((Purpose::Load(serial << PIECE_BITS).tag(), DiskRequest::Read { file: self.config.file, offset, buffer }));
        serial
    }

    fn load_more(&mut self, serial: u64) {
        let Some(mut load) = self.loads.all.remove(&serial) else { return };
        while load.in_flight.len() < load.pace.in_flight_max {
            let (offset, bytes) = match load.again.pop() {
                Some(piece) => piece,
                None if load.next < load.end => {
                    let offset = load.next;
                    load.next = load.end.min(offset + load.pace.piece_bytes);
                    (offset, load.next - offset)
                }
                None => break,
            };
            load.in_flight.insert(offset, bytes);
            self.loads.in_flight += 1;
            let tag = Purpose::Load(serial << PIECE_BITS | (offset / BLOCK_BYTES) as u64).tag();
            let offset = u64::from(load.segment.0) * u64::from(self.config.segment_bytes) + offset as u64;
            let buffer = self.loads.take_buffer(bytes);
            self.outbox.push((tag, DiskRequest::Read { file: self.config.file, offset, buffer }));
        }
        self.loads.all.insert(serial, load);
    }

    /// A piece arrived. Returns the load's serial.
    pub(crate) fn loaded(&mut self, id: u64, completion: DiskCompletion) -> u64 {
        let serial = id >> PIECE_BITS;
        let offset = (id & ((1 << PIECE_BITS) - 1)) as usize * BLOCK_BYTES;
        let Some(load) = self.loads.all.get_mut(&serial) else { return serial };
        let Some(bytes) = load.in_flight.remove(&offset) else { return serial };
        self.loads.in_flight -= 1;
        let Some(staging) = &mut load.staging else {
            load.staging = Some(Rc::new(completion.buffer.unwrap_or_else(|| AlignedBuffer::zeroed(bytes))));
            if completion.result.is_err() {
                self.counters.device_failures += 1;
                let piece = load.pace.piece_bytes;
                load.again.extend((0..bytes).step_by(piece).rev().map(|offset| (offset, piece.min(bytes - offset))));
                self.load_more(serial);
            }
            return serial;
        };
        let staging = Rc::get_mut(staging).expect("a load owns its frame until it is taken");
        match (completion.result, &completion.buffer) {
            (Ok(()), Some(buffer)) => staging[offset..offset + bytes].copy_from_slice(&buffer[..bytes]),
            _ if bytes > BLOCK_BYTES => {
                self.counters.device_failures += 1;
                load.again.extend((offset..offset + bytes).step_by(BLOCK_BYTES).rev().map(|offset| (offset, BLOCK_BYTES)));
            }
            _ => {
                self.counters.device_failures += 1;
                staging[offset..offset + bytes].fill(0);
            }
        }
        match completion.buffer {
            Some(buffer) => self.loads.keep_buffer(buffer),
            None => self.loads.buffer_bytes -= bytes,
        }
        self.load_more(serial);
        serial
    }
}
