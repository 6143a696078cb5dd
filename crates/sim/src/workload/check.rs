//! Reads everything there is and compares it with the models.

use super::names::{Table, count_in, int_in, number_in, text_in};
use super::{BATCHES_US, INVALID, Lived, Presence, READ_FAILURE, Row, WHOLE, WHOLE_ROWS, Workload};
use crate::cells::{Cells, Least, brief};
use crate::client::{Client, Reply};
use crate::explain::{Explainer, Reported};
use crate::machine::Machine;
use crate::statement::{Bound, Statement, text};
use sim_disk::Fault;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// How reads of a node came out whose device had been corrupted.
#[derive(Clone, Debug, Default)]
pub struct DamagedReads {
    /// As if nothing had been.
    pub right: u64,
    /// Errors: something is damaged.
    pub failed: u64,
    /// An older version or no row, where the node knows of damage.
    pub older: u64,
    /// An older version or no row, and nobody can notice: by the faults that explain it.
    pub silent: BTreeMap<BTreeSet<Fault>, u64>,
}

impl DamagedReads {
    /// Adds another count.
    pub fn add(&mut self, other: &Self) {
        self.right += other.right;
        self.failed += other.failed;
        self.older += other.older;
        for (faults, count) in &other.silent {
            *self.silent.entry(faults.clone()).or_default() += count;
        }
    }
}

impl Workload {
    /// Reads everything, by scans and by key, through a core that chance picks, and compares.
    ///
    /// # Panics
    /// When something is not what it must be.
    pub fn check(&mut self, machine: &mut Machine) {
        machine.sleep(BATCHES_US);
        if machine.unfinished_batches() == 0 {
            self.late.clear();
        }
        let cores = u64::from(machine.cores());
        let core = machine.rng().below(cores) as u16;
        let mut client = Client::any(machine, core);
        let page = 5 + self.rng.below(200) as u32;
        let mut all = |client: &mut Client, text: &str| client.pages(machine, &Statement::new(text), page);
        let plain =
            unique(all(&mut client, "SELECT k, a, b FROM ks.plain"), |row| number_in(&row[0]), |row| (int_in(&row[1]), text_in(&row[2])));
        let wide = all(&mut client, "SELECT k, c, a, b FROM ks.wide");
        let wide = unique(wide, |row| (number_in(&row[0]), int_in(&row[1]).unwrap()), |row| (int_in(&row[2]), text_in(&row[3])));
        let mut cas = unique(all(&mut client, "SELECT k, a FROM ks.cas"), |row| number_in(&row[0]), |row| int_in(&row[1]));
        let counted = unique(all(&mut client, "SELECT k, n FROM ks.counted"), |row| number_in(&row[0]), |row| count_in(&row[1]));
        self.plain.check(&plain, "plain");
        for (key, change) in &self.late {
            self.plain.unknown(key, |row| change.apply(row));
        }
        check_whole(&wide);
        self.wide.check(&wide, "wide");
        check_least(&mut self.registers, |key| i64::from(cas.remove(&key).flatten().unwrap_or(0)), "register");
        self.cas.check(&cas, "cas");
        check_least(&mut self.counters, |key| counted.get(&key).copied().unwrap_or(0), "counter");
        self.check_volatile(machine, &mut client, page);
        self.check_lived(machine, &mut client, page);
        for key in self.plain.keys().into_iter().filter(|_| self.rng.below(4) == 0) {
            if self.late.iter().any(|(late, _)| *late == key) {
                continue;
            }
            let rows = client.call(machine, &by_key("SELECT a, b FROM ks.plain WHERE k = ?", Table::Plain, key)).rows();
            let row = rows.first().map(|row| (int_in(&row[0]), text_in(&row[1])));
            assert_eq!(row.as_ref(), plain.get(&key), "row {key}: by key and by scan");
        }
        machine.disconnect(client.end);
    }

