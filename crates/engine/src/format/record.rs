//! One record of the log: a row with its key, the seal that ends a segment, or a pad over torn bytes.
//!
//! The header is 32 bytes, little-endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | checksum: CRC-32 of bytes 4..length, xor the salt of this place |
//! | 4 | 4 | length of header, keys and row, without padding |
//! | 8 | 7 | sequence |
//! | 15 | 1 | flags |
//! | 16 | 8 | token |
//! | 24 | 4 | table |
//! | 28 | 2 | partition key bytes |
//! | 30 | 2 | clustering key bytes |
//!
//! Then, if flag 1 is set, eight bytes with the second after which the record may be purged; partition key, clustering key, row.
//!
//! Invariant: a record is valid only where it was written. The salt mixes store, segment, the nonce of this use of the segment, and
//! offset, so that what an earlier use of the segment left behind, or a misdirected write, never passes for a record.

use crate::key::{Key, Kind, Row, Sequence};
use base::{TableId, Token};

/// Size of the fixed header.
pub(crate) const HEADER_BYTES: usize = 32;
/// Flag: eight bytes with the purge time follow the header.
pub(crate) const FLAG_PURGE: u8 = 1;
/// Flag: a deletion (with `FLAG_PURGE`).
pub(crate) const FLAG_TOMBSTONE: u8 = 2;
/// Flag: the next record belongs to the same atomic group.
pub(crate) const FLAG_CONTINUES: u8 = 4;
/// Flag: the first (or only) record of its group.
pub(crate) const FLAG_STARTS: u8 = 8;
/// Flag: not a row but the end of the segment.
pub(crate) const FLAG_SEAL: u8 = 16;
/// Flag: not a row but bytes that recovery found torn and that count for nothing.
pub(crate) const FLAG_PAD: u8 = 32;
/// Flag: not a row but a page of them; with `FLAG_PURGE` if a row of it may be purged some day, and then with the earliest of those times.
pub(crate) const FLAG_PAGE: u8 = 64;
const FLAGS_KNOWN: u8 = FLAG_PURGE | FLAG_TOMBSTONE | FLAG_CONTINUES | FLAG_STARTS | FLAG_SEAL | FLAG_PAD | FLAG_PAGE;

/// The header as the table above has it; only its size is used, by the assertion below.
#[repr(C)]
struct HeaderLayout {
    checksum: u32,
    length: u32,
    sequence_and_flags: u64,
    token: i64,
    table: u32,
    partition_bytes: u16,
    clustering_bytes: u16,
}
const _: () = assert!(size_of::<HeaderLayout>() == HEADER_BYTES);

/// What makes checksums of one use of one segment differ from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Salt(u64);

impl Salt {
    pub(crate) fn new(store: u64, segment: u32, nonce: u64) -> Self {
        Self(mix(mix(mix(store) ^ nonce).wrapping_add(u64::from(segment))))
    }

    /// What the checksum at a place is mixed with.
    pub(crate) fn at(self, offset: usize) -> u32 {
        (mix(self.0.wrapping_add(offset as u64)) >> 32) as u32
    }
}

/// The finaliser of SplitMix64: every bit of the input changes every bit of the output.
pub(crate) fn mix(word: u64) -> u64 {
    let mut word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// The fields that a writer chooses; sequence and checksum come when the record gets its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub(crate) length: usize,
    pub(crate) flags: u8,
    pub(crate) token: Token,
    pub(crate) table: TableId,
    pub(crate) partition_bytes: u16,
    pub(crate) clustering_bytes: u16,
}

/// Appends a header without sequence and checksum, and the purge time if there is one.
pub(crate) fn push_header(out: &mut Vec<u8>, fields: &Fields, kind: Kind) {
    let mut header = [0u8; HEADER_BYTES];
    header[4..8].copy_from_slice(&(fields.length as u32).to_le_bytes());
    header[15] = fields.flags;
    header[16..24].copy_from_slice(&fields.token.0.to_le_bytes());
    header[24..28].copy_from_slice(&fields.table.0.to_le_bytes());
    header[28..30].copy_from_slice(&fields.partition_bytes.to_le_bytes());
    header[30..32].copy_from_slice(&fields.clustering_bytes.to_le_bytes());
    out.extend_from_slice(&header);
    if let Some(purge_after_s) = kind.purge_after_s() {
        out.extend_from_slice(&purge_after_s.to_le_bytes());
    }
}

/// The flags that say what kind of row it is.
pub(crate) fn kind_flags(kind: Kind) -> u8 {
    match kind {
        Kind::Live => 0,
        Kind::Expiring { .. } => FLAG_PURGE,
        Kind::Tombstone { .. } => FLAG_PURGE | FLAG_TOMBSTONE,
    }
}

/// Overwrites the length of the record that starts `bytes`.
pub(crate) fn set_length(bytes: &mut [u8], length: usize) {
    bytes[4..8].copy_from_slice(&(length as u32).to_le_bytes());
}

