//! The compressors of a page's block, and the byte in the page's header that names them.
//!
//! Invariants: a block that does not get smaller by an eighth is stored as it is, as reading it costs more than the space is worth; decoding any bytes
//! fills exactly the bytes it was given or fails; the memory of a compressor is bounded by `ZSTD_BLOCK_BYTES_MAX` whatever the table's level is.

use base::Compression;
use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};
use zstd::zstd_safe::{CCtx, DCtx};

/// The block as it is.
pub(crate) const CODEC_NONE: u8 = 0;
/// LZ4, block format.
pub(crate) const CODEC_LZ4: u8 = 1;
/// One Zstandard frame, with its content size and without checksum or dictionary.
pub(crate) const CODEC_ZSTD: u8 = 2;

/// Larger blocks, of few large rows, are compressed with no more than the usual level: the memory of high levels grows with the block.
const ZSTD_BLOCK_BYTES_MAX: usize = 64 << 10;

/// The part of a block that compression has to save.
const SAVED_PART: usize = 8;

/// Compresses blocks, one after the other.
pub(crate) struct Encoder {
    lz4: CompressTable,
    /// Only made if a table wants it.
    zstd: Option<CCtx<'static>>,
    heap_bytes: usize,
}

impl Encoder {
    pub(crate) fn new() -> Self {
        Self { lz4: CompressTable::small(), zstd: None, heap_bytes: 0 }
    }

    /// Memory of Zstandard's workspace.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.heap_bytes
    }

    /// Appends a block to `out`, compressed if that saves enough, and says how.
    pub(crate) fn encode(&mut self, raw: &[u8], compression: Compression, out: &mut Vec<u8>) -> u8 {
        let start = out.len();
        let (codec, compressed) = match compression {
            Compression::None => (CODEC_NONE, None),
            Compression::Lz4 => {
                out.resize(start + get_maximum_output_size(raw.len()), 0);
                (CODEC_LZ4, compress_into_with_table(raw, &mut out[start..], &mut self.lz4).ok())
            }
            Compression::Zstd { level } => {
                out.resize(start + raw.len(), 0);
                (CODEC_ZSTD, self.encode_zstd(raw, level, &mut out[start..]))
            }
        };
        match compressed.filter(|bytes| *bytes < raw.len() - raw.len() / SAVED_PART) {
            Some(bytes) => {
                out.truncate(start + bytes);
                codec
            }
            None => {
                out.truncate(start);
                out.extend_from_slice(raw);
                CODEC_NONE
            }
        }
    }

    /// The bytes that the frame takes; `None` if it does not fit.
    fn encode_zstd(&mut self, raw: &[u8], level: i32, out: &mut [u8]) -> Option<usize> {
        let level = if raw.len() > ZSTD_BLOCK_BYTES_MAX { level.min(Compression::ZSTD_LEVEL_DEFAULT) } else { level };
        let context = self.zstd.get_or_insert_with(CCtx::create);
        let bytes = context.compress(out, raw, level).ok();
        self.heap_bytes = context.sizeof();
        bytes
    }
}

/// Decompresses blocks, one after the other.
#[derive(Default)]
pub(crate) struct Decoder {
    /// Only made when a page needs it.
    zstd: Option<DCtx<'static>>,
    heap_bytes: usize,
}

impl Decoder {
    /// Memory of Zstandard's workspace.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.heap_bytes
    }

    /// Fills `raw` with what was compressed; `None` if that is impossible or anything is left over.
    pub(crate) fn decode(&mut self, codec: u8, block: &[u8], raw: &mut [u8]) -> Option<()> {
        let bytes = match codec {
            CODEC_NONE if block.len() == raw.len() => {
                raw.copy_from_slice(block);
                raw.len()
            }
            CODEC_LZ4 => decompress_into(block, raw).ok()?,
            CODEC_ZSTD => {
                let context = self.zstd.get_or_insert_with(DCtx::create);
                let bytes = context.decompress(raw, block).ok();
                self.heap_bytes = context.sizeof();
                bytes?
            }
            _ => return None,
        };
        (bytes == raw.len()).then_some(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base::Rng;

    const ALL: [Compression; 5] = [
        Compression::None,
        Compression::Lz4,
        Compression::Zstd { level: -7 },
        Compression::Zstd { level: 3 },
        Compression::Zstd { level: 22 },
    ];

    #[test]
    fn every_block_comes_back() {
        let mut rng = Rng::new(1);
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::default());
        for round in 0..200 {
            let mut raw = vec![7; rng.below(20_000) as usize];
            let random = rng.below(raw.len() as u64 + 1) as usize;
            rng.fill(&mut raw[..random]);
            let mut out = b"before".to_vec();
            let codec = encoder.encode(&raw, ALL[round % ALL.len()], &mut out);
            assert!(out.len() <= 6 + raw.len() && out.starts_with(b"before"));
            let mut read = vec![0; raw.len()];
            decoder.decode(codec, &out[6..], &mut read).unwrap();
            assert!(read == raw);
            // Neither a shorter nor a longer block passes for it.
            assert_eq!(decoder.decode(codec, &out[6..], &mut vec![0; raw.len() + 1]), None);
            assert!(raw.is_empty() || decoder.decode(codec, &out[6..], &mut read[1..]).is_none());
        }
    }

    #[test]
    fn the_highest_level_takes_bounded_memory_for_the_largest_block() {
        let mut rng = Rng::new(2);
        let mut raw = vec![0; 8 << 20];
        rng.fill(&mut raw[..1 << 20]);
        let (mut encoder, mut out) = (Encoder::new(), Vec::new());
        for bytes in [raw.len(), 64 << 10, 16 << 10] {
            out.clear();
            assert_eq!(encoder.encode(&raw[raw.len() - bytes..], Compression::Zstd { level: 22 }, &mut out), CODEC_ZSTD);
        }
        assert!(encoder.heap_bytes() < 8 << 20, "{} bytes", encoder.heap_bytes());
    }

    #[test]
    fn what_is_no_block_is_refused() {
        let mut decoder = Decoder::default();
        let mut raw = vec![0; 64];
        for codec in [CODEC_LZ4, CODEC_ZSTD, 3, 0xFF] {
            assert_eq!(decoder.decode(codec, &[0xFF; 64], &mut raw), None);
        }
    }
}
