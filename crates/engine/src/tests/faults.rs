//! What happens when the device lies, fails, fills up, or is somebody else's.

use super::shard::{Shard, config, key};
use crate::format::record::Record;
use crate::format::segment_header::{HeaderBlock, HeaderState, SegmentHeader};
use crate::format::witness::read_witnesses;
use crate::{CachePolicy, Damage, NoSpace, OpenError, ReadError, SegmentId, WriteError};
use base::BLOCK_BYTES;
use sim_disk::Stable;

const SEGMENT: u32 = 32 << 10;

/// Where on the disk the record of a key is.
pub(super) fn device_offset(shard: &Shard, number: u64) -> usize {
    let partition = number.to_be_bytes();
    let location = shard.engine.index.locate(&key(&partition, number), |_| true).unwrap();
    let device = shard.engine.memory.device_location(location);
    device.segment().index() * SEGMENT as usize + device.offset()
}

/// A hundred rows on the device, a few frames of memory, and then enough other rows to push them out.
fn cold_shard() -> Shard {
    let mut shard = Shard::new(config(SEGMENT, 64, (200 << 10) + 6 * SEGMENT as usize));
    for number in 0..100 {
        shard.put(number, &[number as u8; 500]).unwrap();
    }
    for number in 1000..2000 {
        shard.put(number, &[9; 500]).unwrap();
    }
    shard.settle();
    shard
}

