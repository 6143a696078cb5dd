//! Writes of rows that are on the device: they read nothing, and nobody can tell.

use sim::{Bound, Client, Loss, Machine, Setup, Statement, int, seeds, text};
use std::collections::BTreeMap;
use std::ops::Range;

const ROWS: i32 = 4_000;

type Rows = BTreeMap<i32, (i32, i32, String)>;

struct World {
    machine: Machine,
    client: Client,
    setup: Setup,
    rows: Rows,
}

impl World {
    /// A table that memory does not hold.
    fn new(seed: u64) -> Self {
        let setup = Setup { cores: 1, capacity_bytes: 8 << 20, memory_bytes: 1_400 << 10, ..Setup::small(seed) };
        let mut machine = Machine::start(&setup);
        let mut client = Client::any(&mut machine, 0);
        client.query(&mut machine, "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").done();
        client.query(&mut machine, "CREATE TABLE ks.t (k int PRIMARY KEY, a int, b int, c text)").done();
        let mut world = Self { machine, client, setup, rows: Rows::new() };
        for key in 0..ROWS {
            world.insert(key, 0);
        }
        world.machine.sleep(500_000);
        world
    }

    fn call(&mut self, statement: &str, values: impl IntoIterator<Item = Bound>) -> Vec<Vec<Bound>> {
        match self.client.call(&mut self.machine, &Statement::new(statement).bind(values)) {
            sim::Reply::Rows { rows, .. } => rows,
            sim::Reply::Error { code, message } => panic!("{statement}: {code:#x} {message}"),
            _ => Vec::new(),
        }
    }

    fn insert(&mut self, key: i32, a: i32) {
        let long = format!("{key:0>500}");
        self.call("INSERT INTO ks.t (k, a, b, c) VALUES (?, ?, 7, ?)", [int(key), int(a), text(&long)]);
        self.rows.insert(key, (a, 7, long));
    }

    fn update(&mut self, key: i32, a: i32) {
        self.call("UPDATE ks.t SET a = ? WHERE k = ?", [int(a), int(key)]);
        self.rows.get_mut(&key).unwrap().0 = a;
    }

    fn device_reads(&self) -> u64 {
        self.machine.engine(0).stats().device_reads
    }

    fn restart(self, loss: Loss) -> Self {
        let Self { machine, setup, rows, .. } = self;
        let mut machine = Machine::restart(&setup, machine.end(loss));
        let client = Client::any(&mut machine, 0);
        Self { machine, client, setup, rows }
    }

    /// Everything by scan, and some by key.
    fn check(&mut self) {
        let read = |row: &[Bound]| {
            let int_in = |bound: &Bound| i32::from_be_bytes(bound.as_deref().unwrap().try_into().unwrap());
            (int_in(&row[1]), int_in(&row[2]), String::from_utf8(row[3].clone().unwrap()).unwrap())
        };
        let scan = Statement::new("SELECT k, a, b, c FROM ks.t");
        let scanned = self.client.pages(&mut self.machine, &scan, 100);
        let found: Rows =
            scanned.iter().map(|row| (i32::from_be_bytes(row[0].as_deref().unwrap().try_into().unwrap()), read(row))).collect();
        assert_eq!(scanned.len(), found.len(), "no row twice");
        let wrong: Vec<_> = found.iter().filter(|(key, row)| self.rows.get(key) != Some(row)).map(|(key, row)| (key, row.0)).collect();
        assert!(found == self.rows, "{} rows, expected {}; not what they are to be: {wrong:?}", found.len(), self.rows.len());
        for key in (0..ROWS).step_by(7) {
            let rows = self.call("SELECT k, a, b, c FROM ks.t WHERE k = ?", [int(key)]);
            assert_eq!(rows.first().map(|row| read(row)).as_ref(), self.rows.get(&key), "row {key}");
        }
    }
}

#[test]
fn updates_of_rows_on_the_device_read_nothing_and_are_seen_at_once() {
    for seed in seeds(3) {
        let mut world = World::new(seed);
        let before = world.device_reads();
        for key in 0..300 {
            world.update(key, key + 1);
            world.update(key, key + 2);
        }
        assert_eq!(world.device_reads(), before, "the oldest rows left memory first, and none of them was read");
        world.check();
        for key in (0..300).step_by(3) {
            world.call("DELETE FROM ks.t WHERE k = ?", [int(key)]);
            world.rows.remove(&key);
        }
        world.check();
    }
}

/// It is written whole, which leaves it in memory: a copy of what it was before would be one too many.
#[test]
fn a_row_that_was_read_for_its_delta_is_in_memory_once() {
    for seed in seeds(3) {
        let mut world = World::new(seed);
        let read = |world: &mut World, keys: Range<i32>| {
            let before = world.machine.engine(0).stats();
            for key in keys {
                let rows = world.call("SELECT a FROM ks.t WHERE k = ?", [int(key)]);
                assert_eq!(rows, [[int(world.rows[&key].0)]]);
            }
            let after = world.machine.engine(0).stats();
            (after.device_reads - before.device_reads, after.cache_inserts - before.cache_inserts)
        };
        (0..100).for_each(|key| world.update(key, key + 1));
        assert_eq!(read(&mut world, 0..100), (100, 0), "seed {seed}: with deltas");
        assert_eq!(read(&mut world, 100..200), (100, 100), "seed {seed}: without");
        assert_eq!(read(&mut world, 0..200), (0, 0), "seed {seed}: again");
    }
}

/// So is one that is read because its change is logged.
#[test]
fn a_row_that_was_read_to_be_logged_is_in_memory_once() {
    let mut world = World::new(1);
    world.call("ALTER TABLE ks.t WITH cdc = {'enabled': true}", []);
    let before = world.machine.engine(0).stats();
    (0..100).for_each(|key| world.update(key, key + 1));
    let after = world.machine.engine(0).stats();
    let (reads, copies) = (after.device_reads - before.device_reads, after.cache_inserts - before.cache_inserts);
    assert!(reads >= 100 && copies == 0, "{reads} reads, {copies} copies");
    world.check();
}

#[test]
fn updates_outlive_the_process_and_stay_forgotten_once_overtaken() {
    for seed in seeds(4) {
        let mut world = World::new(seed);
        for round in 0..6 {
            for key in (round..ROWS).step_by(11) {
                if world.rows.contains_key(&key) {
                    world.update(key, round * 10_000 + key);
                }
            }
            for key in (round..ROWS).step_by(97) {
                world.call("DELETE FROM ks.t WHERE k = ?", [int(key)]);
                world.rows.remove(&key);
            }
            if round == 3 {
                world.call("TRUNCATE ks.t", []);
                world.rows.clear();
                (0..ROWS).for_each(|key| world.insert(key, 1));
            }
            if round % 2 == 0 {
                world.check();
            }
            world.machine.sleep(500_000);
            world = world.restart([Loss::Process, Loss::Power][usize::from(seed % 2 == round as u64 % 2)]);
            world.check();
        }
    }
}