    fn check_volatile(&mut self, machine: &mut Machine, client: &mut Client, page: u32) {
        let first = client.query(machine, "SELECT k FROM ks.volatile LIMIT 1");
        let there = if first.code() == Some(INVALID) { Presence::Gone } else { Presence::There };
        assert!(
            self.volatile_is == there || self.volatile_is == Presence::Unknown,
            "the volatile table is {there:?}, not {:?}",
            self.volatile_is
        );
        self.volatile_is = there;
        let rows = match there {
            Presence::There => client.pages(machine, &Statement::new("SELECT k, a FROM ks.volatile"), page),
            _ => Vec::new(),
        };
        self.volatile.check(&unique(rows, |row| number_in(&row[0]), |row| int_in(&row[1])), "volatile");
    }

    fn check_lived(&mut self, machine: &mut Machine, client: &mut Client, page: u32) {
        let from_s = machine.now().wall_s();
        let rows = client.pages(machine, &Statement::new("SELECT k, a FROM ks.lived"), page);
        let to_s = machine.now().wall_s();
        let rows = unique(rows, |row| number_in(&row[0]), |row| int_in(&row[1]).unwrap());
        assert!(rows.keys().all(|key| self.lived.keys().contains(key)), "a row of lived is out of nowhere: {rows:?}");
        for key in self.lived.keys() {
            let seen = rows.get(&key).copied();
            let possible = self.lived.of(&key);
            let found = possible.iter().find(|version| is_seen(version.as_ref(), seen, from_s, to_s));
            let Some(found) = found else { panic!("lived {key} is {seen:?} between {from_s} and {to_s}, possible are {possible:?}") };
            self.lived.settle(&key, *found);
        }
    }

    /// Reads everything by key from a node whose device was corrupted. An error is fine where a fault explains it, and so is an older version,
    /// of a cell where a row may lie in several records; a value that was never written is not.
    ///
    /// # Panics
    /// When something is not what it may be.
    pub fn check_damaged(&mut self, machine: &mut Machine, explainer: &Explainer) -> DamagedReads {
        let mut reads = DamagedReads::default();
        let mut client = Client::any(machine, 0);
        for key in self.plain.keys() {
            let reply = client.call(machine, &by_key("SELECT a, b FROM ks.plain WHERE k = ?", Table::Plain, key));
            let judge = Judge { machine, explainer, name: Table::Plain.name(key), deltas: true };
            let Some(rows) = judge.rows(reply, &mut reads) else { continue };
            let seen = rows.first().map(|row| (int_in(&row[0]), text_in(&row[1])));
            let ever = self.plain.ever(&key);
            let was = |is: &dyn Fn(&Row) -> bool| ever.iter().flatten().any(is);
            let of_cells = seen.as_ref().is_none_or(|(a, b)| was(&|(old, _)| old == a) && (b.is_none() || was(&|(_, old)| old == b)));
            assert!(of_cells, "{} holds what nobody wrote: {}", judge.name, brief(&seen));
            judge.judge(seen.as_ref(), &self.plain, &key, |(a, _): &Row| *a, &mut reads);
        }
        let partitions: BTreeSet<i32> = self.wide.keys().into_iter().map(|(partition, _)| partition).collect();
        for partition in partitions {
            let reply = client.call(machine, &by_key("SELECT c, a, b FROM ks.wide WHERE k = ?", Table::Wide, partition));
            let judge = Judge { machine, explainer, name: Table::Wide.name(partition), deltas: false };
            let Some(rows) = judge.rows(reply, &mut reads) else { continue };
            let rows = unique(rows, |row| (partition, int_in(&row[0]).unwrap()), |row| (int_in(&row[1]), text_in(&row[2])));
            for key in self.wide.keys().iter().chain(rows.keys()).filter(|(of, _)| *of == partition).collect::<BTreeSet<_>>() {
                judge.value(rows.get(key).cloned(), &self.wide, key, |(a, _): &Row| *a, &mut reads);
            }
        }
        for key in self.cas.keys() {
            let reply = client.call(machine, &by_key("SELECT a FROM ks.cas WHERE k = ?", Table::Cas, key));
            let judge = Judge { machine, explainer, name: Table::Cas.name(key), deltas: true };
            judge.one(reply, |row| int_in(&row[0]), &self.cas, &key, |a| *a, &mut reads);
        }
        for (table, all) in [(Table::Cas, &self.registers), (Table::Counted, &self.counters)] {
            for (key, least) in all {
                let column = if table == Table::Cas { "a" } else { "n" };
                let reply = client.call(machine, &by_key(&format!("SELECT {column} FROM ks.{} WHERE k = ?", table.as_str()), table, *key));
                let judge = Judge { machine, explainer, name: table.name(*key), deltas: true };
                let Some(rows) = judge.rows(reply, &mut reads) else { continue };
                let seen =
                    rows.first().map_or(0, |row| if table == Table::Cas { i64::from(int_in(&row[0]).unwrap()) } else { count_in(&row[0]) });
                assert!((0..=least.most()).contains(&seen), "{} is {seen}: {least:?}", judge.name);
                judge.verdict(seen >= least.least(), None, &mut reads);
            }
        }
        for table in [Table::Plain, Table::Wide, Table::Cas, Table::Counted, Table::Lived] {
            match client.query(machine, &format!("SELECT * FROM ks.{}", table.as_str())) {
                Reply::Rows { .. } => {}
                Reply::Error { code, .. } if READ_FAILURE.contains(&code) => {}
                other => panic!("{}: {other:?}", table.as_str()),
            }
        }
        machine.disconnect(client.end);
        explainer.check_reports(machine);
        reads
    }
}

