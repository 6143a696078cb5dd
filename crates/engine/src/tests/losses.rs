//! Stored data that is gone: a start refuses, says what, and goes on with what is left if that is accepted.

use super::shard::{Shard, config};
use crate::format::record::HEADER_BYTES;
use crate::{Config, DataLoss, OpenError, StableLoss};
use base::Rng;
use io::StableMemory;
use sim_disk::{Disk, Stable};

const SEGMENT: u32 = 32 << 10;
const ROWS: u64 = 600;

fn marked() -> Config {
    Config { boot: 7, checkpoint_bytes_min: 64 << 10, ..config(SEGMENT, 64, 4 << 20) }
}

fn row(number: u64) -> Vec<u8> {
    vec![number as u8; 500]
}

/// Rows over a dozen segments and more, on the device; in what follows nothing of the memory is left.
fn filled() -> Shard {
    let mut shard = Shard::new(marked());
    for number in 0..ROWS {
        shard.put(number, &row(number)).unwrap();
    }
    shard.settle();
    shard
}

pub(super) fn stable_bytes(stable: &Stable) -> Vec<u8> {
    let mut bytes = vec![0; stable.len()];
    stable.read(0, &mut bytes);
    bytes
}

fn stable_of(bytes: &[u8]) -> Stable {
    let mut stable = Stable::new(bytes.len());
    stable.write(0, bytes);
    stable
}

fn disk_of(bytes: &[u8]) -> Disk {
    let mut disk = Disk::new();
    disk.load(bytes);
    disk
}

/// The process dies; what it leaves is the file and the stable memory.
fn die(shard: Shard) -> (Vec<u8>, Vec<u8>) {
    let Shard { engine, mut disk, stable, mut rng, .. } = shard;
    drop(engine);
    disk.lose_process(&mut rng);
    (disk.bytes().to_vec(), stable_bytes(&stable))
}

fn end(mut shard: Shard) -> (Vec<u8>, Vec<u8>) {
    shard.shut_down();
    die(shard)
}

fn start(config: Config, data: &[u8], stable: &[u8]) -> Shard {
    Shard::over(config, disk_of(data), stable_of(stable))
}

fn refusal(shard: &Shard) -> OpenError {
    assert!(!shard.engine.is_ready());
    shard.engine.recovery_error().expect("it has refused").clone()
}

fn data_loss(shard: &Shard) -> DataLoss {
    match refusal(shard) {
        OpenError::Data { loss } => loss,
        other => panic!("{other}"),
    }
}

/// How many rows are there; those that are have what was written.
fn count(shard: &mut Shard) -> u64 {
    let mut found = 0;
    for number in 0..ROWS {
        if let Ok(Some(bytes)) = shard.get(number) {
            assert_eq!(bytes, row(number));
            found += 1;
        }
    }
    found
}

#[test]
fn a_short_file_is_refused_and_left_as_it_is() {
    for ends in [end, die] {
        let (data, stable) = ends(filled());
        for left in [data.len() / 2, data.len() / 2 + 5000, SEGMENT as usize, 700, 0] {
            let shard = start(marked(), &data[..left], &stable);
            let loss = data_loss(&shard);
            assert_eq!((loss.file_bytes, loss.known_bytes), (left as u64, data.len() as u64));
            assert!(
                loss.segments > 0 || loss.known_generation > loss.generation || loss.records.is_some_and(|records| records > 0),
                "{loss:?}"
            );
            assert_eq!(shard.disk.bytes().len(), left, "the file is as it was");
            assert!(!shard.disk.bytes().iter().zip(&data).any(|(one, other)| one != other));
            assert_eq!(stable_bytes(&shard.stable), stable);
        }
    }
}

#[test]
fn what_the_checkpoint_names_beyond_the_end_is_counted() {
    let (data, stable) = end(filled());
    // The checkpoint is in the segments after the log's: of those before something is cut out of the middle.
    let whole = start(marked(), &data, &stable);
    let rows = whole.engine.recovery_progress().checkpoint_rows.expect("there is a checkpoint");
    assert_eq!(rows, ROWS);
    let bytes = 20 * SEGMENT as usize;
    let loss = data_loss(&start(marked(), &data[..bytes], &stable));
    if let Some(records) = loss.records {
        let mut accepted = start(Config { accepts_loss: true, ..marked() }, &data[..bytes], &stable);
        assert_eq!(count(&mut accepted) + records, ROWS);
    }
}

