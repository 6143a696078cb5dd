//! The rows an operation wants written, in one arena that is used again for the next operation.

use super::partition_key::PartitionKey;
use base::{TableId, Token};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// Buffers larger than this are not kept.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// A map of more keys is not kept.
const KEPT_KEYS_MAX: usize = 1 << 14;

/// Up to this many rows are searched one by one; above, by halving or by a map.
const LINEAR_ROWS_MAX: usize = 16;

/// Rows staged by an operation. A key is staged once: staging it again replaces it.
#[derive(Debug, Default)]
pub struct WriteSet {
    bytes: Vec<u8>,
    rows: Vec<Entry>,
    /// Some key is not above the one that was staged before it.
    is_unordered: bool,
    /// The last row of each hash, if rows are many and not in order.
    by_key: HashMap<u64, u32, BuildHasherDefault<Hashed>>,
    open: Option<Entry>,
    scratch: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Entry {
    table: TableId,
    token: Token,
    partition: Range<usize>,
    clustering: Range<usize>,
    row: Range<usize>,
    purge_after_s: Option<u32>,
    is_delta: bool,
    /// The row before that has the same hash.
    same_hash: Option<u32>,
}

/// Keys that are hashes.
#[derive(Debug, Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// One staged row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagedRow<'a> {
    /// Its partition.
    pub partition: PartitionKey<'a>,
    /// Its clustering key.
    pub clustering: &'a [u8],
    /// Its bytes.
    pub row: &'a [u8],
    /// From when on (seconds since the epoch) the engine may forget it; `None` is never.
    pub purge_after_s: Option<u32>,
    /// Whether it is not the whole row but what is to be merged with it.
    pub is_delta: bool,
}

