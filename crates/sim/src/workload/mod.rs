//! Writers of many kinds at once, one statement of each in flight, with a model of what they may have made.
//!
//! Each writer has keys of its own, so that the order of their writes is known; counters and registers are shared by all, and only ever
//! raised. A statement that is refused did not happen; one whose outcome is unknown may have; one that was acknowledged has.

mod check;
mod choose;
mod effect;
mod names;

pub use check::DamagedReads;

use crate::cells::{Cells, Least};
use crate::client::{Client, Reply};
use crate::machine::Machine;
use crate::statement::{Bound, Statement, text};
use base::Rng;
use effect::{Effect, Outcome, PlainChange, Row};
use names::Table;
use std::collections::BTreeMap;

/// Keys of one writer.
const KEYS: i32 = 30;
/// Rows of the partition that is only written as a whole.
const WHOLE_ROWS: i32 = 6;
/// Rows of the batches that a series is made of.
const SERIES_ROWS: i32 = 12;
/// Counters and registers that all writers raise have these numbers.
const SHARED: std::ops::Range<i32> = 900_000..900_003;
/// Partitions from here up are only written as a whole.
const WHOLE: i32 = 10_000;
/// Partitions from here up only grow.
const SERIES: i32 = 20_000;
const SERVER_ERROR: i32 = 0;
const OVERLOADED: i32 = 0x1001;
/// Protocol version 3 has no word for it but a timeout.
const READ_FAILURE: [i32; 2] = [0x1300, 0x1200];
const INVALID: i32 = 0x2200;
/// What a device that fails makes of a write: its outcome is unknown.
const WRITE_UNKNOWN: [i32; 2] = [0x1100, 0x1500];

const VOLATILE: &str = "CREATE TABLE IF NOT EXISTS ks.volatile (k text PRIMARY KEY, a int)";
const SCHEMA: [&str; 7] = [
    "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE ks.plain (k text PRIMARY KEY, a int, b text)",
    "CREATE TABLE ks.wide (k text, c int, a int, b text, PRIMARY KEY (k, c))",
    "CREATE TABLE ks.cas (k text PRIMARY KEY, a int)",
    "CREATE TABLE ks.counted (k text PRIMARY KEY, n counter)",
    "CREATE TABLE ks.lived (k text PRIMARY KEY, a int)",
    VOLATILE,
];

/// Which errors the faults of a round may cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedErrors {
    /// Nothing but the end: no error but that of a full device.
    None,
    /// Some records cannot be read.
    Reads,
    /// Some writes fail, and then all.
    Writes,
    /// Some changes of tables cannot be stored.
    Tables,
}

/// Whether a table is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    There,
    Gone,
    Unknown,
}

/// A row that ends by itself: its time to live counts from some time between these two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Lived {
    a: i32,
    expires_first_s: i64,
    expires_last_s: i64,
}

/// The models of all tables.
pub struct Workload {
    rng: Rng,
    /// Which errors the workload expects now.
    pub expected_errors: ExpectedErrors,
    plain: Cells<i32, Row>,
    /// What logged batches with an unknown outcome may still make of rows, in the order of their timestamps.
    late: Vec<(i32, PlainChange)>,
    wide: Cells<(i32, i32), Row>,
    cas: Cells<i32, Option<i32>>,
    volatile: Cells<i32, Option<i32>>,
    volatile_is: Presence,
    lived: Cells<i32, Lived>,
    counters: BTreeMap<i32, Least>,
    registers: BTreeMap<i32, Least>,
    /// How far each writer's series has come.
    series: BTreeMap<i32, i32>,
    /// In so many of a hundred, a value is large: memory then does not hold all rows.
    pub large_values: u64,
    /// Statements that were acknowledged.
    pub acknowledged: u64,
    /// Statements whose outcome is unknown.
    pub unknown: u64,
}

/// What is left of batches when a process ends is done so soon after the next start, if there is room for it.
const BATCHES_US: u64 = 500_000;

/// A client with its statement in flight.
struct Writer {
    number: i32,
    client: Client,
    waiting: Option<(i16, Effect)>,
    /// What it read of the shared registers.
    seen: Option<(i32, i32)>,
}

