//! The scrub finds what nobody reads, and nothing else.

use super::shard::{Shard, config, key};
use crate::{CachePolicy, Config, DamageReport, Kind, Miss, ReadError, WriteBatch};
use base::Rng;

const SEGMENT: u32 = 32 << 10;

/// Every segment is to be verified within a second of the shard's clock.
fn eager(capacity_segments: u64, memory_bytes: usize) -> Config {
    Config { scrub_interval_us: 1_000_000, ..config(SEGMENT, capacity_segments, memory_bytes) }
}

/// Where on the disk the record of a key is.
fn device_offset(shard: &Shard, number: u64) -> usize {
    let partition = number.to_be_bytes();
    let location = shard.engine.index.locate(&key(&partition, number), |_| true).unwrap();
    let device = shard.engine.memory.device_location(location);
    device.segment().index() * SEGMENT as usize + device.offset()
}

/// What reading a row that is not in memory is told.
fn miss(shard: &Shard, number: u64) -> Miss {
    match shard.engine.get(&key(&number.to_be_bytes(), number), CachePolicy::Bypass) {
        Err(ReadError::Miss(miss)) => miss,
        other => panic!("{other:?}"),
    }
}

/// Whether a report names a byte of a block.
fn covers(report: &DamageReport, block: usize) -> bool {
    let start = report.segment.0 as usize * SEGMENT as usize + report.offset;
    start < block + 4096 && block < start + report.bytes
}

/// Lets so many seconds pass in turns of a millisecond.
fn wait(shard: &mut Shard, seconds: u64) {
    for _ in 0..seconds * 1000 {
        shard.turn();
    }
}

/// A hundred rows that were pushed out of memory, and where the device has each.
fn cold_shard() -> (Shard, Vec<usize>) {
    let mut shard = Shard::new(eager(64, (200 << 10) + 6 * SEGMENT as usize));
    for number in 0..100 {
        shard.put(number, &[number as u8; 500]).unwrap();
    }
    for number in 1000..2000 {
        shard.put(number, &[9; 500]).unwrap();
    }
    wait(&mut shard, 1);
    let places = (0..100).map(|number| device_offset(&shard, number)).collect();
    (shard, places)
}

#[test]
fn bit_rot_in_a_cold_segment_is_found_without_anybody_reading_the_row() {
    let (mut shard, places) = cold_shard();
    wait(&mut shard, 3);
    assert_eq!(shard.engine.damage_reports(), [], "nothing is damaged yet");
    let stats = shard.engine.stats();
    assert!(stats.scrub_segments > stats.segments - stats.segments_free, "every segment was verified: {stats:?}");
    for number in [3, 42, 43, 77] {
        shard.disk.damage(places[number] + 100, 1);
    }
    wait(&mut shard, 3);
    let reports = shard.engine.damage_reports();
    let mut found: Vec<usize> = reports.iter().map(|report| report.segment.0 as usize * SEGMENT as usize + report.offset).collect();
    found.sort_unstable();
    // Neighbours that are both damaged are one place.
    assert_eq!(found, [places[3], places[42], places[77]]);
    let stats = shard.engine.stats();
    assert_eq!((stats.scrub_damaged, stats.device_reads), (3, 0));
    wait(&mut shard, 3);
    assert_eq!(shard.engine.stats().scrub_damaged, 3, "what is known is not reported again");
}

#[test]
fn the_slots_of_damaged_rows_are_named_once_and_what_is_forgotten_is_never_used_again() {
    let (mut shard, places) = cold_shard();
    let slot_of = |number: u64| (key(&number.to_be_bytes(), number).table, key(&number.to_be_bytes(), number).token.slot());
    // A version that nobody needs any more is in no slot.
    shard.put(5, &[7; 500]).unwrap();
    for number in [5, 42, 77] {
        shard.disk.damage(places[number as usize] + 100, 1);
    }
    wait(&mut shard, 3);
    let found = shard.engine.take_damaged_slots();
    assert_eq!(found, [slot_of(42), slot_of(77)].into());
    let names = |shard: &Shard| [5, 42, 77].map(|number| shard.engine.names_damage(slot_of(number).0, slot_of(number).1));
    assert_eq!(names(&shard), [false, true, true], "what was overwritten is no damage of its slot");
    let of_segment = |place: usize| (crate::SegmentId((place / SEGMENT as usize) as u32), place % SEGMENT as usize);
    let damaged = [of_segment(places[42]), of_segment(places[77])].into();
    let (rows, live_bytes) = (shard.engine.stats().rows, shard.engine.stats().live_bytes);
    for (table, slot) in found {
        assert_eq!(shard.engine.damaged_rows(table, slot, &damaged), [], "their keys are known to nobody");
        shard.engine.forget_damaged(table, slot, &damaged);
    }
    assert_eq!(names(&shard), [false; 3]);
    for number in [42, 77] {
        assert_eq!(shard.engine.get(&key(&u64::to_be_bytes(number), number), CachePolicy::Bypass), Ok(None));
    }
    miss(&shard, 43);
    let stats = shard.engine.stats();
    assert_eq!((stats.rows, stats.live_bytes), (rows - 2, live_bytes), "their segments are not given free");
    wait(&mut shard, 3);
    assert_eq!(shard.engine.take_damaged_slots(), [].into(), "nobody has anything there any more");
}

