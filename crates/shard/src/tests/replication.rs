//! Who may be told what, and when: slots served, sets committed, replies held.

use super::*;

const ONE: SetId = SetId(0);
const TWO: SetId = SetId(1);
const ALL: Sequence = Sequence(u64::MAX);

fn two_sets() -> Member {
    let slots = [(1, Serving::With(ONE)), (2, Serving::With(ONE)), (3, Serving::With(TWO)), (4, Serving::Alone)];
    Member::primary(16 << 20, &slots)
}

fn ok(values: &[u64]) -> Option<Heard> {
    Some(Ok(values.to_vec()))
}

#[test]
fn a_write_is_acknowledged_when_its_set_has_it_whatever_other_sets_do() {
    let mut member = two_sets();
    let (first, second) = (member.start(write(&[((1, 0), 10)])), member.start(write(&[((3, 0), 11)])));
    let third = member.start(write(&[((2, 0), 12)]));
    member.turn();
    assert!(member.heard.is_empty());
    let sequences: Vec<_> = member.shard.written().map(|written| (written.set, written.slot, written.sequence)).collect();
    assert_eq!(sequences, [(ONE, Slot(1), Sequence(1)), (TWO, Slot(3), Sequence(2)), (ONE, Slot(2), Sequence(3))]);
    assert_eq!(member.shard.committed_sequence(), Sequence(0));
    member.committed(TWO, Sequence(2));
    assert_eq!(member.heard.keys().collect::<Vec<_>>(), [&second]);
    member.committed(ONE, Sequence(2));
    assert_eq!(member.shard.committed_sequence(), Sequence(2));
    assert_eq!(member.heard.keys().collect::<Vec<_>>(), [&first, &second]);
    member.committed(ONE, Sequence(3));
    assert_eq!(member.heard.keys().collect::<Vec<_>>(), [&first, &second, &third]);
    assert_eq!((member.shard.last_written(ONE), member.shard.last_written(TWO)), (Sequence(3), Sequence(2)));
    assert_eq!(member.shard.committed_sequence(), Sequence(3));
}

#[test]
fn a_row_is_shown_when_its_set_has_it() {
    let mut member = two_sets();
    member.start(write(&[((1, 0), 10)]));
    member.committed(ONE, Sequence(1));
    member.start(write(&[((1, 1), 11)]));
    member.start(write(&[((3, 0), 12)]));
    // What the set has is shown while other rows of it wait, and so is that there is nothing.
    assert_eq!(member.ask(read(&[(1, 0), (2, 7)])), ok(&[10, 0]));
    let (fresh, other, both) = (member.start(read(&[(1, 1)])), member.start(read(&[(3, 0)])), member.start(read(&[(3, 0), (1, 1)])));
    let scanned = member.start(scan(1, 4));
    member.turn();
    member.committed(ONE, Sequence(2));
    assert_eq!(member.heard.remove(&fresh), ok(&[11]));
    assert!(![other, both, scanned].iter().any(|number| member.heard.contains_key(number)));
    member.committed(TWO, Sequence(3));
    assert_eq!([other, both, scanned].map(|number| member.heard.remove(&number)), [ok(&[12]), ok(&[12, 11]), ok(&[10, 11, 12])]);
    assert_eq!(member.ask(scan(1, 4)), ok(&[10, 11, 12]));
}

#[test]
fn what_a_write_saw_has_to_be_committed_too() {
    let mut member = two_sets();
    member.start(write(&[((1, 0), 10)]));
    let number = member.start(Work { reads: vec![(1, 0)], writes: vec![((3, 0), 11)], ..Work::default() });
    member.committed(TWO, ALL);
    assert!(member.heard.is_empty());
    member.committed(ONE, Sequence(1));
    assert_eq!(member.heard.remove(&number), ok(&[10]));
}

#[test]
fn rows_older_than_a_slots_set_count_as_committed_once_the_set_is() {
    let mut member = two_sets();
    for value in 0..5 {
        member.start(write(&[((4, value), 20 + u64::from(value))]));
    }
    member.start(write(&[((1, 0), 10)]));
    member.committed(ONE, Sequence(6));
    member.start(write(&[((4, 9), 30)]));
    member.shard.serve(KEYSPACE, Slot(4), Serving::With(ONE));
    assert_eq!(member.ask(read(&[(4, 9)])), ok(&[30]));
    // Sequence 7 is beyond all that the set has, and no write will ever commit it.
    let written = member.start(write(&[((1, 0), 11)]));
    let number = member.start(read(&[(4, 9)]));
    member.committed(ONE, Sequence(8));
    assert_eq!((member.heard.remove(&written), member.heard.remove(&number)), (ok(&[]), ok(&[30])));
}

