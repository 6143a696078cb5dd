//! Slots that are copied, compared and wiped, and rows that are given by key.

use super::*;
use crate::{Chunk, SlotDigest, SlotScan};
use engine::ReceivedRows;
use std::collections::BTreeSet;

const SLOTS: u16 = 3;
const TABLES: [TableId; 2] = [WIDE, TABLE];

impl Member {
    /// Calls again and again until the end.
    fn in_chunks(&mut self, mut chunk: impl FnMut(&mut Shard, Now) -> Chunk) -> u64 {
        let mut waits = 0;
        for _ in 0..100_000 {
            let now = self.now;
            match chunk(&mut self.shard, now) {
                Chunk::End => return waits,
                Chunk::More => {}
                Chunk::Waits => {
                    waits += 1;
                    for _ in 0..1000 {
                        self.turn();
                        if self.shard.take_scans_ready().any(|number| number == 4) {
                            break;
                        }
                    }
                }
            }
        }
        panic!("a walk over a slot ends");
    }

    fn digest(&mut self, slot: u16) -> SlotDigest {
        let (mut scan, mut digest) = (SlotScan::new(TABLES, Slot(slot)), SlotDigest::default());
        self.in_chunks(|shard, now| shard.digest_slot(now, 4, &mut scan, 3000, &mut digest).unwrap());
        assert_eq!(scan.damaged(), 0);
        digest
    }

    /// All rows of a slot, a group a chunk.
    fn copy(&mut self, slot: u16) -> Vec<Vec<u8>> {
        let (mut scan, mut groups) = (SlotScan::new(TABLES, Slot(slot)), Vec::new());
        self.in_chunks(|shard, now| {
            let mut batch = WriteBatch::new();
            // As if the walk had stopped here and been taken up from its position.
            if let Some(position) = scan.position().cloned() {
                scan = SlotScan::after(TABLES, Slot(slot), position);
            }
            let chunk = shard.scan_slot(now, 4, &mut scan, 3000, &mut batch).unwrap();
            assert!(batch.is_empty() || chunk != Chunk::Waits);
            groups.push(batch.bytes().to_vec());
            chunk
        });
        groups
    }

    fn wipe(&mut self, slot: u16) {
        let mut scan = SlotScan::new(TABLES, Slot(slot));
        self.in_chunks(|shard, now| shard.wipe_slot(now, 4, &mut scan, 3000).unwrap());
    }

    /// The rows of slots below `slots` that were written after a sequence, a group a chunk, and their keys.
    fn tail(&mut self, after: Sequence, slots: u16) -> (Vec<WriteBatch>, Vec<RowKey>) {
        let (mut walk, mut groups, mut keys) = (self.shard.tail_walk(TABLES, after), Vec::new(), Vec::new());
        self.in_chunks(|shard, now| {
            let mut batch = WriteBatch::new();
            let chunk = shard.tail_images(now, 4, &mut walk, &|_, slot| slot.0 < slots, 3000, &mut batch).unwrap();
            assert!(batch.len() <= 1 || batch.bytes_in_log() < 3100, "{} bytes", batch.bytes_in_log());
            keys.extend(batch.rows().map(|row| RowKey {
                table: row.key.table,
                token: row.key.token,
                partition: row.key.partition.to_vec(),
                clustering: row.key.clustering.to_vec(),
            }));
            let mut slots: Vec<Slot> = batch.rows().map(|row| row.key.token.slot()).collect();
            slots.dedup();
            assert!(slots.len() <= 1, "rows of one slot at a time");
            if !batch.is_empty() {
                groups.push(batch);
            }
            chunk
        });
        assert!(walk.damaged().is_empty());
        (groups, keys)
    }

    /// The rows of keys, a group a chunk.
    fn images(&mut self, keys: &[RowKey]) -> Vec<WriteBatch> {
        let (mut groups, mut done) = (Vec::new(), 0);
        self.in_chunks(|shard, now| {
            let mut batch = WriteBatch::new();
            // Some, and those that come after them.
            let some = keys[done..].split_at(100.min(keys.len() - done));
            let Some(count) = shard.images(now, 4, some, 3000, &mut batch).unwrap() else { return Chunk::Waits };
            assert!(batch.len() == 1 || batch.bytes_in_log() < 3100, "{} bytes", batch.bytes_in_log());
            done += count;
            groups.push(batch);
            if done < keys.len() { Chunk::More } else { Chunk::End }
        });
        groups
    }
}

