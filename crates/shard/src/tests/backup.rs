//! A backup's share: what a scan and the writes kept beside it come to, and pauses.

use super::*;
use crate::{BACKUP_SCAN, Chunk, KeptFault, SlotScan};
use engine::{Kind, ReceivedRows};

const SLOTS: u16 = 3;
const BUFFER_BYTES: usize = 4 << 20;

/// Of each key the last image that was taken; deleted rows have none.
#[derive(Default)]
struct Taken(BTreeMap<Place, Option<u64>>);

impl Taken {
    fn add(&mut self, rows: &[u8]) {
        for row in ReceivedRows::new(rows) {
            let row = row.unwrap();
            let is_deleted = matches!(row.kind, Kind::Tombstone { .. });
            self.0.insert(place_of(&row.key), (!is_deleted).then(|| value_of(row.row)));
        }
    }

    fn rows(&self) -> BTreeMap<Place, u64> {
        self.0.iter().filter_map(|(place, value)| Some((*place, (*value)?))).collect()
    }
}

fn any_work(rng: &mut Rng, value: u64) -> Work {
    let place = (rng.below(u64::from(SLOTS)) as u16, if rng.below(2) == 0 { rng.below(80) } else { 1000 + rng.below(80) } as u16);
    match rng.below(4) {
        0 => Work { removes: vec![place], ..Work::default() },
        // Deltas are of partitions with one row.
        1 if place.1 < WIDE_FROM => Work { updates: vec![(place, value)], ..Work::default() },
        _ => write(&[(place, value)]),
    }
}

/// Everything that the shard has.
fn all_rows(member: &mut Member) -> BTreeMap<Place, u64> {
    let mut taken = Taken::default();
    for slot in 0..SLOTS {
        let mut scan = SlotScan::new([TABLE, WIDE], Slot(slot));
        while step(member, 4, &mut scan, &mut taken) != Chunk::End {}
    }
    taken.rows()
}

fn step(member: &mut Member, number: u32, scan: &mut SlotScan, taken: &mut Taken) -> Chunk {
    let (mut batch, now) = (WriteBatch::new(), member.now);
    let chunk = member.shard.scan_slot(now, number, scan, 3000, &mut batch).unwrap();
    taken.add(batch.bytes());
    if chunk == Chunk::Waits {
        member.turn();
    }
    chunk
}

#[test]
fn a_scan_with_what_is_written_meanwhile_is_every_row_at_the_cut() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let mut member = Member::new(600 << 10, Durability::Memory);
        for value in 1..400 {
            let work = any_work(&mut rng, value);
            member.ask(work).unwrap().unwrap();
        }
        member.shard.keep_writes(BTreeSet::from([TABLE, WIDE]), BUFFER_BYTES);
        let (mut taken, mut value) = (Taken::default(), 1000);
        for slot in (0..SLOTS).rev() {
            member.shard.keep_slot(Slot(slot));
            let mut scan = SlotScan::new([TABLE, WIDE], Slot(slot));
            loop {
                for _ in 0..rng.below(6) {
                    value += 1;
                    let work = any_work(&mut rng, value);
                    member.start(work);
                }
                take(&mut member, &mut taken);
                if step(&mut member, BACKUP_SCAN, &mut scan, &mut taken) == Chunk::End {
                    break;
                }
            }
        }
        member.shard.pause();
        take(&mut member, &mut taken);
        let late: Vec<u64> = (0..30).map(|value| member.start(write(&[((1, value), 9_000_000)]))).collect();
        let at_cut = all_rows(&mut member);
        assert_eq!(taken.rows(), at_cut, "seed {seed}");
        assert!(late.iter().all(|number| !member.heard.contains_key(number)), "seed {seed}: nobody is answered in a pause");
        member.shard.resume();
        for _ in 0..100 {
            member.turn();
        }
        // Some are refused: the index is full.
        assert!(late.iter().all(|number| member.heard.contains_key(number)), "seed {seed}: everybody is answered after it");
    }
}

fn take(member: &mut Member, taken: &mut Taken) {
    let mut kept = Vec::new();
    member.shard.take_kept(&mut kept).unwrap();
    taken.add(&kept);
}

#[test]
fn updates_are_deltas_where_the_scan_has_not_come() {
    let mut member = Member::new(600 << 10, Durability::Memory);
    member.ask(write(&[((1, 3), 2), ((2, 3), 2)])).unwrap().unwrap();
    for round in 0..300 {
        let others: Vec<(Place, u64)> = (0..10).map(|row| ((3, 10 * (round % 90) + row), 1)).collect();
        member.ask(write(&others)).unwrap().unwrap();
        member.turn();
    }
    member.shard.keep_writes(BTreeSet::from([TABLE]), BUFFER_BYTES);
    member.shard.keep_slot(Slot(1));
    for (slot, deltas) in [(1, 0), (2, 1)] {
        member.ask(Work { updates: vec![((slot, 3), 4)], ..Work::default() }).unwrap().unwrap();
        assert_eq!(member.shard.engine().table_rows(engine::resident_of(TABLE)), deltas, "slot {slot}");
    }
    let mut taken = Taken::default();
    take(&mut member, &mut taken);
    assert_eq!(taken.rows(), BTreeMap::from([((1, 3), 4)]));
}

#[test]
fn rows_of_tables_made_since_are_kept_wherever_they_are() {
    let mut member = Member::new(1 << 20, Durability::Memory);
    member.shard.keep_writes(BTreeSet::from([TABLE]), BUFFER_BYTES);
    member.ask(write(&[((1, 5), 1), ((1, 1005), 2)])).unwrap().unwrap();
    member.shard.keep_new_tables([TABLE, WIDE].into_iter());
    member.ask(write(&[((1, 6), 3), ((1, 1006), 4)])).unwrap().unwrap();
    member.shard.keep_slot(Slot(1));
    member.ask(write(&[((1, 7), 5), ((2, 7), 6)])).unwrap().unwrap();
    let mut taken = Taken::default();
    take(&mut member, &mut taken);
    assert_eq!(taken.rows(), BTreeMap::from([((1, 1006), 4), ((1, 7), 5)]));
    member.shard.end_keeping();
    member.ask(write(&[((1, 8), 7)])).unwrap().unwrap();
    let mut kept = Vec::new();
    member.shard.take_kept(&mut kept).unwrap();
    assert!(kept.is_empty());
}

#[test]
fn what_is_not_taken_in_time_ends_the_backup_and_no_write() {
    let mut member = Member::new(1 << 20, Durability::Memory);
    member.shard.keep_writes(BTreeSet::from([TABLE]), 3000);
    member.shard.keep_slot(Slot(1));
    for place in 0..10 {
        assert!(member.ask(write(&[((1, place), 1)])).unwrap().is_ok());
    }
    assert_eq!(member.shard.kept_fault(), Some(KeptFault::TooMuch { bytes_max: 3000 }));
    assert!(member.shard.take_kept(&mut Vec::new()).is_err());
}

#[test]
fn a_truncation_ends_the_backup_of_its_table() {
    for (table, fault) in [(WIDE, None), (TABLE, Some(KeptFault::Truncated))] {
        let mut member = Member::new(1 << 20, Durability::Memory);
        member.shard.keep_writes(BTreeSet::from([TABLE]), BUFFER_BYTES);
        member.shard.truncate(table);
        assert_eq!(member.shard.kept_fault(), fault);
    }
}
