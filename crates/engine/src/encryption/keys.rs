//! From the store's key to the key of one use of a segment: a key derivation function in counter mode (NIST SP 800-108) over AES-256-CMAC of one block.
//!
//! | key | derived from | for |
//! |---|---|---|
//! | shard | the log's key | store id, shard |
//! | segment | the shard's key | nonce of this use of the segment, segment number |
//!
//! A nonce differs between any two uses of a segment, so their keys do. All of it is AES, so that a key costs less than the read that wants it.

use super::xts::{KEY_BYTES, Xts, times_alpha};
use crate::format::segment_header::{HeaderBlock, SegmentHeader};
use aes::cipher::{BlockEncrypt, KeyInit};
use aes::{Aes256Enc, Block};
use base::BLOCK_BYTES;
use std::fmt;

/// The key that a store's logs are encrypted with.
#[derive(Clone)]
pub struct LogKey([u8; 32]);

impl LogKey {
    /// These bytes, which were drawn at random or derived from such.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for LogKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogKey")
    }
}

/// Derives keys from one.
struct Derivation {
    cipher: Aes256Enc,
    /// What CMAC mixes a whole last block with.
    mask: u128,
}

impl Derivation {
    fn new(key: &[u8; 32]) -> Self {
        let cipher = Aes256Enc::new(key.into());
        let mut zero = Block::default();
        cipher.encrypt_block(&mut zero);
        let zero = u128::from_be_bytes(zero.into());
        Self { cipher, mask: times_alpha(zero) }
    }

    /// The key for a context of 12 bytes: counter, an empty label and its end, context, bits.
    fn derive<const BYTES: usize>(&self, first: u64, second: u32) -> [u8; BYTES] {
        let mut key = [0; BYTES];
        for (counter, part) in (1..).zip(key.as_chunks_mut::<16>().0) {
            let mut input = [0; 16];
            input[0] = counter;
            input[2..10].copy_from_slice(&first.to_le_bytes());
            input[10..14].copy_from_slice(&second.to_le_bytes());
            input[14..].copy_from_slice(&((BYTES * 8) as u16).to_be_bytes());
            let mut block = Block::from((u128::from_be_bytes(input) ^ self.mask).to_be_bytes());
            self.cipher.encrypt_block(&mut block);
            *part = block.into();
        }
        key
    }
}

/// The cipher of one use of a segment.
pub(super) struct UseCipher {
    pub(super) segment: u32,
    pub(super) nonce: u64,
    xts: Xts,
}

impl UseCipher {
    /// Encrypts what lies at `offset` in the segment; its header block stays as it is.
    pub(super) fn encrypt(&self, offset: usize, bytes: &mut [u8]) {
        let (start, bytes) = after_header(offset, bytes);
        self.xts.encrypt(start, bytes);
    }

    /// Undoes that.
    pub(super) fn decrypt(&self, offset: usize, bytes: &mut [u8]) {
        let (start, bytes) = after_header(offset, bytes);
        self.xts.decrypt(start, bytes);
    }
}

/// What of a piece of a segment is not its header block, and where that starts.
fn after_header(offset: usize, bytes: &mut [u8]) -> (usize, &mut [u8]) {
    let skipped = BLOCK_BYTES.saturating_sub(offset).min(bytes.len());
    (offset + skipped, &mut bytes[skipped..])
}

/// What a segment's header block says of the key: segment and nonce.
pub(super) fn use_of(block: &[u8]) -> Option<(u32, u64)> {
    match SegmentHeader::read_block(block) {
        HeaderBlock::Valid(header) => Some((header.segment, header.nonce)),
        HeaderBlock::Blank | HeaderBlock::Unknown(_) | HeaderBlock::Damaged => None,
    }
}

/// The ciphers of a shard's segments.
pub struct SegmentCipher(Derivation);

impl SegmentCipher {
    /// Those of one shard.
    #[must_use]
    pub fn new(key: &LogKey, store: u64, shard: u32) -> Self {
        Self(Derivation::new(&Derivation::new(&key.0).derive(store, shard)))
    }

    pub(super) fn of_use(&self, segment: u32, nonce: u64) -> UseCipher {
        UseCipher { segment, nonce, xts: Xts::new(&self.0.derive::<KEY_BYTES>(nonce, segment)) }
    }

    /// Decrypts the first bytes of a segment, header block included, for tools. Without a valid header they stay as they are.
    pub fn decrypt_segment(&self, bytes: &mut [u8]) {
        let header = &bytes[..bytes.len().min(BLOCK_BYTES)];
        if let Some((segment, nonce)) = use_of(header) {
            self.of_use(segment, nonce).decrypt(0, bytes);
        }
    }
}

/// Ciphers of uses, those of late kept: their keys cost as much as a short record.
pub(super) struct UseCiphers {
    cipher: SegmentCipher,
    /// By segment, modulo.
    known: Vec<Option<UseCipher>>,
}

impl UseCiphers {
    const KNOWN: usize = 128;
    /// Memory that they take.
    pub(super) const BYTES: usize = Self::KNOWN * size_of::<Option<UseCipher>>();

    pub(super) fn new(cipher: SegmentCipher) -> Self {
        Self { cipher, known: std::iter::repeat_with(|| None).take(Self::KNOWN).collect() }
    }

    pub(super) fn of_use(&mut self, segment: usize, nonce: u64) -> &UseCipher {
        let place = &mut self.known[segment % Self::KNOWN];
        if place.as_ref().is_some_and(|known| (known.segment, known.nonce) != (segment as u32, nonce)) {
            *place = None;
        }
        place.get_or_insert_with(|| self.cipher.of_use(segment as u32, nonce))
    }
}

impl fmt::Debug for SegmentCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SegmentCipher")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_by_key_store_shard_segment_and_use() {
        let key = |byte, store, shard, segment, nonce| {
            let mut bytes = [0; 32];
            SegmentCipher::new(&LogKey::new([byte; 32]), store, shard).of_use(segment, nonce).encrypt(BLOCK_BYTES, &mut bytes);
            bytes
        };
        let first = key(1, 2, 3, 4, 5);
        assert_eq!(first, key(1, 2, 3, 4, 5));
        for other in [key(9, 2, 3, 4, 5), key(1, 9, 3, 4, 5), key(1, 2, 9, 4, 5), key(1, 2, 3, 9, 5), key(1, 2, 3, 4, 9)] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn the_header_block_stays_as_it_is() {
        let cipher = SegmentCipher::new(&LogKey::new([1; 32]), 2, 3).of_use(4, 5);
        let mut bytes = vec![7; 2 * BLOCK_BYTES];
        cipher.encrypt(0, &mut bytes);
        assert!(bytes[..BLOCK_BYTES].iter().all(|byte| *byte == 7));
        assert!(!bytes[BLOCK_BYTES..].windows(4).any(|window| window == [7; 4]));
        cipher.decrypt(512, &mut bytes[512..]);
        assert!(bytes.iter().all(|byte| *byte == 7));
    }

    #[test]
    fn a_key_is_not_shown() {
        assert_eq!(format!("{:?}", LogKey::new([0xAB; 32])), "LogKey");
    }
}