#[test]
fn a_shard_starts_with_what_is_left_of_a_short_file_if_that_is_accepted_and_only_then_says_so() {
    for ends in [end, die] {
        let (data, stable) = ends(filled());
        for left in [data.len() / 4, data.len() / 4 + 5000, SEGMENT as usize, 0] {
            let accepting = Config { accepts_loss: true, ..marked() };
            let mut shard = start(accepting, &data[..left], &stable);
            assert!(shard.engine.is_ready(), "{:?}", shard.engine.recovery_error());
            assert!(matches!(shard.engine.accepted_losses(), [OpenError::Data { .. }, ..]));
            assert!(shard.engine.may_lack_rows());
            let found = count(&mut shard);
            assert!(found < ROWS, "{left} bytes are left, and {found} rows");
            // Rows that lie whole in what is left are there.
            let least = (left / SEGMENT as usize).saturating_sub(3) as u64 * 50;
            assert!(found >= least, "{left} bytes are left, and {found} rows");
            for number in 0..ROWS {
                shard.put(number, &row(number)).unwrap();
            }
            // A run that did not end in order may not have told others: the next one does it again. After one that has, all is as it was.
            let mut shard = shard.restart();
            assert!(shard.engine.is_ready() && shard.engine.may_lack_rows());
            assert!(shard.engine.accepted_losses().is_empty());
            assert_eq!(count(&mut shard), ROWS);
            shard.shut_down();
            let mut shard = shard.restart();
            assert_eq!(shard.engine.damage_reports(), []);
            assert!(!shard.engine.may_lack_rows());
            assert_eq!(count(&mut shard), ROWS);
        }
    }
}

#[test]
fn an_older_copy_of_the_file_is_refused() {
    let (older, older_stable) = end(filled());
    let mut shard = start(marked(), &older, &older_stable);
    for number in 0..ROWS / 2 {
        shard.put(number, &row(number)).unwrap();
    }
    shard.settle();
    for ends in [end, die] {
        let mut shard = start(marked(), &older, &older_stable);
        for number in 0..ROWS / 2 {
            shard.put(number, &row(number)).unwrap();
        }
        shard.settle();
        let (newer, stable) = ends(shard);
        let loss = data_loss(&start(marked(), &older, &stable));
        assert!(loss.generation + 3 < loss.known_generation, "{loss:?}");
        let mut accepted = start(Config { accepts_loss: true, ..marked() }, &older, &stable);
        assert!(accepted.engine.is_ready() && accepted.engine.may_lack_rows());
        assert_eq!(count(&mut accepted), ROWS, "the same rows were written twice");
        assert_eq!(count(&mut start(marked(), &newer, &stable)), ROWS);
    }
}

#[test]
fn without_its_stable_memory_a_shard_starts_after_an_orderly_end_only() {
    let older = die(filled()).1;
    let mut theirs = Shard::new(Config { store: 5, ..marked() });
    theirs.put(1, b"theirs").unwrap();
    let theirs = stable_bytes(&theirs.stable);
    let bytes = theirs.len();
    let blank = vec![0; bytes];
    let run_again = |(data, stable): (Vec<u8>, Vec<u8>)| {
        let mut shard = start(marked(), &data, &stable);
        shard.put(1, &row(1)).unwrap();
        shard
    };
    let cases: [(&str, usize, &[u8]); 5] = [
        ("missing", 0, &blank),
        ("cut short", bytes / 2, &older),
        ("blank", bytes, &blank),
        ("foreign", bytes, &theirs),
        ("older", bytes, &older),
    ];
    for (name, found, content) in cases {
        let with = |data: &[u8], config: Config| start(Config { stable_bytes_found: found, ..config }, data, content);
        let (data, _) = die(run_again(die(filled())));
        let refused = with(&data, marked());
        let loss = match refusal(&refused) {
            OpenError::Stable { loss } => loss,
            other => panic!("{name}: {other}"),
        };
        let expected = match name {
            "missing" => matches!(loss, StableLoss::Missing),
            "cut short" => matches!(loss, StableLoss::CutShort { .. }),
            "blank" => matches!(loss, StableLoss::Blank),
            "foreign" => matches!(loss, StableLoss::Foreign { store: 5, .. }),
            _ => matches!(loss, StableLoss::Older { .. }),
        };
        assert!(expected, "{name}: {loss:?}");
        assert_eq!(refused.disk.bytes(), data, "{name}: the file is as it was");
        let mut accepted = with(&data, Config { accepts_loss: true, ..marked() });
        assert!(accepted.engine.is_ready() && accepted.engine.may_lack_rows(), "{name}");
        assert!(count(&mut accepted) >= ROWS - 1);
        // The device has everything after an orderly end.
        let (data, _) = end(run_again(die(filled())));
        let mut shard = with(&data, marked());
        assert!(shard.engine.is_ready() && !shard.engine.may_lack_rows(), "{name}: {:?}", shard.engine.recovery_error());
        assert_eq!(count(&mut shard), ROWS);
    }
}

