//! How large a batch may be, as Cassandra counts it: only batches over several partitions, by the bytes that they write.

use super::operation::BatchItem;
use crate::CqlError;
use crate::exec::Bindings;
use crate::plan::{Assignment, BatchKind, KeyTerm, Modify, Term};
use crate::wire::Value;
use std::collections::{BTreeSet, HashSet};

/// What Cassandra adds for each row that is written, and for each of its cells.
const ROW_BYTES: usize = 50;
const CELL_BYTES: usize = 20;

/// From which sizes on batches are warned of or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// A batch that writes more bytes is answered with a warning.
    pub warn_bytes: u64,
    /// One that writes more is refused.
    pub fail_bytes: u64,
    /// An unlogged batch over more partitions is answered with a warning.
    pub unlogged_partitions: u32,
}

/// Cassandra's.
impl Default for BatchLimits {
    fn default() -> Self {
        Self { warn_bytes: 5 << 10, fail_bytes: 50 << 10, unlogged_partitions: 10 }
    }
}

impl BatchLimits {
    /// The warnings for a batch.
    pub(super) fn check<'a>(&self, items: impl Iterator<Item = &'a BatchItem> + Clone, kind: BatchKind) -> Result<Vec<String>, CqlError> {
        let mut warnings = Vec::new();
        let mut rest = items.clone();
        let is_single = rest.next().is_none_or(|first| rest.all(|item| item.is_of_partition(first)));
        if is_single {
            return Ok(warnings);
        }
        let bytes: u64 = items.clone().map(|item| item.bytes as u64).sum();
        if bytes > self.fail_bytes {
            return Err(CqlError::invalid("Batch too large"));
        }
        if bytes > self.warn_bytes {
            let (tables, most) = (tables(items.clone()), self.warn_bytes);
            let over = bytes - most;
            warnings.push(format!("Batch for [{tables}] is of size {bytes}, exceeding specified threshold of {most} by {over}."));
        }
        if kind == BatchKind::Logged || items.clone().count() <= self.unlogged_partitions as usize {
            return Ok(warnings);
        }
        let partitions = items.clone().map(|item| item.partition.as_slice()).collect::<HashSet<_>>().len();
        if partitions > self.unlogged_partitions as usize {
            let tables = tables(items);
            let plural = if tables.contains(',') { "s" } else { "" };
            warnings.push(format!(
                "Unlogged batch covering {partitions} partitions detected against table{plural} [{tables}]. \
                 You should use a logged batch for atomicity, or asynchronous writes for performance."
            ));
        }
        Ok(warnings)
    }
}

fn tables<'a>(items: impl Iterator<Item = &'a BatchItem>) -> String {
    let names: BTreeSet<(&str, &str)> = items.map(|item| (item.plan.table.keyspace.as_str(), item.plan.table.name.as_str())).collect();
    names.iter().map(|(keyspace, table)| format!("{keyspace}.{table}")).collect::<Vec<_>>().join(", ")
}

/// How many bytes a statement writes to one row.
pub(super) fn bytes_written(plan: &Modify, bindings: &Bindings<'_>) -> usize {
    let keys = plan.clustering.keys.iter().map(|key| match key {
        KeyTerm::Equal(term) => term_bytes(term, bindings),
        KeyTerm::In(_) | KeyTerm::InList(_) => 0,
    });
    let assigned = plan.static_assignments.iter().chain(&plan.assignments);
    let cells = assigned.map(|(_, assignment)| CELL_BYTES + assignment_bytes(assignment, bindings));
    ROW_BYTES + keys.sum::<usize>() + cells.sum::<usize>()
}

fn assignment_bytes(assignment: &Assignment, bindings: &Bindings<'_>) -> usize {
    match assignment {
        Assignment::Delete => 0,
        Assignment::Set(term)
        | Assignment::Count { by: term, .. }
        | Assignment::Append(term)
        | Assignment::Prepend(term)
        | Assignment::Remove(term)
        | Assignment::DeleteElement(term)
        | Assignment::SetField(_, term) => term_bytes(term, bindings),
        Assignment::SetElement(key, value) => term_bytes(key, bindings) + term_bytes(value, bindings),
    }
}

fn term_bytes(term: &Term, bindings: &Bindings<'_>) -> usize {
    let sum = |terms: &[Term]| terms.iter().map(|term| term_bytes(term, bindings)).sum();
    match term {
        Term::Bind(index) => match bindings.get(*index) {
            Value::Bytes(bytes) => bytes.len(),
            Value::Null | Value::Unset => 0,
        },
        Term::Constant(bytes) => bytes.len(),
        Term::List(terms) | Term::Set(_, terms) | Term::Fields(terms) | Term::UserType(_, terms) | Term::Vector(_, terms) => sum(terms),
        Term::Map(_, entries) => entries.iter().map(|(key, value)| term_bytes(key, bindings) + term_bytes(value, bindings)).sum(),
        Term::Call(call) => sum(&call.arguments),
        Term::Field(tuple, number) if *number == 0 => term_bytes(tuple, bindings),
        Term::Null | Term::Json(_) | Term::Field(..) => 0,
    }
}