#[test]
fn what_is_uncommitted_stays_so_when_its_slot_gets_another_set() {
    let mut member = two_sets();
    let written = member.start(write(&[((1, 0), 10)]));
    member.shard.serve(KEYSPACE, Slot(1), Serving::With(TWO));
    let seen = member.start(read(&[(1, 0)]));
    member.turn();
    assert!(member.heard.is_empty());
    assert_eq!(member.shard.last_written(TWO), Sequence(1));
    member.committed(TWO, Sequence(1));
    assert_eq!(member.heard.remove(&seen), ok(&[10]));
    // The write waits for those who had the slot when it was done.
    member.committed(ONE, Sequence(1));
    assert_eq!(member.heard.remove(&written), ok(&[]));
    member.shard.serve(KEYSPACE, Slot(2), Serving::With(TWO));
    assert_eq!(member.shard.last_written(TWO), Sequence(1));
}

#[test]
fn only_the_primary_serves_and_only_under_its_lease() {
    let mut member = two_sets();
    let refused = Some(Err(ShardError::NotPrimary));
    for work in [read(&[(5, 0)]), write(&[((5, 0), 1)]), scan(3, 5), write(&[((4, 0), 1), ((5, 0), 1), ((4, 1), 1)])] {
        assert_eq!(member.ask(work), refused);
    }
    assert_eq!((member.shard.written().count(), member.shard.engine().table_rows(TABLE)), (0, 0));
    assert_eq!(member.ask(write(&[((4, 0), 1)])), ok(&[]));
    assert_eq!(member.shard.written().count(), 0);
    member.shard.set_lease(member.now.monotonic_us);
    assert_eq!(
        [member.ask(read(&[(4, 0)])), member.ask(write(&[((4, 0), 2)])), member.ask(scan(4, 4))],
        [refused.clone(), refused.clone(), refused]
    );
    let number = member.start_with(Access::AnyReplica, read(&[(4, 0), (5, 0)]));
    assert_eq!(member.heard.remove(&number), ok(&[1, 0]));
    let number = member.start_with(Access::AnyReplica, write(&[((4, 0), 3)]));
    assert_eq!(member.heard.remove(&number), Some(Err(ShardError::NotPrimary)));
    member.shard.set_lease(u64::MAX);
    assert_eq!(member.ask(read(&[(4, 0)])), ok(&[1]));
}

#[test]
fn who_waits_for_a_slot_that_is_lost_hears_of_it() {
    let mut member = two_sets();
    let (lost, kept) = (member.start(write(&[((1, 0), 10)])), member.start(write(&[((2, 0), 11)])));
    let (reader, both) =
        (member.start(read(&[(1, 0)])), member.start(Work { reads: vec![(1, 0)], writes: vec![((3, 0), 4)], ..Work::default() }));
    member.shard.serve(KEYSPACE, Slot(1), Serving::No);
    member.shard.fail_unserved();
    member.hear();
    assert_eq!(member.heard.remove(&lost), Some(Err(ShardError::OutcomeUnknown)));
    assert_eq!(member.heard.remove(&reader), Some(Err(ShardError::NotPrimary)));
    assert_eq!(member.heard.remove(&both), Some(Err(ShardError::OutcomeUnknown)));
    assert!(member.heard.is_empty());
    member.committed(ONE, ALL);
    member.committed(TWO, ALL);
    assert_eq!(member.heard.remove(&kept), ok(&[]));
    assert!(member.heard.is_empty());
}

#[test]
fn a_slot_that_is_closing_lets_go_who_has_run_and_takes_nobody_more() {
    let mut member = two_sets();
    let written = member.start(write(&[((1, 0), 10)]));
    member.shard.serve(KEYSPACE, Slot(1), Serving::Closing);
    member.shard.serve(KEYSPACE, Slot(2), Serving::No);
    member.shard.fail_unserved();
    member.hear();
    assert!(member.heard.is_empty());
    assert_eq!(member.shard.unanswered_slots(), BTreeSet::from([(KEYSPACE, Slot(1))]));
    for work in [read(&[(1, 0)]), write(&[((1, 0), 11)]), scan(1, 1)] {
        assert_eq!(member.ask(work), Some(Err(ShardError::NotPrimary)));
    }
    // It has another set by now, and is not given away after all: what is uncommitted stays so.
    member.shard.serve(KEYSPACE, Slot(1), Serving::Closing);
    member.shard.serve(KEYSPACE, Slot(1), Serving::With(TWO));
    let seen = member.start(read(&[(1, 0)]));
    assert!(member.heard.is_empty());
    member.committed(TWO, Sequence(1));
    assert_eq!(member.heard.remove(&seen), ok(&[10]));
    member.shard.serve(KEYSPACE, Slot(1), Serving::Closing);
    member.committed(ONE, Sequence(1));
    assert_eq!(member.heard.remove(&written), ok(&[]));
    assert!(member.shard.unanswered_slots().is_empty());
}