impl WriteSet {
    /// Forgets all rows and keeps the memory, up to a bound.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES_MAX);
        self.rows.clear();
        self.is_unordered = false;
        if self.by_key.capacity() > KEPT_KEYS_MAX {
            self.by_key = HashMap::default();
        } else if !self.by_key.is_empty() {
            self.by_key.clear();
        }
        self.open = None;
    }

    /// An empty buffer for an operation's own use, kept between operations; give it back with [`WriteSet::put_scratch`].
    #[must_use]
    pub fn take_scratch(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.scratch)
    }

    /// Gives back what [`WriteSet::take_scratch`] lent.
    pub fn put_scratch(&mut self, mut scratch: Vec<u8>) {
        scratch.clear();
        scratch.shrink_to(KEPT_BYTES_MAX);
        self.scratch = scratch;
    }

    /// How many rows are staged.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Starts a row: append its bytes to the buffer, then call [`WriteSet::end`].
    pub fn begin(&mut self, partition: &PartitionKey<'_>, clustering: &[u8]) -> &mut Vec<u8> {
        if let Some(abandoned) = self.open.take() {
            self.bytes.truncate(abandoned.partition.start);
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(partition.bytes);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(clustering);
        let end = self.bytes.len();
        self.open = Some(Entry {
            table: partition.table,
            token: partition.token,
            partition: start..middle,
            clustering: middle..end,
            row: end..end,
            purge_after_s: None,
            is_delta: false,
            same_hash: None,
        });
        &mut self.bytes
    }

    /// Ends the row that [`WriteSet::begin`] started.
    ///
    /// # Panics
    /// When none was started.
    pub fn end(&mut self, purge_after_s: Option<u32>) {
        self.end_entry(purge_after_s, false);
    }

    /// Ends the row that [`WriteSet::begin`] started: it is a delta, to be merged with the stored row when that is read. Only for the row with
    /// an empty clustering key, where [`super::RowStore::basis`] has allowed it, and of values that stay: nothing in it may expire.
    ///
    /// # Panics
    /// When none was started.
    pub fn end_delta(&mut self) {
        self.end_entry(None, true);
    }

    fn end_entry(&mut self, purge_after_s: Option<u32>, is_delta: bool) {
        let mut entry = self.open.take().expect("`begin` comes before `end`");
        entry.row.end = self.bytes.len();
        entry.purge_after_s = purge_after_s;
        entry.is_delta = is_delta;
        let is_above =
            self.rows.last().is_none_or(|last| self.order(last, &self.view_key(&entry), self.clustering(&entry), is_delta).is_lt());
        if self.is_unordered || !is_above {
            if let Some(before) = self.position(&self.view_key(&entry), self.clustering(&entry), is_delta) {
                entry.same_hash = self.rows[before].same_hash;
                self.rows[before] = entry;
                return;
            }
            self.is_unordered = true;
            if self.rows.len() >= LINEAR_ROWS_MAX {
                self.index(entry);
                return;
            }
        }
        self.rows.push(entry);
    }

    /// Appends a row to those of the map, where all others come first.
    fn index(&mut self, entry: Entry) {
        let first = if self.by_key.is_empty() { 0 } else { self.rows.len() };
        self.rows.push(entry);
        for index in first..self.rows.len() {
            let entry = &self.rows[index];
            let hash = hash_key(&self.view_key(entry), self.clustering(entry));
            self.rows[index].same_hash = self.by_key.insert(hash, index as u32);
        }
    }

    /// The staged row of this key.
    #[must_use]
    pub fn find(&self, partition: &PartitionKey<'_>, clustering: &[u8]) -> Option<&[u8]> {
        self.find_entry(partition, clustering, false)
    }

    /// The staged delta of a partition's only row.
    #[must_use]
    pub fn find_delta(&self, partition: &PartitionKey<'_>) -> Option<&[u8]> {
        self.find_entry(partition, &[], true)
    }

    fn find_entry(&self, partition: &PartitionKey<'_>, clustering: &[u8], is_delta: bool) -> Option<&[u8]> {
        if self.rows.is_empty() {
            return None;
        }
        self.position(partition, clustering, is_delta).map(|index| &self.bytes[self.rows[index].row.clone()])
    }

    /// The staged rows, in the order in which their keys were first staged.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = StagedRow<'_>> {
        self.rows.iter().map(|entry| self.view(entry))
    }

    /// The row whose key was staged as the `index`th, from 0.
    #[must_use]
    pub fn row(&self, index: usize) -> Option<StagedRow<'_>> {
        self.rows.get(index).map(|entry| self.view(entry))
    }

    /// Stages the rows of another set, too.
    pub fn append(&mut self, other: &Self) {
        for staged in other.rows() {
            self.begin(&staged.partition, staged.clustering).extend_from_slice(staged.row);
            self.end_entry(staged.purge_after_s, staged.is_delta);
        }
    }

    #[inline]
    fn view(&self, entry: &Entry) -> StagedRow<'_> {
        StagedRow {
            partition: self.view_key(entry),
            clustering: &self.bytes[entry.clustering.clone()],
            row: &self.bytes[entry.row.clone()],
            purge_after_s: entry.purge_after_s,
            is_delta: entry.is_delta,
        }
    }

    fn view_key(&self, entry: &Entry) -> PartitionKey<'_> {
        PartitionKey { table: entry.table, token: entry.token, bytes: &self.bytes[entry.partition.clone()] }
    }

    fn clustering(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.clustering.clone()]
    }

    /// How a row's key compares to another key.
    fn order(&self, entry: &Entry, partition: &PartitionKey<'_>, clustering: &[u8], is_delta: bool) -> Ordering {
        let of_partition = (entry.token, entry.table).cmp(&(partition.token, partition.table));
        of_partition
            .then_with(|| self.bytes[entry.partition.clone()].cmp(partition.bytes))
            .then_with(|| self.clustering(entry).cmp(clustering))
            .then_with(|| entry.is_delta.cmp(&is_delta))
    }

    fn position(&self, partition: &PartitionKey<'_>, clustering: &[u8], is_delta: bool) -> Option<usize> {
        let order = |entry: &Entry| self.order(entry, partition, clustering, is_delta);
        if self.rows.len() <= LINEAR_ROWS_MAX {
            return self.rows.iter().position(|entry| order(entry).is_eq());
        }
        if !self.is_unordered {
            return self.rows.binary_search_by(order).ok();
        }
        let last = self.by_key.get(&hash_key(partition, clustering)).copied();
        let mut candidates = std::iter::successors(last, |index| self.rows[*index as usize].same_hash).map(|index| index as usize);
        candidates.find(|index| order(&self.rows[*index]).is_eq())
    }
}

