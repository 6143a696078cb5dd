//! What a disk keeps and loses, and that each fault does what its name says.

use super::*;
use io::FileId;

const FILE: FileId = FileId(0);

fn disk(blocks: usize) -> Disk {
    let mut disk = Disk::new();
    disk.extend(blocks * BLOCK_BYTES, &mut Rng::new(1)).expect("it has room");
    disk
}

fn write(disk: &mut Disk, block: usize, byte: u8, rng: &mut Rng) -> Result<(), DiskError> {
    let mut buffer = AlignedBuffer::zeroed(BLOCK_BYTES);
    buffer.fill(byte);
    let source = WriteSource::Owned(buffer, BLOCK_BYTES);
    ask(disk, DiskRequest::Write { file: FILE, offset: (block * BLOCK_BYTES) as u64, source }, rng).0
}

fn sync(disk: &mut Disk, rng: &mut Rng) -> Result<(), DiskError> {
    ask(disk, DiskRequest::Sync { file: FILE }, rng).0
}

fn read(disk: &mut Disk, block: usize, rng: &mut Rng) -> (Result<(), DiskError>, Vec<u8>) {
    let buffer = AlignedBuffer::zeroed(BLOCK_BYTES);
    let (result, buffer) = ask(disk, DiskRequest::Read { file: FILE, offset: (block * BLOCK_BYTES) as u64, buffer }, rng);
    (result, buffer.expect("a read gives its buffer back").to_vec())
}

fn ask(disk: &mut Disk, request: DiskRequest, rng: &mut Rng) -> (Result<(), DiskError>, Option<AlignedBuffer>) {
    disk.submit(DiskTag(1), request);
    let completion = disk.step(rng).expect("something is in flight");
    (completion.result, completion.buffer)
}

/// Whether every sector of a block is one of two bytes throughout; and whether both are there.
fn sectors(block: &[u8], one: u8, other: u8) -> bool {
    let mut seen = [false; 2];
    for sector in block.chunks(SECTOR_BYTES) {
        assert!(sector.iter().all(|byte| *byte == sector[0]) && (sector[0] == one || sector[0] == other));
        seen[usize::from(sector[0] == other)] = true;
    }
    seen == [true; 2]
}

#[test]
fn power_takes_what_was_not_synced_sector_by_sector() {
    let mut mixed = 0;
    for seed in 0..50 {
        let (mut disk, mut rng) = (disk(4), Rng::new(seed));
        write(&mut disk, 0, 1, &mut rng).expect("it works");
        write(&mut disk, 1, 1, &mut rng).expect("it works");
        sync(&mut disk, &mut rng).expect("it works");
        write(&mut disk, 1, 2, &mut rng).expect("it works");
        disk.lose_process(&mut rng);
        assert!(
            disk.bytes()[BLOCK_BYTES..2 * BLOCK_BYTES].iter().all(|byte| *byte == 2),
            "the death of the process takes nothing that was done"
        );
        disk.lose_power(&mut rng);
        assert!(disk.bytes()[..BLOCK_BYTES].iter().all(|byte| *byte == 1), "what was synced has gone");
        mixed += u32::from(sectors(&disk.bytes()[BLOCK_BYTES..2 * BLOCK_BYTES], 1, 2));
    }
    assert!(mixed > 5, "no write was torn");
}

#[test]
fn a_sync_covers_what_was_done_when_it_was_asked() {
    let (mut disk, mut rng) = (disk(2), Rng::new(3));
    write(&mut disk, 0, 1, &mut rng).expect("it works");
    disk.submit(DiskTag(7), DiskRequest::Sync { file: FILE });
    let mut buffer = AlignedBuffer::zeroed(BLOCK_BYTES);
    buffer.fill(9);
    disk.submit(DiskTag(8), DiskRequest::Write { file: FILE, offset: BLOCK_BYTES as u64, source: WriteSource::Owned(buffer, BLOCK_BYTES) });
    while disk.step(&mut rng).is_some() {}
    assert_eq!((disk.durable[0], disk.durable[BLOCK_BYTES]), (1, 0));
}

