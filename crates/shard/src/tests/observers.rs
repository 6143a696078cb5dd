//! An observer that keeps entries like an index: each has a value in its key and a copy of the row that has this value. Whatever happens,
//! the entries are a function of the rows.

use super::*;
use crate::{DerivedTruncation, Observation, decode_truncations};
use model::operation::{Position, RowChange, RowObserver, Visit};
use std::sync::{Arc, Mutex};

/// Puts an entry for the new row, and a tombstone in the place of the old row's.
struct Entries;

/// The bytes of a source row's key in its entry's clustering key.
fn entry_clustering(table: TableId, partition: &[u8], clustering: &[u8]) -> Vec<u8> {
    [&[0x10, table.0 as u8, partition.len() as u8], partition, clustering].concat()
}

impl RowObserver for Entries {
    fn changed(&self, context: &Context, change: &RowChange<'_>, _: &dyn RowStore, derived: &mut WriteSet) -> Result<(), Stop> {
        let partition = change.partition;
        let clustering = entry_clustering(partition.table, partition.bytes, change.clustering);
        if let Some(old) = change.old {
            let value = value_of(old).to_be_bytes();
            let out = derived.begin(&PartitionKey { table: ENTRIES, token: partition.token, bytes: &value }, &clustering);
            out.extend(deleted(context.timestamp_us as u64));
            derived.end(Some(context.now_s() + TTL_S));
        }
        if RowView::new(change.new).is_live(context.now_s()) {
            let value = value_of(change.new).to_be_bytes();
            let out = derived.begin(&PartitionKey { table: ENTRIES, token: partition.token, bytes: &value }, &clustering);
            out.extend_from_slice(change.new);
            derived.end(change.purge_after_s);
        }
        Ok(())
    }
}

fn entries() -> [Observation; 2] {
    [TABLE, WIDE].map(|table| Observation {
        table,
        observer: Arc::new(Entries),
        derived: vec![ENTRIES],
        truncation: DerivedTruncation::WithTable,
    })
}

/// Writes down what it is shown.
#[derive(Default)]
struct Recorder(Mutex<Vec<(Option<u64>, u64)>>);

impl RowObserver for Recorder {
    fn changed(&self, _: &Context, change: &RowChange<'_>, _: &dyn RowStore, _: &mut WriteSet) -> Result<(), Stop> {
        self.0.lock().unwrap().push((change.old.map(value_of), value_of(change.new)));
        Ok(())
    }
}

/// Partition, clustering key and bytes of each live row.
type Rows = BTreeMap<(i64, Vec<u8>, Vec<u8>), Vec<u8>>;

/// Reads the live rows of a table.
struct Collect(TableId, Arc<Mutex<Rows>>);

impl Operation for Collect {
    fn run(&self, context: &Context, store: &dyn RowStore, _: &mut WriteSet, _: &mut Vec<u8>) -> Result<(), Stop> {
        let mut rows = self.1.lock().unwrap();
        rows.clear();
        let from = Position { token: Token(i64::MIN), partition: &[], clustering: &[] };
        store.scan_table(self.0, from, Token(i64::MAX), &mut |found| {
            if RowView::new(found.row).is_live(context.now_s()) {
                let key = (found.partition.token.0, found.partition.bytes.to_vec(), found.clustering.to_vec());
                rows.insert(key, found.row.to_vec());
            }
            Visit::Continue
        })
    }
}

impl Member {
    fn live_rows(&mut self, table: TableId) -> Rows {
        let rows = Arc::new(Mutex::new(Rows::new()));
        self.next_ticket += 1;
        let number = self.next_ticket;
        let context = self.shard.context(self.now);
        let operation = Box::new(Collect(table, Arc::clone(&rows)));
        match self.shard.run_with(&context, Access::AnyReplica, &*operation, &mut Vec::new()) {
            Outcome::Waits => self.shard.park(Ticket([number, 0]), operation),
            outcome => {
                assert!(matches!(outcome, Outcome::Done | Outcome::Unsynced(_)), "{outcome:?}");
                self.heard.insert(number, Ok(Vec::new()));
            }
        }
        while self.heard.remove(&number).is_none() {
            self.turn();
        }
        std::mem::take(&mut rows.lock().unwrap())
    }