fn any_place(rng: &mut Rng) -> Place {
    (rng.below(u64::from(SLOTS)) as u16, if rng.below(2) == 0 { rng.below(120) } else { 1000 + rng.below(400) } as u16)
}

/// Random writes, deletions and updates; what should be there.
fn some_work(member: &mut Member, rng: &mut Rng, steps: u64, rows: &mut BTreeMap<Place, u64>) {
    for step in 1..=steps {
        let place = any_place(rng);
        let value = 1000 + member.next_ticket;
        let work = match rng.below(4) {
            0 => {
                rows.remove(&place);
                Work { removes: vec![place], ..Work::default() }
            }
            1 if place.1 < WIDE_FROM && rows.contains_key(&place) => {
                rows.insert(place, value);
                Work { updates: vec![(place, value)], ..Work::default() }
            }
            _ => {
                rows.insert(place, value);
                write(&[(place, value)])
            }
        };
        assert_eq!(member.ask(work), Some(Ok(vec![])));
        if step % 40 == 0 {
            member.turn();
        }
    }
}

fn check(member: &mut Member, rows: &BTreeMap<Place, u64>, slots: std::ops::Range<u16>) {
    for place in slots.flat_map(|slot| (0..120).chain(1000..1400).map(move |number| (slot, number))) {
        assert_eq!(member.ask(read(&[place])), Some(Ok(vec![rows.get(&place).copied().unwrap_or(0)])), "{place:?}");
    }
}

#[test]
fn a_copied_slot_has_the_same_rows_whatever_they_were_before() {
    let (mut deltas, mut waits) = (0, 0);
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let (mut one, mut other) = (Member::new(600 << 10, Durability::Memory), Member::new(600 << 10, Durability::Memory));
        let (mut rows, mut old) = (BTreeMap::new(), BTreeMap::new());
        some_work(&mut one, &mut rng, 2500, &mut rows);
        some_work(&mut other, &mut rng, 300, &mut old);
        if seed % 2 == 0 {
            (one, other) = (one.restart(), other.restart());
        }
        deltas += one.shard.engine().table_rows(engine::resident_of(TABLE));
        for slot in 0..SLOTS - 1 {
            other.wipe(slot);
            assert_eq!(other.digest(slot), SlotDigest::default());
            let reads = one.shard.engine().stats().device_reads;
            for group in one.copy(slot) {
                other.receive(&group);
            }
            waits += u64::from(one.shard.engine().stats().device_reads > reads);
            assert_eq!(one.digest(slot), other.digest(slot), "seed {seed}, slot {slot}");
        }
        assert_ne!(one.digest(SLOTS - 1), other.digest(SLOTS - 1));
        for mut member in [other.restart(), one.restart()] {
            check(&mut member, &rows, 0..SLOTS - 1);
        }
    }
    assert!(deltas > 50 && waits > 5, "{deltas} deltas, {waits} slots were read from the device");
}

#[test]
fn what_was_wiped_stays_away() {
    let mut rng = Rng::new(2);
    let mut member = Member::new(2 << 20, Durability::Memory);
    let mut rows = BTreeMap::new();
    for value in 1..2000 {
        let place = any_place(&mut rng);
        rows.insert(place, value);
        assert_eq!(member.ask(write(&[(place, value)])), Some(Ok(vec![])));
    }
    let written = rows.len() as u64;
    member.wipe(1);
    rows.retain(|place, _| place.0 != 1);
    check(&mut member, &rows, 0..SLOTS);
    let mut member = member.restart();
    check(&mut member, &rows, 0..SLOTS);
    // What is left goes when the segments before it have gone, and does not come back.
    (0..SLOTS).for_each(|slot| member.wipe(slot));
    rows.clear();
    for round in 0..300 {
        let writes: Vec<(Place, u64)> = (0..8).map(|number| ((0, number), round + 1)).collect();
        rows.extend(writes.iter().copied());
        assert_eq!(member.ask(write(&writes)), Some(Ok(vec![])));
        member.turn();
    }
    let after = member.shard.engine().stats().rows;
    assert!(written > 900 && after < written / 10, "of {written} rows there are {after}");
    let mut member = member.restart();
    assert_eq!([member.digest(0).rows, member.digest(1).rows, member.digest(2).rows], [8, 0, 0]);
    check(&mut member, &rows, 0..SLOTS);
}

