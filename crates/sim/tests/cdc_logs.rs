//! A CDC log, replayed, gives what its table says: through kills, losses of power, members that take over and slots that are rebuilt. Images in it are the
//! rows that the replay has at that place.

#![allow(clippy::unwrap_used)]

mod members;
mod trio;

use cql::wire::Consistency;
use sim::{Bound, Loss, Statement, int};
use std::collections::{BTreeMap, BTreeSet};
use trio::Trio;

const PARTITIONS: u64 = 40;
const ROWS: u64 = 8;
const VALUES: u64 = 6;

/// One with images, one whose values may expire, and one with images whose writes have any timestamps.
const TABLES: [&str; 3] = ["imaged", "expiring", "timed"];

fn start(seed: u64) -> Trio {
    let columns = "(k int, c int, v int, s int static, m set<int>, PRIMARY KEY (k, c))";
    let images = "cdc = {'enabled': true, 'preimage': 'full', 'postimage': true}";
    Trio::start(
        seed,
        &[
            &format!("CREATE TABLE k.imaged {columns}"),
            &format!("CREATE TABLE k.expiring {columns} WITH cdc = {{'enabled': true}}"),
            &format!("CREATE TABLE k.timed {columns} WITH {images}"),
            &format!("ALTER TABLE k.imaged WITH {images}"),
        ],
    )
}

impl Trio {
    fn change(&mut self) {
        let table = TABLES[self.rng.below(3) as usize];
        if table == "timed" {
            return self.change_at_any_time();
        }
        let expires = table == "expiring";
        let mut below = |most: u64| int(self.rng.below(most) as i32);
        let (key, row, value) = (below(PARTITIONS), below(ROWS), below(VALUES));
        let (other, another, old) = (below(PARTITIONS), below(VALUES), self.rng.below(50) == 0);
        let of = |text: &str| Statement::new(text.replace("k.t", &format!("k.{table}")));
        let statement = match self.rng.below(16) {
            0 => of("DELETE FROM k.t WHERE k = ? AND c = ?").bind([key, row]),
            1 => of("DELETE FROM k.t WHERE k = ? AND c > ?").bind([key, row]),
            2 => of("DELETE FROM k.t WHERE k = ? AND c >= ? AND c < 5").bind([key, row]),
            3 => of("DELETE FROM k.t WHERE k = ?").bind([key]),
            4 => of("DELETE v FROM k.t WHERE k = ? AND c = ?").bind([key, row]),
            5 => of("UPDATE k.t SET s = ? WHERE k = ?").bind([value, key]),
            6 => of("UPDATE k.t SET m = m + {4, 5}, v = ? WHERE k = ? AND c = ?").bind([value, key, row]),
            7 if expires => of("INSERT INTO k.t (k, c, v, m) VALUES (?, ?, ?, {7}) USING TTL 1").bind([key, row, value]),
            8 => of("UPDATE k.t SET m = m - {4} WHERE k = ? AND c = ?").bind([key, row]),
            9 => of("UPDATE k.t SET v = ? WHERE k = ? AND c = ? IF v = ?").bind([value, key, row, another]),
            10 => {
                let text = "BEGIN BATCH UPDATE k.t SET v = ? WHERE k = ? AND c = ?; DELETE FROM k.t WHERE k = ? AND c < ?; \
                            UPDATE k.t SET v = ?, s = 1 WHERE k = ? AND c = ?; APPLY BATCH";
                of(text).bind([value, key, row.clone(), other.clone(), row.clone(), another, other, row])
            }
            11 if old => of("INSERT INTO k.t (k, c, v, m) VALUES (?, ?, ?, {9}) USING TIMESTAMP 5").bind([key, row, value]),
            _ => of("INSERT INTO k.t (k, c, v, m) VALUES (?, ?, ?, {1, 4})").bind([key, row, value]),
        };
        assert_eq!(self.ask(&statement.with(Consistency::One)).code(), None);
    }

