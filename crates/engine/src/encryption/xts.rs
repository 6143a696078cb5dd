//! XTS-AES-256 (IEEE 1619, NIST SP 800-38E) with data units of one sector.
//!
//! Cells of 16 bytes are encrypted each for itself and by its place: any run of whole cells can be read or written alone. The same cell written twice
//! with other content gives away that it changed, and nothing else; with a stream cipher it would give away the content.

use aes::cipher::consts::U16;
use aes::cipher::inout::InOutBuf;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes256, Aes256Enc, Block};
use base::SECTOR_BYTES;

/// Bytes that are encrypted as one.
pub const CELL_BYTES: usize = 16;
const CELLS: usize = SECTOR_BYTES / CELL_BYTES;
/// Cells that the cipher gets at once.
const BATCH: usize = CELLS;
/// Bytes of a key: one for the content, one for the places.
pub const KEY_BYTES: usize = 64;

/// A key that is ready for use.
pub struct Xts {
    content: Aes256,
    place: Aes256Enc,
}

#[derive(Clone, Copy)]
enum Direction {
    Encrypt,
    Decrypt,
}

impl Xts {
    /// Makes it ready.
    #[must_use]
    pub fn new(key: &[u8; KEY_BYTES]) -> Self {
        let ([content, place], []) = key.as_chunks::<{ KEY_BYTES / 2 }>() else { unreachable!("two halves") };
        Self { content: Aes256::new(content.into()), place: Aes256Enc::new(place.into()) }
    }

    /// Encrypts bytes that lie at `offset` of the space of the key.
    ///
    /// # Panics
    /// When they are not whole cells.
    pub fn encrypt(&self, offset: usize, bytes: &mut [u8]) {
        self.transform(offset, bytes, Direction::Encrypt);
    }

    /// Undoes that.
    ///
    /// # Panics
    /// When they are not whole cells.
    pub fn decrypt(&self, offset: usize, bytes: &mut [u8]) {
        self.transform(offset, bytes, Direction::Decrypt);
    }

    fn transform(&self, offset: usize, bytes: &mut [u8], direction: Direction) {
        assert!(offset.is_multiple_of(CELL_BYTES) && bytes.len().is_multiple_of(CELL_BYTES), "{} bytes at {offset}", bytes.len());
        let mut cell = offset / CELL_BYTES;
        let mut tweak = (0..cell % CELLS).fold(self.first_tweak(cell / CELLS), |tweak, _| times_alpha(tweak));
        let mut tweaks = [0; BATCH];
        for batch in bytes.as_chunks_mut::<CELL_BYTES>().0.chunks_mut(BATCH) {
            for (bytes, known) in batch.iter_mut().zip(&mut tweaks) {
                if cell.is_multiple_of(CELLS) {
                    tweak = self.first_tweak(cell / CELLS);
                }
                *bytes = (u128::from_le_bytes(*bytes) ^ tweak).to_le_bytes();
                *known = tweak;
                tweak = times_alpha(tweak);
                cell += 1;
            }
            let (blocks, _) = InOutBuf::from(batch.as_flattened_mut()).into_chunks::<U16>();
            match direction {
                Direction::Encrypt => self.content.encrypt_blocks_inout(blocks),
                Direction::Decrypt => self.content.decrypt_blocks_inout(blocks),
            }
            for (bytes, tweak) in batch.iter_mut().zip(&tweaks) {
                *bytes = (u128::from_le_bytes(*bytes) ^ tweak).to_le_bytes();
            }
        }
    }

    /// Of the first cell of a sector.
    fn first_tweak(&self, sector: usize) -> u128 {
        let mut place = Block::from((sector as u128).to_le_bytes());
        self.place.encrypt_block(&mut place);
        u128::from_le_bytes(place.into())
    }
}

/// The product with the generator of the field of 2^128 elements, low bits first.
pub(super) fn times_alpha(tweak: u128) -> u128 {
    (tweak << 1) ^ ((tweak as i128 >> 127) as u128 & 0x87)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rng;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hexadecimal")).collect()
    }

    /// Vector 10 of IEEE 1619, annex B: XTS-AES-256 over 512 bytes 00 01 … FF 00 01 … FF, data unit 0xFF.
    #[test]
    fn bytes_are_those_of_the_standard() {
        let key = bytes(concat!(
            "2718281828459045235360287471352662497757247093699959574966967627",
            "3141592653589793238462643383279502884197169399375105820974944592"
        ));
        let xts = Xts::new(key.as_slice().try_into().expect("64 bytes"));
        let plain: Vec<u8> = (0..SECTOR_BYTES).map(|at| at as u8).collect();
        let mut sector = plain.clone();
        xts.encrypt(0xFF * SECTOR_BYTES, &mut sector);
        assert_eq!(sector[..32], bytes("1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b"));
        xts.decrypt(0xFF * SECTOR_BYTES, &mut sector);
        assert_eq!(sector, plain);
    }

    #[test]
    fn any_run_of_cells_is_the_same_alone_and_with_others() {
        let mut rng = Rng::new(1);
        let mut key = [0; KEY_BYTES];
        rng.fill(&mut key);
        let xts = Xts::new(&key);
        let mut plain = vec![0; 5 * SECTOR_BYTES];
        rng.fill(&mut plain);
        let mut whole = plain.clone();
        xts.encrypt(7 * SECTOR_BYTES, &mut whole);
        for _ in 0..200 {
            let cells = plain.len() / CELL_BYTES;
            let start = rng.below(cells as u64) as usize;
            let end = start + 1 + rng.below((cells - start) as u64) as usize;
            let range = start * CELL_BYTES..end * CELL_BYTES;
            let mut alone = plain[range.clone()].to_vec();
            xts.encrypt(7 * SECTOR_BYTES + range.start, &mut alone);
            assert_eq!(alone, whole[range.clone()]);
            xts.decrypt(7 * SECTOR_BYTES + range.start, &mut alone);
            assert_eq!(alone, plain[range]);
        }
    }
}
