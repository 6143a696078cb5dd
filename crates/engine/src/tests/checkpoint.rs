//! Checkpoints: what they save, what they survive, and that they never cost a write.

use super::shard::{Shard, TABLE, config, key};
use crate::format::checkpoint::{Item, Malformed};
use crate::format::segment_header::{HeaderBlock, HeaderState, SegmentHeader};
use crate::index::{Index, Limits, NewPage, Restore, SnapshotCursor};
use crate::location::{Location, SegmentId};
use crate::memory::Memory;
use crate::{Config, Key, Kind, WriteBatch, WriteError};
use base::{BLOCK_BYTES, Rng, TableId, Token};
use sim_disk::{Disk, Stable};
use std::path::PathBuf;

const SEGMENT: u32 = 32 << 10;

fn small(capacity_segments: u64) -> Config {
    Config { checkpoint_bytes_min: 0, ..config(SEGMENT, capacity_segments, 1 << 20) }
}

/// Segments of the disk whose headers say that they hold a checkpoint.
fn parts(disk: &Disk, segment_bytes: u32) -> Vec<usize> {
    let is_part = |bytes: &[u8]| {
        let block = SegmentHeader::read_block(&bytes[..BLOCK_BYTES]);
        matches!(block, HeaderBlock::Valid(header) if header.state == HeaderState::Checkpoint)
    };
    let segments = disk.bytes().chunks(segment_bytes as usize).enumerate();
    segments.filter(|(_, bytes)| is_part(bytes)).map(|(segment, _)| segment).collect()
}

fn put_wide(shard: &mut Shard, number: u64) {
    let clustering = number.to_be_bytes();
    let mut batch = WriteBatch::new();
    batch.put(&Key { table: TABLE, token: Token(7), partition: b"wide", clustering: &clustering }, Kind::Live, b"a row").unwrap();
    shard.write(&batch).unwrap();
}

/// Rows of all kinds: alone, in a wide partition, under a shared token.
fn fill(shard: &mut Shard) {
    for number in 0..600 {
        shard.put(number, &[number as u8; 50]).unwrap();
        put_wide(shard, number);
    }
    for name in [&b"one"[..], b"two", b"three"] {
        let mut batch = WriteBatch::new();
        batch.put(&Key { table: TABLE, token: Token(3), partition: name, clustering: &[] }, Kind::Live, name).unwrap();
        shard.write(&batch).unwrap();
    }
}

#[test]
fn a_clean_stop_leaves_nothing_to_read_but_the_open_segment() {
    let mut shard = Shard::new(small(64));
    fill(&mut shard);
    let expected = shard.all();
    shard.shut_down();
    assert!(!parts(&shard.disk, SEGMENT).is_empty());
    for _ in 0..2 {
        // The second stop has nothing to add.
        let written = shard.engine.stats().checkpoints;
        shard = shard.restart();
        let progress = shard.engine.recovery_progress();
        assert!(progress.checkpoint_rows == Some(1203) && progress.segments_total <= 1, "{written} checkpoints: {progress:?}");
        assert_eq!(shard.all(), expected);
        shard.config.checkpoint_bytes_min = 1 << 20;
        shard.shut_down();
    }
}

/// No header of another segment says so any more, but the checkpoint does.
#[test]
fn a_checkpoint_knows_of_a_segment_whose_header_never_came() {
    let mut shard = Shard::new(small(64));
    fill(&mut shard);
    shard.shut_down();
    let lost = shard.engine.index.locate(&key(&42u64.to_be_bytes(), 42), |_| true).unwrap().segment();
    let mut bytes = shard.disk.bytes().to_vec();
    let parts = parts(&shard.disk, SEGMENT);
    for (number, segment) in bytes.chunks_mut(SEGMENT as usize).enumerate().filter(|(number, _)| !parts.contains(number)) {
        segment[128..2048].fill(0);
        segment[2176..BLOCK_BYTES].fill(0);
        if number == lost.index() {
            segment[..BLOCK_BYTES].fill(0);
        }
    }
    // With the power the image in the stable memory is gone, too.
    let Shard { mut disk, config, .. } = shard;
    disk.load(&bytes);
    let stable = Stable::new(config.stable_bytes(3));
    let shard = Shard::over(config, disk, stable);
    assert_eq!(shard.engine.recovery_progress().checkpoint_rows.map(|rows| rows > 0), Some(true));
    assert_eq!(shard.engine.damage_reports().iter().map(|report| (report.segment, report.offset)).collect::<Vec<_>>(), [(lost, 0)]);
}