/// Overwrites the flags of the record that starts `bytes`.
pub(crate) fn set_flags(bytes: &mut [u8], flags: u8) {
    bytes[15] = flags;
}

/// Gives the record that starts `bytes` its sequence.
pub(crate) fn set_sequence(bytes: &mut [u8], sequence: Sequence) {
    bytes[8..15].copy_from_slice(&sequence.0.to_le_bytes()[..7]);
}

/// Computes and stores the checksum of a record whose other bytes are final. `offset` is its place in the segment.
pub(crate) fn finish(bytes: &mut [u8], length: usize, salt: Salt, offset: usize) {
    let checksum = base::checksum(&bytes[4..length]) ^ salt.at(offset);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
}

/// Whether the checksum of these bytes, as `finish` stores it, fits them and their place.
pub(crate) fn is_intact(bytes: &[u8], salt: Salt, offset: usize) -> bool {
    let stored = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    stored == base::checksum(&bytes[4..]) ^ salt.at(offset)
}

/// Makes the checksum of a record that was copied as it is fit its new place, without reading the record: what was damaged stays so.
pub(crate) fn move_checksum(bytes: &mut [u8], from: (Salt, usize), to: (Salt, usize)) {
    let stored = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let moved = stored ^ from.0.at(from.1) ^ to.0.at(to.1);
    bytes[..4].copy_from_slice(&moved.to_le_bytes());
}

/// Whether a seal stands at `offset` of a segment. Cheap enough to try every place.
pub(crate) fn is_seal_at(segment: &[u8], salt: Salt, offset: usize) -> bool {
    let Some(bytes) = segment.get(offset..offset + HEADER_BYTES) else { return false };
    bytes[15] == FLAG_SEAL | FLAG_STARTS
        && bytes[4] == HEADER_BYTES as u8
        && bytes[16..].iter().all(|byte| *byte == 0)
        && Record::verify(bytes, salt, offset).is_some()
}

/// Makes `length` bytes of torn records at `offset` of a segment into one record that means nothing.
pub(crate) fn write_pad(segment: &mut [u8], salt: Salt, offset: usize, length: usize) {
    let pad = &mut segment[offset..offset + length];
    pad[..HEADER_BYTES].fill(0);
    set_length(pad, length);
    set_flags(pad, FLAG_PAD | FLAG_STARTS);
    finish(pad, length, salt, offset);
}

/// Writes the seal that ends a segment.
pub(crate) fn write_seal(bytes: &mut [u8], sequence: Sequence, salt: Salt, offset: usize) {
    let seal = &mut bytes[..HEADER_BYTES];
    seal.fill(0);
    set_length(seal, HEADER_BYTES);
    set_sequence(seal, sequence);
    set_flags(seal, FLAG_SEAL | FLAG_STARTS);
    finish(seal, HEADER_BYTES, salt, offset);
}

/// A record in memory. The slice starts at its header and holds at least the whole record.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    header: &'a [u8; HEADER_BYTES],
    bytes: &'a [u8],
}

fn u16_at(header: &[u8; HEADER_BYTES], at: usize) -> u16 {
    u16::from_le_bytes([header[at], header[at + 1]])
}

