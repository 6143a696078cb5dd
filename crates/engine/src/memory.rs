//! What of the log is in memory: frames of device segments, cache frames, and records pinned for operations that wait.
//!
//! A frame holds a segment's image at the same offsets as the device, so a location says where in the frame a record is: a hit is
//! index cell, frame table, record. Cache frames hold copies of single records from the device; sixteen bytes before each copy say
//! where on the device it is from.
//!
//! Invariants: a cache location in the index always names a resident copy; records of frames are valid (written here or verified), but for
//! suspect frames: images in which recovery has found damage, and in which a checkpoint's index may name what is damaged.

use crate::error::Damage;
use crate::format::record::{Record, Salt};
use crate::location::{Location, RECORD_ALIGN, SegmentId};
use base::AlignedBuffer;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Bytes of a frame that share one bit of "was read lately".
const TOUCH_GRANULE: usize = 256;

/// Where a record is, as far as memory is concerned.
pub(crate) enum Stored<'a> {
    Here(Record<'a>),
    Elsewhere,
    Damaged(Damage),
}

/// The image of a segment, or a cache frame.
pub(crate) struct Frame {
    pub(crate) bytes: Rc<AlignedBuffer>,
    touched: Box<[Cell<u64>]>,
    /// Whether anything was read from it since the clock passed by.
    pub(crate) referenced: Cell<bool>,
    /// Whether records of resident tables were written to it.
    pub(crate) has_resident: bool,
    /// What checksums of its records are made with, if they are not known to be right.
    suspect: Option<Salt>,
}

impl Frame {
    pub(crate) fn new(bytes: Rc<AlignedBuffer>) -> Self {
        let words = bytes.len().div_ceil(TOUCH_GRANULE * 64);
        Self {
            bytes,
            touched: vec![Cell::new(0); words].into_boxed_slice(),
            referenced: Cell::new(false),
            has_resident: false,
            suspect: None,
        }
    }

    /// The record at `offset` of `bytes`, which are this frame's; `None` where a suspect frame has none.
    pub(crate) fn record_in<'b>(&self, bytes: &'b [u8], offset: usize) -> Option<Record<'b>> {
        match self.suspect {
            None => Some(Record::trusted(&bytes[offset..])),
            Some(salt) => Record::verify(&bytes[offset..], salt, offset),
        }
    }

    fn touch(&self, offset: usize) {
        let bit = offset / TOUCH_GRANULE;
        let word = &self.touched[bit / 64];
        let mask = 1 << (bit % 64);
        // Looking before writing keeps lines that many reads share clean.
        if word.get() & mask == 0 {
            word.set(word.get() | mask);
        }
        if !self.referenced.get() {
            self.referenced.set(true);
        }
    }

    /// Whether nothing in it is worth keeping: no record of it was ever read, and none is to stay anyway.
    pub(crate) fn is_untouched(&self) -> bool {
        !self.has_resident && self.touched.iter().all(|word| word.get() == 0)
    }

    pub(crate) fn was_touched(&self, offset: usize) -> bool {
        let bit = offset / TOUCH_GRANULE;
        self.touched[bit / 64].get() & (1 << (bit % 64)) != 0
    }
}

/// Buffers of pins that are gone are kept for the next ones, so many of up to so many bytes: the allocator gives memory that is freed back to the kernel, which has
/// to make it anew.
const SPARE_PINS_MAX: usize = 256;
const SPARE_PIN_BYTES_MAX: usize = 4 << 10;

/// A record read from the device for an operation that will be run again.
struct Pin {
    bytes: Result<Vec<u8>, Damage>,
    references: u32,
}

/// A record of a suspect frame.
#[cold]
fn verified(frame: &[u8], salt: Salt, location: Location) -> Stored<'_> {
    let offset = location.offset();
    match Record::verify(&frame[offset..offset + location.padded()], salt, offset) {
        Some(record) => Stored::Here(record),
        None => Stored::Damaged(Damage::Checksum),
    }
}

