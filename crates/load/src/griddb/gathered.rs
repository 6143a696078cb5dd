//! What a connection was asked about one container and has not sent yet.
//!
//! Reads become one request, and so do writes; a scan is one by itself. Rows that are asked for by several are asked for once.

use super::format::{RowFormat, Version};
use crate::tables::Table;
use ::griddb::row::RowsWriter;
use std::collections::VecDeque;
use std::ops::Range;

/// Of one container.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) table: Table,
    pub(super) reads: Reads,
    pub(super) writes: Writes,
    pub(super) scans: VecDeque<Scan>,
}

/// Rows that are read, to be given to who asked or to be written again with another field.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// All keys, one after the other.
    keys: Vec<u8>,
    reads: Vec<Read>,
    /// The reads by their keys, the one that came first before others of the same; once they were ranked.
    by_key: Vec<u32>,
}

/// A read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) stream: u16,
    key: Range<usize>,
    /// The only field to write then, of which version of the row.
    pub(super) update: Option<(u32, Version)>,
    /// Of the first one of the same key, in the order of keys.
    rank: u32,
    is_answered: bool,
}

/// Rows that are written.
#[derive(Debug)]
pub(super) struct Writes {
    pub(super) rows: RowsWriter,
    pub(super) streams: Vec<u16>,
}

/// A scan.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) stream: u16,
    pub(super) key: Vec<u8>,
    pub(super) rows: u32,
}

impl Gathered {
    pub(super) fn new(table: Table, format: &RowFormat) -> Self {
        let writes = Writes { rows: RowsWriter::new(&format.columns), streams: Vec::new() };
        Self { table, reads: Reads::default(), writes, scans: VecDeque::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.streams.is_empty() && self.scans.is_empty()
    }
}

impl Reads {
    pub(super) fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.reads.clear();
        self.by_key.clear();
    }

    /// Adds a read of the key that `append` appends.
    pub(super) fn push(&mut self, stream: u16, update: Option<(u32, Version)>, append: impl FnOnce(&mut Vec<u8>)) {
        let start = self.keys.len();
        append(&mut self.keys);
        self.reads.push(Read { stream, key: start..self.keys.len(), update, rank: 0, is_answered: false });
    }

    /// The key, if there is only one read.
    pub(super) fn only_key(&self) -> Option<&[u8]> {
        match &self.reads[..] {
            [read] => Some(&self.keys[read.key.clone()]),
            _ => None,
        }
    }

    /// Finds out which of them have the same key; says how many keys there are.
    pub(super) fn rank(&mut self) -> usize {
        let Self { keys, reads, by_key } = self;
        let keys: &[u8] = keys;
        by_key.clear();
        by_key.extend(0..reads.len() as u32);
        let unranked: &[Read] = reads;
        by_key.sort_unstable_by_key(|read| (&keys[unranked[*read as usize].key.clone()], *read));
        let (mut first, mut count) = (0, 0);
        for place in 0..by_key.len() {
            let is_same = place > 0 && {
                let of = |place: usize| &keys[reads[by_key[place] as usize].key.clone()];
                of(place) == of(place - 1)
            };
            if !is_same {
                first = place;
                count += 1;
            }
            reads[by_key[place] as usize].rank = first as u32;
        }
        count
    }

    /// Each key once, in the order in which they were asked for. They were ranked before.
    pub(super) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let firsts = self.reads.iter().enumerate().filter(|(at, read)| self.by_key[read.rank as usize] as usize == *at);
        firsts.map(|(_, read)| &self.keys[read.key.clone()])
    }

    /// The reads of a key, which count as answered from now on. `expected` is where the key is looked for first, and then where the next one will be:
    /// servers give rows in the order of the keys that they got.
    pub(super) fn answer(&mut self, key: &[u8], expected: &mut usize) -> Range<usize> {
        let Self { keys, reads, by_key } = self;
        while reads.get(*expected).is_some_and(|read| by_key[read.rank as usize] as usize != *expected) {
            *expected += 1;
        }
        let of = |read: &Read| &keys[read.key.clone()];
        let first = match reads.get(*expected).filter(|read| of(read) == key) {
            Some(read) => read.rank as usize,
            None => by_key.partition_point(|read| of(&reads[*read as usize]) < key),
        };
        let same = by_key[first..].iter().take_while(|read| of(&reads[**read as usize]) == key).count();
        for read in &by_key[first..first + same] {
            reads[*read as usize].is_answered = true;
        }
        if let Some(read) = by_key.get(first).filter(|_| same > 0) {
            *expected = *read as usize + 1;
        }
        first..first + same
    }

    /// The read at a place in the order of keys.
    pub(super) fn at(&self, place: usize) -> &Read {
        &self.reads[self.by_key[place] as usize]
    }

    /// Those of which no row has come.
    pub(super) fn unanswered(&self) -> impl Iterator<Item = &Read> {
        self.reads.iter().filter(|read| !read.is_answered)
    }

    /// The streams of all.
    pub(super) fn streams(&self) -> impl Iterator<Item = u16> {
        self.reads.iter().map(|read| read.stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(keys: &[&str]) -> Reads {
        let mut reads = Reads::default();
        for (stream, key) in keys.iter().enumerate() {
            reads.push(stream as u16, None, |out| out.extend_from_slice(key.as_bytes()));
        }
        reads
    }

    fn answered(reads: &mut Reads, key: &str, expected: &mut usize) -> Vec<u16> {
        let places = reads.answer(key.as_bytes(), expected);
        places.map(|place| reads.at(place).stream).collect()
    }

    #[test]
    fn a_key_is_asked_for_once_and_answers_all_who_asked() {
        let mut reads = reads(&["c", "a", "c", "b", "a", "c"]);
        assert_eq!((reads.rank(), reads.only_key()), (3, None));
        assert_eq!(reads.keys().collect::<Vec<_>>(), [b"c", b"a", b"b"]);
        let mut expected = 0;
        // In their order, and then out of it.
        assert_eq!(answered(&mut reads, "c", &mut expected), [0, 2, 5]);
        assert_eq!(answered(&mut reads, "b", &mut expected), [3]);
        assert!(answered(&mut reads, "x", &mut expected).is_empty());
        assert_eq!(reads.unanswered().map(|read| read.stream).collect::<Vec<_>>(), [1, 4]);
        assert_eq!(answered(&mut reads, "a", &mut expected), [1, 4]);
        assert_eq!(reads.unanswered().count(), 0);
    }

    #[test]
    fn one_read_has_its_key() {
        let mut reads = reads(&["k"]);
        assert_eq!((reads.rank(), reads.only_key()), (1, Some(&b"k"[..])));
        assert_eq!(reads.streams().collect::<Vec<_>>(), [0]);
        reads.clear();
        assert!(reads.is_empty());
    }
}