#[test]
fn after_a_kill_only_what_came_later_is_read() {
    let mut shard = Shard::new(small(64));
    fill(&mut shard);
    shard.shut_down();
    let mut shard = shard.restart();
    for number in 0..100 {
        shard.put(number * 3, b"later").unwrap();
    }
    let expected = shard.all();
    let mut shard = shard.restart();
    let progress = shard.engine.recovery_progress();
    assert_eq!(progress.checkpoint_rows, Some(1203));
    assert!(progress.segments_total <= 3, "{progress:?}");
    assert_eq!(shard.all(), expected);
}

#[test]
fn any_flipped_bit_of_a_checkpoint_costs_no_row() {
    let mut shard = Shard::new(small(64));
    fill(&mut shard);
    let expected = shard.all();
    shard.shut_down();
    let (bytes, config) = (shard.disk.bytes().to_vec(), shard.config.clone());
    let parts = parts(&shard.disk, SEGMENT);
    let mut rng = Rng::new(2);
    for round in 0..60 {
        let mut disk = Disk::new();
        disk.load(&bytes);
        let part = parts[rng.below(parts.len() as u64) as usize] * SEGMENT as usize;
        let offset = part + BLOCK_BYTES + rng.below(400) as usize;
        if round % 2 == 0 {
            disk.damage(offset, 1 << rng.below(8))
        } else {
            disk.bad = Some(offset..offset + 1)
        }
        let mut shard = Shard::over(config.clone(), disk, Stable::new(config.stable_bytes(3)));
        assert_eq!(shard.engine.recovery_progress().checkpoint_rows, None);
        assert_eq!(shard.engine.damage_reports().len(), 1);
        assert_eq!(shard.engine.damage_reports()[0].segment.0 as usize * SEGMENT as usize, part);
        shard.disk.bad = None;
        assert_eq!(shard.all(), expected);
        // The next stop writes another one.
        shard.shut_down();
        let mut shard = shard.restart();
        assert_eq!(shard.engine.recovery_progress().checkpoint_rows, Some(1203));
        assert_eq!(shard.all(), expected);
    }
}

#[test]
fn a_nearly_full_device_takes_the_room_of_checkpoints() {
    let filled = |config: Config| {
        let mut shard = Shard::new(config);
        for number in 0..200 {
            shard.put(number, &[1; 900]).unwrap();
        }
        shard.shut_down();
        let mut shard = shard.restart();
        let (mut written, mut checkpoints) = (200, 0);
        let refused = loop {
            match shard.put(written, &[1; 900]) {
                Ok(_) => written += 1,
                Err(error) => break error,
            }
            checkpoints = checkpoints.max(shard.engine.stats().segments_checkpoint);
        };
        assert!(matches!(refused, WriteError::Full { .. }), "{refused}");
        shard.settle();
        (written, checkpoints, shard.engine.stats().segments_checkpoint)
    };
    let (without, none, _) = filled(Config { checkpoint_bytes_min: u64::MAX, ..small(32) });
    let (with, some, left) = filled(small(32));
    assert!(none == 0 && some > 0, "{some} segments of checkpoints");
    // Where exactly reclaiming has come to when the last free segment goes is not the same in both.
    let rows_in_segment = u64::from(SEGMENT) / 900;
    assert!(
        with + rows_in_segment >= without && left == 0,
        "{with} rows, {without} without checkpoints, {left} segments of checkpoints left"
    );
}

