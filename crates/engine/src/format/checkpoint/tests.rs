//! Entries, chunks and commits there and back, and damaged ones.

#![allow(clippy::unwrap_used)]
use super::*;
use base::Rng;

#[test]
fn entries_are_read_as_they_were_written() {
    let stamp = Stamp { point: Point { generation: 7, offset: 4096 }, next_sequence: Sequence(9) };
    let state = |lasting, replacing, has_old_residents| {
        Item::Segment(SegmentState {
            segment: SegmentId(4),
            used: 8192,
            generation: 3,
            purge_after_s: -5,
            purgeable_bytes: 64,
            lasting,
            replacing,
            has_old_residents,
        })
    };
    let items = [
        Item::Stamp(stamp),
        Item::Table(TableId(12)),
        Item::Cells { slot: 4095, cells: &[7; 3 * CELL_BYTES] },
        Item::Partition { slot: 3, tail: 1 << 51, key: b"key" },
        Item::Rows(b"rows"),
        Item::Pages(b"pages"),
        state(true, true, false),
        state(true, true, true),
        state(false, true, false),
        state(false, false, true),
        Item::End { rows: 5 },
    ];
    let mut bytes = Vec::new();
    items.iter().for_each(|item| item.encode(&mut bytes));
    let mut at = 0;
    for item in items {
        for cut in at..at + ENTRY_HEADER_BYTES {
            assert_eq!(Item::decode(&bytes[at..cut]), Ok(None));
        }
        let (found, length) = Item::decode(&bytes[at..]).unwrap().unwrap();
        assert_eq!(found, item);
        at += length;
    }
    assert_eq!(at, bytes.len());
}

#[test]
fn a_commit_survives_one_bad_sector() {
    let commit = Commit { number: 3, nonce: 9, start: Point { generation: 8, offset: 4112 }, segments: 2, stream_bytes: 1 << 40 };
    let mut block = vec![0; BLOCK_BYTES];
    assert_eq!(Commit::read_block(&block), None);
    commit.fill_block(&mut block);
    for sector in [0, 2048] {
        let mut damaged = block.clone();
        damaged[sector..sector + 512].fill(0xAA);
        assert_eq!(Commit::read_block(&damaged), Some(commit));
    }
    for bit in 0..COMMIT_BYTES * 8 {
        let mut damaged = block[64..64 + COMMIT_BYTES].to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Commit::decode(&damaged), None, "bit {bit}");
    }
}

#[test]
fn a_chunk_is_valid_in_its_own_place_only() {
    let (salt, chunks) = (Salt::new(1, 2, 3), Chunks::new(16 << 10));
    let mut chunk = vec![5; chunks.bytes];
    finish_chunk(&mut chunk, 1000, 6, 7, salt, 4096);
    let payload = 1000 - CHUNK_HEADER_BYTES;
    assert_eq!(read_chunk(&chunk, payload, 6, 7, salt, 4096), Some(&[5; 968][..]));
    assert_eq!(read_chunk(&chunk, payload, 5, 7, salt, 4096), None);
    assert_eq!(read_chunk(&chunk, payload, 6, 8, salt, 4096), None);
    assert_eq!(read_chunk(&chunk, payload, 6, 7, salt, 8192), None);
    assert_eq!(read_chunk(&chunk, payload, 6, 7, Salt::new(1, 2, 4), 4096), None);
    assert_eq!(read_chunk(&chunk, payload - 1, 6, 7, salt, 4096), None);
    chunk[500] ^= 1;
    assert_eq!(read_chunk(&chunk, payload, 6, 7, salt, 4096), None);
}

#[test]
fn chunks_fill_their_segments() {
    for segment_bytes in [16 << 10, 64 << 10, 1 << 20, 8 << 20] {
        let chunks = Chunks::new(segment_bytes);
        let (mut last, mut index) = (None, 0);
        while chunks.place(index).0 < 2 {
            let (ordinal, offset) = chunks.place(index);
            assert!(offset >= BLOCK_BYTES && offset + chunks.bytes <= segment_bytes as usize && chunks.bytes.is_multiple_of(BLOCK_BYTES));
            assert!(last.is_none_or(|(before, end)| before < ordinal || end <= offset));
            last = Some((ordinal, offset + chunks.bytes));
            index += 1;
        }
        assert_eq!(chunks.segments(chunks.payload() as u64 * index as u64), 2);
        assert_eq!(chunks.segments(chunks.payload() as u64 * index as u64 + 1), 3);
    }
}

#[test]
fn any_bytes_are_decoded_without_panic() {
    let mut rng = Rng::new(8);
    for _ in 0..20_000 {
        let mut bytes = vec![0; rng.below(80) as usize];
        rng.fill(&mut bytes);
        if bytes.len() >= ENTRY_HEADER_BYTES && rng.below(8) > 0 {
            bytes[0] = rng.below(9) as u8;
            bytes[1..8].fill(0);
            bytes[4] = rng.below(80) as u8;
        }
        if let Ok(Some((_, length))) = Item::decode(&bytes) {
            assert!(length <= bytes.len());
        }
    }
    let mut long = [KIND_ROWS, 0, 0, 0, 0, 0, 0, 0];
    long[4..].copy_from_slice(&(ENTRY_BYTES_MAX as u32).to_le_bytes());
    assert_eq!(Item::decode(&long), Err(Malformed));
}
