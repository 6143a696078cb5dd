//! Golden bytes: what this version writes, and what all later versions must read.
//!
//! A change of the format gets a new file and a new version number; the old file stays. `TARNDB_WRITE_GOLDEN=1` writes a missing one.

use super::shard::{Shard, TABLE, config};
use crate::{Key, Kind, WriteBatch};
use base::Token;
use sim_disk::{Disk, Stable};
use std::path::PathBuf;

const SEGMENT: u32 = 16 << 10;

/// Without marks of runs, and with them.
const NAMES: [&str; 2] = ["segments-v1.bin", "segments-v1-marked.bin"];

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Two segments: a sealed one with all kinds of records, and an open one.
fn write_segments() -> Vec<u8> {
    let mut shard = Shard::new(config(SEGMENT, 8, 1 << 20));
    let key = |token, partition: &'static [u8], clustering: &'static [u8]| Key { table: TABLE, token: Token(token), partition, clustering };
    let mut batch = WriteBatch::new();
    batch.put(&key(1, b"alone", b""), Kind::Live, b"a row").unwrap();
    shard.write(&batch).unwrap();
    batch.clear();
    batch.put(&key(-5, b"wide", b"a"), Kind::Live, b"first").unwrap();
    batch.put(&key(-5, b"wide", b"b"), Kind::Expiring { purge_after_s: 1 << 40 }, b"second").unwrap();
    batch.put(&key(-5, b"wide", b"c"), Kind::Tombstone { purge_after_s: 1 << 40 }, b"why").unwrap();
    shard.write(&batch).unwrap();
    batch.clear();
    batch.put(&key(i64::MAX, b"large", b""), Kind::Live, &[0xAB; 10_000]).unwrap();
    shard.write(&batch).unwrap();
    batch.clear();
    batch.put(&key(i64::MIN, b"large too", b""), Kind::Live, &[0xCD; 9_000]).unwrap();
    shard.write(&batch).unwrap();
    batch.clear();
    batch.put(&key(1, b"alone", b""), Kind::Live, b"another row").unwrap();
    shard.write(&batch).unwrap();
    shard.shut_down();
    shard.disk.bytes()[..2 * SEGMENT as usize].to_vec()
}

#[test]
fn this_version_writes_the_golden_bytes() {
    let written = write_segments();
    let path = path(NAMES[1]);
    if std::env::var_os("TARNDB_WRITE_GOLDEN").is_some() && !path.exists() {
        std::fs::write(&path, &written).unwrap();
    }
    let golden = std::fs::read(path).unwrap();
    let first = written.iter().zip(&golden).position(|(written, golden)| written != golden);
    assert_eq!((first, written.len()), (None, golden.len()), "the format has changed: give it a version and a file of its own");
}

#[test]
fn the_golden_bytes_are_still_read() {
    NAMES.into_iter().for_each(read_golden);
}

fn read_golden(name: &str) {
    let mut disk = Disk::new();
    let mut bytes = std::fs::read(path(name)).unwrap();
    bytes.resize(8 * SEGMENT as usize, 0);
    disk.load(&bytes);
    let config = config(SEGMENT, 8, 1 << 20);
    let stable = Stable::new(config.stable_bytes(3));
    let mut shard = Shard::over(config, disk, stable);
    assert_eq!(shard.engine.damage_reports(), []);
    let expected: Vec<(&[u8], &[u8], Vec<u8>)> = vec![
        (b"large too", b"", vec![0xCD; 9_000]),
        (b"wide", b"a", b"first".to_vec()),
        (b"wide", b"b", b"second".to_vec()),
        (b"alone", b"", b"another row".to_vec()),
        (b"large", b"", vec![0xAB; 10_000]),
    ];
    let expected: Vec<_> =
        expected.into_iter().map(|(partition, clustering, row)| (partition.to_vec(), clustering.to_vec(), row)).collect();
    assert_eq!(shard.all(), expected);
    assert_eq!(shard.engine.stats().rows, 6, "the tombstone is a row, too");
}
