//! What a writer does next.

use super::names::Table;
use super::{Effect, KEYS, PlainChange, Presence, SERIES, SERIES_ROWS, SHARED, VOLATILE, WHOLE, WHOLE_ROWS, Workload, Writer};
use crate::statement::{Bound, Statement, int, text};
use cql::wire::BatchKind;

fn name(table: Table, number: i32) -> Bound {
    text(&table.name(number))
}

impl Workload {
    pub(super) fn choose(&mut self, writer: &mut Writer, wall_s: i64) -> (Statement, Effect) {
        let key = writer.number * KEYS + self.rng.below(KEYS as u64) as i32;
        // No two values are alike: where one is found, it is that one.
        let a = self.rng.below(1 << 30) as i32;
        match self.rng.below(18) {
            0..4 => self.choose_plain(key, a),
            4..6 => self.choose_wide(writer.number, a),
            6 => choose_whole(writer.number, a),
            7 => self.choose_several(writer.number, a),
            8 => self.choose_cas(key, a),
            9 => {
                let key = self.shared();
                // As drivers do, and in no order: a counter must not care.
                let timestamp = 1_700_000_000_000_000 + self.rng.below(1_000_000) as i64;
                let update = Statement::new("UPDATE ks.counted SET n = n + 1 WHERE k = ?").bind([name(Table::Counted, key)]);
                (update.at(timestamp), Effect::Counter(key))
            }
            10 | 11 => match writer.seen.take() {
                None => {
                    let select = Statement::new("SELECT k, a FROM ks.cas WHERE k = ?").bind([name(Table::Cas, self.shared())]);
                    (select, Effect::ReadRegister)
                }
                Some((key, seen)) => {
                    let statement = Statement::new("UPDATE ks.cas SET a = ? WHERE k = ? IF a = ?");
                    (statement.bind([int(seen + 1), name(Table::Cas, key), int(seen)]), Effect::Register(key))
                }
            },
            12 => {
                let ttl_s = 1 + self.rng.below(20) as i32;
                let insert = Statement::new("INSERT INTO ks.lived (k, a) VALUES (?, ?) USING TTL ?");
                let effect = Effect::Lived { key, a, ttl_s: i64::from(ttl_s), sent_s: wall_s };
                (insert.bind([name(Table::Lived, key), int(a), int(ttl_s)]), effect)
            }
            13 => {
                let select = Statement::new("SELECT a, b FROM ks.plain WHERE k = ?").bind([name(Table::Plain, key)]);
                (select, Effect::ReadPlain(key))
            }
            14 => self.choose_series(writer.number, a),
            // Only one writer, so that what is truncated or dropped is known.
            _ if writer.number == 0 => self.choose_volatile(key, a),
            _ => self.choose_plain(key, a),
        }
    }

    fn shared(&mut self) -> i32 {
        SHARED.start + self.rng.below(SHARED.len() as u64) as i32
    }

    fn choose_plain(&mut self, key: i32, a: i32) -> (Statement, Effect) {
        let row = name(Table::Plain, key);
        let (statement, change) = match self.rng.below(6) {
            0..3 => {
                let length = if self.rng.below(100) < self.large_values { 9_000 } else { 200 };
                let b = "b".repeat(self.rng.below(length) as usize);
                let statement = Statement::new("INSERT INTO ks.plain (k, a, b) VALUES (?, ?, ?)").bind([row, int(a), text(&b)]);
                (statement, PlainChange::Insert((Some(a), Some(b))))
            }
            3 => (Statement::new("UPDATE ks.plain SET a = ? WHERE k = ?").bind([int(a), row]), PlainChange::Update(a)),
            4 => (Statement::new("DELETE b FROM ks.plain WHERE k = ?").bind([row]), PlainChange::Clear),
            _ => (Statement::new("DELETE FROM ks.plain WHERE k = ?").bind([row]), PlainChange::Delete),
        };
        (statement, Effect::Plain(vec![(key, change)]))
    }

    fn choose_wide(&mut self, partition: i32, a: i32) -> (Statement, Effect) {
        let c = self.rng.below(60) as i32;
        let key = name(Table::Wide, partition);
        match self.rng.below(16) {
            0 => (Statement::new("DELETE FROM ks.wide WHERE k = ?").bind([key]), Effect::WidePartition(partition)),
            1 | 2 => {
                let delete = Statement::new("DELETE FROM ks.wide WHERE k = ? AND c = ?").bind([key, int(c)]);
                (delete, Effect::Wide(vec![((partition, c), None)]))
            }
            3 | 4 => {
                let end = c + self.rng.below(12) as i32;
                let delete = Statement::new("DELETE FROM ks.wide WHERE k = ? AND c >= ? AND c < ?").bind([key, int(c), int(end)]);
                (delete, Effect::Wide((c..end).map(|c| ((partition, c), None)).collect()))
            }
            _ => {
                let b = "w".repeat(self.rng.below(500) as usize);
                let insert = insert_wide(key, c, a, &b);
                (insert, Effect::Wide(vec![((partition, c), Some((Some(a), Some(b))))]))
            }
        }
    }

