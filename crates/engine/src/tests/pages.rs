//! Rows of wide partitions that have moved to pages: read, overwritten, deleted, damaged, expired.

use super::shard::{Shard, TABLE, config};
use crate::format::codec::{CODEC_LZ4, CODEC_NONE, CODEC_ZSTD};
use crate::format::page::CODEC_DIRECTORY;
use crate::format::record::Record;
use crate::index::{Page, Place};
use crate::{CachePolicy, Damage, Direction, Key, Kind, PartitionScan, ReadError, WriteBatch};
use base::{Compression, TableId, Token};
use sim_disk::{Disk, Stable};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::PathBuf;

const SEGMENT: u32 = 32 << 10;
const TOKEN: Token = Token(42);

fn row_key(clustering: &[u8]) -> Key<'_> {
    Key { table: TABLE, token: TOKEN, partition: b"series", clustering }
}

/// Kind and bytes.
type Row = (Kind, Vec<u8>);
type Rows = BTreeMap<Vec<u8>, Row>;

fn series_config(capacity_segments: u64, memory_bytes: usize) -> crate::Config {
    crate::Config { leaf_rows_max: 16, page_rows_max: 32, ..config(SEGMENT, capacity_segments, memory_bytes) }
}

fn put(shard: &mut Shard, rows: impl IntoIterator<Item = u32>, kind: Kind, model: &mut Rows) {
    let rows: Vec<u32> = rows.into_iter().collect();
    for some in rows.chunks(50) {
        let mut batch = WriteBatch::new();
        for number in some {
            let (clustering, row) = (number.to_be_bytes(), vec![*number as u8; 40]);
            batch.put(&row_key(&clustering), kind, &row).unwrap();
            model.insert(clustering.to_vec(), (kind, row));
        }
        shard.write(&batch).unwrap();
        shard.turn();
    }
}

fn scan(shard: &mut Shard, from: Bound<&[u8]>, to: Bound<&[u8]>, direction: Direction) -> Vec<(Vec<u8>, Row)> {
    let policy = CachePolicy::Bypass;
    let scan = PartitionScan { table: TABLE, token: TOKEN, partition: b"series", from, to, direction, policy, read_ahead: 40 };
    let read = |engine: &crate::Engine| {
        let mut cursor = engine.scan_partition(&scan)?;
        let mut found = Vec::new();
        while let Some((clustering, row)) = cursor.next()? {
            found.push((clustering.to_vec(), (row.kind, row.bytes.to_vec())));
        }
        Ok(found)
    };
    shard.read(read).unwrap()
}

/// A partition of 1,000 rows of 40 bytes, and the sizes at which it is told of.
#[test]
fn a_large_partition_is_told_of_by_its_largest_size() {
    let mut shard = Shard::new(series_config(64, 4 << 20));
    put(&mut shard, 0..500, Kind::Live, &mut Rows::new());
    shard.settle();
    assert_eq!(shard.engine.take_large_partitions().count(), 0, "nobody has asked");
    shard.engine.set_large_partition_bytes(40_000);
    put(&mut shard, 500..600, Kind::Live, &mut Rows::new());
    shard.settle();
    assert_eq!(shard.engine.take_large_partitions().count(), 0, "a row counts as at most 64 bytes");
    put(&mut shard, 600..1000, Kind::Live, &mut Rows::new());
    shard.settle();
    let found: Vec<_> = shard.engine.take_large_partitions().collect();
    assert_eq!(found.iter().map(|found| (found.table, &*found.key)).collect::<Vec<_>>(), [(TABLE, &b"series"[..])]);
    assert!((40_001..64_000).contains(&found[0].bytes), "{found:?}");
    assert_eq!(shard.engine.take_large_partitions().count(), 0, "it has been told of");
}

fn assert_agrees(shard: &mut Shard, model: &Rows) {
    let expected: Vec<_> = model.clone().into_iter().collect();
    assert_eq!(scan(shard, Bound::Unbounded, Bound::Unbounded, Direction::Forward), expected);
    let (low, high) = (77u32.to_be_bytes(), 1234u32.to_be_bytes());
    let mut part: Vec<_> = model.range(low.to_vec()..high.to_vec()).map(|(key, row)| (key.clone(), row.clone())).collect();
    assert_eq!(scan(shard, Bound::Included(&low), Bound::Excluded(&high), Direction::Forward), part);
    part.reverse();
    assert_eq!(scan(shard, Bound::Included(&low), Bound::Excluded(&high), Direction::Backward), part);
    for number in (0..3100u32).step_by(7) {
        let clustering = number.to_be_bytes();
        let found = shard
            .read(|engine| Ok(engine.get(&row_key(&clustering), CachePolicy::Keep)?.map(|row| (row.kind, row.bytes.to_vec()))))
            .unwrap();
        assert_eq!(found.as_ref(), model.get(&clustering[..]), "row {number}");
    }
    let count = shard.read(|engine| engine.partition_rows(TABLE, TOKEN, b"series", CachePolicy::Bypass)).unwrap();
    assert_eq!(count, model.len());
}

