//! A leaf page: neighbouring rows of one partition in one record of the log, compressed.
//!
//! The record has `FLAG_PAGE`; its clustering key is the lower bound of the page's range, its row is what follows here, little-endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | compression of the block: 0 none, 1 LZ4, 2 Zstandard |
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
//! Invariant: decoding any bytes ends in rows or an error, never in a panic, and takes memory in proportion to `RAW_BYTES_MAX` at most.

use crate::format::codec::{Decoder, Encoder};
use crate::key::{Kind, Row, Sequence, search};
use base::Compression;

/// Size of the fixed part.
pub(crate) const PAGE_HEADER_BYTES: usize = 24;
/// A block is never larger: a page's rows have to fit in a segment before they are compressed.
pub(crate) const RAW_BYTES_MAX: usize = 8 << 20;
/// What a row takes in the first column at least.
const META_BYTES_MIN: usize = 4;
/// Where the generation is.
const GENERATION_OFFSET: usize = 16;

const KIND_LIVE: u8 = 0;
const KIND_EXPIRING: u8 = 1;
const KIND_TOMBSTONE: u8 = 2;

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
        sensible.then_some(Self { rows, purgeable, generation, high, codec, raw_bytes, block })
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

/// The rows of a page, ready to be read. Used again and again: after its first few pages nothing is allocated.
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
        let done = self.read_meta(page.rows);
        if done.is_none() {
            self.entries.clear();
        }
        done
    }

    fn read_meta(&mut self, rows: u32) -> Option<()> {
        let mut rest = &self.raw[..];
        let (mut key_end, mut row_end, mut sequence) = (0usize, 0usize, 0u64);
        self.entries.reserve(rows as usize);
        for _ in 0..rows {
            let kind;
            (kind, rest) = rest.split_first()?;
            key_end = key_end.checked_add(usize::try_from(take_varint(&mut rest)?).ok()?)?;
            row_end = row_end.checked_add(usize::try_from(take_varint(&mut rest)?).ok()?)?;
            sequence = sequence.wrapping_add_signed(unzigzag(take_varint(&mut rest)?));
            let kind = match *kind {
                KIND_LIVE => Kind::Live,
                KIND_EXPIRING => Kind::Expiring { purge_after_s: unzigzag(take_varint(&mut rest)?) },
                KIND_TOMBSTONE => Kind::Tombstone { purge_after_s: unzigzag(take_varint(&mut rest)?) },
                _ => return None,
            };
            let fits = key_end <= self.raw.len() && row_end <= self.raw.len() && sequence <= Sequence::MAX;
            if !fits {
                return None;
            }
            self.entries.push(Entry { key_end: key_end as u32, row_end: row_end as u32, sequence: Sequence(sequence), kind });
        }
        self.keys = self.raw.len() - rest.len();
        self.rows = self.keys + key_end;
        (self.rows + row_end == self.raw.len()).then_some(())
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.raw.capacity() + self.entries.capacity() * size_of::<Entry>()
    }

    pub(crate) fn key(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.entries[before].key_end as usize);
        &self.raw[self.keys + start..self.keys + self.entries[number].key_end as usize]
    }

    pub(crate) fn row(&self, number: usize) -> Row<'_> {
        let start = number.checked_sub(1).map_or(0, |before| self.entries[before].row_end as usize);
        let entry = &self.entries[number];
        let bytes = &self.raw[self.rows + start..self.rows + entry.row_end as usize];
        Row { kind: entry.kind, sequence: entry.sequence, bytes }
    }

    /// The row with this key, or where it would be.
    pub(crate) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        search(self.len(), |row| self.key(row), key)
    }
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
        self.meta.capacity() + self.keys.capacity() + self.rows.capacity() + self.raw.capacity() + self.encoder.heap_bytes()
    }

    /// What the pages from now on are compressed with.
    pub(crate) fn set_compression(&mut self, compression: Compression) {
        self.compression = compression;
    }

    pub(crate) fn push(&mut self, key: &[u8], row: &Row<'_>) {
        let (tag, purge_after_s) = match row.kind {
            Kind::Live => (KIND_LIVE, None),
            Kind::Expiring { purge_after_s } => (KIND_EXPIRING, Some(purge_after_s)),
            Kind::Tombstone { purge_after_s } => (KIND_TOMBSTONE, Some(purge_after_s)),
        };
        self.meta.push(tag);
        push_varint(&mut self.meta, key.len() as u64);
        push_varint(&mut self.meta, row.bytes.len() as u64);
        push_varint(&mut self.meta, zigzag(row.sequence.0.wrapping_sub(self.sequence) as i64));
        self.sequence = row.sequence.0;
        if let Some(purge_after_s) = purge_after_s {
            push_varint(&mut self.meta, zigzag(purge_after_s));
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
        out[header] = self.encoder.encode(&self.raw, self.compression, out);
        let made = Made { rows: self.count, purge_after_s: self.purge_after_s };
        self.clear();
        made
    }

    /// Forgets the rows that were pushed.
    pub(crate) fn clear(&mut self) {
        (self.count, self.purgeable, self.purge_after_s, self.sequence) = (0, 0, None, 0);
        self.meta.clear();
        self.keys.clear();
        self.rows.clear();
    }
}