fn u32_at(header: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

fn u64_at(header: &[u8; HEADER_BYTES], at: usize) -> u64 {
    u64::from(u32_at(header, at)) | u64::from(u32_at(header, at + 4)) << 32
}

impl<'a> Record<'a> {
    /// Reads a record that this engine wrote or has verified.
    ///
    /// # Panics
    /// When the bytes are no record: memory was overwritten.
    pub(crate) fn trusted(bytes: &'a [u8]) -> Self {
        let header = bytes.first_chunk().expect("a location spans at least a header");
        Self { header, bytes }
    }

    /// Checks everything about the record that starts `bytes` in its segment at `offset`; `bytes` may go on after it.
    pub(crate) fn verify(bytes: &'a [u8], salt: Salt, offset: usize) -> Option<Self> {
        let record = Self::plausible(bytes)?;
        let stored = u32_at(record.header, 0);
        let computed = base::checksum(bytes.get(4..record.length())?) ^ salt.at(offset);
        (stored == computed).then_some(record)
    }

    /// Checks that lengths and flags make sense, but not the checksum.
    pub(crate) fn plausible(bytes: &'a [u8]) -> Option<Self> {
        let record = Self { header: bytes.first_chunk()?, bytes };
        let flags = record.flags();
        let length = record.length();
        let fixed = HEADER_BYTES + record.purge_bytes() + record.partition_bytes() + record.clustering_bytes();
        let sensible = length >= fixed && length <= bytes.len() && flags & !FLAGS_KNOWN == 0;
        sensible.then_some(record)
    }

    pub(crate) fn length(&self) -> usize {
        u32_at(self.header, 4) as usize
    }

    pub(crate) fn sequence(&self) -> Sequence {
        Sequence(u64_at(self.header, 8) & Sequence::MAX)
    }

    pub(crate) fn flags(&self) -> u8 {
        self.header[15]
    }

    pub(crate) fn is_seal(&self) -> bool {
        self.flags() & FLAG_SEAL != 0
    }

    pub(crate) fn is_pad(&self) -> bool {
        self.flags() & FLAG_PAD != 0
    }

    pub(crate) fn is_page(&self) -> bool {
        self.flags() & FLAG_PAGE != 0
    }

    pub(crate) fn token(&self) -> Token {
        Token(u64_at(self.header, 16) as i64)
    }

    pub(crate) fn table(&self) -> TableId {
        TableId(u32_at(self.header, 24))
    }

    /// Whether both are of the same partition.
    #[inline]
    pub(crate) fn is_neighbour(&self, other: &Record<'_>) -> bool {
        // Token, table and length of the partition key lie together.
        self.header[16..30] == other.header[16..30] && self.partition() == other.partition()
    }

    fn partition_bytes(&self) -> usize {
        usize::from(u16_at(self.header, 28))
    }

    fn clustering_bytes(&self) -> usize {
        usize::from(u16_at(self.header, 30))
    }

    fn purge_bytes(&self) -> usize {
        usize::from(self.flags() & FLAG_PURGE) * 8
    }

    pub(crate) fn partition(&self) -> &'a [u8] {
        let start = HEADER_BYTES + self.purge_bytes();
        &self.bytes[start..start + self.partition_bytes()]
    }

    pub(crate) fn clustering(&self) -> &'a [u8] {
        let start = HEADER_BYTES + self.purge_bytes() + self.partition_bytes();
        &self.bytes[start..start + self.clustering_bytes()]
    }

    pub(crate) fn key(&self) -> Key<'a> {
        Key { table: self.table(), token: self.token(), partition: self.partition(), clustering: self.clustering() }
    }

    /// The whole record, without padding.
    pub(crate) fn whole(&self) -> &'a [u8] {
        &self.bytes[..self.length()]
    }

    pub(crate) fn kind(&self) -> Kind {
        let flags = self.flags();
        if flags & FLAG_PURGE == 0 {
            return Kind::Live;
        }
        let mut word = [0; 8];
        word.copy_from_slice(&self.bytes[HEADER_BYTES..HEADER_BYTES + 8]);
        let purge_after_s = i64::from_le_bytes(word);
        if flags & FLAG_TOMBSTONE == 0 { Kind::Expiring { purge_after_s } } else { Kind::Tombstone { purge_after_s } }
    }

    pub(crate) fn row(&self) -> Row<'a> {
        let start = HEADER_BYTES + self.purge_bytes() + self.partition_bytes() + self.clustering_bytes();
        Row { kind: self.kind(), sequence: self.sequence(), bytes: &self.bytes[start..self.length()] }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sample(kind: Kind) -> Vec<u8> {
        let mut bytes = Vec::new();
        let purge = if kind == Kind::Live { 0 } else { 8 };
        let fields = Fields {
            length: HEADER_BYTES + purge + 3 + 2 + 4,
            flags: kind_flags(kind) | FLAG_STARTS,
            token: Token(-7),
            table: TableId(9),
            partition_bytes: 3,
            clustering_bytes: 2,
        };
        push_header(&mut bytes, &fields, kind);
        bytes.extend_from_slice(b"keyckrows");
        set_sequence(&mut bytes, Sequence(77));
        finish(&mut bytes, fields.length, Salt::new(1, 2, 3), 4096);
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        for kind in [Kind::Live, Kind::Expiring { purge_after_s: 5 }, Kind::Tombstone { purge_after_s: -5 }] {
            let bytes = sample(kind);
            let record = Record::verify(&bytes, Salt::new(1, 2, 3), 4096).unwrap();
            assert_eq!(
                (record.table(), record.token(), record.partition(), record.clustering()),
                (TableId(9), Token(-7), &b"key"[..], &b"ck"[..])
            );
            assert_eq!(record.row(), Row { kind, sequence: Sequence(77), bytes: b"rows" });
        }
    }

    #[test]
    fn a_record_is_valid_in_its_own_place_only() {
        let bytes = sample(Kind::Live);
        assert!(Record::verify(&bytes, Salt::new(1, 2, 3), 4112).is_none());
        assert!(Record::verify(&bytes, Salt::new(1, 2, 4), 4096).is_none());
        assert!(Record::verify(&bytes, Salt::new(1, 3, 3), 4096).is_none());
        assert!(Record::verify(&bytes, Salt::new(2, 2, 3), 4096).is_none());
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = sample(Kind::Tombstone { purge_after_s: 1 });
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Record::verify(&damaged, Salt::new(1, 2, 3), 4096).is_none(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(Record::verify(&bytes[..length], Salt::new(1, 2, 3), 4096).is_none(), "cut at {length}");
        }
    }
}
