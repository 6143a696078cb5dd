//! A run of rows of one partition, sorted by clustering key: keys back to back, their ends, their locations.

use crate::format::checkpoint::Malformed;
use crate::key::search;
use crate::location::Location;
use std::iter::Peekable;
use std::ops::Range;

/// Key bytes in a leaf at most, unless a single key is longer.
const LEAF_KEY_BYTES_MAX: usize = 8192;

/// Room that the first rows get which are appended several at a time.
const APPEND_ROWS_MIN: usize = 8;

#[derive(Default)]
pub(crate) struct Leaf {
    keys: Vec<u8>,
    ends: Vec<u32>,
    locations: Vec<Location>,
    /// The length of each key if all have one, as numbers and times have: a search does not look at the ends then. Otherwise 0.
    key_bytes: u32,
}

impl Leaf {
    pub(crate) fn len(&self) -> usize {
        self.locations.len()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.keys.capacity() + self.ends.capacity() * size_of::<u32>() + self.locations.capacity() * size_of::<Location>()
    }

    #[inline]
    fn start(&self, row: usize) -> usize {
        match self.key_bytes as usize {
            0 => row.checked_sub(1).map_or(0, |before| self.ends[before] as usize),
            key_bytes => row * key_bytes,
        }
    }

    #[inline]
    pub(crate) fn key(&self, row: usize) -> &[u8] {
        match self.key_bytes as usize {
            0 => &self.keys[self.start(row)..self.ends[row] as usize],
            key_bytes => &self.keys[row * key_bytes..][..key_bytes],
        }
    }

    /// A key is about to be added.
    fn note_length(&mut self, key: &[u8]) {
        if self.len() == 0 {
            self.key_bytes = key.len() as u32;
        } else if self.key_bytes as usize != key.len() {
            self.key_bytes = 0;
        }
    }

    pub(crate) fn location(&self, row: usize) -> Location {
        self.locations[row]
    }

    pub(crate) fn set_location(&mut self, row: usize, location: Location) -> Location {
        std::mem::replace(&mut self.locations[row], location)
    }

    pub(crate) fn locations(&self) -> &[Location] {
        &self.locations
    }

