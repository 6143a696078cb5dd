//! Writers of many kinds at once, one statement of each in flight, with a model of what they may have made.

use crate::model::Cells;
use crate::support::{Client, Machine, Reply, Statement, int, text};
use base::Rng;
use cql::wire::BatchKind;
use std::collections::BTreeMap;

/// Keys of one writer.
const KEYS: i32 = 30;
/// Rows of the partition that is only written as a whole.
const WHOLE_ROWS: i32 = 6;
/// Counters and registers that all writers raise.
const SHARED: i32 = 3;
const OVERLOADED: i32 = 0x1001;
const READ_FAILURE: i32 = 0x1300;
/// What a device that fails makes of a write: its outcome is unknown.
const WRITE_UNKNOWN: [i32; 2] = [0x1100, 0x1500];

type Row = (Option<i32>, Option<String>);

const SCHEMA: [&str; 6] = [
    "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE ks.plain (k int PRIMARY KEY, a int, b text)",
    "CREATE TABLE ks.wide (k int, c int, a int, b text, PRIMARY KEY (k, c))",
    "CREATE TABLE ks.cas (k int PRIMARY KEY, a int)",
    "CREATE TABLE ks.counted (k int PRIMARY KEY, n counter)",
    "CREATE TABLE ks.volatile (k int PRIMARY KEY, a int)",
];

/// Whether acknowledged writes must survive what is going to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    Kept,
    /// The power will go before the device has them.
    Open,
}

/// Whether writes may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    Working,
    Failing,
}

/// Acknowledged and attempted increments.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    acknowledged: i64,
    attempted: i64,
}

/// The models of all tables.
pub(crate) struct Workload {
    dice: Rng,
    promise: Promise,
    pub(crate) device: Device,
    plain: Cells<i32, Row>,
    wide: Cells<(i32, i32), Row>,
    cas: Cells<i32, Option<i32>>,
    volatile: Cells<i32, Option<i32>>,
    counters: BTreeMap<i32, Bounds>,
    registers: BTreeMap<i32, Bounds>,
    pub(crate) acknowledged: u64,
    /// Every reply, in order.
    pub(crate) transcript: Vec<String>,
}

/// How reads of a damaged node came out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DamagedReads {
    pub(crate) right: u32,
    /// A version that was overwritten, or no row: the last one's record is gone.
    pub(crate) older: u32,
    pub(crate) failed: u32,
}

/// What a statement in flight will have done.
enum Effect {
    Plain(Vec<(i32, PlainChange)>),
    Wide(Vec<((i32, i32), Option<Row>)>),
    Cas { key: i32, expected: Option<Option<i32>>, new: Option<i32> },
    Counter(i32),
    Register(i32),
    Volatile(i32, i32),
    Truncated,
    Nothing,
}

#[derive(Clone)]
enum PlainChange {
    Insert(Row),
    Update(i32),
    Clear,
    Delete,
}

impl PlainChange {
    fn apply(&self, row: Option<Row>) -> Option<Row> {
        match self {
            Self::Insert(new) => Some(new.clone()),
            Self::Update(a) => Some((Some(*a), row.and_then(|(_, b)| b))),
            Self::Clear => row.map(|(a, _)| (a, None)),
            Self::Delete => None,
        }
    }
}

/// A client with its statement in flight.
struct Writer {
    number: i32,
    client: Client,
    waiting: Option<(i16, Effect)>,
    /// What it read of the shared registers.
    seen: Option<(i32, i32)>,
}