/// Overwrites the generation in a payload.
pub(crate) fn set_generation(payload: &mut [u8], generation: u64) {
    payload[GENERATION_OFFSET..GENERATION_OFFSET + 8].copy_from_slice(&generation.to_le_bytes());
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn unzigzag(word: u64) -> i64 {
    (word >> 1) as i64 ^ -((word & 1) as i64)
}

fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[inline]
fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let (&first, after) = rest.split_first()?;
    *rest = after;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let mut number = u64::from(first & 0x7F);
    for shift in (7..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        // The tenth byte has one bit left.
        if shift == 63 && byte > 1 {
            return None;
        }
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base::Rng;

    type Owned = (Vec<u8>, Kind, u64, Vec<u8>);

    fn random_rows(rng: &mut Rng) -> Vec<Owned> {
        let count = rng.below(200);
        let mut rows: Vec<Owned> = (0..count)
            .map(|number| {
                let mut row = vec![0; rng.below(80) as usize];
                if rng.below(2) == 0 {
                    rng.fill(&mut row);
                }
                let purge_after_s = rng.next_u64() as i64 >> rng.below(64);
                let kind = match rng.below(4) {
                    0 => Kind::Expiring { purge_after_s },
                    1 => Kind::Tombstone { purge_after_s },
                    _ => Kind::Live,
                };
                let mut key = (number * 1000 + rng.below(1000)).to_be_bytes()[4..].to_vec();
                key.extend(std::iter::repeat_n(b'k', rng.below(300) as usize));
                (key, kind, rng.next_u64() >> 8 >> rng.below(50), row)
            })
            .collect();
        rows.sort_by(|left, right| left.0.cmp(&right.0));
        rows
    }

    const COMPRESSIONS: [Compression; 3] = [Compression::Lz4, Compression::Zstd { level: 3 }, Compression::None];

    fn payload(rows: &[Owned], compression: Compression) -> Vec<u8> {
        let mut builder = PageBuilder::new();
        builder.set_compression(compression);
        for (key, kind, sequence, row) in rows {
            builder.push(key, &Row { kind: *kind, sequence: Sequence(*sequence), bytes: row });
        }
        let mut out = Vec::new();
        builder.finish(7, b"the end", &mut out);
        assert_eq!(builder.raw_bytes(), 0);
        out
    }

    fn rows_of(decoded: &Decoded) -> Vec<Owned> {
        (0..decoded.len())
            .map(|number| {
                let row = decoded.row(number);
                (decoded.key(number).to_vec(), row.kind, row.sequence.0, row.bytes.to_vec())
            })
            .collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let mut rng = Rng::new(1);
        let (mut decoded, mut decoder) = (Decoded::default(), Decoder::default());
        for round in 0..300 {
            let rows = random_rows(&mut rng);
            let bytes = payload(&rows, COMPRESSIONS[round % COMPRESSIONS.len()]);
            let page = PageView::parse(&bytes).unwrap();
            let purgeable = rows.iter().filter(|row| row.1 != Kind::Live).count();
            assert_eq!((page.rows as usize, page.purgeable as usize), (rows.len(), purgeable));
            assert_eq!((page.generation, page.high), (7, &b"the end"[..]));
            decoded.read(&page, &mut decoder).unwrap();
            assert_eq!(rows_of(&decoded), rows);
            for (number, (key, ..)) in rows.iter().enumerate() {
                assert_eq!(decoded.search(key), Ok(number));
                let mut after = key.clone();
                after.push(0);
                assert_eq!(decoded.search(&after), Err(number + 1));
            }
        }
    }

    #[test]
    fn a_regular_series_shrinks_to_a_fraction() {
        let rows: Vec<Owned> = (0..128u64).map(|number| (number.to_be_bytes().to_vec(), Kind::Live, 500 + number, vec![7; 40])).collect();
        let [lz4, zstd, none] = COMPRESSIONS.map(|compression| payload(&rows, compression).len());
        assert!(lz4 < 128 * 10 && zstd < lz4 && none > 128 * 48, "{lz4}, {zstd} and {none} bytes for 128 rows of 48");
    }

    #[test]
    fn any_bytes_are_rows_or_an_error() {
        let mut rng = Rng::new(2);
        let (mut decoded, mut decoder) = (Decoded::default(), Decoder::default());
        let mut pages = [0; COMPRESSIONS.len()];
        let mut refused = pages;
        for round in 0..30_000 {
            // Without compression more of what is wrong gets past the decompressor.
            let codec = round % COMPRESSIONS.len();
            let mut bytes = payload(&random_rows(&mut rng), COMPRESSIONS[codec]);
            for _ in 0..1 + rng.below(4) {
                let at = rng.below(bytes.len() as u64) as usize;
                match rng.below(4) {
                    0 => bytes[at] ^= 1 << rng.below(8),
                    1 => bytes[at] = [0, 0x7F, 0x80, 0xFF][rng.below(4) as usize],
                    2 => bytes.truncate(at.max(1)),
                    _ => bytes.insert(at, rng.next_u64() as u8),
                }
            }
            let Some(page) = PageView::parse(&bytes) else {
                refused[codec] += 1;
                continue;
            };
            match decoded.read(&page, &mut decoder) {
                Some(()) => {
                    pages[codec] += 1;
                    assert_eq!(rows_of(&decoded).len(), page.rows as usize);
                }
                None => {
                    refused[codec] += 1;
                    assert_eq!(decoded.len(), 0);
                }
            }
            assert!(decoded.heap_bytes() <= 2 * RAW_BYTES_MAX * (1 + size_of::<Entry>() / META_BYTES_MIN));
        }
        assert!(pages.iter().chain(&refused).all(|count| *count > 500), "{pages:?} pages, {refused:?} refused");
    }

    #[test]
    fn numbers_of_all_lengths_come_back() {
        for shift in 0..64 {
            for number in [1u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = Vec::new();
                push_varint(&mut bytes, number);
                assert_eq!(take_varint(&mut &bytes[..]), Some(number));
                assert_eq!(take_varint(&mut &bytes[..bytes.len() - 1]), None);
                assert_eq!(unzigzag(zigzag(number as i64)), number as i64);
            }
        }
        assert_eq!(take_varint(&mut &[0xFF; 11][..]), None);
    }
}