    /// The next rows of a partition that only grows, in one group.
    fn choose_series(&mut self, writer: i32, a: i32) -> (Statement, Effect) {
        let partition = SERIES + writer;
        let first = *self.series.entry(writer).and_modify(|next| *next += SERIES_ROWS).or_insert(0);
        let rows = first..first + SERIES_ROWS;
        let row = Some((Some(a), Some("series".to_owned())));
        let inserts = rows.clone().map(|c| insert_wide(name(Table::Wide, partition), c, a, "series")).collect();
        let changes = rows.map(|c| ((partition, c), row.clone())).collect();
        (Statement::batch(BatchKind::Unlogged, inserts), Effect::Wide(changes))
    }

    /// A batch over several partitions, and so over several cores.
    fn choose_several(&mut self, writer: i32, a: i32) -> (Statement, Effect) {
        let first = writer * KEYS;
        let keys: Vec<i32> = (first..first + KEYS).filter(|_| self.rng.below(6) == 0).collect();
        if keys.is_empty() {
            return self.choose_plain(first, a);
        }
        let insert =
            |key: &i32| Statement::new("INSERT INTO ks.plain (k, a, b) VALUES (?, ?, 'many')").bind([name(Table::Plain, *key), int(a)]);
        let row = (Some(a), Some("many".to_owned()));
        let changes = keys.iter().map(|key| (*key, PlainChange::Insert(row.clone()))).collect();
        (Statement::batch(BatchKind::Logged, keys.iter().map(insert).collect()), Effect::Plain(changes))
    }

    fn choose_cas(&mut self, key: i32, a: i32) -> (Statement, Effect) {
        let row = name(Table::Cas, key);
        match self.cas.of(&key).into_iter().next().flatten() {
            None => {
                let statement = Statement::new("INSERT INTO ks.cas (k, a) VALUES (?, ?) IF NOT EXISTS").bind([row, int(a)]);
                (statement, Effect::Cas { key, expected: None, new: Some(a) })
            }
            Some(expected) if self.rng.below(4) > 0 => {
                let statement = Statement::new("UPDATE ks.cas SET a = ? WHERE k = ? IF a = ?").bind([int(a), row, expected.and_then(int)]);
                (statement, Effect::Cas { key, expected: Some(expected), new: Some(a) })
            }
            Some(expected) => {
                let statement = Statement::new("DELETE FROM ks.cas WHERE k = ? IF a = ?").bind([row, expected.and_then(int)]);
                (statement, Effect::Cas { key, expected: Some(expected), new: None })
            }
        }
    }

    fn choose_volatile(&mut self, key: i32, a: i32) -> (Statement, Effect) {
        if self.volatile_is != Presence::There {
            return (Statement::new(VOLATILE), Effect::Created);
        }
        match self.rng.below(16) {
            0 => (Statement::new("TRUNCATE ks.volatile"), Effect::Truncated),
            1 => (Statement::new("DROP TABLE ks.volatile"), Effect::Dropped),
            _ => {
                let insert = Statement::new("INSERT INTO ks.volatile (k, a) VALUES (?, ?)").bind([name(Table::Volatile, key), int(a)]);
                (insert, Effect::Volatile(key, a))
            }
        }
    }
}

/// All rows of a partition, in one group.
fn choose_whole(writer: i32, a: i32) -> (Statement, Effect) {
    let partition = WHOLE + writer;
    let inserts = (0..WHOLE_ROWS).map(|c| insert_wide(name(Table::Wide, partition), c, a, "whole")).collect();
    let row = Some((Some(a), Some("whole".to_owned())));
    let changes = (0..WHOLE_ROWS).map(|c| ((partition, c), row.clone())).collect();
    (Statement::batch(BatchKind::Unlogged, inserts), Effect::Wide(changes))
}

fn insert_wide(partition: Bound, c: i32, a: i32, b: &str) -> Statement {
    Statement::new("INSERT INTO ks.wide (k, c, a, b) VALUES (?, ?, ?, ?)").bind([partition, int(c), int(a), text(b)])
}
