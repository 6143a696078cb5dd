//! A leaf page: neighbouring rows of one partition in one record of the log, compressed.
//!
//! The record has `FLAG_PAGE`; its clustering key is the lower bound of the page's range, its row is what follows here, little-endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | compression of the block: 0 none, 1 LZ4, 2 Zstandard, 3 none and a directory of the rows after it |
//! | 1 | 1 | zero |
//! | 2 | 2 | bytes of the upper bound |
//! | 4 | 4 | rows |
//! | 8 | 4 | bytes of the block before compression |
//! | 12 | 4 | rows that have a purge time |
//! | 16 | 8 | generation of the segment that the page was first written to |
//! | 24 | | upper bound (exclusive), block |
//!
//! The block is three columns, one after the other:
//!
//! 1. for each row its kind (0 live, 1 expiring, 2 tombstone), then as variable-length integers: bytes of its clustering key, bytes of the
//!    row, difference of its sequence from the row before (zigzag), and, unless it is live, its purge time (zigzag);
//! 2. the clustering keys back to back; 3. the rows back to back.
//!
//! A block that compression does not make smaller by an eighth is written as it is, with a directory ([`directory`]): then a row is found in place. Earlier programs wrote it
//! without one.
//!
//! Invariant: decoding any bytes ends in rows or an error, never in a panic, and takes memory in proportion to `RAW_BYTES_MAX` at most.

mod directory;
mod meta;
#[cfg(test)]
mod tests;

use crate::format::codec::{CODEC_NONE, Decoder, Encoder};
use crate::key::{Kind, Row, Sequence, search};
use base::Compression;
use directory::{DirectoryBuilder, InPlace, Stretch};
use meta::{Meta, push_meta, take_meta};
use std::ops::Bound;
use std::rc::Rc;

/// Size of the fixed part.
pub(crate) const PAGE_HEADER_BYTES: usize = 24;
/// A block is never larger: a page's rows have to fit in a segment before they are compressed.
pub(crate) const RAW_BYTES_MAX: usize = 8 << 20;
/// What a row takes in the first column at least.
const META_BYTES_MIN: usize = 4;
/// Where the generation is.
const GENERATION_OFFSET: usize = 16;

/// The block as it is, and a directory after it.
pub(crate) const CODEC_DIRECTORY: u8 = 3;

/// The fixed part as the table above has it; only its size is used, by the assertion below.
#[repr(C)]
struct HeaderLayout {
    compression: u8,
    zero: u8,
    high_bytes: u16,
    rows: u32,
    raw_bytes: u32,
    purgeable: u32,
    generation: u64,
}
const _: () = assert!(size_of::<HeaderLayout>() == PAGE_HEADER_BYTES);

/// A page whose block has not been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageView<'a> {
    pub(crate) rows: u32,
    /// Rows that have a purge time.
    pub(crate) purgeable: u32,
    /// Rows of the range in segments of earlier generations are superseded by the page, those in later ones lie over it.
    pub(crate) generation: u64,
    /// The end of the range, exclusive.
    pub(crate) high: &'a [u8],
    /// The rows as they lie, if there is a directory of them.
    pub(crate) in_place: Option<InPlace<'a>>,
    codec: u8,
    raw_bytes: usize,
    block: &'a [u8],
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
}

impl<'a> PageView<'a> {
    /// Bytes of the block before compression.
    pub(crate) fn raw_bytes(&self) -> usize {
        self.raw_bytes
    }

    /// Reads the fixed part and the upper bound of the payload of a page's record.
    pub(crate) fn parse(payload: &'a [u8]) -> Option<Self> {
        let [codec, 0, high_low, high_high] = *payload.first_chunk()? else { return None };
        let generation = payload.get(GENERATION_OFFSET..)?.first_chunk().copied().map(u64::from_le_bytes)?;
        let (rows, raw_bytes, purgeable) = (u32_at(payload, 4)?, u32_at(payload, 8)? as usize, u32_at(payload, 12)?);
        let (high, block) = payload.get(PAGE_HEADER_BYTES..)?.split_at_checked(usize::from(u16::from_le_bytes([high_low, high_high])))?;
        let sensible = raw_bytes <= RAW_BYTES_MAX && rows as usize <= raw_bytes / META_BYTES_MIN && purgeable <= rows;
        if !sensible {
            return None;
        }
        let page = Self { rows, purgeable, generation, high, in_place: None, codec, raw_bytes, block };
        if codec != CODEC_DIRECTORY {
            return Some(page);
        }
        let in_place = InPlace::new(block, raw_bytes, rows as usize)?;
        Some(Self { in_place: Some(in_place), codec: CODEC_NONE, block: in_place.raw(), ..page })
    }
}

