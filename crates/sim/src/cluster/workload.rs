//! What clients do next, and what they have been told so far.

use super::history::{History, Invocation, RowId, Table};
use crate::linearizability::{Operation, Outcome};
use base::Rng;
use cql::wire::Consistency;
use std::collections::BTreeMap;

/// So many that an unfinished batch is not soon overwritten.
const TWINS: u64 = 300;
/// In one of so many seeds there are logged batches: what is left of them is done so long after that the seed takes longer.
const TWINS_ONCE_IN: u64 = 4;
/// Rows of a table: few, with much contention, or so many that most are not overwritten soon, and a fault in them stays.
const KEYS: [u64; 3] = [4, 8, 32];
/// Of so many operations, one reads at ONE.
const ANYWHERE: u64 = 10;
/// Of so many reads, one asks for several rows.
const WIDE: u64 = 32;
/// Pages of reads that ask for a whole table: one row, some, all.
const PAGES: [u32; 3] = [1, 5, 5000];

/// What is shared by all clients.
pub(super) struct Workload {
    rng: Rng,
    pub(super) history: History,
    /// A keyspace of each of these replication factors.
    pub(super) factors: Vec<u8>,
    /// Whether there are logged batches.
    pub(super) has_twins: bool,
    /// Values are never written twice.
    written: i64,
    /// Errors by their code.
    pub(super) errors: BTreeMap<i32, u64>,
    /// Clients that are idle begin nothing.
    pub(super) pausing: bool,
    /// When an operation was last given up that may be on its way still.
    pub(super) lost_us: u64,
    /// Clients invoke only what is in `first`, and again until it is answered.
    pub(super) closed: bool,
    /// Of each table.
    keys: u64,
    /// A client begins an operation once in so many steps.
    pub(super) idle_steps: u64,
    /// The next operations, before any other.
    pub(super) first: Vec<(RowId, Operation)>,
}

impl Workload {
    pub(super) fn new(seed: u64, factors: Vec<u8>) -> Self {
        let mut rng = Rng::new(seed ^ 0x5_40B);
        let has_twins = rng.below(TWINS_ONCE_IN) == 0;
        let idle_steps = [1, 4, 20][rng.below(3) as usize];
        let keys = KEYS[rng.below(3) as usize];
        Self {
            rng,
            history: History::default(),
            factors,
            has_twins,
            written: 0,
            errors: BTreeMap::new(),
            pausing: false,
            lost_us: 0,
            closed: false,
            keys,
            idle_steps,
            first: Vec::new(),
        }
    }

    /// An operation for a client that has none.
    pub(super) fn choose(&mut self) -> Option<(RowId, Operation)> {
        if let Some(first) = self.first.pop() {
            return Some(first);
        }
        if self.pausing || self.rng.below(self.idle_steps) > 0 {
            return None;
        }
        let factor = self.factors[self.rng.below(self.factors.len() as u64) as usize];
        let table = [Table::Rows, Table::Rows, Table::Rows, Table::Counts, Table::Pairs][self.rng.below(5) as usize];
        let table = if self.has_twins && self.rng.below(2) == 0 { Table::Twins } else { table };
        let keys = if table == Table::Twins { TWINS } else { self.keys };
        let row = RowId { factor, table, key: self.rng.below(keys) as i32 };
        self.written += 1;
        let new = Some(self.written);
        let operation = match (table, self.rng.below(8)) {
            (_, 0..=2) => Operation::Read(None),
            (Table::Counts, number) => Operation::Add(if number == 3 { 5 } else { 1 }),
            (Table::Rows, 3 | 4) => {
                let seen = self.history.last_seen(row);
                let expected = if self.rng.below(4) == 0 { None } else { seen };
                let new = if expected.is_some() && self.rng.below(5) == 0 { None } else { new };
                Operation::CompareAndSet { expected, new, outcome: Outcome::Unknown }
            }
            (_, 5) if self.rng.below(2) == 0 => Operation::Write(None),
            _ => Operation::Write(new),
        };
        Some((row, operation))
    }

    /// What a read asks for besides its row: mostly nothing, or some rows of the table by their keys, or all of it in pages of so many rows.
    pub(super) fn others(&mut self, row: RowId, operation: &Operation) -> Option<(Vec<RowId>, Option<u32>)> {
        let is_wide = matches!(operation, Operation::Read(_)) && row.table != Table::Twins && !self.closed && self.rng.below(WIDE) == 0;
        if !is_wide {
            return None;
        }
        // A page may end between the two rows of a pair, and the next one begin after they were written again.
        let pages = if row.table == Table::Pairs { &PAGES[2..] } else { &PAGES[..] };
        let page = (self.rng.below(2) == 0).then(|| pages[self.rng.below(pages.len() as u64) as usize]);
        let rng = &mut self.rng;
        let others = (0..self.keys as i32).filter(|key| *key != row.key && (page.is_some() || rng.below(3) == 0));
        Some((others.map(|key| RowId { key, ..row }).collect(), page))
    }

    /// The consistency level of an operation: reads at ONE may be answered by a replica that lags, all others are linearizable.
    pub(super) fn consistency(&mut self, operation: &Operation) -> Consistency {
        let levels = [Consistency::Quorum, Consistency::Quorum, Consistency::LocalQuorum, Consistency::All];
        let level = levels[self.rng.below(4) as usize];
        match operation {
            Operation::Read(_) if !self.closed && self.rng.below(ANYWHERE) == 0 => Consistency::One,
            Operation::Read(_) if self.rng.below(4) == 0 => Consistency::Serial,
            Operation::Read(_) => level,
            // A write has all that are in sync, whatever it asks for.
            _ if self.rng.below(2) == 0 => Consistency::One,
            _ => level,
        }
    }

    /// An operation got no answer that says what became of it. It may be done later.
    pub(super) fn lose(&mut self, invocation: Invocation, now_us: u64) {
        self.lost_us = now_us;
        self.history.lose(invocation);
        self.ask_again(invocation);
    }

    /// An operation was not done: a read of the final check is invoked again.
    pub(super) fn ask_again(&mut self, invocation: Invocation) {
        if self.closed && matches!(invocation.operation, Operation::Read(_)) {
            self.first.push((invocation.row, invocation.operation));
        }
    }

    /// A client was told an error.
    pub(super) fn refused(&mut self, code: i32) {
        *self.errors.entry(code).or_default() += 1;
    }
}