    /// Deletions meet what is newer, and writes deletions that are.
    fn change_at_any_time(&mut self) {
        let mut below = |most: u64| int(self.rng.below(most) as i32);
        // Few partitions, so that much meets.
        let (key, row, value, another) = (below(3), below(ROWS), below(VALUES), below(VALUES));
        let (time, other_time) = (1 + self.rng.below(300), 1 + self.rng.below(300));
        let of = |text: &str| {
            Statement::new(text.replace("AT1", &format!("USING TIMESTAMP {time}")).replace("AT2", &format!("USING TIMESTAMP {other_time}")))
        };
        let statement = match self.rng.below(14) {
            0 => of("DELETE FROM k.timed AT1 WHERE k = ? AND c = ?").bind([key, row]),
            1 => of("DELETE FROM k.timed AT1 WHERE k = ? AND c > ?").bind([key, row]),
            2 => of("DELETE FROM k.timed AT1 WHERE k = ?").bind([key]),
            3 => of("DELETE v, m FROM k.timed AT1 WHERE k = ? AND c = ?").bind([key, row]),
            4 => of("UPDATE k.timed AT1 SET s = ? WHERE k = ?").bind([value, key]),
            5 => of("UPDATE k.timed AT1 SET m = m + {4, 5}, v = ? WHERE k = ? AND c = ?").bind([value, key, row]),
            6 => of("UPDATE k.timed AT1 SET m = m - {4} WHERE k = ? AND c = ?").bind([key, row]),
            7 => of("UPDATE k.timed AT1 SET m = {7} WHERE k = ? AND c = ?").bind([key, row]),
            8 => {
                let text = "BEGIN BATCH UPDATE k.timed AT1 SET v = ?, s = ? WHERE k = ? AND c = ?; DELETE FROM k.timed AT2 WHERE k = ?; \
                            UPDATE k.timed AT2 SET v = ? WHERE k = ? AND c = 3; DELETE FROM k.timed AT1 WHERE k = ? AND c >= 2; APPLY BATCH";
                of(text).bind([value.clone(), another.clone(), key.clone(), row, key.clone(), another, key.clone(), key])
            }
            _ => of("INSERT INTO k.timed (k, c, v, m) VALUES (?, ?, ?, {1, 4}) AT1").bind([key, row, value]),
        };
        self.ask(&statement.with(Consistency::One)).done();
    }

    /// Each log gives what its table says.
    fn check(&mut self, what: &str) {
        // What expires is gone by all clocks before it is looked at.
        self.network.sleep(6_000_000);
        for table in TABLES {
            let said = rows_of(&self.rows(&format!("SELECT k, c, v, m, s FROM k.{table}")));
            let log = self.log(table);
            let mut replayed = Replayed { what: format!("{what}: {table}"), ..Replayed::default() };
            for entry in &log {
                replayed.apply(entry);
            }
            assert_eq!(replayed.rows(), said, "{what}: {table}");
        }
    }

    fn log(&mut self, table: &str) -> Vec<Entry> {
        let text = format!(
            "SELECT \"cdc$operation\", \"cdc$ttl\", k, c, v, \"cdc$deleted_v\", m, \"cdc$deleted_m\", \"cdc$deleted_elements_m\", s, \
             \"cdc$deleted_s\", \"cdc$batch_seq_no\", \"cdc$end_of_batch\" FROM k.{table}_scylla_cdc_log"
        );
        let rows = self.rows(&text);
        let mut expected = 0;
        for row in &rows {
            assert_eq!(number(&row[11]), Some(expected), "rows of one time are numbered");
            expected = if row[12].is_some() { 0 } else { expected + 1 };
        }
        assert_eq!(expected, 0, "the last row of a time says that it is");
        rows.iter().map(|row| Entry::of(row)).collect()
    }
}

fn number(bytes: &Bound) -> Option<i32> {
    bytes.as_deref().map(|bytes| i32::from_be_bytes(bytes.try_into().unwrap()))
}

fn numbers(bytes: &Bound) -> BTreeSet<i32> {
    let elements = bytes.as_deref().unwrap_or_default().get(4..).unwrap_or_default();
    elements.chunks(8).map(|element| i32::from_be_bytes(element[4..].try_into().unwrap())).collect()
}

/// Of each row with a clustering key v and m; of each partition s.
type Rows = (BTreeMap<(i32, i32), (Option<i32>, BTreeSet<i32>)>, BTreeMap<i32, i32>);

fn rows_of(rows: &[Vec<Bound>]) -> Rows {
    let mut said = Rows::default();
    for row in rows {
        let key = number(&row[0]).unwrap();
        if let Some(c) = number(&row[1]) {
            said.0.insert((key, c), (number(&row[2]), numbers(&row[3])));
        }
        if let Some(s) = number(&row[4]) {
            said.1.insert(key, s);
        }
    }
    said
}

struct Entry {
    operation: u8,
    expires: bool,
    k: i32,
    c: Option<i32>,
    v: Option<i32>,
    deleted_v: bool,
    m: BTreeSet<i32>,
    deleted_m: bool,
    deleted_elements_m: BTreeSet<i32>,
    s: Option<i32>,
    deleted_s: bool,
}

impl Entry {
    fn of(row: &[Bound]) -> Self {
        Self {
            operation: row[0].as_deref().unwrap()[0],
            expires: row[1].is_some(),
            k: number(&row[2]).unwrap(),
            c: number(&row[3]),
            v: number(&row[4]),
            deleted_v: row[5].is_some(),
            m: numbers(&row[6]),
            deleted_m: row[7].is_some(),
            deleted_elements_m: numbers(&row[8]),
            s: number(&row[9]),
            deleted_s: row[10].is_some(),
        }
    }
}

#[derive(Default)]
struct Row {
    is_marked: bool,
    v: Option<i32>,
    m: BTreeSet<i32>,
}

/// What a replay has come to.
#[derive(Default)]
struct Replayed {
    what: String,
    rows: BTreeMap<(i32, i32), Row>,
    statics: BTreeMap<i32, i32>,
    /// Where a range that is deleted begins: the first row of it.
    range_from: Option<i32>,
}