#[test]
fn a_failed_sync_may_lose_what_it_covered_and_a_lying_one_loses_it_with_the_power() {
    for (fault, lost_at_once) in [(Fault::FailedSync, true), (Fault::LyingSync, false)] {
        let mut lost = 0;
        for seed in 0..20 {
            let (mut disk, mut rng) = (disk(1), Rng::new(seed));
            disk.faults = Faults::none().with(fault, Faults::ALWAYS);
            write(&mut disk, 0, 1, &mut rng).expect("it works");
            assert_eq!(sync(&mut disk, &mut rng).is_err(), lost_at_once);
            assert!(lost_at_once || disk.bytes().iter().all(|byte| *byte == 1));
            disk.lose_power(&mut rng);
            lost += u32::from(disk.bytes().contains(&0));
            assert!(disk.events().iter().any(|event| event.fault == fault) || !disk.bytes().contains(&0));
        }
        assert!(lost > 5, "{fault:?} lost nothing");
    }
}

#[test]
fn lost_and_misdirected_writes_are_acknowledged_and_known_to_the_ideal() {
    for fault in [Fault::LostWrite, Fault::MisdirectedWrite] {
        let (mut disk, mut rng) = (disk(64), Rng::new(5));
        disk.keep_ideal();
        disk.faults = Faults::none().with(fault, Faults::ALWAYS);
        write(&mut disk, 3, 7, &mut rng).expect("it says that it works");
        let there = |bytes: &[u8]| bytes.iter().position(|byte| *byte == 7).map(|at| at / BLOCK_BYTES);
        assert_eq!(there(disk.ideal().expect("it is kept")), Some(3));
        assert_ne!(there(disk.bytes()), Some(3));
        assert_eq!(there(disk.bytes()).is_some(), fault == Fault::MisdirectedWrite);
        assert_eq!((disk.events()[0].fault, disk.events()[0].offset), (fault, 3 * BLOCK_BYTES as u64));
    }
}

#[test]
fn reads_fail_or_bring_other_blocks() {
    let (mut disk, mut rng) = (disk(64), Rng::new(5));
    for block in 0..64 {
        write(&mut disk, block, block as u8, &mut rng).expect("it works");
    }
    disk.faults = Faults::none().with(Fault::MisdirectedRead, Faults::ALWAYS);
    let (result, bytes) = read(&mut disk, 10, &mut rng);
    assert!(result.is_ok() && bytes[0] != 10);
    disk.faults = Faults::none().with(Fault::FailedRead, Faults::ALWAYS);
    assert!(read(&mut disk, 10, &mut rng).0.is_err());
    disk.faults = Faults::none();
    assert_eq!(read(&mut disk, 10, &mut rng), (Ok(()), vec![10; BLOCK_BYTES]));
}

#[test]
fn a_slow_request_waits_for_its_time_and_others_pass_it() {
    let (mut disk, mut rng) = (disk(2), Rng::new(2));
    disk.faults = Faults::none().with(Fault::Slow, Faults::ALWAYS).slow_by(500);
    disk.submit(DiskTag(1), DiskRequest::Sync { file: FILE });
    assert_eq!(disk.next_us(100), Some(100));
    assert!(disk.step_at(100, &mut rng).is_none());
    assert_eq!(disk.next_us(100), Some(600));
    assert!(disk.step_at(599, &mut rng).is_none());
    disk.faults = Faults::none();
    disk.submit(DiskTag(2), DiskRequest::Sync { file: FILE });
    assert_eq!(disk.step_at(599, &mut rng).map(|completion| completion.tag), Some(DiskTag(2)));
    assert_eq!(disk.step_at(600, &mut rng).map(|completion| completion.tag), Some(DiskTag(1)));
}