#[test]
fn a_flipped_bit_is_reported_and_costs_one_record() {
    let mut shard = cold_shard();
    let offset = device_offset(&shard, 42);
    shard.disk.damage(offset + 100, 1);
    for number in 0..100 {
        match shard.get(number) {
            Ok(row) => assert_eq!((number != 42, row), (true, Some(vec![number as u8; 500]))),
            Err(ReadError::Damaged { segment, offset: at, damage }) => {
                assert_eq!((number, segment.0 as usize * SEGMENT as usize + at, damage), (42, offset, Damage::Checksum));
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(shard.engine.stats().damaged_records > 0);
    // The key can be written again, and then read.
    shard.put(42, b"restored").unwrap();
    assert_eq!(shard.get(42), Ok(Some(b"restored".to_vec())));
}

#[test]
fn recovery_reports_damage_and_finds_all_other_records() {
    let mut shard = cold_shard();
    let offset = device_offset(&shard, 42);
    shard.disk.damage(offset + 20, 0x80);
    let mut shard = shard.restart();
    let segment = (offset / SEGMENT as usize) as u32;
    let reports: Vec<(u32, usize)> = shard.engine.damage_reports().iter().map(|report| (report.segment.0, report.offset)).collect();
    assert_eq!(reports, [(segment, offset % SEGMENT as usize)]);
    for number in 0..100 {
        assert_eq!(shard.get(number), Ok((number != 42).then(|| vec![number as u8; 500])));
    }
}

#[test]
fn a_damaged_seal_is_reported_and_hides_no_other_damage() {
    let mut shard = cold_shard();
    let offset = device_offset(&shard, 42);
    let segment = offset / SEGMENT as usize;
    let used = shard.engine.segments.get(SegmentId(segment as u32)).used as usize;
    shard.disk.damage(offset + 20, 0x80);
    shard.disk.damage(segment * SEGMENT as usize + used - 20, 1);
    let mut shard = shard.restart();
    let reports: Vec<usize> = shard.engine.damage_reports().iter().map(|report| report.offset).collect();
    assert_eq!(reports, [offset % SEGMENT as usize, used - 32]);
    for number in 0..100 {
        assert_eq!(shard.get(number), Ok((number != 42).then(|| vec![number as u8; 500])));
    }
}

#[test]
fn a_bad_block_costs_the_records_in_it() {
    let mut shard = cold_shard();
    let offset = device_offset(&shard, 42) / BLOCK_BYTES * BLOCK_BYTES;
    let in_block = |shard: &Shard, number| {
        let at = device_offset(shard, number);
        at < offset + BLOCK_BYTES && at + 560 > offset
    };
    let hit: Vec<u64> = (0..100).filter(|number| in_block(&shard, *number)).collect();
    shard.disk.bad = Some(offset..offset + BLOCK_BYTES);
    for number in 0..100 {
        assert_eq!(shard.get(number).is_err(), hit.contains(&number), "row {number}");
    }
    let mut shard = shard.restart();
    assert!(shard.engine.is_ready());
    for number in 0..100 {
        assert_eq!(shard.get(number).unwrap().is_none(), hit.contains(&number), "row {number} after a restart");
    }
}

#[test]
fn defragmentation_keeps_a_segment_whose_live_records_it_cannot_read() {
    let mut shard = Shard::new(config(SEGMENT, 24, (200 << 10) + 6 * SEGMENT as usize));
    for number in 0..300 {
        shard.put(number, &[number as u8; 500]).unwrap();
    }
    shard.settle();
    let offset = device_offset(&shard, 7);
    shard.disk.damage(offset + 50, 4);
    for round in 0..20 {
        for number in 0..300 {
            if number % 10 != 7 {
                shard.put(number, &[round; 500]).unwrap();
            }
        }
    }
    shard.settle();
    assert_eq!(device_offset(&shard, 7), offset, "the damaged record has stayed where it is");
    assert!(shard.engine.stats().segments_reclaimed > 20);
    assert!(matches!(shard.get(7), Err(ReadError::Damaged { .. })));
    assert_eq!(shard.get(17), Ok(Some(vec![17; 500])));
}

#[test]
fn a_failed_write_poisons_the_shard_and_reads_go_on() {
    for sync in [false, true] {
        let mut shard = Shard::new(config(SEGMENT, 16, 1 << 20));
        shard.put(1, b"before").unwrap();
        shard.settle();
        let durable = shard.engine.durable_sequence();
        shard.disk.fail_syncs = sync;
        shard.disk.fail_writes = !sync;
        shard.put(2, b"in the stable memory").unwrap();
        shard.settle();
        assert!(matches!(shard.put(3, b"after"), Err(WriteError::Poisoned { .. })));
        assert!(shard.engine.poisoned().is_some());
        assert_eq!(shard.engine.durable_sequence(), durable, "nothing more is known to be durable");
        assert_eq!(shard.get(1), Ok(Some(b"before".to_vec())));
        assert_eq!(shard.get(2), Ok(Some(b"in the stable memory".to_vec())));
        // What was acknowledged is in the stable memory, and a healthy device gets it after a restart.
        shard.disk.fail_syncs = false;
        shard.disk.fail_writes = false;
        let mut shard = shard.restart();
        assert_eq!(shard.get(2), Ok(Some(b"in the stable memory".to_vec())));
        shard.put(3, b"after").unwrap();
    }
}

#[test]
fn a_full_device_refuses_writes_reads_on_and_recovers_by_deletes() {
    let mut shard = Shard::new(config(SEGMENT, 24, 2 << 20));
    let mut written = 0;
    let refused = loop {
        match shard.put(written, &[1; 900]) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, WriteError::Full { space: NoSpace::Capacity { .. } }), "{refused}");
    assert!(refused.to_string().starts_with("device full: the capacity of this core, "), "{refused}");
    assert!(shard.engine.is_full());
    assert!(written as f64 * 900.0 > 0.6 * 24.0 * f64::from(SEGMENT), "only {written} rows fitted");
    assert_eq!(shard.get(written / 2), Ok(Some(vec![1; 900])));
    for number in 0..written / 2 {
        shard.remove(number).unwrap();
    }
    shard.settle();
    for number in 0..written / 4 {
        shard.put(1_000_000 + number, &[2; 900]).unwrap();
    }
    assert_eq!(shard.get(1_000_000), Ok(Some(vec![2; 900])));
    assert_eq!(shard.get(0), Ok(None));
    assert_eq!(shard.get(written - 1), Ok(Some(vec![1; 900])));
}

#[test]
fn a_full_file_system_refuses_writes_until_it_has_space() {
    let mut shard = Shard::new(config(SEGMENT, 64, 2 << 20));
    shard.disk.capacity = 16 * SEGMENT as usize;
    let mut written = 0;
    while shard.put(written, &[1; 900]).is_ok() {
        written += 1;
    }
    assert!(shard.engine.stats().growth_refused > 0);
    let refused = shard.put(written, &[1; 900]).unwrap_err();
    let expected = NoSpace::FileSystem { bytes: 16 * u64::from(SEGMENT), capacity_bytes: 64 * u64::from(SEGMENT) };
    assert_eq!(refused, WriteError::Full { space: expected }, "raising the capacity would not help");
    shard.disk.capacity = usize::MAX;
    shard.now.monotonic_us += 2_000_000;
    shard.settle();
    shard.put(written, &[1; 900]).unwrap();
}

#[test]
fn another_stores_segments_are_refused() {
    let mut shard = Shard::new(config(SEGMENT, 16, 1 << 20));
    shard.put(1, b"theirs").unwrap();
    shard.shut_down();
    let theirs = shard.config.store;
    let Shard { disk, .. } = shard;
    let config = crate::Config { store: 77, ..config(SEGMENT, 16, 1 << 20) };
    let stable = Stable::new(config.stable_bytes(3));
    let shard = Shard::over(config, disk, stable);
    assert!(!shard.engine.is_ready());
    assert!(matches!(shard.engine.recovery_error(), Some(OpenError::Foreign { store, .. }) if *store == theirs));
    let partition = 1u64.to_be_bytes();
    assert_eq!(shard.engine.get(&key(&partition, 1), CachePolicy::Keep), Err(ReadError::NotReady));
}

#[test]
fn any_bytes_on_the_device_are_survived() {
    let mut rng = base::Rng::new(11);
    for _ in 0..40 {
        let mut shard = Shard::new(config(16 << 10, 12, 1 << 20));
        for number in 0..200 {
            shard.put(number % 40, &[number as u8; 300]).unwrap();
        }
        shard.shut_down();
        // Overwrite stretches of the file with random bytes, with zeros, or with other stretches of it.
        let length = shard.disk.len() as usize;
        for _ in 0..1 + rng.below(6) {
            let bytes = shard.disk.bytes().to_vec();
            let mut bytes = bytes;
            let span = 1 + rng.below(5000) as usize;
            let to = rng.below((length - span) as u64) as usize;
            match rng.below(3) {
                0 => rng.fill(&mut bytes[to..to + span]),
                1 => bytes[to..to + span].fill(0),
                _ => {
                    let from = rng.below((length - span) as u64) as usize;
                    bytes.copy_within(from..from + span, to);
                }
            }
            shard.disk.load(&bytes);
        }
        let Shard { disk, .. } = shard;
        let config = config(16 << 10, 12, 1 << 20);
        let stable = Stable::new(config.stable_bytes(3));
        stable.scramble(&mut rng);
        let mut shard = Shard::over(config, disk, stable);
        assert!(shard.engine.is_ready());
        for number in 0..40 {
            // Any answer will do that is not made up.
            if let Ok(Some(row)) = shard.get(number) {
                assert!(row.len() == 300 && row.iter().all(|byte| *byte == row[0]) && u64::from(row[0]) % 40 == number);
            }
        }
    }
}

#[test]
fn a_record_in_the_log_is_as_large_as_the_format_says() {
    let mut batch = crate::WriteBatch::new();
    batch.put(&key(b"12345678", 1), crate::Kind::Live, &[0; 200]).unwrap();
    assert_eq!(Record::trusted(batch.bytes()).length(), 32 + 8 + 200);
    assert_eq!(batch.bytes_in_log(), 240);
}

#[test]
fn a_segment_that_was_synced_and_has_lost_its_seal_is_reported() {
    let mut shard = cold_shard();
    let offset = device_offset(&shard, 42);
    let (segment, start) = (offset / SEGMENT as usize, offset / SEGMENT as usize * SEGMENT as usize);
    // From the record on everything is gone, the seal with it.
    for at in offset..start + SEGMENT as usize {
        let byte = shard.disk.bytes()[at];
        shard.disk.damage(at, byte);
    }
    let in_rest = |shard: &Shard, number| {
        let at = device_offset(shard, number);
        at >= offset && at < start + SEGMENT as usize
    };
    let lost: Vec<u64> = (0..100).filter(|number| in_rest(&shard, *number)).collect();
    for _ in 0..2 {
        shard = shard.restart();
        let reports: Vec<(u32, usize)> = shard.engine.damage_reports().iter().map(|report| (report.segment.0, report.offset)).collect();
        assert_eq!(reports, [(segment as u32, offset - start)], "at every start");
        for number in 0..100 {
            assert_eq!(shard.get(number), Ok((!lost.contains(&number)).then(|| vec![number as u8; 500])));
        }
    }
}

/// A segment that was never used will be written over: one read that went astray must not be enough to take it for one.
#[test]
fn a_header_that_is_read_as_blank_once_is_read_again() {
    let mut shard = cold_shard();
    shard.shut_down();
    let Shard { disk, stable, mut config, .. } = shard;
    config.file_bytes = disk.len();
    let now = io::Now { monotonic_us: 1, wall_us: 1_000_000_000 };
    let tables = std::collections::BTreeMap::from([(super::shard::TABLE, crate::Sequence(0))]);
    let mut engine = crate::Engine::open(config, Box::new(stable), &tables, now).unwrap();
    let (mut disk, mut dice, mut astray) = (disk, base::Rng::new(1), 0);
    while !engine.is_ready() {
        for (tag, request) in engine.take_requests().collect::<Vec<_>>() {
            match request {
                io::DiskRequest::Read { offset, buffer, .. } if buffer.len() == BLOCK_BYTES && astray == 0 => {
                    assert!(disk.bytes()[offset as usize] != 0, "the first segment is in use");
                    astray += 1;
                    engine
                        .complete(now, io::DiskCompletion { tag, result: Ok(()), buffer: Some(base::AlignedBuffer::zeroed(BLOCK_BYTES)) });
                }
                request => disk.submit(tag, request),
            }
        }
        if let Some(completion) = disk.step(&mut dice) {
            engine.complete(now, completion);
        }
    }
    assert_eq!((astray, engine.stats().rows), (1, 1100));
}

/// The header block of a segment.
fn header_in(bytes: &[u8], segment: usize) -> SegmentHeader {
    match SegmentHeader::read_block(&bytes[segment * SEGMENT as usize..][..BLOCK_BYTES]) {
        HeaderBlock::Valid(header) => header,
        other => panic!("segment {segment} has {other:?}"),
    }
}

/// Changes the file of a shard whose process has died, and restarts it.
fn restart_after(shard: Shard, change: impl FnOnce(&mut [u8])) -> Shard {
    let mut bytes = shard.disk.bytes().to_vec();
    change(&mut bytes);
    let mut shard = shard;
    shard.disk.load(&bytes);
    shard.restart()
}

/// The first write of a segment was lost: it looks as if it had never been used, or as its former use left it.
#[test]
fn a_segment_whose_header_never_came_is_reported_and_left_alone() {
    for former in [None, Some(HeaderState::Free), Some(HeaderState::Used)] {
        let shard = cold_shard();
        let lost = device_offset(&shard, 42) / SEGMENT as usize;
        let others: Vec<u64> = (0..100).filter(|number| device_offset(&shard, *number) / SEGMENT as usize != lost).collect();
        let mut shard = restart_after(shard, |bytes| {
            let header = header_in(bytes, lost);
            let block = &mut bytes[lost * SEGMENT as usize..][..BLOCK_BYTES];
            block.fill(0);
            if let Some(state) = former {
                SegmentHeader { state, generation: 0, nonce: header.nonce ^ 1, ..header }.fill_block(block);
            }
        });
        let reported =
            |shard: &Shard| shard.engine.damage_reports().iter().map(|report| (report.segment.index(), report.offset)).collect::<Vec<_>>();
        assert_eq!(reported(&shard), [(lost, 0)], "{former:?}");
        assert!(!others.is_empty());
        for number in others {
            assert_eq!(shard.get(number).unwrap(), Some(vec![number as u8; 500]));
        }
        assert_eq!(shard.get(42).unwrap(), None);
        // It is not written over, and the next start says the same.
        for number in 1000..2000 {
            shard.put(number, &[1; 500]).unwrap();
        }
        shard.settle();
        let start = lost * SEGMENT as usize;
        assert_eq!(shard.disk.bytes()[start..start + BLOCK_BYTES].iter().all(|byte| *byte == 0), former.is_none());
        let shard = shard.restart();
        assert_eq!(reported(&shard), [(lost, 0)], "{former:?}");
    }
}

/// Its records were moved away, and deletions of some may have been purged since: the old use must not come back.
#[test]
fn a_segment_whose_free_marker_never_came_is_reported_and_free() {
    let mut shard = cold_shard();
    for round in 0..6 {
        for number in 1000..2000 {
            shard.put(number, &[round; 500]).unwrap();
        }
    }
    shard.settle();
    let (store, number_of_shard) = (shard.config.store, shard.config.shard);
    let bytes = shard.disk.bytes().to_vec();
    let blocks = || bytes.chunks(SEGMENT as usize).map(|segment| &segment[..BLOCK_BYTES]);
    let named: Vec<_> = blocks().flat_map(|block| read_witnesses(block, store, number_of_shard)).filter(|witness| witness.free).collect();
    let is_free = |segment: usize, generation: u64| {
        SegmentHeader::read_block(&bytes[segment * SEGMENT as usize..][..BLOCK_BYTES])
            == HeaderBlock::Valid(SegmentHeader { state: HeaderState::Free, generation, ..header_in(&bytes, segment) })
    };
    let chosen = named.iter().find(|witness| is_free(witness.segment.index(), witness.generation)).expect("a marker that others know of");
    let lost = chosen.segment.index();
    let mut shard = restart_after(shard, |bytes| {
        let header = header_in(bytes, lost);
        SegmentHeader { state: HeaderState::Used, ..header }.fill_block(&mut bytes[lost * SEGMENT as usize..][..BLOCK_BYTES]);
    });
    let reports: Vec<SegmentId> = shard.engine.damage_reports().iter().map(|report| report.segment).collect();
    assert_eq!(reports, [chosen.segment]);
    for number in 1000..2000 {
        assert_eq!(shard.get(number).unwrap(), Some(vec![5; 500]));
    }
}