#[test]
fn a_truncation_that_may_be_undone_holds_a_checkpoint_back() {
    let mut shard = Shard::new(small(64));
    fill(&mut shard);
    let expected = shard.all();
    shard.shut_down();
    let mut shard = shard.restart();
    let before = shard.engine.stats().checkpoints;
    shard.put(1, &[1; 50]).unwrap();
    shard.engine.truncate(TABLE);
    shard.engine.shutdown();
    shard.settle();
    assert!(shard.engine.is_clean());
    assert_eq!(shard.engine.stats().checkpoints, before, "it would lack rows that are still there");
    let mut shard = shard.restart();
    assert_eq!(shard.all(), expected);
}

/// An index with records, partitions and a flood of equal tokens, over made-up places.
fn made_up(rng: &mut Rng) -> Index {
    let mut index = Index::new(Limits { leaf_rows: 128, overlay_rows: 64 });
    let memory = Memory::new();
    for table in [1, 5, 9] {
        index.create_table(TableId(table));
        for number in 0..800u64 {
            let location = Location::record(SegmentId(rng.below(1000) as u32), BLOCK_BYTES + rng.below(1000) as usize * 16, 48);
            let token = Token(crate::format::record::mix(number % 500) as i64);
            let (name, row) = (format!("{}", number % 500), rng.below(100).to_be_bytes());
            let wide = number % 500 % 3 == 0;
            let (token, clustering) = if wide { (token, &row[..]) } else { (Token(crate::format::record::mix(number) as i64), &[][..]) };
            let key = Key { table: TableId(table), token, partition: name.as_bytes(), clustering };
            index.upsert(&key, location, &memory);
            if wide && rng.below(3) == 0 {
                let high = (u64::from_be_bytes(row) + 1 + rng.below(20)).to_be_bytes();
                let rows = rng.below(100) as u32;
                index.replace_page(&key, NewPage { low: clustering.into(), high: high.into(), location, rows });
            }
        }
        for number in 0..50u32 {
            let location = Location::record(SegmentId(number), BLOCK_BYTES, 32);
            let name = number.to_be_bytes();
            index.upsert(&Key { table: TableId(table), token: Token(1), partition: &name, clustering: b"c" }, location, &memory);
        }
    }
    index
}

/// The index's entries, in slices of at least `budget` bytes.
fn stream(index: &Index, budget: usize) -> Vec<u8> {
    let (mut cursor, mut all) = (SnapshotCursor::default(), Vec::new());
    for _ in 0..100_000 {
        let mut slice = Vec::new();
        let more = index.snapshot(&mut cursor, &|location| location, &mut slice, budget);
        all.extend(slice);
        if !more {
            assert_eq!(cursor.rows + index.partitions.paged().1 as u64, index.rows());
            return all;
        }
    }
    panic!("the walk does not end");
}

fn restore(bytes: &[u8]) -> Result<Index, Malformed> {
    let mut index = Index::new(Limits { leaf_rows: 128, overlay_rows: 64 });
    [1, 5, 9].into_iter().for_each(|table| index.create_table(TableId(table)));
    let (mut restore, mut rest) = (Restore::default(), bytes);
    while let Some((item, length)) = Item::decode(rest)? {
        rest = &rest[length..];
        match item {
            Item::Table(table) if index.has_table(table) => index.restore_table(&mut restore, table)?,
            Item::Cells { slot, cells } => {
                index.restore_cells(&mut restore, slot, cells, |at| if at.is_record() { Ok(true) } else { Err(Malformed) })?
            }
            Item::Partition { slot, tail, key } => index.restore_partition(&mut restore, slot, tail, key)?,
            Item::Rows(bytes) => index.restore_rows(&mut restore, bytes, |_| Ok(true))?,
            Item::Pages(bytes) => index.restore_pages(&mut restore, bytes, |_| Ok(true))?,
            _ => return Err(Malformed),
        }
    }
    index.restore_slot(&mut restore)?;
    Ok(index)
}