    /// The entries that there should be, and those that there are.
    fn expected_and_found(&mut self) -> (Rows, Rows) {
        let mut expected = Rows::new();
        for table in [TABLE, WIDE] {
            for ((token, partition, clustering), row) in self.live_rows(table) {
                let key = (token, value_of(&row).to_be_bytes().to_vec(), entry_clustering(table, &partition, &clustering));
                expected.insert(key, row);
            }
        }
        (expected, self.live_rows(ENTRIES))
    }

    fn check_entries(&mut self, what: &str) {
        let (expected, found) = self.expected_and_found();
        let keys = |rows: &Rows| rows.keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(keys(&found), keys(&expected), "{what}: the entries are a function of the rows");
        assert!(found == expected, "{what}: an entry has the bytes of its row");
    }

    /// The places that have a live row, with their values.
    fn values(&mut self) -> BTreeMap<Place, u64> {
        let mut values = BTreeMap::new();
        for table in [TABLE, WIDE] {
            for ((token, partition, clustering), row) in self.live_rows(table) {
                let key = engine::Key { table, token: Token(token), partition: &partition, clustering: &clustering };
                values.insert(place_of(&key), value_of(&row));
            }
        }
        values
    }

    fn observe(&mut self) {
        self.shard.set_observers(entries().into_iter());
    }
}

/// Values come again, so that old and new entries of different rows meet.
const VALUES: u64 = 6;

fn random_place(rng: &mut Rng) -> Place {
    let number = if rng.below(3) == 0 { WIDE_FROM + rng.below(30) as u16 } else { rng.below(60) as u16 };
    (rng.below(4) as u16, number)
}

/// One operation that writes some rows, each once.
fn random_work(rng: &mut Rng) -> Work {
    let mut work = Work::default();
    let places: BTreeSet<Place> = (0..=rng.below(3)).map(|_| random_place(rng)).collect();
    for place in places {
        let value = 1 + rng.below(VALUES);
        match rng.below(6) {
            0 => work.removes.push(place),
            1 => work.expiring.push((place, value)),
            2 | 3 if place.1 < WIDE_FROM => work.updates.push((place, value)),
            _ => work.writes.push((place, value)),
        }
    }
    work
}

/// What an operation does to a model in which nothing expires by itself: `None` is a row that may be gone.
fn apply(work: &Work, model: &mut BTreeMap<Place, Option<u64>>, uncertain: &mut BTreeSet<Place>) {
    for (place, value) in &work.writes {
        model.insert(*place, Some(*value));
        uncertain.remove(place);
    }
    for place in &work.removes {
        model.insert(*place, None);
        uncertain.remove(place);
    }
    // An update merges by write timestamp, which is the value here; an expiring row may be gone.
    let merged = work.updates.iter().chain(&work.expiring).map(|(place, _)| *place);
    uncertain.extend(merged);
}

#[test]
fn entries_are_a_function_of_the_rows_through_kills_and_losses_of_power() {
    let (mut parked, mut expired) = (0, 0);
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        let durability = if seed % 2 == 0 { Durability::Memory } else { Durability::Device };
        let mut member = Member::new(600 << 10, durability);
        member.observe();
        let (mut model, mut uncertain) = (BTreeMap::new(), BTreeSet::new());
        for step in 0..600 {
            let what = format!("seed {seed}, step {step}");
            match rng.below(60) {
                0 => {
                    // Some operations are under way when the process ends, or the machine.
                    let started: Vec<(u64, Work)> = (0..4)
                        .map(|_| {
                            let work = random_work(&mut rng);
                            (member.start(work.clone()), work)
                        })
                        .collect();
                    for (number, work) in started {
                        match member.heard.remove(&number) {
                            Some(heard) => {
                                heard.unwrap();
                                apply(&work, &mut model, &mut uncertain);
                            }
                            None => {
                                let places = work.writes.iter().chain(&work.updates).chain(&work.expiring).map(|(place, _)| *place);
                                uncertain.extend(places.chain(work.removes));
                            }
                        }
                    }
                    member = if durability == Durability::Memory { member.restart() } else { member.restart_without_power() };
                    member.observe();
                    member.check_entries(&what);
                }
                1 if rng.below(4) == 0 => {
                    let table = if rng.below(2) == 0 { TABLE } else { WIDE };
                    // Entries of both tables are in one: the other one is emptied, too.
                    let blobs = [table, if table == TABLE { WIDE } else { TABLE }].map(|table| member.shard.truncate(table));
                    member.truncations = decode_truncations(&blobs[1]).unwrap();
                    member.shard.truncation_stored();
                    model.clear();
                    uncertain.clear();
                    member.check_entries(&what);
                }
                2 => {
                    member.now.wall_us += i64::from(2 * TTL_S) * 1_000_000;
                    expired += 1;
                    member.check_entries(&what);
                }
                3 => member.check_entries(&what),
                _ => {
                    let work = random_work(&mut rng);
                    let number = member.start(work.clone());
                    parked += u64::from(!member.heard.contains_key(&number));
                    while !member.heard.contains_key(&number) {
                        member.turn();
                    }
                    member.heard.remove(&number).unwrap().unwrap();
                    apply(&work, &mut model, &mut uncertain);
                }
            }
        }
        member.check_entries(&format!("seed {seed}, the end"));
        let values = member.values();
        for (place, value) in model.iter().filter(|(place, _)| !uncertain.contains(place)) {
            assert_eq!(values.get(place), value.as_ref(), "seed {seed}: {place:?}");
        }
    }
    assert!(parked > 100 && expired > 25, "{parked} operations waited for an old row, {expired} times rows expired");
}