#[test]
fn images_of_keys_make_rows_equal_and_say_when_there_is_none() {
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let (mut one, mut other) = (Member::new(600 << 10, Durability::Memory), Member::new(600 << 10, Durability::Memory));
        let (mut rows, mut old) = (BTreeMap::new(), BTreeMap::new());
        some_work(&mut one, &mut rng, 1500, &mut rows);
        some_work(&mut other, &mut rng, 500, &mut old);
        one = one.restart();
        let places: Vec<Place> = (0..SLOTS).flat_map(|slot| (0..120).chain(1000..1400).map(move |number| (slot, number))).collect();
        let keys: Vec<RowKey> = places.iter().map(|place| key_of(*place)).collect();
        let images = one.images(&keys);
        let given = images.iter().flat_map(|group| ReceivedRows::new(group.bytes()).flatten().map(|row| place_of(&row.key)));
        assert!(given.eq(places.iter().copied()));
        for group in images {
            other.receive(group.bytes());
        }
        for slot in 0..SLOTS {
            assert_eq!(one.digest(slot), other.digest(slot));
        }
        check(&mut other, &rows, 0..SLOTS);
    }
}

#[test]
fn what_is_read_ahead_of_a_chunk_is_read_once() {
    let mut rng = Rng::new(3);
    let mut member = Member::new(2 << 20, Durability::Memory);
    let mut rows = BTreeMap::new();
    some_work(&mut member, &mut rng, 3000, &mut rows);
    let places: Vec<Place> = (0..SLOTS).flat_map(|slot| (0..120).chain(1000..1400).map(move |number| (slot, number))).collect();
    let keys: Vec<RowKey> = places.iter().map(|place| key_of(*place)).collect();
    let copy = |member: &mut Member| -> usize {
        (0..SLOTS).flat_map(|slot| member.copy(slot)).map(|group| ReceivedRows::new(&group).count()).sum()
    };
    let tail = |member: &mut Member| member.tail(Sequence(0), SLOTS).1.len();
    let images = |member: &mut Member| member.images(&keys).iter().map(WriteBatch::len).sum();
    let ways: [&dyn Fn(&mut Member) -> usize; 3] = [&copy, &tail, &images];
    for way in ways {
        // Deltas are made whole first, which is not what is counted.
        member = member.restart();
        copy(&mut member);
        member = member.restart();
        let given = way(&mut member);
        let read = member.shard.engine().stats().device_records as usize;
        assert!(given > 500 && read > given / 2 && read < given * 3 / 2, "{read} records were read for {given} rows");
    }
}

#[test]
fn rows_that_are_damaged_are_passed_over() {
    let mut rng = Rng::new(5);
    let mut member = Member::new(2 << 20, Durability::Memory);
    some_work(&mut member, &mut rng, 3000, &mut BTreeMap::new());
    let scanned = |member: &mut Member| -> (usize, u64) {
        let (mut scan, mut rows) = (SlotScan::new(TABLES, Slot(0)), 0);
        member.in_chunks(|shard, now| {
            let mut batch = WriteBatch::new();
            let chunk = shard.scan_slot(now, 4, &mut scan, 3000, &mut batch).unwrap();
            rows += batch.len();
            chunk
        });
        (rows, scan.damaged())
    };
    let keys: Vec<RowKey> = (0..120).chain(1000..1400).map(|number| key_of((0, number))).collect();
    let imaged = |member: &mut Member| -> usize { member.images(&keys).iter().map(WriteBatch::len).sum() };
    // Deltas are made whole first.
    member = member.restart();
    let all = scanned(&mut member);
    member = member.restart();
    (0..200).for_each(|_| member.disk.rot(&mut rng));
    let ((rows, lost), images) = (scanned(&mut member), imaged(&mut member));
    let damaged = keys.len() - images;
    assert!(damaged > 5 && images > keys.len() / 2, "{damaged} of {} keys are damaged", keys.len());
    assert_eq!((all.1, rows as u64 + lost), (0, all.0 as u64), "each is counted once: {lost} of {} rows", all.0);
    let mut walk = member.shard.tail_walk(TABLES, Sequence(0));
    member.in_chunks(|shard, now| shard.tail_images(now, 4, &mut walk, &|_, _| true, 3000, &mut WriteBatch::new()).unwrap());
    let lost_in = |slot: u16| walk.damaged().iter().filter(|((_, of), _)| of.0 == slot).map(|(_, rows)| *rows).sum::<u64>();
    assert_eq!(lost_in(0), lost, "a tail says in which slot it has passed over rows");
    assert!(lost_in(1) > 0, "other slots have lost rows, too");
    assert_eq!((0..SLOTS).map(lost_in).sum::<u64>(), walk.damaged().values().sum::<u64>(), "and names none without rows");
}