#[test]
fn a_series_moves_to_pages_and_is_read_as_before() {
    for memory in [8 << 20, 700 << 10] {
        let mut shard = Shard::new(series_config(64, memory));
        let mut model = Rows::new();
        put(&mut shard, 0..3000, Kind::Live, &mut model);
        shard.settle();
        let stats = shard.engine.stats();
        assert!(stats.rows_in_pages > 2000 && stats.pages < stats.rows_in_pages / 16, "{stats:?}");
        assert_agrees(&mut shard, &model);
        // A few rows lie over pages.
        put(&mut shard, (0..3000).step_by(50), Kind::Tombstone { purge_after_s: 1 << 40 }, &mut model);
        put(&mut shard, 3000..3050, Kind::Live, &mut model);
        assert_agrees(&mut shard, &model);
        let mut shard = shard.restart();
        assert_agrees(&mut shard, &model);
        // So many that the pages are made anew.
        put(&mut shard, 500..700, Kind::Expiring { purge_after_s: 1 << 41 }, &mut model);
        put(&mut shard, 2000..3000, Kind::Live, &mut model);
        shard.settle();
        assert_agrees(&mut shard, &model);
        let mut shard = shard.restart();
        assert_agrees(&mut shard, &model);
    }
}

#[test]
fn what_has_expired_leaves_its_pages_and_they_the_log() {
    let mut shard = Shard::new(series_config(24, 8 << 20));
    let purge_after_s = shard.now.wall_s() + 1000;
    put(&mut shard, 0..1500, Kind::Expiring { purge_after_s }, &mut Rows::new());
    put(&mut shard, 1500..1600, Kind::Live, &mut Rows::new());
    for number in 0..100 {
        shard.put(number, &[1; 400]).unwrap();
    }
    shard.settle();
    assert!(shard.engine.stats().rows_in_pages > 1000);
    shard.now.wall_us += 2_000_000_000;
    for round in 0..60 {
        for number in 0..100 {
            shard.put(number, &[round; 400]).unwrap();
        }
        shard.settle();
    }
    // What is left is less than an eighth of what is live: not worth rewriting segments for.
    let stats = shard.engine.stats();
    assert!(stats.rows < 600 && stats.rows_purged > 1000, "{stats:?}");
    let mut shard = shard.restart();
    let left = scan(&mut shard, Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    assert_eq!(left.iter().filter(|(_, (kind, _))| *kind == Kind::Live).count(), 100);
    assert!(left.len() < 600, "{} rows are back", left.len());
}

#[test]
fn deletes_shrink_pages_until_no_row_is_left() {
    let mut shard = Shard::new(series_config(24, 8 << 20));
    put(&mut shard, 0..1500, Kind::Live, &mut Rows::new());
    shard.settle();
    let before = shard.engine.stats();
    assert!(before.rows_in_pages > 1000);
    let purge_after_s = shard.now.wall_s() - 1;
    put(&mut shard, 0..1500, Kind::Tombstone { purge_after_s }, &mut Rows::new());
    for round in 0..60 {
        for number in 0..100 {
            shard.put(number, &[round; 400]).unwrap();
        }
        shard.settle();
    }
    let stats = shard.engine.stats();
    assert!(stats.pages < before.pages && stats.rows_in_pages < 50 && stats.rows < 250, "{stats:?}");
    assert!(stats.rows_purged > 1000, "{stats:?}");
    let mut shard = shard.restart();
    let left = scan(&mut shard, Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    assert!(left.iter().all(|(_, (kind, _))| *kind != Kind::Live), "a deleted row is back");
}

#[test]
fn a_damaged_page_is_reported_and_costs_its_rows_only() {
    let mut shard = Shard::new(series_config(64, (400 << 10) + 6 * SEGMENT as usize));
    put(&mut shard, 0..2000, Kind::Live, &mut Rows::new());
    for number in 0..1000 {
        shard.put(number, &[9; 500]).unwrap();
    }
    shard.settle();
    let first = shard.engine.index.locate(&row_key(&[]), |_| true).unwrap();
    let device = shard.engine.memory.device_location(first);
    shard.disk.damage(device.segment().index() * SEGMENT as usize + device.offset() + 90, 1);
    let (mut lost, mut found) = (0, 0);
    for number in 0..2000u32 {
        let clustering = number.to_be_bytes();
        match shard.read(|engine| Ok(engine.get(&row_key(&clustering), CachePolicy::Bypass)?.map(|row| row.bytes[0]))) {
            Ok(row) => {
                assert_eq!(row, Some(number as u8));
                found += 1;
            }
            Err(ReadError::Damaged { segment, offset, damage }) => {
                assert_eq!((segment, offset, damage), (device.segment(), device.offset(), Damage::Checksum));
                lost += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(lost > 0 && lost <= 32 && found == 2000 - lost, "{lost} rows lost");
    // A lost row can be written again, and is read although its page cannot be.
    put(&mut shard, [3], Kind::Live, &mut Rows::new());
    let clustering = 3u32.to_be_bytes();
    let read = shard.read(|engine| Ok(engine.get(&row_key(&clustering), CachePolicy::Bypass)?.map(|row| row.bytes[0])));
    assert_eq!(read, Ok(Some(3)));
}

/// What the pages on the device are compressed with, as their headers say.
fn codecs(shard: &Shard, segment_bytes: usize) -> BTreeSet<u8> {
    let engine = &shard.engine;
    let Ok(Place::Partition(number)) = engine.index.find(TABLE, TOKEN, b"series", &engine.memory) else { return BTreeSet::new() };
    let pages = engine.index.partitions.get(number).rows.page_range(Bound::Unbounded, Bound::Unbounded);
    let codec = |page: &Page| {
        let device = engine.memory.device_location(page.location);
        let start = device.segment().index() * segment_bytes + device.offset();
        Record::trusted(&shard.disk.bytes()[start..start + device.padded()]).row().bytes[0]
    };
    pages.map(|(_, page)| codec(page)).collect()
}

#[test]
fn a_table_chooses_what_its_pages_are_compressed_with_from_then_on() {
    let mut shard = Shard::new(series_config(64, 8 << 20));
    let mut model = Rows::new();
    let choices = [(Compression::Zstd { level: 3 }, CODEC_ZSTD), (Compression::None, CODEC_DIRECTORY), (Compression::Lz4, CODEC_LZ4)];
    let mut expected = BTreeSet::new();
    for ((compression, codec), first) in choices.into_iter().zip((0..).step_by(1000)) {
        shard.engine.set_compression(TABLE, compression);
        put(&mut shard, first..first + 1000, Kind::Live, &mut model);
        shard.settle();
        expected.insert(codec);
        assert_eq!(codecs(&shard, SEGMENT as usize), expected);
    }
    assert_agrees(&mut shard, &model);
    let mut shard = shard.restart();
    assert_eq!(codecs(&shard, SEGMENT as usize), expected);
    assert_agrees(&mut shard, &model);
    // It is the table's, whatever becomes of its rows; not that of another one.
    shard.engine.set_compression(TABLE, Compression::Zstd { level: 1 });
    shard.engine.set_compression(TableId(TABLE.0 + 1), Compression::None);
    shard.engine.truncate(TABLE);
    shard.engine.truncation_persisted(TABLE);
    shard.settle();
    put(&mut shard, 0..1000, Kind::Live, &mut Rows::new());
    shard.settle();
    assert_eq!(codecs(&shard, SEGMENT as usize), BTreeSet::from([CODEC_ZSTD]));
}

/// A file for each compression, with the byte that stands for it.
const GOLDEN: [(&str, Compression, u8); 4] = [
    ("pages-v1.bin", Compression::Lz4, CODEC_LZ4),
    ("pages-zstd-v1.bin", Compression::Zstd { level: 3 }, CODEC_ZSTD),
    ("pages-uncompressed-v1.bin", Compression::None, CODEC_NONE),
    ("pages-directory-v1.bin", Compression::None, CODEC_DIRECTORY),
];
const GOLDEN_SEGMENT: u32 = 16 << 10;

fn golden_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn golden_config() -> crate::Config {
    crate::Config { leaf_rows_max: 16, page_rows_max: 32, ..config(GOLDEN_SEGMENT, 8, 1 << 20) }
}

/// What the golden file holds: a series most of which is in pages, with rows of all kinds in them and over them.
fn golden_rows(shard: &mut Shard) -> Rows {
    let mut model = Rows::new();
    for number in (0..400).step_by(5) {
        put(shard, number..number + 3, Kind::Live, &mut model);
        put(shard, [number + 3], Kind::Expiring { purge_after_s: 1 << 40 }, &mut model);
        put(shard, [number + 4], Kind::Tombstone { purge_after_s: 1 << 40 }, &mut model);
    }
    shard.settle();
    put(shard, [7, 100], Kind::Live, &mut model);
    model
}

/// `TARNDB_WRITE_GOLDEN=1` writes files that are missing. What is written depends on the compressor, so it is only ever read again.
#[test]
fn the_golden_pages_are_still_read() {
    for (name, compression, codec) in GOLDEN {
        let mut writer = Shard::new(golden_config());
        writer.engine.set_compression(TABLE, compression);
        let model = golden_rows(&mut writer);
        if std::env::var_os("TARNDB_WRITE_GOLDEN").is_some() && !golden_path(name).exists() {
            writer.shut_down();
            let bytes = writer.disk.bytes();
            let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
            std::fs::write(golden_path(name), &bytes[..used]).unwrap();
        }
        let mut bytes = std::fs::read(golden_path(name)).unwrap();
        bytes.resize(8 * GOLDEN_SEGMENT as usize, 0);
        let mut disk = Disk::new();
        disk.load(&bytes);
        let stable = Stable::new(golden_config().stable_bytes(3));
        let mut shard = Shard::over(golden_config(), disk, stable);
        assert_eq!(shard.engine.damage_reports(), []);
        assert!(shard.engine.stats().rows_in_pages > 100, "{name}: {:?}", shard.engine.stats());
        assert_eq!(codecs(&shard, GOLDEN_SEGMENT as usize), BTreeSet::from([codec]), "{name}");
        assert_agrees(&mut shard, &model);
    }
}