#[test]
fn the_check_notices_one_change_that_nobody_observed() {
    for planted in [write(&[((1, 3), 5)]), Work { removes: vec![(1, 3)], ..Work::default() }] {
        let mut member = Member::new(600 << 10, Durability::Memory);
        member.observe();
        member.ask(write(&[((1, 3), 2), ((2, 4), 2)])).unwrap().unwrap();
        member.check_entries("before");
        member.shard.set_observers(std::iter::empty());
        member.ask(planted).unwrap().unwrap();
        let (expected, found) = member.expected_and_found();
        assert_ne!(found, expected);
    }
}

#[test]
fn secondaries_get_a_row_and_its_entries_in_one_piece() {
    for seed in 0..10 {
        let mut rng = Rng::new(seed);
        let slots: Vec<(u16, Serving)> = (0..4).map(|slot| (slot, Serving::With(SetId(slot % 2)))).collect();
        let mut primary = Member::primary(600 << 10, &slots);
        primary.shard.set_replicated([TABLE, WIDE, ENTRIES].map(|table| (table, KEYSPACE)).into_iter());
        primary.observe();
        // It has no observers: what follows from a row comes with the row.
        let mut secondary = Member::new(600 << 10, Durability::Memory);
        for step in 0..150 {
            let number = primary.start(random_work(&mut rng));
            for _ in 0..200 {
                let pieces: Vec<(SetId, Sequence, Vec<u8>)> =
                    primary.shard.written().map(|written| (written.set, written.sequence, written.rows.to_vec())).collect();
                primary.shard.clear_written();
                for (set, sequence, rows) in pieces {
                    secondary.now.wall_us = primary.now.wall_us;
                    secondary.receive(&rows);
                    if step % 10 == 0 {
                        secondary.check_entries(&format!("seed {seed}, step {step}"));
                    }
                    primary.committed(set, sequence);
                }
                if primary.heard.contains_key(&number) {
                    break;
                }
                primary.turn();
            }
            primary.heard.remove(&number).unwrap().unwrap();
        }
        secondary.now.wall_us = primary.now.wall_us;
        secondary.check_entries("the end");
        assert!(secondary.expected_and_found() == primary.expected_and_found(), "seed {seed}");
    }
}