impl Workload {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            dice: Rng::new(seed ^ 0xF00D),
            promise: Promise::Kept,
            device: Device::Working,
            plain: Cells::new(),
            wide: Cells::new(),
            cas: Cells::new(),
            volatile: Cells::new(),
            counters: (-SHARED..0).map(|key| (key, Bounds::default())).collect(),
            registers: (-SHARED..0).map(|key| (key, Bounds::default())).collect(),
            acknowledged: 0,
            transcript: Vec::new(),
        }
    }

    /// What is acknowledged from here on is kept, or need not be.
    pub(crate) fn promise(&mut self, promise: Promise) {
        self.promise = promise;
    }

    pub(crate) fn create(&mut self, machine: &mut Machine) {
        let mut client = Client::any(machine, 0);
        for statement in SCHEMA {
            client.query(machine, statement).done();
        }
        for key in -SHARED..0 {
            client.call(machine, &Statement::new("INSERT INTO ks.cas (k, a) VALUES (?, 0)").bind([int(key)])).done();
        }
    }

    /// As [`Workload::run`], and waits for what is then in flight: for a machine that goes on.
    pub(crate) fn run_to_the_end(&mut self, machine: &mut Machine, writers: i32, steps: u64) {
        for writer in &mut self.start(machine, writers, steps) {
            if let Some((stream, effect)) = writer.waiting.take() {
                let reply = writer.client.wait(machine, stream);
                self.take_reply(writer, &effect, &reply);
            }
            machine.hang_up(writer.client.end);
        }
    }

    /// Writes with `writers` clients for `steps` steps of the machine, or until it is dead. What is then in flight is unknown, and must
    /// not happen later: the machine ends now.
    pub(crate) fn run(&mut self, machine: &mut Machine, writers: i32, steps: u64) {
        for writer in &mut self.start(machine, writers, steps) {
            let Some((stream, effect)) = writer.waiting.take() else { continue };
            match writer.client.poll(machine, stream) {
                Some(Reply::Nothing) | None => self.happened(&effect, false),
                Some(reply) => self.take_reply(writer, &effect, &reply),
            }
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
                Some(Reply::Nothing) => self.happened(&effect, false),
                Some(reply) => self.take_reply(writer, &effect, &reply),
            }
        } else if self.dice.below(3) == 0 {
            let (statement, effect) = self.choose(writer);
            if let Effect::Counter(key) | Effect::Register(key) = effect {
                let bounds = if matches!(effect, Effect::Counter(_)) { &mut self.counters } else { &mut self.registers };
                bounds.get_mut(&key).unwrap().attempted += 1;
            }
            let stream = writer.client.send(machine, &statement);
            writer.waiting = Some((stream, effect));
        }
    }

    fn take_reply(&mut self, writer: &mut Writer, effect: &Effect, reply: &Reply) {
        self.transcript.push(format!("{} {reply:?}", writer.number));
        match reply {
            Reply::Error { code: OVERLOADED, .. } => {}
            Reply::Error { code, .. } if self.device == Device::Failing && WRITE_UNKNOWN.contains(code) => self.happened(effect, false),
            Reply::Error { code, message } => panic!("error {code:#x}: {message}"),
            Reply::Rows { rows, .. } if matches!(effect, Effect::Nothing) => {
                // A read of a register.
                if let [row] = rows.as_slice() {
                    writer.seen = Some((number(&row[0]).unwrap(), number(&row[1]).unwrap()));
                }
            }
            Reply::Rows { rows, .. } if matches!(effect, Effect::Register(_)) => {
                let Effect::Register(key) = effect else { return };
                let bounds = self.registers.get_mut(key).unwrap();
                if rows[0][0].as_deref() == Some(&[1]) {
                    bounds.acknowledged += i64::from(self.promise == Promise::Kept);
                    self.acknowledged += 1;
                } else {
                    bounds.attempted -= 1;
                }
            }
            _ => {
                self.acknowledged += 1;
                self.happened(effect, self.promise == Promise::Kept);
            }
        }
    }

    /// Tells the models of a statement that was done for certain, or perhaps.
    fn happened(&mut self, effect: &Effect, known: bool) {
        match effect {
            Effect::Plain(changes) => {
                for (key, change) in changes {
                    put(&mut self.plain, key, known, |row| change.apply(row));
                }
            }
            Effect::Wide(changes) => {
                for (key, new) in changes {
                    put(&mut self.wide, key, known, |_| new.clone());
                }
            }
            Effect::Cas { key, expected, new } => {
                put(&mut self.cas, key, known, |row| if *expected == row { new.map(Some) } else { row });
            }
            Effect::Volatile(key, a) => put(&mut self.volatile, key, known, |_| Some(Some(*a))),
            Effect::Truncated => {
                for key in self.volatile.keys() {
                    put(&mut self.volatile, &key, known, |_| None);
                }
            }
            Effect::Counter(key) => {
                self.counters.get_mut(key).unwrap().acknowledged += i64::from(known);
            }
            Effect::Register(_) | Effect::Nothing => {}
        }
    }

    fn choose(&mut self, writer: &mut Writer) -> (Statement, Effect) {
        let key = writer.number * KEYS + self.dice.below(KEYS as u64) as i32;
        let a = self.dice.below(1 << 30) as i32;
        match self.dice.below(14) {
            0..4 => self.choose_plain(key, a),
            4..6 => self.choose_wide(writer.number, a),
            6 => {
                let partition = 10_000 + writer.number;
                let insert =
                    |c| Statement::new("INSERT INTO ks.wide (k, c, a, b) VALUES (?, ?, ?, 'whole')").bind([int(partition), int(c), int(a)]);
                let row = Some((Some(a), Some("whole".to_owned())));
                let changes = (0..WHOLE_ROWS).map(|c| ((partition, c), row.clone())).collect();
                (Statement::batch(BatchKind::Unlogged, (0..WHOLE_ROWS).map(insert).collect()), Effect::Wide(changes))
            }
            7 => {
                let first = writer.number * KEYS;
                let keys: Vec<i32> = (first..first + KEYS).filter(|_| self.dice.below(6) == 0).collect();
                if keys.is_empty() {
                    return self.choose_plain(key, a);
                }
                let insert = |key: &i32| Statement::new("INSERT INTO ks.plain (k, a, b) VALUES (?, ?, 'many')").bind([int(*key), int(a)]);
                let row = (Some(a), Some("many".to_owned()));
                let changes = keys.iter().map(|key| (*key, PlainChange::Insert(row.clone()))).collect();
                (Statement::batch(BatchKind::Logged, keys.iter().map(insert).collect()), Effect::Plain(changes))
            }
            8 => self.choose_cas(key, a),
            9 => {
                let key = -1 - self.dice.below(SHARED as u64) as i32;
                // As drivers do, and in no order: a counter must not care.
                let timestamp = 1_700_000_000_000_000 + self.dice.below(1_000_000) as i64;
                (Statement::new("UPDATE ks.counted SET n = n + 1 WHERE k = ?").bind([int(key)]).at(timestamp), Effect::Counter(key))
            }
            10 | 11 => match writer.seen.take() {
                None => {
                    let key = -1 - self.dice.below(SHARED as u64) as i32;
                    (Statement::new("SELECT k, a FROM ks.cas WHERE k = ?").bind([int(key)]), Effect::Nothing)
                }
                Some((key, seen)) => {
                    let statement = Statement::new("UPDATE ks.cas SET a = ? WHERE k = ? IF a = ?");
                    (statement.bind([int(seen + 1), int(key), int(seen)]), Effect::Register(key))
                }
            },
            // Only one writer, so that what is truncated is known.
            _ if writer.number != 0 => self.choose_plain(key, a),
            _ if self.dice.below(8) == 0 => (Statement::new("TRUNCATE ks.volatile"), Effect::Truncated),
            _ => (Statement::new("INSERT INTO ks.volatile (k, a) VALUES (?, ?)").bind([int(key), int(a)]), Effect::Volatile(key, a)),
        }
    }

    fn choose_plain(&mut self, key: i32, a: i32) -> (Statement, Effect) {
        let (statement, change) = match self.dice.below(6) {
            0..3 => {
                let b = "b".repeat(self.dice.below([10, 300, 9_000][self.dice.clone().below(3) as usize]) as usize);
                let statement = Statement::new("INSERT INTO ks.plain (k, a, b) VALUES (?, ?, ?)").bind([int(key), int(a), text(&b)]);
                (statement, PlainChange::Insert((Some(a), Some(b))))
            }
            3 => (Statement::new("UPDATE ks.plain SET a = ? WHERE k = ?").bind([int(a), int(key)]), PlainChange::Update(a)),
            4 => (Statement::new("DELETE b FROM ks.plain WHERE k = ?").bind([int(key)]), PlainChange::Clear),
            _ => (Statement::new("DELETE FROM ks.plain WHERE k = ?").bind([int(key)]), PlainChange::Delete),
        };
        (statement, Effect::Plain(vec![(key, change)]))
    }

    fn choose_wide(&mut self, partition: i32, a: i32) -> (Statement, Effect) {
        let c = self.dice.below(60) as i32;
        if self.dice.below(5) > 0 {
            let b = "w".repeat(self.dice.below(500) as usize);
            let statement = Statement::new("INSERT INTO ks.wide (k, c, a, b) VALUES (?, ?, ?, ?)");
            let statement = statement.bind([int(partition), int(c), int(a), text(&b)]);
            return (statement, Effect::Wide(vec![((partition, c), Some((Some(a), Some(b))))]));
        }
        let end = c + self.dice.below(12) as i32;
        let statement = Statement::new("DELETE FROM ks.wide WHERE k = ? AND c >= ? AND c < ?").bind([int(partition), int(c), int(end)]);
        (statement, Effect::Wide((c..end).map(|c| ((partition, c), None)).collect()))
    }

    fn choose_cas(&mut self, key: i32, a: i32) -> (Statement, Effect) {
        match self.cas.of(&key).into_iter().next().flatten() {
            None => {
                let statement = Statement::new("INSERT INTO ks.cas (k, a) VALUES (?, ?) IF NOT EXISTS").bind([int(key), int(a)]);
                (statement, Effect::Cas { key, expected: None, new: Some(a) })
            }
            Some(expected) if self.dice.below(4) > 0 => {
                let old = expected.and_then(int);
                let statement = Statement::new("UPDATE ks.cas SET a = ? WHERE k = ? IF a = ?").bind([int(a), int(key), old]);
                (statement, Effect::Cas { key, expected: Some(expected), new: Some(a) })
            }
            Some(expected) => {
                let old = expected.and_then(int);
                let statement = Statement::new("DELETE FROM ks.cas WHERE k = ? IF a = ?").bind([int(key), old]);
                (statement, Effect::Cas { key, expected: Some(expected), new: None })
            }
        }
    }

    /// Reads everything that can be read of a node whose device was damaged: errors are fine, values that nobody wrote are not.
    pub(crate) fn check_damaged(&mut self, machine: &mut Machine) -> DamagedReads {
        let mut client = Client::any(machine, 0);
        let mut reads = DamagedReads::default();
        for key in self.plain.keys() {
            match client.call(machine, &Statement::new("SELECT a, b FROM ks.plain WHERE k = ?").bind([int(key)])) {
                Reply::Rows { rows, .. } => {
                    let row = rows.first().map(|row| (number(&row[0]), words(&row[1])));
                    let filler = row.as_ref().and_then(|(_, b)| b.as_deref()).unwrap_or("");
                    let written = matches!(filler, "many") || filler.bytes().all(|byte| byte == b'b');
                    assert!(written, "row {key} holds what nobody wrote: {filler:?}");
                    if self.plain.of(&key).contains(&row) { reads.right += 1 } else { reads.older += 1 }
                }
                Reply::Error { code: READ_FAILURE, .. } => reads.failed += 1,
                other => panic!("row {key}: {other:?}"),
            }
        }
        for table in ["plain", "wide", "cas", "counted", "volatile"] {
            match client.query(machine, &format!("SELECT * FROM ks.{table}")) {
                Reply::Rows { .. } | Reply::Error { code: READ_FAILURE, .. } => {}
                other => panic!("{table}: {other:?}"),
            }
        }
        reads
    }

    /// Reads everything, by scans and by key, through a core that chance picks, and compares.
    pub(crate) fn check(&mut self, machine: &mut Machine) {
        let cores = u64::from(machine.cores());
        let core = machine.dice().below(cores) as u16;
        let mut client = Client::any(machine, core);
        let page = 1 + self.dice.below(60) as u32;
        let mut all = |client: &mut Client, text: &str| client.pages(machine, &Statement::new(text), page);
        let plain = all(&mut client, "SELECT k, a, b FROM ks.plain");
        let wide = all(&mut client, "SELECT k, c, a, b FROM ks.wide");
        let cas = all(&mut client, "SELECT k, a FROM ks.cas");
        let counted = all(&mut client, "SELECT k, n FROM ks.counted");
        let volatile = all(&mut client, "SELECT k, a FROM ks.volatile");
        let total = plain.len();
        let plain: BTreeMap<i32, Row> = plain.iter().map(|row| (number(&row[0]).unwrap(), (number(&row[1]), words(&row[2])))).collect();
        assert_eq!(plain.len(), total, "a row came twice");
        self.plain.check(&plain, "plain");
        let wide: BTreeMap<(i32, i32), Row> =
            wide.iter().map(|row| ((number(&row[0]).unwrap(), number(&row[1]).unwrap()), (number(&row[2]), words(&row[3])))).collect();
        for partition in wide.keys().map(|(k, _)| *k).filter(|k| *k >= 10_000) {
            let whole: Vec<_> = (0..WHOLE_ROWS).map(|c| wide.get(&(partition, c))).collect();
            assert!(whole.iter().all(|row| *row == whole[0]), "a batch of one partition was done in part: {whole:?}");
        }
        self.wide.check(&wide, "wide");
        let (registers, cas): (Vec<_>, Vec<_>) =
            cas.iter().map(|row| (number(&row[0]).unwrap(), number(&row[1]))).partition(|(key, _)| *key < 0);
        self.cas.check(&cas.into_iter().collect(), "cas");
        check_bounds(&mut self.registers, registers.into_iter().map(|(key, a)| (key, i64::from(a.unwrap_or(0)))), "register");
        let counted =
            counted.iter().map(|row| (number(&row[0]).unwrap(), i64::from_be_bytes(row[1].as_deref().unwrap().try_into().unwrap())));
        check_bounds(&mut self.counters, counted, "counter");
        self.volatile.check(&volatile.iter().map(|row| (number(&row[0]).unwrap(), number(&row[1]))).collect(), "volatile");
        for key in self.plain.keys().into_iter().filter(|_| self.dice.below(4) == 0) {
            let rows = client.call(machine, &Statement::new("SELECT a, b FROM ks.plain WHERE k = ?").bind([int(key)])).rows();
            let row = rows.first().map(|row| (number(&row[0]), words(&row[1])));
            assert_eq!(row.as_ref(), plain.get(&key), "row {key}: by key and by scan");
        }
        machine.hang_up(client.end);
    }
}

fn put<K: Ord + Clone + std::fmt::Debug, V: Ord + Clone + std::fmt::Debug>(
    cells: &mut Cells<K, V>,
    key: &K,
    known: bool,
    change: impl Fn(Option<V>) -> Option<V>,
) {
    if known { cells.known(key, change) } else { cells.unknown(key, change) }
}

fn check_bounds(all: &mut BTreeMap<i32, Bounds>, rows: impl Iterator<Item = (i32, i64)>, what: &str) {
    let rows: BTreeMap<i32, i64> = rows.collect();
    for (key, bounds) in all {
        let seen = rows.get(key).copied().unwrap_or(0);
        assert!((bounds.acknowledged..=bounds.attempted).contains(&seen), "{what} {key} is {seen}: {bounds:?}");
        *bounds = Bounds { acknowledged: seen, attempted: seen };
    }
}

fn number(cell: &Option<Vec<u8>>) -> Option<i32> {
    cell.as_deref().map(|bytes| i32::from_be_bytes(bytes.try_into().unwrap()))
}

fn words(cell: &Option<Vec<u8>>) -> Option<String> {
    cell.as_ref().map(|bytes| String::from_utf8(bytes.clone()).unwrap())
}