#[test]
fn a_table_of_which_nothing_was_told_is_not_served() {
    let mut member = Member::new(16 << 20, Durability::Memory);
    assert_eq!(member.ask(write(&[((1, 0), 10)])), ok(&[]));
    member.shard.set_replicated(std::iter::empty());
    member.shard.set_lease(u64::MAX);
    for work in [read(&[(1, 0)]), write(&[((1, 0), 11)]), scan(0, 4095)] {
        assert_eq!(member.ask(work), Some(Err(ShardError::NotPrimary)));
    }
}

#[test]
fn the_device_and_the_others_both_have_it() {
    for device_first in [true, false] {
        let mut member = Member::new(16 << 20, Durability::Device);
        member.shard.set_replicated([(TABLE, KEYSPACE)].into_iter());
        member.shard.set_lease(u64::MAX);
        member.shard.serve(KEYSPACE, Slot(1), Serving::With(ONE));
        let number = member.start(write(&[((1, 0), 10)]));
        for committed in [!device_first, device_first] {
            assert!(member.heard.is_empty());
            if committed {
                member.committed(ONE, Sequence(1));
            } else {
                (0..20).for_each(|_| member.turn());
            }
        }
        member.turn();
        assert_eq!(member.heard.remove(&number), ok(&[]));
    }
}

#[test]
fn a_batch_over_several_slots_is_sent_slot_by_slot_and_arrives_whole() {
    let mut member = two_sets();
    let mut other = Member::new(16 << 20, Durability::Memory);
    let places = [(3, 0), (1, 0), (4, 1), (2, 0), (1, 1), (3, 1), (4, 0), (1, 2)];
    let writes: Vec<(Place, u64)> = places.iter().zip(100..).map(|(place, value)| (*place, value)).collect();
    let number = member.start(write(&writes));
    let pieces: Vec<_> = member.shard.written().map(|written| (written.slot.0, written.sequence.0, written.rows.to_vec())).collect();
    assert_eq!(pieces.iter().map(|(slot, sequence, _)| (*slot, *sequence)).collect::<Vec<_>>(), [(1, 5), (2, 6), (3, 8)]);
    pieces.iter().for_each(|(_, _, rows)| {
        other.receive(rows);
    });
    member.committed(ONE, Sequence(6));
    assert!(member.heard.is_empty());
    member.committed(TWO, Sequence(8));
    assert_eq!(member.heard.remove(&number), ok(&[]));
    assert_eq!(other.ask(scan(0, 4095)), ok(&[101, 104, 107, 103, 100, 105]));
    assert_eq!(member.ask(scan(1, 4)), ok(&[101, 104, 107, 103, 100, 105, 106, 102]));
    member.shard.clear_written();
    assert_eq!(member.shard.written().count(), 0);
}

#[test]
fn rows_that_are_none_are_not_written() {
    let mut member = Member::new(16 << 20, Durability::Memory);
    let mut batch = WriteBatch::new();
    let key = engine::Key { table: TABLE, token: Token(1), partition: b"p", clustering: b"" };
    batch.put(&key, engine::Kind::Live, &row(1)).unwrap();
    batch.put(&key, engine::Kind::Live, b"no row at all").unwrap();
    assert_eq!(member.shard.apply_received(member.now, 0, &batch), Err(ShardError::Malformed));
    assert_eq!(member.shard.engine().table_rows(TABLE), 0);
}

#[test]
fn later_writes_have_later_timestamps_than_rows_of_other_members() {
    let mut member = two_sets();
    let ahead = member.now.wall_us + 5_000_000;
    member.shard.raise_timestamp(ahead);
    assert_eq!(member.shard.context(member.now).timestamp_us, ahead + 1);
    member.shard.raise_timestamp(0);
    assert_eq!(member.shard.context(member.now).timestamp_us, ahead + 2);
    member.shard.raise_timestamp(i64::MAX);
    let timestamp_us = member.shard.context(member.now).timestamp_us;
    assert!(timestamp_us > ahead && timestamp_us < i64::MAX / 2);
}