impl Replayed {
    fn apply(&mut self, entry: &Entry) {
        match entry.operation {
            0 | 9 => self.check_image(entry),
            1 | 2 => self.write(entry),
            3 => drop(self.rows.remove(&(entry.k, entry.c.unwrap()))),
            4 => {
                self.rows.retain(|(k, _), _| *k != entry.k);
                self.statics.remove(&entry.k);
            }
            5 => self.range_from = Some(entry.c.unwrap_or(i32::MIN)),
            6 => self.range_from = Some(entry.c.unwrap() + 1),
            7 | 8 => {
                let from = self.range_from.take().unwrap();
                let is_within = |c: i32| c >= from && entry.c.is_none_or(|to| c < to || entry.operation == 7 && c == to);
                self.rows.retain(|(k, c), _| *k != entry.k || !is_within(*c));
            }
            other => panic!("{}: operation {other}", self.what),
        }
    }

    fn write(&mut self, entry: &Entry) {
        // What expires is gone when the table is looked at.
        let lasting = |value: Option<i32>| value.filter(|_| !entry.expires);
        let Some(c) = entry.c else {
            match entry.s {
                Some(s) => drop(self.statics.insert(entry.k, s)),
                None if entry.deleted_s => drop(self.statics.remove(&entry.k)),
                None => {}
            }
            return;
        };
        let row = self.rows.entry((entry.k, c)).or_default();
        if entry.operation == 2 {
            row.is_marked = !entry.expires;
        }
        if entry.v.is_some() || entry.deleted_v {
            row.v = lasting(entry.v);
        }
        if entry.deleted_m {
            row.m.clear();
        }
        row.m.retain(|element| !entry.deleted_elements_m.contains(element));
        for element in &entry.m {
            if entry.expires {
                row.m.remove(element);
            } else {
                row.m.insert(*element);
            }
        }
    }

    fn check_image(&self, entry: &Entry) {
        let what = format!("{}: image {} of {} {:?}", self.what, entry.operation, entry.k, entry.c);
        match entry.c {
            Some(c) => {
                let row = self.rows.get(&(entry.k, c)).unwrap_or_else(|| panic!("{what}: there is no row"));
                assert_eq!((entry.v, &entry.m), (row.v, &row.m), "{what}");
            }
            None => assert_eq!(entry.s, self.statics.get(&entry.k).copied(), "{what}"),
        }
    }

    fn rows(&self) -> Rows {
        let there = self.rows.iter().filter(|(_, row)| row.is_marked || row.v.is_some() || !row.m.is_empty());
        (there.map(|(key, row)| (*key, (row.v, row.m.clone()))).collect(), self.statics.clone())
    }
}

#[test]
fn a_log_says_what_its_table_says() {
    // Other seeds where there is time for more.
    let seeds = if std::env::var_os("TARNDB_TEST_LONG").is_some() { 2..=4 } else { 1..=1 };
    for seed in seeds {
        let mut cluster = start(seed);
        for _ in 0..300 {
            cluster.change();
        }
        cluster.check(&format!("seed {seed}, at first"));
        for round in 0..3 {
            let down = cluster.rng.below(3) as usize;
            let loss = if cluster.rng.below(2) == 0 { Loss::Process } else { Loss::Power };
            cluster.talk_to((down + 1) % 3);
            cluster.network.kill(down, loss);
            cluster.network.sleep(6_000_000);
            for _ in 0..80 {
                cluster.change();
            }
            cluster.check(&format!("seed {seed}, round {round}, with a member away"));
            cluster.network.start(down);
            cluster.whole();
            for _ in 0..80 {
                cluster.change();
            }
            cluster.check(&format!("seed {seed}, round {round}, whole again"));
        }
        let told: BTreeSet<u8> = cluster.log("imaged").iter().map(|entry| entry.operation).collect();
        assert_eq!(told.into_iter().collect::<Vec<_>>(), (0..=9).collect::<Vec<u8>>(), "seed {seed}: all kinds of changes are met");
        cluster.ask(&Statement::new("TRUNCATE k.imaged")).done();
        assert!(!cluster.log("imaged").is_empty(), "seed {seed}: the log of an emptied table says what was");
    }
}

/// The check finds what is missing in a log.
#[test]
fn a_log_without_one_of_its_last_changes_is_found() {
    let mut cluster = start(1);
    for c in 0..3 {
        let insert = Statement::new("INSERT INTO k.imaged (k, c, v, m) VALUES (1, ?, 5, {1})").bind([int(c)]);
        cluster.ask(&insert.with(Consistency::One)).done();
    }
    let said = rows_of(&cluster.rows("SELECT k, c, v, m, s FROM k.imaged"));
    let log = cluster.log("imaged");
    let writes: Vec<usize> = (0..log.len()).filter(|index| log[*index].operation == 2).collect();
    assert_eq!(writes.len(), 3);
    for missing in writes {
        let mut replayed = Replayed::default();
        // Images say as well that something is missing.
        log.iter()
            .enumerate()
            .filter(|(index, entry)| *index != missing && entry.operation == 2)
            .for_each(|(_, entry)| replayed.apply(entry));
        assert_ne!(replayed.rows(), said);
    }
}