/// Judges reads of one partition.
struct Judge<'a> {
    machine: &'a Machine,
    explainer: &'a Explainer,
    name: String,
    /// Whether a row may be in several records: what became of any of them may have lost it.
    deltas: bool,
}

impl Judge<'_> {
    /// The rows of a reply; an error must have its cause.
    fn rows(&self, reply: Reply, reads: &mut DamagedReads) -> Option<Vec<Vec<Bound>>> {
        match reply {
            Reply::Rows { rows, .. } => Some(rows),
            Reply::Error { code, message } if READ_FAILURE.contains(&code) => {
                assert!(message.contains("segment") && message.contains("offset"), "{}: {message:?} does not say where", self.name);
                // A place in a segment whose header was lost may be of a row that is gone for good, and in no segment as it should be.
                let parts = [self.name.as_bytes()];
                assert!(
                    self.explainer.explain(self.machine, &parts).is_some() || self.explainer.is_touched(segment_in(&message)),
                    "{}: {message:?}, but no fault was there: {}",
                    self.name,
                    self.explainer.describe(&parts)
                );
                reads.failed += 1;
                None
            }
            other => panic!("{}: {other:?}", self.name),
        }
    }

    fn one<K: Ord + Clone + Debug, V: Ord + Clone + Debug>(
        &self,
        reply: Reply,
        read: impl Fn(&[Bound]) -> V,
        cells: &Cells<K, V>,
        key: &K,
        mark: impl Fn(&V) -> Option<i32>,
        reads: &mut DamagedReads,
    ) {
        let Some(rows) = self.rows(reply, reads) else { return };
        self.value(rows.first().map(|row| read(row)), cells, key, mark, reads);
    }

    /// `mark` is what stands in the record of a value, and in no other.
    fn value<K: Ord + Clone + Debug, V: Ord + Clone + Debug>(
        &self,
        seen: Option<V>,
        cells: &Cells<K, V>,
        key: &K,
        mark: impl Fn(&V) -> Option<i32>,
        reads: &mut DamagedReads,
    ) {
        assert!(cells.ever(key).contains(&seen), "{} {key:?} holds what nobody wrote: {}", self.name, brief(&seen));
        self.judge(seen.as_ref(), cells, key, mark, reads);
    }

    /// As `value`, of what was written some time.
    fn judge<K: Ord + Clone + Debug, V: Ord + Clone + Debug>(
        &self,
        seen: Option<&V>,
        cells: &Cells<K, V>,
        key: &K,
        mark: impl Fn(&V) -> Option<i32>,
        reads: &mut DamagedReads,
    ) {
        let possible = cells.of(key);
        // If there is one value that it should be, that one's record is what was lost; else any record of the key.
        let lost = if possible.len() == 1 { possible.first().and_then(|value| value.as_ref()).and_then(mark) } else { None };
        self.verdict(possible.iter().any(|value| value.as_ref() == seen), lost, reads);
    }

    fn verdict(&self, right: bool, lost: Option<i32>, reads: &mut DamagedReads) {
        if right {
            reads.right += 1;
            return;
        }
        let mark = lost.map(i32::to_be_bytes);
        let parts: Vec<&[u8]> = [self.name.as_bytes()].into_iter().chain(mark.as_ref().map(|mark| &mark[..])).collect();
        let own = self.explainer.explain(self.machine, &parts);
        let any = if self.deltas { self.explainer.explain(self.machine, &parts[..1]) } else { None };
        match any.filter(|(_, reported)| *reported == Reported::Yes).or(own) {
            None => panic!("{} has lost {lost:?} without a fault: {}", self.name, self.explainer.describe(&parts)),
            Some((_, Reported::Yes)) => reads.older += 1,
            Some((faults, Reported::Cannot)) => *reads.silent.entry(faults).or_default() += 1,
            Some((faults, Reported::No)) => {
                panic!("{} has lost {lost:?} by {faults:?} and nobody has noticed: {}", self.name, self.explainer.describe(&parts))
            }
        }
    }
}