/// The scan begins where there are no rows.
#[test]
fn a_scan_names_the_slot_in_which_it_has_met_damage() {
    let mut rng = Rng::new(6);
    let mut member = Member::new(2 << 20, Durability::Memory);
    for number in 0..120 {
        assert!(member.ask(write(&[((2, number), 7)])).is_some_and(|heard| heard.is_ok()));
    }
    member = member.restart();
    let mut found = BTreeSet::new();
    for _ in 0..100 {
        (0..100).for_each(|_| member.disk.rot(&mut rng));
        let _ = member.ask(scan(0, 2));
        found = member.shard.take_damaged_slots();
        if !found.is_empty() {
            break;
        }
    }
    assert_eq!(found, BTreeSet::from([(TABLE, Slot(2))]));
}

/// A member was away, and had writes of its own that nobody else has; afterwards it has what the other has, for the cost of the difference.
#[test]
fn a_member_that_was_away_catches_up_by_the_difference() {
    let (mut given, mut all) = (0, 0);
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let (mut one, mut other) = (Member::new(1 << 20, Durability::Memory), Member::new(1 << 20, Durability::Memory));
        let mut rows = BTreeMap::new();
        some_work(&mut one, &mut rng, 2000, &mut rows);
        for slot in 0..SLOTS {
            for group in one.copy(slot) {
                other.receive(&group);
            }
        }
        let marks = [&one, &other].map(|member| member.shard.engine().last_sequence());
        one.shard.set_purge_floor(Some(marks[0]));
        other.shard.set_purge_floor(Some(marks[1]));
        some_work(&mut one, &mut rng, 300, &mut rows);
        some_work(&mut other, &mut rng, 20, &mut BTreeMap::new());
        // Time goes by: what was deleted may be purged, but for the floor.
        one.now.wall_us += 3_000_000_000;
        (0..100).for_each(|_| one.turn());
        if seed % 3 > 0 {
            other = other.restart();
        }
        if seed % 3 > 1 {
            one = one.restart();
            assert!(one.shard.purged_above(marks[0]), "nobody knows what was purged before the start");
            one.shard.restore_purged(marks[0]);
        }
        assert!(!one.shard.purged_above(marks[0]));
        let (groups, keys) = one.tail(marks[0], SLOTS - 1);
        groups.iter().for_each(|group| {
            other.receive(group.bytes());
        });
        let (_, own) = other.tail(marks[1], SLOTS - 1);
        assert!(own.len() > keys.len(), "what was just received is there, and what nobody else has");
        for group in one.images(&own) {
            other.receive(group.bytes());
        }
        for slot in 0..SLOTS - 1 {
            assert_eq!(one.digest(slot), other.digest(slot), "seed {seed}, slot {slot}");
        }
        check(&mut other, &rows, 0..SLOTS - 1);
        assert_ne!(one.digest(SLOTS - 1), other.digest(SLOTS - 1));
        given += keys.len();
        all += one.shard.engine().stats().rows as usize;
    }
    assert!(given * 4 < all, "{given} rows were given of {all}");
}