#[test]
fn an_index_comes_back_from_its_entries() {
    let mut rng = Rng::new(4);
    for budget in [1, 100, 1000, 1 << 20] {
        let index = made_up(&mut rng);
        let whole = stream(&index, 1 << 20);
        let restored = restore(&stream(&index, budget)).unwrap();
        assert_eq!(restored.rows(), index.rows());
        assert_eq!(restored.partitions.len(), index.partitions.len());
        assert!(index.partitions.paged().0 > 100);
        assert_eq!(restored.partitions.paged(), index.partitions.paged());
        assert_eq!(stream(&restored, 1 << 20).len(), whole.len());
        if budget == 1 << 20 {
            assert_eq!(stream(&restored, 1 << 20), whole);
        }
    }
}

#[test]
fn any_entries_are_refused_or_taken_without_panic() {
    let mut rng = Rng::new(5);
    let whole = stream(&made_up(&mut rng), 300);
    let mut refused = 0;
    for _ in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(3) {
                0 => bytes[at] ^= 1 << rng.below(8),
                1 => bytes[at] = rng.below(256) as u8,
                _ => bytes.truncate(at.max(1)),
            }
        }
        refused += u32::from(restore(&bytes).is_err());
    }
    assert!(refused > 100, "only {refused} of 400 were refused");
}

/// Without marks of runs, and with them.
const GOLDEN: [&str; 2] = ["checkpoint-v1.bin", "checkpoint-v1-marked.bin"];

fn golden_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// A file with a segment of the log and a checkpoint of it.
fn write_golden() -> Vec<u8> {
    let mut shard = Shard::new(Config { checkpoint_bytes_min: 0, ..config(16 << 10, 16, 1 << 20) });
    shard.put(1, b"alone").unwrap();
    shard.put(2, b"also alone").unwrap();
    put_wide(&mut shard, 1);
    put_wide(&mut shard, 2);
    let mut batch = WriteBatch::new();
    let key = Key { table: TABLE, token: Token(-9), partition: b"gone", clustering: b"" };
    batch.remove(&key, 1 << 40).unwrap();
    shard.write(&batch).unwrap();
    shard.shut_down();
    assert_eq!(parts(&shard.disk, 16 << 10), [1]);
    shard.disk.bytes()[..32 << 10].to_vec()
}

#[test]
fn this_version_writes_the_golden_checkpoint() {
    let written = write_golden();
    let path = golden_path(GOLDEN[1]);
    if std::env::var_os("TARNDB_WRITE_GOLDEN").is_some() && !path.exists() {
        std::fs::write(&path, &written).unwrap();
    }
    let golden = std::fs::read(path).unwrap();
    let first = written.iter().zip(&golden).position(|(written, golden)| written != golden);
    assert_eq!((first, written.len()), (None, golden.len()), "the format has changed: give it a version and a file of its own");
}

#[test]
fn the_golden_checkpoint_is_still_read() {
    GOLDEN.into_iter().for_each(read_golden);
}

fn read_golden(name: &str) {
    let mut disk = Disk::new();
    let mut bytes = std::fs::read(golden_path(name)).unwrap();
    bytes.resize(16 * (16 << 10), 0);
    disk.load(&bytes);
    let config = config(16 << 10, 16, 1 << 20);
    let stable = Stable::new(config.stable_bytes(3));
    let mut shard = Shard::over(config, disk, stable);
    assert_eq!(shard.engine.damage_reports(), []);
    assert_eq!(shard.engine.recovery_progress().checkpoint_rows, Some(5));
    assert_eq!(shard.all().len(), 4);
    assert_eq!(shard.get(1), Ok(Some(b"alone".to_vec())));
    let partition = 2u64.to_be_bytes();
    let found = shard.read(|engine| Ok(engine.get(&key(&partition, 2), crate::CachePolicy::Keep)?.map(|row| row.bytes.to_vec())));
    assert_eq!(found, Ok(Some(b"also alone".to_vec())));
}