/// A primary and its secondaries, each of which gets what its sets say, in order, some time later. Clients are told nothing that a
/// secondary may not have, and the rows are the same everywhere in the end, though they do not fit in memory.
#[test]
fn nobody_hears_of_what_may_be_lost() {
    for seed in 0..30 {
        let mut rng = Rng::new(seed);
        let slots: Vec<(u16, Serving)> = (0..6).map(|slot| (slot, Serving::With(SetId(slot % 3)))).collect();
        let mut primary = Member::primary(600 << 10, &slots);
        let mut secondaries = [Member::new(600 << 10, Durability::Memory), Member::new(600 << 10, Durability::Memory)];
        // Set 0 is the first secondary, set 1 the second, set 2 both.
        let has = |secondary: usize, set: SetId| usize::from(set.0) == secondary || set.0 == 2;
        let mut links: [std::collections::VecDeque<(SetId, Sequence, Vec<u8>)>; 2] = Default::default();
        let mut sent = [Sequence(0); 2];
        let mut acknowledged = [Sequence(0); 2];
        let mut asked: BTreeMap<u64, Vec<(Place, u64)>> = BTreeMap::new();
        // Every version that a secondary has had: writes that had to wait for rows from the device come late.
        let mut stored: [BTreeSet<(Place, u64)>; 2] = Default::default();
        let mut rows: BTreeMap<Place, u64> = BTreeMap::new();
        for step in 1..1500u64 {
            let place = |rng: &mut Rng| (rng.below(6) as u16, rng.below(150) as u16);
            match rng.below(10) {
                0..4 => {
                    let writes: BTreeMap<Place, u64> = (0..=rng.below(3)).map(|_| (place(&mut rng), step)).collect();
                    let writes: Vec<(Place, u64)> = writes.into_iter().collect();
                    asked.insert(primary.start(write(&writes)), writes);
                }
                4..6 => {
                    let places: Vec<Place> = (0..=rng.below(2)).map(|_| place(&mut rng)).collect();
                    asked.insert(primary.start(read(&places)), places.into_iter().map(|place| (place, 0)).collect());
                }
                6 => primary.turn(),
                7..9 => {
                    let secondary = rng.below(2) as usize;
                    for _ in 0..rng.below(4) {
                        let Some((_, sequence, bytes)) = links[secondary].pop_front() else { break };
                        secondaries[secondary].receive(&bytes);
                        for row in engine::ReceivedRows::new(&bytes).flatten() {
                            let place = place_of(&row.key);
                            stored[secondary].insert((place, value_of(row.row)));
                        }
                        acknowledged[secondary] = sequence;
                    }
                }
                _ => {
                    // What was never sent need not be acknowledged.
                    let upto: Vec<Sequence> =
                        (0..2).map(|number| if acknowledged[number] == sent[number] { ALL } else { acknowledged[number] }).collect();
                    let upto = |set: SetId| (0..2).filter(|number| has(*number, set)).map(|number| upto[number]).min().unwrap();
                    for set in (0..3).map(SetId) {
                        let sequence = upto(set).min(primary.shard.last_written(set));
                        primary.committed(set, sequence);
                    }
                }
            }
            for written in primary.shard.written() {
                for row in engine::ReceivedRows::new(written.rows).flatten() {
                    let place = place_of(&row.key);
                    rows.insert(place, value_of(row.row));
                }
                for secondary in (0..2).filter(|number| has(*number, written.set)) {
                    links[secondary].push_back((written.set, written.sequence, written.rows.to_vec()));
                    sent[secondary] = written.sequence;
                }
            }
            primary.shard.clear_written();
            for (number, heard) in std::mem::take(&mut primary.heard) {
                let values = heard.unwrap();
                let places = asked.remove(&number).unwrap();
                let shown: Vec<u64> = if values.is_empty() { places.iter().map(|(_, value)| *value).collect() } else { values };
                for ((place, _), value) in places.iter().zip(shown) {
                    for secondary in (0..2).filter(|number| has(*number, SetId(place.0 % 3))) {
                        let there = value == 0 || stored[secondary].contains(&(*place, value));
                        assert!(there, "seed {seed}, step {step}: {value} was told of {place:?} before a secondary had it");
                    }
                }
            }
        }
        for (secondary, link) in links.iter_mut().enumerate() {
            for (_, _, bytes) in link.drain(..) {
                secondaries[secondary].receive(&bytes);
            }
        }
        for set in (0..3).map(SetId) {
            primary.committed(set, ALL);
        }
        (0..50).for_each(|_| primary.turn());
        asked.retain(|number, _| !primary.heard.contains_key(number));
        assert!(asked.is_empty(), "seed {seed}: everybody hears in the end");
        for (secondary, member) in secondaries.iter_mut().enumerate() {
            let expected: Vec<u64> = rows.iter().filter(|(place, _)| has(secondary, SetId(place.0 % 3))).map(|(_, value)| *value).collect();
            assert_eq!(member.ask(scan(0, 4095)), ok(&expected), "seed {seed}");
        }
        assert!(primary.shard.engine().stats().device_reads > 0, "rows do not fit in memory");
    }
}
