//! Records from the device for operations that wait.
//!
//! An operation that meets a `Miss` gives it to `fetch` with a number of its own, the waiter. The records are read, verified and
//! pinned; then the waiter is ready and the operation runs again from its start, and now finds them. Pins of a waiter add up until
//! `finish`, so an operation that needs many records gets through however small the memory is.
//!
//! Invariants: one read in flight a location, whoever waits for it; at most `READS_IN_FLIGHT_MAX` reads in flight; a record is given
//! out only if its checksum fits the place it was asked from.

use crate::engine::Engine;
use crate::error::{Damage, Miss};
use crate::format::record::Record;
use crate::key::CachePolicy;
use crate::location::Location;
use crate::tags::Purpose;
use base::{AlignedBuffer, BLOCK_BYTES};
use io::{DiskCompletion, DiskError, DiskRequest};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Reads in flight; more wait in a queue.
const READS_IN_FLIGHT_MAX: usize = 256;
/// Records that lie together are read together, up to this many bytes.
const READ_BYTES_MAX: usize = 64 << 10;
/// Unless more than this lies between them.
const GAP_BYTES_MAX: usize = 2048;
/// Buffers of up to this many blocks are kept for the next read.
const POOLED_BLOCKS_MAX: usize = 4;
/// Kept buffers of one block; of larger ones as many bytes.
const POOL_MAX: usize = READS_IN_FLIGHT_MAX;
/// Who has fetched records counts as waiting for the device for so many fetches of page making.
const OTHERS_FETCHES: u32 = 64;
/// The engine's own waiters.
pub(crate) const RECOVERY_WAITER: u64 = u64::MAX;
pub(crate) const PAGING_WAITER: u64 = u64::MAX - 1;

/// A read at the device.
struct Read {
    /// What it is for: all in one segment.
    locations: Vec<Location>,
    /// The nonce of the segment when the read was issued: no two uses of a segment have the same.
    nonce: u64,
    /// Where in the segment it begins.
    start: usize,
}

/// A record that waits to be read.
struct Queued {
    location: Location,
    /// A read for several records failed: this one may not be to blame.
    alone: bool,
}

/// A record that operations wait for.
struct Flight {
    waiters: Vec<u64>,
    policy: CachePolicy,
}

#[derive(Default)]
struct Waiter {
    outstanding: usize,
    pins: Vec<Location>,
}

/// All reads for operations.
pub(crate) struct Fetches {
    flights: BTreeMap<Location, Flight>,
    queue: VecDeque<Queued>,
    /// Reads at the device.
    places: Vec<Option<Read>>,
    free_places: Vec<usize>,
    waiters: BTreeMap<u64, Waiter>,
    ready: Vec<u64>,
    /// Whether `PAGING_WAITER` is ready, of which callers are not told.
    paging_ready: bool,
    /// For how many more fetches of page making others count as waiting for the device.
    others_left: u32,
    pool: [Vec<AlignedBuffer>; POOLED_BLOCKS_MAX],
    buffer_bytes: usize,
}

impl Fetches {
    pub(crate) fn new() -> Self {
        Self {
            flights: BTreeMap::new(),
            queue: VecDeque::new(),
            places: Vec::new(),
            free_places: Vec::new(),
            waiters: BTreeMap::new(),
            ready: Vec::new(),
            paging_ready: false,
            others_left: 0,
            pool: [const { Vec::new() }; POOLED_BLOCKS_MAX],
            buffer_bytes: 0,
        }
    }

    /// Where in the buffer of a read the records are that it is for.
    pub(crate) fn ranges(&self, place: u64) -> Option<impl Iterator<Item = Range<usize>>> {
        let read = self.places.get(place as usize)?.as_ref()?;
        let range = move |at: &Location| at.offset() - read.start..at.offset() - read.start + at.padded();
        Some(read.locations.iter().map(range))
    }