/// What is known of a row besides its bytes; ends are counted from the start of the column.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key_end: u32,
    row_end: u32,
    sequence: Sequence,
    kind: Kind,
}

/// Where keys and rows lie, back to back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'b> {
    keys: &'b [u8],
    rows: &'b [u8],
}

/// The rows of a page that a walk is in: copies, or found where the page lies.
#[derive(Debug)]
pub(crate) struct OpenPage<'b> {
    pub(crate) rows: Rc<Decoded>,
    pub(crate) in_place: Option<Columns<'b>>,
}

impl OpenPage<'_> {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    fn columns(&self) -> Columns<'_> {
        match self.in_place {
            Some(columns) => columns,
            None => self.rows.columns(),
        }
    }

    #[inline]
    pub(crate) fn key(&self, number: usize) -> &[u8] {
        self.rows.key_in(self.columns(), number)
    }

    #[inline]
    pub(crate) fn row(&self, number: usize) -> Row<'_> {
        self.rows.row_in(self.columns(), number)
    }

    /// The row with this key, or where it would be.
    pub(crate) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        search(self.len(), |row| self.key(row), key)
    }
}

/// The rows of a page or of a part of it, ready to be read. Used again and again: after its first few pages nothing is allocated.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    raw: Vec<u8>,
    entries: Vec<Entry>,
    /// Where the columns of keys and of rows start.
    keys: usize,
    rows: usize,
}

impl Decoded {
    /// Reads a page; `None` if its block makes no sense, and then there are no rows.
    pub(crate) fn read(&mut self, page: &PageView<'_>, decoder: &mut Decoder) -> Option<()> {
        self.entries.clear();
        self.raw.resize(page.raw_bytes, 0);
        decoder.decode(page.codec, page.block, &mut self.raw)?;
        let columns = read_meta(&mut self.entries, &self.raw, (page.rows as usize, 0), self.raw.len());
        let fits = columns.filter(|(meta, keys, rows)| meta + keys + rows == self.raw.len());
        self.begin(fits.map(|(meta, keys, _)| (meta, meta + keys)))
    }

    /// Finds where the rows between two keys, with neighbours of theirs, lie in a block with a directory, and leaves them there; `None` if the block makes no
    /// sense, and then there are no rows.
    pub(crate) fn locate<'b>(&mut self, in_place: &InPlace<'b>, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Option<Columns<'b>> {
        self.entries.clear();
        self.raw.clear();
        let Stretch { meta, keys, rows, count, sequence } = in_place.stretch(from, to)?;
        let columns = read_meta(&mut self.entries, meta, (count, sequence), keys.len() + rows.len());
        let fits = columns.filter(|(_, key_bytes, row_bytes)| (*key_bytes, *row_bytes) == (keys.len(), rows.len()));
        self.begin(fits.map(|_| (0, 0))).map(|()| Columns { keys, rows })
    }

    /// The columns of keys and of rows start here; `None` if they make no sense.
    fn begin(&mut self, columns: Option<(usize, usize)>) -> Option<()> {
        if let Some((keys, rows)) = columns {
            (self.keys, self.rows) = (keys, rows);
        } else {
            self.entries.clear();
        }
        columns.map(|_| ())
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.raw.capacity() + self.entries.capacity() * size_of::<Entry>()
    }

    /// The columns of the rows that were read.
    fn columns(&self) -> Columns<'_> {
        Columns { keys: &self.raw[self.keys..], rows: &self.raw[self.rows..] }
    }

    pub(crate) fn key(&self, number: usize) -> &[u8] {
        self.key_in(self.columns(), number)
    }

    pub(crate) fn row(&self, number: usize) -> Row<'_> {
        self.row_in(self.columns(), number)
    }

    #[inline]
    fn key_in<'b>(&self, columns: Columns<'b>, number: usize) -> &'b [u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.entries[before].key_end);
        &columns.keys[start as usize..self.entries[number].key_end as usize]
    }

    #[inline]
    fn row_in<'b>(&self, columns: Columns<'b>, number: usize) -> Row<'b> {
        let start = number.checked_sub(1).map_or(0, |before| self.entries[before].row_end);
        let entry = &self.entries[number];
        Row { kind: entry.kind, sequence: entry.sequence, bytes: &columns.rows[start as usize..entry.row_end as usize] }
    }

    /// The row with this key, or where it would be.
    pub(crate) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        search(self.len(), |row| self.key(row), key)
    }
}

