//! Encryption at rest: what reaches the device and the stable memory, and that all else is as without it.

use super::losses::stable_bytes;
use super::shard::{Shard, config};
use crate::{Config, Damage, LogKey, OpenError, ReadError};
use base::BLOCK_BYTES;

const SEGMENT: u32 = 32 << 10;
/// So many rows are more than memory has, and make the log wrap around.
const ROWS: u64 = 1_000;

fn small(key: Option<u8>) -> Config {
    let log_key = key.map(|byte| LogKey::new([byte; 32]));
    Config { log_key, checkpoint_bytes_min: 64 << 10, ..config(SEGMENT, 64, 800 << 10) }
}

fn row(number: u64) -> Vec<u8> {
    format!("plain text of row {number:04} ").repeat(20).into_bytes()
}

fn filled(key: Option<u8>) -> Shard {
    let mut shard = Shard::new(small(key));
    for number in (0..ROWS).chain(0..ROWS) {
        shard.put(number, &row(number)).unwrap();
    }
    shard.settle();
    shard.shut_down();
    let mut shard = shard.restart();
    assert!(shard.engine.stats().segments_checkpoint > 0, "an orderly end has left a checkpoint");
    // These are in the stable memory only.
    for number in ROWS..ROWS + 5 {
        shard.put(number, &row(number)).unwrap();
    }
    shard
}

fn has_plain_text(bytes: &[u8]) -> bool {
    bytes.windows(10).any(|window| window == b"plain text")
}

#[test]
fn neither_device_nor_stable_memory_has_plain_text() {
    for key in [None, Some(1)] {
        let shard = filled(key);
        assert_eq!(has_plain_text(shard.disk.bytes()), key.is_none());
        assert_eq!(has_plain_text(&stable_bytes(&shard.stable)), key.is_none());
    }
}

#[test]
fn rows_survive_the_process_and_an_orderly_end() {
    let mut shard = filled(Some(1)).restart();
    for number in 0..ROWS + 5 {
        assert_eq!(shard.get(number), Ok(Some(row(number))), "{number}");
    }
    shard.shut_down();
    let mut shard = shard.restart();
    assert_eq!(shard.engine.damage_reports(), []);
    for number in 0..ROWS + 5 {
        assert_eq!(shard.get(number), Ok(Some(row(number))), "{number}");
    }
}

#[test]
fn a_flipped_bit_is_reported_and_costs_one_record() {
    let mut shard = filled(Some(1));
    let place = super::faults::device_offset(&shard, 42);
    shard.disk.damage(place + 100, 1);
    let damaged = shard.get(42);
    let (segment, offset) = (place / SEGMENT as usize, place % SEGMENT as usize);
    assert!(
        matches!(damaged, Err(ReadError::Damaged { segment: at, offset: from, damage: Damage::Checksum }) if (at.0 as usize, from) == (segment, offset)),
        "{damaged:?}"
    );
    for number in (0..ROWS).filter(|number| *number != 42) {
        assert_eq!(shard.get(number), Ok(Some(row(number))), "{number}");
    }
}

#[test]
fn each_use_of_a_segment_has_another_key() {
    let mut shard = Shard::new(small(Some(1)));
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..60 {
        shard.put(1, &vec![0; SEGMENT as usize / 2]).unwrap();
        shard.settle();
        for segment in shard.disk.bytes().chunks(SEGMENT as usize) {
            // Within the row, which is the same each time.
            seen.insert(segment[2 * BLOCK_BYTES..2 * BLOCK_BYTES + 16].to_vec());
        }
    }
    assert!(seen.len() > 50, "{} different ciphertexts", seen.len());
}

#[test]
fn a_shard_is_opened_as_it_was_made() {
    for (made, opened) in [(None, Some(1)), (Some(1), None)] {
        let mut shard = filled(made);
        shard.shut_down();
        shard.config.log_key = small(opened).log_key;
        let shard = shard.restart();
        let refusal = shard.engine.recovery_error();
        assert!(matches!(refusal, Some(OpenError::Encryption { encrypted, .. }) if *encrypted == made.is_some()), "{refusal:?}");
    }
}

#[test]
fn another_key_reads_nothing() {
    let mut shard = filled(Some(1));
    shard.shut_down();
    shard.config.log_key = Some(LogKey::new([2; 32]));
    let mut shard = shard.restart();
    assert!(!shard.engine.damage_reports().is_empty());
    assert!((0..ROWS).all(|number| shard.get(number) == Ok(None)));
}