#[test]
fn after_a_loss_of_power_the_stable_memory_may_be_of_any_age() {
    let mut dice = Rng::new(3);
    for _ in 0..20 {
        let (data, stable) = die(filled());
        let stable = stable_of(&stable);
        stable.lose_power(&mut dice);
        let mut shard = start(Config { boot: 8, ..marked() }, &data, &stable_bytes(&stable));
        assert!(shard.engine.is_ready(), "{:?}", shard.engine.recovery_error());
        assert!(!shard.engine.may_lack_rows());
        assert_eq!(count(&mut shard), ROWS);
    }
}

/// The device has not got the last writes: a bit in their only copy is damage, and no torn write.
#[test]
fn a_flipped_bit_in_the_stable_memory_is_reported() {
    let mut shard = Shard::new(Config { flush_interval_us: u64::MAX / 4, ..marked() });
    for number in 0..20 {
        shard.put(number, &row(number)).unwrap();
    }
    let (data, mut stable) = die(shard);
    let at = stable.windows(400).position(|bytes| bytes.iter().all(|byte| *byte == 9)).expect("a row");
    stable[at + 100] ^= 1;
    let mut shard = start(marked(), &data, &stable);
    assert!(shard.engine.is_ready());
    assert_eq!(shard.get(8), Ok(Some(row(8))));
    assert_eq!(shard.get(9), Ok(None));
    assert_eq!(shard.get(19), Ok(Some(row(19))));
}

#[test]
fn a_shard_that_has_lost_both_of_its_files_is_refused_if_it_has_run() {
    let config = Config { has_run: true, stable_bytes_found: 0, ..marked() };
    let blank = vec![0; config.stable_bytes(3)];
    let loss = data_loss(&start(config.clone(), &[], &blank));
    assert_eq!((loss.file_bytes, loss.known_bytes, loss.records), (0, 0, None));
    let mut accepted = start(Config { accepts_loss: true, ..config }, &[], &blank);
    assert!(accepted.engine.is_ready() && accepted.engine.may_lack_rows());
    accepted.put(1, &row(1)).unwrap();
    assert!(start(marked(), &[], &blank).engine.is_ready(), "one that has not");
}

/// Whoever walks over the image later must not go by the lengths of what is damaged.
#[test]
fn a_damaged_length_in_the_stable_memory_costs_one_record_even_when_its_frame_is_evicted() {
    for length in [0u32, 1, 0x00FF_FFFF, u32::MAX] {
        let small = Config { memory_limit_bytes: (300 << 10) + 6 * SEGMENT as usize, ..marked() };
        let mut shard = Shard::new(Config { flush_interval_us: u64::MAX / 4, ..small.clone() });
        for number in 0..20 {
            shard.put(number, &row(number)).unwrap();
        }
        let (data, mut stable) = die(shard);
        let at = stable.windows(400).position(|bytes| bytes.iter().all(|byte| *byte == 9)).expect("a row");
        // Before the row are the header, with the length at 4, and the partition key.
        let header = at - size_of::<u64>() - HEADER_BYTES;
        stable[header + 4..header + 8].copy_from_slice(&length.to_le_bytes());
        let mut shard = start(small, &data, &stable);
        assert!(shard.engine.is_ready());
        for round in 0..16 {
            for number in 100..400 {
                shard.put(number, &[round; 500]).unwrap();
                // What is read now and then leaves traces, by which eviction keeps it.
                let read = number % 20;
                if number < 140 {
                    assert_eq!(shard.get(read), Ok((read != 9).then(|| row(read))), "length {length}, round {round}");
                }
            }
        }
        let stats = shard.engine.stats();
        assert!(stats.frames_evicted > 0 && stats.segments_reclaimed > 0, "{stats:?}");
    }
}
