//! The cells of a prefix filter: which slots may have a prefix, by its hash.

use super::bucket::{Bucket, CELLS, FINGERPRINT_BITS, SLOT_BITS};
use crate::format::record::mix;
use base::{SLOT_COUNT, Slot};

/// The buckets of the smallest filter.
const BUCKETS_MIN: usize = 8;
/// No more of a hundred cells are to be used.
const FILL_PERCENT_MAX: usize = 85;
/// A fingerprint with so many cells in a full bucket is taken to be in all slots.
const POPULAR_CELLS: usize = 8;
/// The fingerprint of cells that name a fingerprint which any slot may have.
const POPULAR: u16 = 0;
const FINGERPRINTS: u64 = (1 << FINGERPRINT_BITS) - 1;
const _: () = assert!(SLOT_COUNT <= 1 << SLOT_BITS);

pub(super) struct Cells {
    buckets: Vec<Bucket>,
    used: usize,
}

impl Cells {
    /// With room for so many pairs of prefix and slot.
    pub(super) fn with_room(pairs: usize) -> Self {
        let buckets = (pairs * 100 / (CELLS * FILL_PERCENT_MAX)).max(BUCKETS_MIN);
        Self { buckets: vec![Bucket::default(); buckets], used: 0 }
    }

    /// How many cells are used.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// How many may be, nearly.
    pub(super) fn room(&self) -> usize {
        self.buckets.len() * CELLS * FILL_PERCENT_MAX / 100
    }

    pub(super) fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>()
    }

    /// Notes that a slot has a prefix. Returns whether there was a cell for it.
    pub(super) fn insert(&mut self, hash: u64, slot: Slot) -> bool {
        let ([first, second], fingerprint) = self.place(hash);
        let has = |of, slot| self.buckets[first].has(of, slot) || self.buckets[second].has(of, slot);
        if has(fingerprint, slot.0) || has(POPULAR, fingerprint) {
            return true;
        }
        let emptier = if self.buckets[first].used() <= self.buckets[second].used() { first } else { second };
        if self.buckets[emptier].insert(fingerprint, slot.0) {
            self.used += 1;
            return true;
        }
        let is_many = |bucket: usize, of| self.buckets[bucket].slots(of).count() >= POPULAR_CELLS;
        if is_many(first, fingerprint) || is_many(second, fingerprint) {
            self.make_popular(first, fingerprint);
            self.make_popular(second, fingerprint);
            return true;
        }
        // Another one's cells may be in the way.
        let fingerprints = 1..=FINGERPRINTS as u16;
        let mut others = [first, second].into_iter().flat_map(|bucket| fingerprints.clone().map(move |of| (bucket, of)));
        let Some((bucket, other)) = others.find(|(bucket, of)| is_many(*bucket, *of)) else { return false };
        self.make_popular(bucket, other);
        self.used += 1;
        self.buckets[bucket].insert(fingerprint, slot.0)
    }

    /// A fingerprint that has cells in a bucket counts for all slots there from now on.
    fn make_popular(&mut self, bucket: usize, fingerprint: u16) {
        let bucket = &mut self.buckets[bucket];
        let freed = bucket.remove(fingerprint);
        if freed > 0 {
            bucket.insert(POPULAR, fingerprint);
            self.used -= freed - 1;
        }
    }

    /// The slots that may have the prefix, some more than once; `None` if all may.
    pub(super) fn slots(&self, hash: u64) -> Option<impl Iterator<Item = Slot>> {
        let (buckets, fingerprint) = self.place(hash);
        let buckets = buckets.map(|bucket| &self.buckets[bucket]);
        let is_popular = buckets.iter().any(|bucket| bucket.has(POPULAR, fingerprint));
        (!is_popular).then(|| buckets.into_iter().flat_map(move |bucket| bucket.slots(fingerprint)).map(Slot))
    }

    /// The two buckets of a prefix, and its fingerprint.
    fn place(&self, hash: u64) -> ([usize; 2], u16) {
        let scaled = |half: u64| ((half * self.buckets.len() as u64) >> 32) as usize;
        ([scaled(hash >> 32), scaled(mix(hash) >> 32)], (hash % FINGERPRINTS) as u16 + 1)
    }
}
