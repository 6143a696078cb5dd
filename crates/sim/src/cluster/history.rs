//! What clients invoked and what they were answered, row by row.

use crate::linearizability::{Event, Operation, Outcome, Value, Verdict, check};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A table of each keyspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Table {
    /// Rows that are written, deleted, compared and set.
    Rows,
    /// Counters.
    Counts,
    /// Partitions of two rows that are only written together.
    Pairs,
    /// Two partitions that are only written together, by logged batches; one of them is read.
    Twins,
}

impl Table {
    pub(super) const ALL: [Self; 4] = [Self::Rows, Self::Counts, Self::Pairs, Self::Twins];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Counts => "counts",
            Self::Pairs => "pairs",
            Self::Twins => "twins",
        }
    }
}

/// A row, or a pair of rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowId {
    /// The keyspace's replication factor: there is one keyspace of each.
    pub(super) factor: u8,
    pub(super) table: Table,
    pub(super) key: i32,
}

impl RowId {
    /// Of twins, the one that is read and the other.
    pub(super) fn twins(&self) -> (i32, i32) {
        let read = 2 * self.key + (self.key & 1);
        (read, read ^ 1)
    }

    /// The table, with its keyspace.
    pub(super) fn table(&self) -> String {
        format!("r{}.{}", self.factor, self.table.name())
    }
}

impl fmt::Debug for RowId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.table(), self.key)
    }
}

/// An operation under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Invocation {
    pub(super) row: RowId,
    pub(super) operation: Operation,
    invoked: u64,
}

/// The histories of all rows.
#[derive(Default)]
pub(super) struct History {
    /// Counts invocations and answers.
    time: u64,
    histories: BTreeMap<RowId, Vec<Event>>,
    /// All that a row may ever have been.
    ever: BTreeMap<RowId, BTreeSet<Value>>,
    pub(super) acknowledged: u64,
    pub(super) unknown: u64,
    pub(super) undecided: u64,
}

impl History {
    /// An operation is sent.
    pub(super) fn ask(&mut self, row: RowId, operation: Operation) -> Invocation {
        self.time += 1;
        let ever = self.ever.entry(row).or_insert_with(|| BTreeSet::from([None]));
        match operation {
            Operation::Write(new) | Operation::CompareAndSet { new, .. } => drop(ever.insert(new)),
            Operation::Add(by) => {
                let most = ever.last().copied().flatten().unwrap_or(0);
                ever.insert(Some(most + by));
            }
            Operation::Read(_) => {}
        }
        Invocation { row, operation, invoked: self.time }
    }

    /// It was answered, with this in it.
    pub(super) fn answer(&mut self, invocation: Invocation, told: Operation) {
        self.time += 1;
        self.acknowledged += 1;
        let event = Event { invoked: invocation.invoked, returned: Some(self.time), operation: told };
        self.histories.entry(invocation.row).or_default().push(event);
    }

    /// It was not answered, or the answer says that nobody knows.
    pub(super) fn lose(&mut self, invocation: Invocation) {
        if matches!(invocation.operation, Operation::Read(_)) {
            return;
        }
        self.unknown += 1;
        let operation = match invocation.operation {
            Operation::CompareAndSet { expected, new, .. } => Operation::CompareAndSet { expected, new, outcome: Outcome::Unknown },
            other => other,
        };
        self.histories.entry(invocation.row).or_default().push(Event { invoked: invocation.invoked, returned: None, operation });
    }

    /// A replica that may lag has this: it must have been written some time.
    ///
    /// # Panics
    /// When it never was.
    pub(super) fn seen_anywhere(&self, row: RowId, value: Value) {
        let ever = self.ever.get(&row);
        let Some(number) = value else { return };
        if row.table == Table::Counts {
            let most = ever.and_then(|ever| ever.last().copied().flatten()).unwrap_or(0);
            assert!((0..=most).contains(&number), "{row:?} is {number} on a replica, and never was more than {most}");
            return;
        }
        assert!(ever.is_some_and(|ever| ever.contains(&value)), "{row:?} is {value:?} on a replica, which nobody wrote: {ever:?}");
    }

    /// All rows that an operation was about.
    pub(super) fn rows(&self) -> Vec<RowId> {
        self.ever.keys().copied().collect()
    }

    /// What a row may be expected to be, for who wants to compare and set.
    pub(super) fn last_seen(&self, row: RowId) -> Value {
        self.histories.get(&row).and_then(|events| events.last()).and_then(|event| match event.operation {
            Operation::Read(value) | Operation::Write(value) => value,
            Operation::CompareAndSet { new, outcome: Outcome::Applied, .. } => new,
            Operation::CompareAndSet { outcome: Outcome::Refused(seen), .. } => seen,
            _ => None,
        })
    }

    /// Looks for an order of each row's events.
    ///
    /// # Panics
    /// When there is none.
    pub(super) fn check(&mut self) {
        for (row, events) in &self.histories {
            match check(None, events) {
                Verdict::Linearizable => {}
                Verdict::Wrong(violation) => panic!("{row:?}: {violation}"),
                Verdict::Undecided => self.undecided += 1,
            }
        }
    }
}