    /// Memory of read buffers, in flight and kept.
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.places.len() == self.free_places.len()
    }

    fn in_flight(&self) -> usize {
        self.places.len() - self.free_places.len()
    }

    fn take_buffer(&mut self, bytes: usize) -> AlignedBuffer {
        let blocks = bytes.div_ceil(BLOCK_BYTES);
        let mut buffer = self.pool.get_mut(blocks - 1).and_then(Vec::pop).unwrap_or_else(|| {
            self.buffer_bytes += blocks * BLOCK_BYTES;
            AlignedBuffer::zeroed(bytes)
        });
        buffer.set_length(bytes);
        buffer
    }

    fn keep_buffer(&mut self, buffer: AlignedBuffer) {
        let blocks = buffer.capacity() / BLOCK_BYTES;
        match self.pool.get_mut(blocks - 1) {
            Some(pool) if pool.len() < POOL_MAX / blocks => pool.push(buffer),
            _ => self.buffer_bytes -= buffer.capacity(),
        }
    }

    fn set_ready(&mut self, waiter: u64) {
        if waiter == PAGING_WAITER {
            self.paging_ready = true;
        } else {
            self.ready.push(waiter);
        }
    }

    /// Whether all that was fetched for page making is there, told once.
    pub(crate) fn take_paging_ready(&mut self) -> bool {
        std::mem::take(&mut self.paging_ready)
    }

    /// Whether anybody else has fetched records lately. Asked once for each fetch of page making.
    pub(crate) fn take_fetched_by_others(&mut self) -> bool {
        self.others_left = self.others_left.saturating_sub(1);
        self.others_left > 0
    }

    /// A record is there (or known to be damaged): whoever waited for it has one reason less to wait. Returns how many wait.
    fn wake(&mut self, location: Location, pinned: bool) -> (u32, CachePolicy) {
        let Some(flight) = self.flights.remove(&location) else { return (0, CachePolicy::Bypass) };
        let mut references = 0;
        for number in flight.waiters {
            // A waiter that has finished meanwhile is not there any more.
            let Some(waiter) = self.waiters.get_mut(&number) else { continue };
            waiter.outstanding -= 1;
            if pinned {
                references += 1;
                waiter.pins.push(location);
            }
            if waiter.outstanding == 0 {
                self.set_ready(number);
            }
        }
        (references, flight.policy)
    }
}

impl Engine {
    /// Brings the missing records into memory for `waiter`, which becomes ready (`take_ready`) when all are there.
    ///
    /// A waiter may fetch again and again; what it has fetched stays until `finish`. Numbers are the caller's choice, except
    /// `u64::MAX` and the one before it.
    pub fn fetch(&mut self, miss: &Miss, waiter: u64) {
        if waiter != PAGING_WAITER {
            self.fetches.others_left = OTHERS_FETCHES;
        }
        let mut entry = self.fetches.waiters.remove(&waiter).unwrap_or_default();
        let mut fresh = Vec::new();
        for location in miss.locations() {
            if self.memory.pin_again(*location) {
                entry.pins.push(*location);
                continue;
            }
            entry.outstanding += 1;
            if let Some(flight) = self.fetches.flights.get_mut(location) {
                flight.waiters.push(waiter);
                if miss.policy == CachePolicy::Keep {
                    flight.policy = CachePolicy::Keep;
                }
                self.counters.device_reads_shared += 1;
            } else {
                self.fetches.flights.insert(*location, Flight { waiters: vec![waiter], policy: miss.policy });
                fresh.push(*location);
            }
        }
        // In the order of the device, so that neighbours are read together.
        fresh.sort_unstable();
        self.fetches.queue.extend(fresh.into_iter().map(|location| Queued { location, alone: false }));
        if entry.outstanding == 0 {
            self.fetches.set_ready(waiter);
        }
        self.fetches.waiters.insert(waiter, entry);
        self.issue_reads();
    }

    /// The waiters whose records are all there: run their operations again. Appends to `out`.
    pub fn take_ready(&mut self, out: &mut Vec<u64>) {
        out.append(&mut self.fetches.ready);
    }