fn hash_key(partition: &PartitionKey<'_>, clustering: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (partition.table, partition.token, partition.bytes, clustering).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_and_a_row_of_one_key_are_two() {
        for others in [0u64, 30] {
            let mut writes = WriteSet::default();
            for key in 0..others {
                let bytes = key.to_be_bytes();
                writes.begin(&PartitionKey { table: TableId(2), token: Token(0), bytes: &bytes }, &[]);
                writes.end(None);
            }
            let partition = PartitionKey { table: TableId(1), token: Token(0), bytes: b"p" };
            for round in [1, 2] {
                writes.begin(&partition, &[]).push(round);
                writes.end_delta();
            }
            assert_eq!((writes.find(&partition, &[]), writes.find_delta(&partition)), (None, Some(&[2u8][..])));
            writes.begin(&partition, &[]).push(3);
            writes.end(None);
            assert_eq!((writes.find(&partition, &[]), writes.find_delta(&partition)), (Some(&[3u8][..]), Some(&[2u8][..])));
            assert_eq!(writes.rows().skip(others as usize).map(|row| row.is_delta).collect::<Vec<_>>(), [true, false]);
        }
    }

    #[test]
    fn staging_a_key_again_replaces_it_however_many_there_are() {
        for count in [1u64, 3, 16, 17, 200] {
            let mut writes = WriteSet::default();
            for round in 0..2u8 {
                for key in 0..count {
                    let bytes = key.to_be_bytes();
                    let partition = PartitionKey { table: TableId(1), token: Token(key as i64 / 2), bytes: &bytes };
                    writes.begin(&partition, b"c").push(round);
                    writes.end(None);
                }
            }
            assert_eq!(writes.len() as u64, count);
            assert!(writes.rows().all(|row| row.row == [1] && row.clustering == b"c"));
            let partition = PartitionKey { table: TableId(1), token: Token(0), bytes: &0u64.to_be_bytes() };
            assert_eq!(writes.find(&partition, b"c"), Some(&[1u8][..]));
            assert_eq!(writes.find(&partition, b"d"), None);
            writes.clear();
            assert!(writes.is_empty() && writes.find(&partition, b"c").is_none());
        }
    }

    #[test]
    fn rows_are_found_in_whatever_order_they_come() {
        let partition = PartitionKey { table: TableId(1), token: Token(7), bytes: b"p" };
        let keys: Vec<u64> = (0..90).collect();
        let unordered_from = |place: usize| keys[..place].iter().chain(keys[place..].iter().rev()).copied().collect::<Vec<_>>();
        for order in [unordered_from(90), unordered_from(80), unordered_from(16), unordered_from(3), unordered_from(0)] {
            let mut writes = WriteSet::default();
            for round in 0..2u8 {
                for key in &order {
                    writes.begin(&partition, &key.to_be_bytes()).push(round);
                    writes.end(None);
                    assert_eq!(writes.find(&partition, &key.to_be_bytes()), Some(&[round][..]));
                }
                let staged: Vec<_> = writes.rows().map(|row| (row.clustering.to_vec(), row.row[0])).collect();
                assert_eq!(staged, order.iter().map(|key| (key.to_be_bytes().to_vec(), round)).collect::<Vec<_>>());
                assert_eq!(writes.find(&partition, &90u64.to_be_bytes()), None);
            }
        }
    }
}
