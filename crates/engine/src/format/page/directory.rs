//! The directory after a block that is not compressed: where every sixteenth row has its parts, so that rows are found without reading all others.
//!
//! For each group of sixteen rows, the last one may have fewer, little-endian; offsets are from the start of the block:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | offset of the group's first row in the first column |
//! | 4 | 4 | offset of its clustering key |
//! | 8 | 4 | offset of its row |
//! | 12 | 2 | bytes of its clustering key |
//! | 14 | 8 | sequence of the row before it, 0 for the first |
//!
//! Invariant: any bytes give a row, none, or that they make no sense; never a panic.

use super::meta::take_meta;
use crate::key::{Row, Sequence};
use std::cmp::Ordering;
use std::ops::Bound;

/// Rows of a group.
pub(super) const GROUP_ROWS: usize = 16;
/// Bytes of a group in the directory.
const GROUP_BYTES: usize = 22;

/// A group of rows.
#[derive(Clone, Copy, Debug)]
struct Group {
    meta: u32,
    key: u32,
    row: u32,
    key_bytes: u16,
    /// Of the row before.
    sequence: u64,
}

impl Group {
    fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.meta.to_le_bytes());
        out.extend_from_slice(&self.key.to_le_bytes());
        out.extend_from_slice(&self.row.to_le_bytes());
        out.extend_from_slice(&self.key_bytes.to_le_bytes());
        out.extend_from_slice(&self.sequence.to_le_bytes());
    }

    #[inline]
    fn decode(bytes: &[u8; GROUP_BYTES]) -> Self {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let sequence = u64::from(word(14)) | u64::from(word(18)) << 32;
        Self { meta: word(0), key: word(4), row: word(8), key_bytes: u16::from_le_bytes([bytes[12], bytes[13]]), sequence }
    }
}

/// Collects the groups of a page as its rows come.
#[derive(Debug, Default)]
pub(super) struct DirectoryBuilder {
    /// Offsets from the starts of the columns.
    groups: Vec<Group>,
}

impl DirectoryBuilder {
    /// A group begins: where in each column, how long its first key is, and the sequence of the row before.
    pub(super) fn push(&mut self, meta: usize, (key, key_bytes): (usize, usize), row: usize, sequence: u64) {
        self.groups.push(Group { meta: meta as u32, key: key as u32, row: row as u32, key_bytes: key_bytes as u16, sequence });
    }

    /// Appends the directory of a block with so many bytes in the first and in the second column.
    pub(super) fn finish(&self, meta: usize, keys: usize, out: &mut Vec<u8>) {
        for group in &self.groups {
            Group { key: group.key + meta as u32, row: group.row + (meta + keys) as u32, ..*group }.encode(out);
        }
    }

    pub(super) fn clear(&mut self) {
        self.groups.clear();
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Group>()
    }
}

/// Neighbouring groups: what they have in each column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stretch<'a> {
    pub(super) meta: &'a [u8],
    pub(super) keys: &'a [u8],
    pub(super) rows: &'a [u8],
    pub(super) count: usize,
    /// Of the row before the first one.
    pub(super) sequence: u64,
}

/// A block that is not compressed, with its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InPlace<'a> {
    raw: &'a [u8],
    groups: &'a [[u8; GROUP_BYTES]],
    rows: usize,
}

impl<'a> InPlace<'a> {
    /// `None` if there are not the bytes for it, or others besides.
    #[inline]
    pub(super) fn new(block: &'a [u8], raw_bytes: usize, rows: usize) -> Option<Self> {
        let (raw, directory) = block.split_at_checked(raw_bytes)?;
        let (groups, rest) = directory.as_chunks();
        (rest.is_empty() && groups.len() == rows.div_ceil(GROUP_ROWS)).then_some(Self { raw, groups, rows })
    }

    /// The block.
    pub(super) fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// The row with this key: `Some(None)` if there is none, `None` if the page makes no sense.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Option<Option<Row<'a>>> {
        let Some(number) = self.groups_before(Bound::Included(key))?.checked_sub(1) else { return Some(None) };
        self.find_in_group(number, key)
    }

    /// How many groups begin before this end of a range of keys; `None` if the page makes no sense.
    #[inline]
    fn groups_before(&self, end: Bound<&[u8]>) -> Option<usize> {
        let (key, or_equal) = match end {
            Bound::Included(key) => (key, true),
            Bound::Excluded(key) => (key, false),
            Bound::Unbounded => return Some(self.groups.len()),
        };
        let (mut low, mut high) = (0, self.groups.len());
        while low < high {
            let middle = low.midpoint(high);
            let group = Group::decode(&self.groups[middle]);
            match self.bytes(group.key as usize, usize::from(group.key_bytes))?.cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal if or_equal => low = middle + 1,
                Ordering::Equal | Ordering::Greater => high = middle,
            }
        }
        Some(low)
    }

    /// The groups that have all rows between these bounds; `None` if the page makes no sense.
    pub(super) fn stretch(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Option<Stretch<'a>> {
        if self.groups.is_empty() {
            return self.raw.is_empty().then_some(Stretch::default());
        }
        let first = match from {
            Bound::Included(key) | Bound::Excluded(key) => self.groups_before(Bound::Included(key))?.saturating_sub(1),
            Bound::Unbounded => 0,
        };
        let end = self.groups_before(to)?.max(first);
        let begin = |number: usize| self.groups.get(number).map(Group::decode);
        let Group { meta, key, row, sequence, .. } = begin(first)?;
        // The rows begin where the keys end.
        let (keys_end, rows_end) = match begin(end) {
            Some(next) => (next.key, next.row as usize),
            None => (begin(0)?.row, self.raw.len()),
        };
        Some(Stretch {
            meta: self.raw.get(meta as usize..)?,
            keys: self.raw.get(key as usize..keys_end as usize)?,
            rows: self.raw.get(row as usize..rows_end)?,
            count: (end * GROUP_ROWS).min(self.rows) - first * GROUP_ROWS,
            sequence,
        })
    }

    #[inline]
    fn find_in_group(&self, number: usize, key: &[u8]) -> Option<Option<Row<'a>>> {
        let group = Group::decode(&self.groups[number]);
        let (mut key_at, mut row_at, mut sequence) = (group.key as usize, group.row as usize, group.sequence);
        let mut rest = self.raw.get(group.meta as usize..)?;
        for _ in number * GROUP_ROWS..self.rows.min((number + 1) * GROUP_ROWS) {
            let meta = take_meta(&mut rest)?;
            sequence = sequence.wrapping_add_signed(meta.sequence_difference);
            match self.bytes(key_at, meta.key_bytes)?.cmp(key) {
                Ordering::Less => {}
                Ordering::Equal if sequence > Sequence::MAX => return None,
                Ordering::Equal => {
                    let bytes = self.bytes(row_at, meta.row_bytes)?;
                    return Some(Some(Row { kind: meta.kind, sequence: Sequence(sequence), bytes }));
                }
                Ordering::Greater => break,
            }
            (key_at, row_at) = (key_at + meta.key_bytes, row_at.checked_add(meta.row_bytes)?);
        }
        Some(None)
    }

    #[inline]
    fn bytes(&self, at: usize, length: usize) -> Option<&'a [u8]> {
        self.raw.get(at..)?.get(..length)
    }
}