    /// The row with this key, or where it would go.
    #[inline]
    pub(crate) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        search(self.len(), |row| self.key(row), key)
    }

    /// Whether another key of this length fits without a split.
    pub(crate) fn has_room(&self, key_bytes: usize, rows_max: usize) -> bool {
        self.len() < rows_max && (self.keys.len() + key_bytes <= LEAF_KEY_BYTES_MAX || self.len() < 2)
    }

    pub(crate) fn insert(&mut self, row: usize, key: &[u8], location: Location) {
        self.note_length(key);
        if self.len() == self.locations.capacity() {
            // By half rather than doubled: small partitions are many.
            let more = (self.len() / 2).max(1);
            self.ends.reserve_exact(more);
            self.locations.reserve_exact(more);
        }
        if self.keys.len() + key.len() > self.keys.capacity() {
            self.keys.reserve_exact(key.len().max(self.keys.len() / 2));
        }
        let start = self.start(row);
        let old_length = self.keys.len();
        self.keys.resize(old_length + key.len(), 0);
        self.keys.copy_within(start..old_length, start + key.len());
        self.keys[start..start + key.len()].copy_from_slice(key);
        for end in &mut self.ends[row..] {
            *end += key.len() as u32;
        }
        self.ends.insert(row, (start + key.len()) as u32);
        self.locations.insert(row, location);
    }

    /// Appends rows as long as each comes after all others and has room.
    pub(crate) fn append<'k>(&mut self, rows: &mut Peekable<impl Iterator<Item = (&'k [u8], Location)>>, rows_max: usize) {
        let mut last = self.len().checked_sub(1).map(|last| self.start(last));
        while let Some((key, location)) =
            rows.next_if(|(key, _)| self.has_room(key.len(), rows_max) && last.is_none_or(|last| self.keys[last..] < **key))
        {
            if self.len() == self.locations.capacity() {
                // Doubled: more rows are likely to come the same way.
                let more = self.len().max(APPEND_ROWS_MIN).min(rows_max - self.len());
                self.ends.reserve_exact(more);
                self.locations.reserve_exact(more);
                self.keys.reserve_exact((more * key.len()).min(LEAF_KEY_BYTES_MAX));
            }
            last = Some(self.keys.len());
            self.note_length(key);
            self.keys.extend_from_slice(key);
            self.ends.push(self.keys.len() as u32);
            self.locations.push(location);
        }
    }

    pub(crate) fn remove(&mut self, row: usize) -> Location {
        let (start, end) = (self.start(row), self.ends[row] as usize);
        self.keys.drain(start..end);
        self.ends.remove(row);
        for later in &mut self.ends[row..] {
            *later -= (end - start) as u32;
        }
        self.locations.remove(row)
    }

    /// Takes out those of `rows` whose location `is_it` names, and appends their locations to `taken`.
    pub(crate) fn take_rows(&mut self, rows: Range<usize>, is_it: impl Fn(Location) -> bool, taken: &mut Vec<Location>) {
        if rows == (0..self.len()) && self.locations.iter().all(|location| is_it(*location)) {
            taken.append(&mut std::mem::take(self).locations);
            return;
        }
        let before = taken.len();
        let mut kept = Self::default();
        for row in 0..self.len() {
            if rows.contains(&row) && is_it(self.locations[row]) {
                taken.push(self.locations[row]);
            } else {
                kept.insert(kept.len(), self.key(row), self.locations[row]);
            }
        }
        if taken.len() > before {
            *self = kept;
        }
    }

    /// Moves the rows from `row` on into a new leaf; both hold no spare memory.
    pub(crate) fn split_off(&mut self, row: usize) -> Self {
        let start = self.start(row);
        let keys = self.keys.split_off(start);
        let ends = self.ends[row..].iter().map(|end| end - start as u32).collect();
        let locations = self.locations.split_off(row);
        self.ends.truncate(row);
        self.keys.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.locations.shrink_to_fit();
        Self { keys, ends, locations, key_bytes: self.key_bytes }
    }

    /// Appends the rows from `first` on, for a checkpoint: rows 4, bound bytes 4, key bytes 4, zero 4, locations, ends of the keys, bound,
    /// keys. `bound` is the leaf's lower bound.
    pub(crate) fn encode(&self, bound: &[u8], first: usize, device: impl Fn(Location) -> Location, out: &mut Vec<u8>) {
        let start = self.start(first);
        let keys = &self.keys[start..];
        for number in [self.len() - first, bound.len(), keys.len(), 0] {
            out.extend_from_slice(&(number as u32).to_le_bytes());
        }
        for location in &self.locations[first..] {
            out.extend_from_slice(&device(*location).word().to_le_bytes());
        }
        for end in &self.ends[first..] {
            out.extend_from_slice(&(end - start as u32).to_le_bytes());
        }
        out.extend_from_slice(bound);
        out.extend_from_slice(keys);
    }

    /// The bound and the rows that `encode` has written and `keep` wants.
    pub(crate) fn decode(bytes: &[u8], mut keep: impl FnMut(Location) -> Result<bool, Malformed>) -> Result<(&[u8], Self), Malformed> {
        let header: &[u8; 16] = bytes.first_chunk().ok_or(Malformed)?;
        let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]) as usize;
        let (rows, bound_bytes, key_bytes) = (number(0), number(4), number(8));
        if number(12) != 0 || header.len() + rows * 12 + bound_bytes + key_bytes != bytes.len() {
            return Err(Malformed);
        }
        let (locations, rest) = bytes[header.len()..].split_at(rows * 8);
        let (ends, rest) = rest.split_at(rows * 4);
        let (bound, keys) = rest.split_at(bound_bytes);
        let mut leaf = Self::default();
        leaf.keys.reserve_exact(keys.len());
        leaf.ends.reserve_exact(rows);
        leaf.locations.reserve_exact(rows);
        let mut start = 0;
        for (location, end) in locations.chunks_exact(8).zip(ends.chunks_exact(4)) {
            let location = Location::from_word(u64::from_le_bytes(*location.first_chunk().ok_or(Malformed)?));
            let end = u32::from_le_bytes(*end.first_chunk().ok_or(Malformed)?) as usize;
            let key = keys.get(start..end).ok_or(Malformed)?;
            start = end;
            if key < bound || (leaf.len() > 0 && leaf.key(leaf.len() - 1) >= key) {
                return Err(Malformed);
            }
            if keep(location)? {
                leaf.note_length(key);
                leaf.keys.extend_from_slice(key);
                leaf.ends.push(leaf.keys.len() as u32);
                leaf.locations.push(location);
            }
        }
        if start != keys.len() { Err(Malformed) } else { Ok((bound, leaf)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::SegmentId;
    use base::Rng;
    use std::collections::BTreeMap;

    fn location(number: u32) -> Location {
        Location::record(SegmentId(number), 4096, 32)
    }

    #[test]
    fn keys_of_one_length_and_of_several_are_found() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            // Mostly of one length; in some leaves another one comes now and then.
            let odd_one_in = [u64::MAX, 40, 3][seed as usize % 3];
            let key = |rng: &mut Rng| {
                let bytes = rng.below(300).to_be_bytes();
                if rng.below(odd_one_in) == 0 { bytes[6..].to_vec() } else { bytes.to_vec() }
            };
            let (mut leaf, mut model) = (Leaf::default(), BTreeMap::new());
            for step in 0..400 {
                let key = key(&mut rng);
                match leaf.search(&key) {
                    Ok(row) if rng.below(2) == 0 => assert_eq!(Some(leaf.remove(row)), model.remove(&key)),
                    Ok(row) => assert_eq!(Some(leaf.set_location(row, location(step))), model.insert(key, location(step))),
                    Err(row) => {
                        leaf.insert(row, &key, location(step));
                        assert_eq!(model.insert(key, location(step)), None);
                    }
                }
                if rng.below(50) == 0 {
                    let right = leaf.split_off(leaf.len() / 2);
                    if right.len() > 0 {
                        model.split_off(right.key(0));
                    }
                    let mut rows = (0..right.len()).map(|row| (right.key(row), right.location(row))).peekable();
                    if rng.below(2) == 0 {
                        model.extend(rows.clone().map(|(key, location)| (key.to_vec(), location)));
                        leaf.append(&mut rows, usize::MAX);
                    }
                }
                let found = (0..leaf.len()).map(|row| (leaf.key(row), leaf.location(row)));
                assert!(found.eq(model.iter().map(|(key, location)| (&key[..], *location))), "seed {seed}");
            }
        }
    }
}