#[test]
fn a_bad_block_and_a_damaged_header_are_found() {
    let (mut shard, places) = cold_shard();
    let segment = places[50] / SEGMENT as usize;
    let block = places[10] / 4096 * 4096;
    shard.disk.bad = Some(block..block + 4096);
    for copy in [0, 2048] {
        shard.disk.damage(segment * SEGMENT as usize + copy + 20, 1);
    }
    wait(&mut shard, 4);
    let reports = shard.engine.damage_reports();
    assert!(reports.iter().any(|report| (report.segment.0 as usize, report.offset) == (segment, 0)), "{reports:?}");
    assert!(reports.iter().any(|report| covers(report, block)), "{reports:?}");
}

#[test]
fn a_write_that_was_lost_or_went_elsewhere_is_found() {
    let (mut shard, places) = cold_shard();
    let lost = places[60] / 4096 * 4096;
    let (from, to) = (places[0] / 4096 * 4096, places[90] / 4096 * 4096);
    let mut bytes = shard.disk.bytes().to_vec();
    // Of a lost write the zeros of before are left; a misdirected one leaves good records where others belong.
    bytes[lost..lost + 4096].fill(0);
    bytes.copy_within(from..from + 4096, to);
    shard.disk.load(&bytes);
    wait(&mut shard, 4);
    let reports = shard.engine.damage_reports();
    for block in [lost, to] {
        assert!(reports.iter().any(|report| covers(report, block)), "block {block}: {reports:?}");
    }
}

#[test]
fn without_an_interval_nothing_is_read() {
    let mut shard = Shard::new(Config { scrub_interval_us: 0, ..eager(64, 1 << 20) });
    for number in 0..1000 {
        shard.put(number, &[1; 500]).unwrap();
    }
    wait(&mut shard, 2);
    assert_eq!(shard.engine.stats().scrub_bytes, 0);
}

#[test]
fn a_busy_device_is_left_alone() {
    let (mut shard, _) = cold_shard();
    wait(&mut shard, 2);
    let before = shard.engine.stats().scrub_bytes;
    // A read that does not come back keeps the device busy.
    let miss = miss(&shard, 7);
    shard.engine.fetch(&miss, 1 << 40);
    for _ in 0..3000 {
        shard.now.monotonic_us += 1000;
        shard.engine.tick(shard.now);
    }
    assert_eq!(shard.engine.stats().scrub_bytes, before);
    wait(&mut shard, 2);
    shard.engine.finish(1 << 40);
    assert!(shard.engine.stats().scrub_bytes > before, "it goes on afterwards");
}

#[test]
fn reclaiming_overwriting_and_restarts_are_never_taken_for_damage() {
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        // A segment is one slice, or several.
        let segment = if seed % 2 == 0 { SEGMENT } else { 1 << 20 };
        let mut shard = Shard::new(Config { scrub_interval_us: 20_000, ..config(segment, 48, (1 << 20) + 6 * segment as usize) });
        for _ in 0..3 {
            for _ in 0..1500 {
                let number = rng.below(300);
                match rng.below(12) {
                    0 => shard.remove(number).map(drop).unwrap(),
                    1 => shard.put(number, &vec![1; rng.below(u64::from(segment) / 5) as usize]).map(drop).unwrap(),
                    2 => shard.get(number).map(drop).unwrap(),
                    3 => wait_turns(&mut shard, rng.below(20)),
                    4 => {
                        let mut batch = WriteBatch::new();
                        for step in 0..rng.below(6) {
                            let partition = (number + step).to_be_bytes();
                            batch.put(&key(&partition, number + step), Kind::Live, &[2; 300]).unwrap();
                        }
                        shard.write(&batch).map(drop).unwrap();
                    }
                    _ => shard.put(number, &vec![3; rng.below(600) as usize]).map(drop).unwrap(),
                }
            }
            assert_eq!(shard.engine.damage_reports(), [], "seed {seed}");
            assert!(shard.engine.stats().scrub_segments > 20, "seed {seed}: {:?}", shard.engine.stats());
            shard = shard.restart();
        }
    }
}

fn wait_turns(shard: &mut Shard, turns: u64) {
    for _ in 0..turns {
        shard.turn();
    }
}