/// The shard's frames and pins.
pub(crate) struct Memory {
    frames: Vec<Option<Frame>>,
    cache: Vec<Option<Frame>>,
    pins: BTreeMap<Location, Pin>,
    spare_pins: Vec<Vec<u8>>,
    /// Of pins, spare ones included.
    pin_bytes: usize,
    /// Frames that are resident, staging frames included, the pool excluded.
    pub(crate) resident: usize,
    pool: Vec<Rc<AlignedBuffer>>,
    /// Whether memory for one more is being populated.
    is_populating: bool,
    /// Whether frames are evicted at all: otherwise reads need not leave traces.
    pub(crate) pressed: bool,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self {
            frames: Vec::new(),
            cache: Vec::new(),
            pins: BTreeMap::new(),
            spare_pins: Vec::new(),
            pin_bytes: 0,
            resident: 0,
            pool: Vec::new(),
            is_populating: false,
            pressed: false,
        }
    }

    fn frame_of(&self, segment: SegmentId) -> Option<&Frame> {
        let frames = if segment.is_cache() { &self.cache } else { &self.frames };
        frames.get(segment.index())?.as_ref()
    }

    /// The record at a location that the index names.
    #[inline]
    pub(crate) fn stored(&self, location: Location) -> Stored<'_> {
        let offset = location.offset();
        match self.frame_of(location.segment()) {
            Some(Frame { bytes, suspect: None, .. }) => Stored::Here(Record::trusted(&bytes[offset..offset + location.padded()])),
            Some(Frame { bytes, suspect: Some(salt), .. }) => verified(bytes, *salt, location),
            None => self.pinned(location),
        }
    }

    /// Records of resident tables are in the frame of a segment.
    pub(crate) fn set_resident(&mut self, segment: SegmentId) {
        if let Some(frame) = self.frames.get_mut(segment.index()).and_then(Option::as_mut) {
            frame.has_resident = true;
        }
    }

    /// Has every record of a frame verified when it is asked for.
    pub(crate) fn suspect(&mut self, segment: SegmentId, salt: Salt) {
        if let Some(frame) = self.frames.get_mut(segment.index()).and_then(Option::as_mut) {
            frame.suspect = Some(salt);
        }
    }

    /// Whether recovery has found damage in a segment's frame.
    pub(crate) fn is_suspect(&self, segment: SegmentId) -> bool {
        self.frame_of(segment).is_some_and(|frame| frame.suspect.is_some())
    }

    #[cold]
    fn pinned(&self, location: Location) -> Stored<'_> {
        match self.pins.get(&location).map(|pin| &pin.bytes) {
            Some(Ok(bytes)) => Stored::Here(Record::trusted(bytes)),
            Some(Err(damage)) => Stored::Damaged(*damage),
            None => Stored::Elsewhere,
        }
    }

    /// Leaves a trace that the record was read.
    #[inline]
    pub(crate) fn touch(&self, location: Location) {
        if self.pressed
            && let Some(frame) = self.frame_of(location.segment())
        {
            frame.touch(location.offset());
        }
    }

    /// The place on the device of what `location` names: itself, or the origin of a cached copy.
    pub(crate) fn device_location(&self, location: Location) -> Location {
        if !location.is_record() || !location.segment().is_cache() {
            return location;
        }
        let frame = self.frame_of(location.segment()).expect("a cache location names a resident copy");
        let start = location.offset() - RECORD_ALIGN;
        let mut word = [0; 8];
        word.copy_from_slice(&frame.bytes[start..start + 8]);
        Location::from_word(u64::from_le_bytes(word))
    }

    pub(crate) fn frame(&self, segment: SegmentId) -> Option<&Frame> {
        self.frame_of(segment)
    }

    /// The frame's bytes for writing: of an open segment or an open cache frame, which nobody else holds.
    pub(crate) fn frame_mut(&mut self, segment: SegmentId) -> &mut [u8] {
        let frames = if segment.is_cache() { &mut self.cache } else { &mut self.frames };
        let frame = frames[segment.index()].as_mut().expect("an open segment has a frame");
        Rc::get_mut(&mut frame.bytes).expect("an open frame is not shared")
    }

    pub(crate) fn put_frame(&mut self, segment: SegmentId, bytes: Rc<AlignedBuffer>) {
        let frames = if segment.is_cache() { &mut self.cache } else { &mut self.frames };
        if frames.len() <= segment.index() {
            frames.resize_with(segment.index() + 1, || None);
        }
        let before = frames[segment.index()].replace(Frame::new(bytes));
        assert!(before.is_none(), "a segment has one frame");
    }

    /// Takes a frame out of the table and keeps its memory for the next one if nobody else holds it.
    pub(crate) fn drop_frame(&mut self, segment: SegmentId) {
        let frames = if segment.is_cache() { &mut self.cache } else { &mut self.frames };
        if let Some(frame) = frames.get_mut(segment.index()).and_then(Option::take) {
            self.recycle(frame.bytes);
        }
    }

    /// Gives a resident frame's memory back to the pool.
    pub(crate) fn recycle(&mut self, bytes: Rc<AlignedBuffer>) {
        self.resident -= 1;
        if Rc::strong_count(&bytes) == 1 {
            self.pool.push(bytes);
        }
    }

    pub(crate) fn pool_take(&mut self) -> Option<Rc<AlignedBuffer>> {
        let bytes = self.pool.pop()?;
        self.resident += 1;
        Some(bytes)
    }

    pub(crate) fn pool_len(&self) -> usize {
        self.pool.len()
    }

    pub(crate) fn pool_shrink(&mut self, frames: usize) {
        self.pool.truncate(frames);
    }

    /// Frames that take memory: those that are resident, in the pool, or on their way there.
    pub(crate) fn held(&self) -> usize {
        self.resident + self.pool.len() + usize::from(self.is_populating)
    }

    /// A frame for the pool is asked for, unless there is one or none has been needed yet.
    pub(crate) fn begin_to_populate(&mut self) -> bool {
        let begins = !self.is_populating && self.pool.is_empty() && self.resident > 0;
        self.is_populating |= begins;
        begins
    }

    /// It has come.
    pub(crate) fn populated(&mut self, frame: Option<AlignedBuffer>) {
        self.is_populating = false;
        self.pool.extend(frame.map(Rc::new));
    }

    /// A cache frame number that is not in use.
    pub(crate) fn unused_cache(&self) -> SegmentId {
        SegmentId::cache(self.cache.iter().position(Option::is_none).unwrap_or(self.cache.len()))
    }

    /// Bytes held for waiting operations.
    pub(crate) fn pin_bytes(&self) -> usize {
        self.pin_bytes
    }

    /// Keeps a record for `references` waiting operations.
    pub(crate) fn pin(&mut self, location: Location, bytes: Result<&[u8], Damage>, references: u32) {
        if references == 0 {
            return;
        }
        let bytes = bytes.map(|bytes| {
            let mut kept = self.spare_pins.pop().unwrap_or_default();
            self.pin_bytes -= kept.capacity();
            kept.extend_from_slice(bytes);
            self.pin_bytes += kept.capacity();
            kept
        });
        if let Some(former) = self.pins.insert(location, Pin { bytes, references }) {
            self.release_pin(former);
        }
    }

    /// A pin is not in the map any more.
    fn release_pin(&mut self, pin: Pin) {
        let Ok(mut bytes) = pin.bytes else { return };
        if self.spare_pins.len() < SPARE_PINS_MAX && bytes.capacity() <= SPARE_PIN_BYTES_MAX {
            bytes.clear();
            self.spare_pins.push(bytes);
        } else {
            self.pin_bytes -= bytes.capacity();
        }
    }

    /// One more operation needs a pinned record; false if it is not pinned.
    pub(crate) fn pin_again(&mut self, location: Location) -> bool {
        let Some(pin) = self.pins.get_mut(&location) else { return false };
        pin.references += 1;
        true
    }

    /// A segment is being used anew: what was pinned of its former use must not be found at the same places.
    pub(crate) fn forget_pins(&mut self, segment: SegmentId) {
        let first = Location::record(segment, 0, RECORD_ALIGN);
        while let Some(location) = self.pins.range(first..).next().map(|(location, _)| *location).filter(|at| at.segment() == segment) {
            if let Some(pin) = self.pins.remove(&location) {
                self.release_pin(pin);
            }
        }
    }

    /// One operation less needs it.
    pub(crate) fn unpin(&mut self, location: Location) {
        let Some(pin) = self.pins.get_mut(&location) else { return };
        pin.references -= 1;
        if pin.references == 0
            && let Some(pin) = self.pins.remove(&location)
        {
            self.release_pin(pin);
        }
    }
}