#[test]
fn the_old_image_has_what_was_kept_as_a_delta() {
    let mut member = Member::new(600 << 10, Durability::Memory);
    let update = |value| Work { updates: vec![((1, 3), value)], ..Work::default() };
    let fill = |member: &mut Member| {
        for round in 0..300 {
            let others: Vec<(Place, u64)> = (0..10).map(|row| ((2, 10 * (round % 90) + row), 1)).collect();
            member.ask(write(&others)).unwrap().unwrap();
            member.turn();
        }
    };
    member.ask(write(&[((1, 3), 2)])).unwrap().unwrap();
    fill(&mut member);
    let deltas = |member: &Member| member.shard.engine().table_rows(engine::resident_of(TABLE));
    member.ask(update(4)).unwrap().unwrap();
    assert_eq!(deltas(&member), 1, "the row is on the device");
    let recorder = Arc::new(Recorder::default());
    let observation = Observation {
        table: TABLE,
        observer: Arc::clone(&recorder) as Arc<dyn RowObserver>,
        derived: Vec::new(),
        truncation: DerivedTruncation::WithTable,
    };
    member.shard.set_observers(std::iter::once(observation));
    member.ask(update(6)).unwrap().unwrap();
    fill(&mut member);
    let seen: Vec<_> = std::mem::take(&mut *recorder.0.lock().unwrap());
    assert_eq!(seen.first(), Some(&(Some(4), 6)));
    member.ask(update(8)).unwrap().unwrap();
    assert_eq!((recorder.0.lock().unwrap().last(), deltas(&member)), (Some(&(Some(6), 8)), 0), "no new delta is kept");
}

/// Copies each row that it sees to another table.
struct Copies(TableId);

impl RowObserver for Copies {
    fn changed(&self, _: &Context, change: &RowChange<'_>, _: &dyn RowStore, derived: &mut WriteSet) -> Result<(), Stop> {
        let Self(table) = *self;
        derived.begin(&PartitionKey { table, ..change.partition }, change.clustering).extend_from_slice(change.new);
        derived.end(change.purge_after_s);
        Ok(())
    }
}

fn copies(table: TableId, to: TableId) -> Observation {
    Observation { table, observer: Arc::new(Copies(to)), derived: vec![to], truncation: DerivedTruncation::WithTable }
}

#[test]
fn what_is_derived_can_be_observed_and_is_truncated_as_well() {
    let mut member = Member::new(600 << 10, Durability::Memory);
    member.shard.set_observers([copies(TABLE, WIDE), copies(WIDE, ENTRIES)].into_iter());
    member.ask(write(&[((1, 3), 2), ((2, 4), 7)])).unwrap().unwrap();
    let counts = |member: &mut Member| [TABLE, WIDE, ENTRIES].map(|table| member.live_rows(table).len());
    assert_eq!(counts(&mut member), [2, 2, 2]);
    let marks = decode_truncations(&member.shard.truncate(TABLE)).unwrap();
    assert!([TABLE, WIDE, ENTRIES].iter().all(|table| marks.contains_key(table)), "{marks:?}");
    assert_eq!(counts(&mut member), [0, 0, 0]);
}

#[test]
fn what_says_what_was_stays_when_its_table_is_truncated() {
    let mut member = Member::new(600 << 10, Durability::Memory);
    let stays = Observation { truncation: DerivedTruncation::Stays, ..copies(TABLE, WIDE) };
    member.shard.set_observers([stays, copies(WIDE, ENTRIES)].into_iter());
    member.ask(write(&[((1, 3), 2), ((2, 4), 7)])).unwrap().unwrap();
    let marks = decode_truncations(&member.shard.truncate(TABLE)).unwrap();
    assert!(marks.contains_key(&TABLE) && ![WIDE, ENTRIES].iter().any(|table| marks.contains_key(table)), "{marks:?}");
    assert_eq!([TABLE, WIDE, ENTRIES].map(|table| member.live_rows(table).len()), [0, 2, 2]);
}

#[test]
#[should_panic(expected = "table 5 is derived from itself")]
fn no_table_is_derived_from_itself() {
    let mut member = Member::new(600 << 10, Durability::Memory);
    member.shard.set_observers([copies(TABLE, WIDE), copies(WIDE, TABLE)].into_iter());
}

#[test]
fn a_group_that_is_too_large_with_its_entries_is_refused_whole() {
    let mut member = Member::new(600 << 10, Durability::Memory);
    member.ask(write(&(0..9).map(|row| ((1, row), 3)).collect::<Vec<_>>())).unwrap().unwrap();
    member.observe();
    let refused = member.ask(write(&(20..29).map(|row| ((1, row), 3)).collect::<Vec<_>>())).unwrap();
    assert!(matches!(refused, Err(ShardError::TooLarge { .. })), "{refused:?}");
    assert_eq!((member.live_rows(TABLE).len(), member.live_rows(ENTRIES).len()), (9, 0));
}