/// Reads so many rows of the first column, the row before which has this sequence. Gives the bytes that were read, those of the keys and those of the
/// rows, neither of which is more than `bytes_max`.
fn read_meta(
    entries: &mut Vec<Entry>,
    column: &[u8],
    (count, mut sequence): (usize, u64),
    bytes_max: usize,
) -> Option<(usize, usize, usize)> {
    let (mut rest, mut key_end, mut row_end) = (column, 0usize, 0usize);
    entries.reserve(count);
    for _ in 0..count {
        let meta = take_meta(&mut rest)?;
        key_end = key_end.checked_add(meta.key_bytes)?;
        row_end = row_end.checked_add(meta.row_bytes)?;
        sequence = sequence.wrapping_add_signed(meta.sequence_difference);
        let fits = key_end <= bytes_max && row_end <= bytes_max && sequence <= Sequence::MAX;
        if !fits {
            return None;
        }
        entries.push(Entry { key_end: key_end as u32, row_end: row_end as u32, sequence: Sequence(sequence), kind: meta.kind });
    }
    Some((column.len() - rest.len(), key_end, row_end))
}

/// What was made of a page's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) rows: u32,
    /// The earliest purge time, if a row has one.
    pub(crate) purge_after_s: Option<i64>,
}

/// Collects rows in the order of their keys and makes the payload of a page of them.
pub(crate) struct PageBuilder {
    meta: Vec<u8>,
    keys: Vec<u8>,
    rows: Vec<u8>,
    raw: Vec<u8>,
    directory: DirectoryBuilder,
    count: u32,
    purgeable: u32,
    purge_after_s: Option<i64>,
    sequence: u64,
    compression: Compression,
    encoder: Encoder,
}

impl PageBuilder {
    pub(crate) fn new() -> Self {
        Self {
            meta: Vec::new(),
            keys: Vec::new(),
            rows: Vec::new(),
            raw: Vec::new(),
            directory: DirectoryBuilder::default(),
            count: 0,
            purgeable: 0,
            purge_after_s: None,
            sequence: 0,
            compression: Compression::default(),
            encoder: Encoder::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    /// Bytes of the block so far, before compression.
    pub(crate) fn raw_bytes(&self) -> usize {
        self.meta.len() + self.keys.len() + self.rows.len()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.meta.capacity()
            + self.keys.capacity()
            + self.rows.capacity()
            + self.raw.capacity()
            + self.directory.heap_bytes()
            + self.encoder.heap_bytes()
    }

    /// What the pages from now on are compressed with.
    pub(crate) fn set_compression(&mut self, compression: Compression) {
        self.compression = compression;
    }

    pub(crate) fn push(&mut self, key: &[u8], row: &Row<'_>) {
        if self.len().is_multiple_of(directory::GROUP_ROWS) {
            self.directory.push(self.meta.len(), (self.keys.len(), key.len()), self.rows.len(), self.sequence);
        }
        let sequence_difference = row.sequence.0.wrapping_sub(self.sequence) as i64;
        push_meta(&mut self.meta, &Meta { kind: row.kind, key_bytes: key.len(), row_bytes: row.bytes.len(), sequence_difference });
        self.sequence = row.sequence.0;
        if let Some(purge_after_s) = row.kind.purge_after_s() {
            self.purgeable += 1;
            self.purge_after_s = Some(self.purge_after_s.map_or(purge_after_s, |earliest| earliest.min(purge_after_s)));
        }
        self.keys.extend_from_slice(key);
        self.rows.extend_from_slice(row.bytes);
        self.count += 1;
    }

    /// Appends the payload to `out` and starts anew. The upper bound fits a key's length.
    pub(crate) fn finish(&mut self, generation: u64, high: &[u8], out: &mut Vec<u8>) -> Made {
        self.raw.clear();
        self.raw.extend_from_slice(&self.meta);
        self.raw.extend_from_slice(&self.keys);
        self.raw.extend_from_slice(&self.rows);
        let header = out.len();
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&(high.len() as u16).to_le_bytes());
        for word in [self.count, self.raw.len() as u32, self.purgeable] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&generation.to_le_bytes());
        out.extend_from_slice(high);
        out[header] = match self.encoder.encode(&self.raw, self.compression, out) {
            CODEC_NONE => {
                self.directory.finish(self.meta.len(), self.keys.len(), out);
                CODEC_DIRECTORY
            }
            codec => codec,
        };
        let made = Made { rows: self.count, purge_after_s: self.purge_after_s };
        self.clear();
        made
    }

    /// Forgets the rows that were pushed.
    pub(crate) fn clear(&mut self) {
        (self.count, self.purgeable, self.purge_after_s, self.sequence) = (0, 0, None, 0);
        self.directory.clear();
        self.meta.clear();
        self.keys.clear();
        self.rows.clear();
    }
}

/// Overwrites the generation in a payload.
pub(crate) fn set_generation(payload: &mut [u8], generation: u64) {
    payload[GENERATION_OFFSET..GENERATION_OFFSET + 8].copy_from_slice(&generation.to_le_bytes());
}