impl Workload {
    /// No rows yet.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let shared = || SHARED.map(|key| (key, Least::default())).collect();
        Self {
            rng: Rng::new(seed ^ 0xF00D),
            expected_errors: ExpectedErrors::None,
            plain: Cells::default(),
            late: Vec::new(),
            wide: Cells::default(),
            cas: Cells::default(),
            volatile: Cells::default(),
            volatile_is: Presence::There,
            lived: Cells::default(),
            counters: shared(),
            registers: shared(),
            series: BTreeMap::new(),
            large_values: 15,
            acknowledged: 0,
            unknown: 0,
        }
    }

    /// Makes the tables, and waits until that and the registers are durable.
    ///
    /// # Panics
    /// When the node refuses.
    pub fn create(&mut self, machine: &mut Machine) {
        let mut client = Client::any(machine, 0);
        for statement in SCHEMA {
            client.query(machine, statement).done();
        }
        for key in SHARED {
            let insert = Statement::new("INSERT INTO ks.cas (k, a) VALUES (?, 0)").bind([text(&Table::Cas.name(key))]);
            client.call(machine, &insert).done();
        }
        machine.disconnect(client.end);
        machine.sleep(300_000);
    }

    /// As [`Workload::run`], and waits for what is then in flight: for a machine that goes on.
    ///
    /// # Panics
    /// When a reply is not what it must be.
    pub fn run_to_the_end(&mut self, machine: &mut Machine, writers: i32, steps: u64) {
        for writer in &mut self.start(machine, writers, steps) {
            if let Some((stream, effect)) = writer.waiting.take() {
                let reply = writer.client.wait(machine, stream);
                self.take_reply(machine, writer, &effect, &reply);
            }
            machine.disconnect(writer.client.end);
        }
    }

    /// Writes with `writers` clients for `steps` steps of the machine, or until it is dead. What is then in flight is unknown, and must
    /// not happen later: the machine ends now.
    ///
    /// # Panics
    /// When a reply is not what it must be.
    pub fn run(&mut self, machine: &mut Machine, writers: i32, steps: u64) {
        for writer in &mut self.start(machine, writers, steps) {
            let Some((stream, effect)) = writer.waiting.take() else { continue };
            let reply = writer.client.poll(machine, stream).unwrap_or(Reply::Nothing);
            self.take_reply(machine, writer, &effect, &reply);
        }
    }

    /// The power went: what was acknowledged at or after this time may be lost.
    pub fn may_lose(&mut self, since_us: u64) {
        self.plain.may_lose(since_us);
        self.wide.may_lose(since_us);
        self.cas.may_lose(since_us);
        self.volatile.may_lose(since_us);
        self.lived.may_lose(since_us);
        for least in self.counters.values_mut().chain(self.registers.values_mut()) {
            least.may_lose(since_us);
        }
    }

    fn start(&mut self, machine: &mut Machine, writers: i32, steps: u64) -> Vec<Writer> {
        let mut all: Vec<Writer> = (0..writers)
            .map(|number| {
                let core = (number as u16) % machine.cores();
                Writer { number, client: Client::any(machine, core), waiting: None, seen: None }
            })
            .collect();
        for _ in 0..steps {
            if machine.is_dead() {
                break;
            }
            for writer in &mut all {
                self.advance(machine, writer);
            }
            machine.step();
        }
        all
    }

    /// Takes the reply of a writer, or gives it something to do.
    fn advance(&mut self, machine: &mut Machine, writer: &mut Writer) {
        if let Some((stream, effect)) = writer.waiting.take() {
            match writer.client.poll(machine, stream) {
                None => writer.waiting = Some((stream, effect)),
                Some(reply) => self.take_reply(machine, writer, &effect, &reply),
            }
        } else if self.rng.below(3) == 0 {
            let (statement, effect) = self.choose(writer, machine.now().wall_s());
            match &effect {
                Effect::Counter(key) => self.counters.get_mut(key).unwrap().attempt(),
                Effect::Register(key) => self.registers.get_mut(key).unwrap().attempt(),
                _ => {}
            }
            let stream = writer.client.send(machine, &statement);
            writer.waiting = Some((stream, effect));
        }
    }

    fn take_reply(&mut self, machine: &Machine, writer: &mut Writer, effect: &Effect, reply: &Reply) {
        let now = machine.now();
        match reply {
            Reply::Nothing => self.happened(effect, Outcome::Unknown, now.wall_s()),
            Reply::Error { code: OVERLOADED, .. } => self.refused(effect, now.wall_s()),
            Reply::Error { code, message } => {
                let expected = match self.expected_errors {
                    // It has begun, and what there is no room for is done later.
                    _ if *code == WRITE_UNKNOWN[0] && effect.is_batch() => true,
                    ExpectedErrors::None => false,
                    ExpectedErrors::Reads => READ_FAILURE.contains(code),
                    ExpectedErrors::Tables => {
                        *code == SERVER_ERROR && matches!(effect, Effect::Truncated | Effect::Dropped | Effect::Created)
                    }
                    ExpectedErrors::Writes => READ_FAILURE.contains(code) || WRITE_UNKNOWN.contains(code),
                };
                assert!(expected, "error {code:#x}: {message}");
                self.happened(effect, Outcome::Unknown, now.wall_s());
            }
            Reply::Rows { rows, .. } => self.take_rows(writer, effect, rows, now.monotonic_us, now.wall_s()),
            Reply::Done | Reply::Prepared(_) => {
                self.acknowledged += 1;
                self.happened(effect, Outcome::At(now.monotonic_us), now.wall_s());
            }
        }
    }

    fn take_rows(&mut self, writer: &mut Writer, effect: &Effect, rows: &[Vec<Bound>], at_us: u64, wall_s: i64) {
        match effect {
            Effect::ReadRegister => {
                if let [row] = rows {
                    writer.seen = Some((names::number_in(&row[0]), names::int_in(&row[1]).unwrap()));
                }
            }
            Effect::ReadPlain(key) => {
                let seen = rows.first().map(|row| (names::int_in(&row[0]), names::text_in(&row[1])));
                let possible = self.plain.of(key);
                assert!(
                    possible.contains(&seen),
                    "plain {key} is read as {}, possible are {}",
                    crate::cells::brief(&seen),
                    crate::cells::brief(&possible)
                );
            }
            Effect::Register(key) => {
                let register = self.registers.get_mut(key).unwrap();
                if rows[0][0].as_deref() == Some(&[1]) {
                    register.acknowledge(at_us);
                    self.acknowledged += 1;
                } else {
                    register.refused();
                }
            }
            _ => {
                self.acknowledged += 1;
                self.happened(effect, Outcome::At(at_us), wall_s);
            }
        }
    }

    /// A statement that was refused did nothing; of one over several partitions, some may have been done.
    fn refused(&mut self, effect: &Effect, wall_s: i64) {
        match effect {
            effect if effect.is_batch() => self.happened(effect, Outcome::Unknown, wall_s),
            Effect::Counter(key) => self.counters.get_mut(key).unwrap().refused(),
            Effect::Register(key) => self.registers.get_mut(key).unwrap().refused(),
            _ => {}
        }
    }

    /// Tells the models of a statement that was done for certain, or perhaps.
    fn happened(&mut self, effect: &Effect, outcome: Outcome, wall_s: i64) {
        self.unknown += u64::from(matches!(outcome, Outcome::Unknown));
        match effect {
            Effect::Plain(changes) => {
                for (key, change) in changes {
                    put(&mut self.plain, key, outcome, |row| change.apply(row));
                    // A batch from before has the older timestamp.
                    match change {
                        PlainChange::Insert(_) | PlainChange::Delete if matches!(outcome, Outcome::At(_)) => {
                            self.late.retain(|(late, _)| late != key);
                        }
                        PlainChange::Update(a) => self.late_under(*key, |(_, b)| (Some(*a), b)),
                        PlainChange::Clear => self.late_under(*key, |(a, _)| (a, None)),
                        _ => {}
                    }
                }
                if matches!(outcome, Outcome::Unknown) && effect.is_batch() {
                    self.late.extend(changes.iter().cloned());
                }
            }
            Effect::Wide(changes) => {
                for (key, new) in changes {
                    put(&mut self.wide, key, outcome, |_| new.clone());
                }
            }
            Effect::WidePartition(partition) => {
                for key in self.wide.keys().into_iter().filter(|(of, _)| of == partition) {
                    put(&mut self.wide, &key, outcome, |_| None);
                }
            }
            Effect::Cas { key, expected, new } => {
                put(&mut self.cas, key, outcome, |row| if *expected == row { new.map(Some) } else { row });
            }
            Effect::Volatile(key, a) => put(&mut self.volatile, key, outcome, |_| Some(Some(*a))),
            Effect::Lived { key, a, ttl_s, sent_s } => {
                let lived = Lived { a: *a, expires_first_s: sent_s + ttl_s, expires_last_s: wall_s + ttl_s };
                put(&mut self.lived, key, outcome, |_| Some(lived));
            }
            Effect::Truncated | Effect::Dropped => self.emptied(outcome, matches!(effect, Effect::Dropped)),
            Effect::Created => {
                self.volatile_is = match outcome {
                    Outcome::At(_) => Presence::There,
                    Outcome::Unknown => Presence::Unknown,
                }
            }
            Effect::Counter(key) => {
                if let Outcome::At(at_us) = outcome {
                    self.counters.get_mut(key).unwrap().acknowledge(at_us);
                }
            }
            Effect::Register(_) | Effect::ReadPlain(_) | Effect::ReadRegister => {}
        }
    }

    /// A change of one cell was made, perhaps: what late batches still write may come to lie under it.
    fn late_under(&mut self, key: i32, newer: impl Fn(Row) -> Row) {
        let under = |(late, change): &(i32, PlainChange)| match change {
            PlainChange::Insert(row) if *late == key => Some((key, PlainChange::Insert(newer(row.clone())))),
            _ => None,
        };
        for change in self.late.iter().filter_map(under).collect::<Vec<_>>() {
            if !self.late.contains(&change) {
                self.late.push(change);
            }
        }
    }

    /// The volatile table was truncated, or dropped: that is durable at once, whatever the durability of rows.
    fn emptied(&mut self, outcome: Outcome, dropped: bool) {
        for key in self.volatile.keys() {
            match outcome {
                Outcome::At(_) => self.volatile.gone_for_good(&key),
                Outcome::Unknown => self.volatile.unknown(&key, |_| None),
            }
        }
        if dropped {
            self.volatile_is = if matches!(outcome, Outcome::At(_)) { Presence::Gone } else { Presence::Unknown };
        }
    }
}

fn put<K: Ord + Clone + std::fmt::Debug, V: Ord + Clone + std::fmt::Debug>(
    cells: &mut Cells<K, V>,
    key: &K,
    outcome: Outcome,
    change: impl Fn(Option<V>) -> Option<V>,
) {
    match outcome {
        Outcome::At(at_us) => cells.known(key, at_us, change),
        Outcome::Unknown => cells.unknown(key, change),
    }
}