    /// The waiter's operation is done or given up: what was pinned for it is released. Unknown numbers are ignored.
    pub fn finish(&mut self, waiter: u64) {
        let Some(entry) = self.fetches.waiters.remove(&waiter) else { return };
        for location in entry.pins {
            self.memory.unpin(location);
        }
        if entry.outstanding == 0 {
            self.fetches.ready.retain(|ready| *ready != waiter);
        }
    }

    fn issue_reads(&mut self) {
        while self.fetches.in_flight() < READS_IN_FLIGHT_MAX
            && let Some(first) = self.fetches.queue.pop_front()
        {
            let unit = self.config.read_unit;
            let around = |at: Location| (at.offset() / unit * unit, (at.offset() + at.padded()).next_multiple_of(unit));
            let segment = first.location.segment();
            let (start, mut end) = around(first.location);
            let mut locations = vec![first.location];
            while let Some(next) = self.fetches.queue.front().filter(|next| !first.alone && !next.alone) {
                let (next_start, next_end) = around(next.location);
                // What lies between costs less than another read.
                let joins = next.location.segment() == segment && (start..=end + GAP_BYTES_MAX).contains(&next_start);
                if !joins || next_end.max(end) - start > READ_BYTES_MAX {
                    break;
                }
                end = end.max(next_end);
                locations.push(next.location);
                self.fetches.queue.pop_front();
            }
            let place = self.fetches.free_places.pop().unwrap_or_else(|| {
                self.fetches.places.push(None);
                self.fetches.places.len() - 1
            });
            let nonce = self.segments.get(segment).nonce;
            self.counters.device_reads += 1;
            self.counters.device_records += locations.len() as u64;
            self.fetches.places[place] = Some(Read { locations, nonce, start });
            let buffer = self.fetches.take_buffer(end - start);
            let offset = u64::from(segment.0) * u64::from(self.config.segment_bytes) + start as u64;
            self.outbox.push((Purpose::Fetch(place as u64).tag(), DiskRequest::Read { file: self.config.file, offset, buffer }));
        }
    }

    pub(crate) fn fetched(&mut self, place: u64, completion: DiskCompletion) {
        let Some(read) = self.fetches.places.get_mut(place as usize).and_then(Option::take) else { return };
        self.fetches.free_places.push(place as usize);
        let failure = completion.result.err().map(|error| {
            self.counters.device_failures += 1;
            let code = if let DiskError::Device { code } = error { code } else { 0 };
            Damage::Device { code }
        });
        let bytes = completion.buffer.as_deref().unwrap_or_default();
        let several = read.locations.len() > 1;
        for location in read.locations {
            if self.segments.get(location.segment()).nonce != read.nonce {
                // The segment has been reclaimed and used anew since: the record is elsewhere, and running again will find it.
                self.fetches.wake(location, false);
                continue;
            }
            match failure {
                Some(_) if several => self.fetches.queue.push_back(Queued { location, alone: true }),
                Some(damage) => self.arrived(location, Err(damage)),
                None => {
                    let start = location.offset() - read.start;
                    let bytes = bytes.get(start..start + location.padded()).unwrap_or_default();
                    let salt = self.segments.salt(location.segment());
                    if let Some(record) = Record::plausible(bytes) {
                        // While its checksum is computed.
                        self.warm(record.table(), record.token());
                    }
                    let record = Record::verify(bytes, salt, location.offset());
                    self.arrived(location, record.map(|record| record.whole()).ok_or(Damage::Checksum));
                }
            }
        }
        if let Some(buffer) = completion.buffer {
            self.fetches.keep_buffer(buffer);
        }
        self.issue_reads();
    }

    /// A record has been read, or cannot be.
    fn arrived(&mut self, location: Location, outcome: Result<&[u8], Damage>) {
        if outcome.is_err() {
            // Whoever reads it again finds it damaged once more.
            self.counters.damaged_records += u64::from(!self.report_damage_once(location.segment(), location.offset(), location.padded()));
        }
        let (references, policy) = self.fetches.wake(location, true);
        self.memory.pin(location, outcome, references);
        if let Ok(bytes) = outcome
            && policy == CachePolicy::Keep
        {
            self.cache_insert(location, bytes);
        }
    }
}