/// The segment that a message names.
fn segment_in(message: &str) -> Option<usize> {
    message.split("segment ").nth(1)?.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

fn by_key(statement: &str, table: Table, key: i32) -> Statement {
    Statement::new(statement).bind([text(&table.name(key))])
}

/// Whether a version with a time to live may be seen so, at some time between these two; replies and clocks are a second coarse.
fn is_seen(version: Option<&Lived>, seen: Option<i32>, from_s: i64, to_s: i64) -> bool {
    match (version, seen) {
        (None, seen) => seen.is_none(),
        (Some(lived), None) => to_s + 1 >= lived.expires_first_s,
        (Some(lived), Some(a)) => lived.a == a && from_s <= lived.expires_last_s + 1,
    }
}

fn unique<K: Ord, V>(rows: Vec<Vec<Bound>>, key: impl Fn(&[Bound]) -> K, value: impl Fn(&[Bound]) -> V) -> BTreeMap<K, V> {
    let total = rows.len();
    let rows: BTreeMap<K, V> = rows.iter().map(|row| (key(row), value(row))).collect();
    assert_eq!(rows.len(), total, "a row came twice");
    rows
}

fn check_whole(wide: &BTreeMap<(i32, i32), Row>) {
    for partition in wide.keys().map(|(k, _)| *k).filter(|k| (WHOLE..2 * WHOLE).contains(k)) {
        let whole: Vec<_> = (0..WHOLE_ROWS).map(|c| wide.get(&(partition, c))).collect();
        assert!(whole.iter().all(|row| *row == whole[0]), "a batch of one partition was done in part: {whole:?}");
    }
}

fn check_least(all: &mut BTreeMap<i32, Least>, mut seen: impl FnMut(i32) -> i64, what: &str) {
    for (key, least) in all {
        let seen = seen(*key);
        assert!((least.least()..=least.most()).contains(&seen), "{what} {key} is {seen}: {least:?}");
        least.settle(seen);
    }
}
