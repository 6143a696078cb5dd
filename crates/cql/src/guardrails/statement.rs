//! Statements about rows: each with its values, before it runs.

use super::feature::Feature;
use super::guard::{Guard, Violation};
use super::limit::Limit;
use super::setting::Guardrails;
use super::values::{Values, levels};
use crate::exec::{BatchStatement, Bindings, Bound, Environment, Execution, partition_keys};
use crate::plan::{Assignment, ClusteringPlan, KeyTerm, Modify, Select, Statement, Term, TupleKeys};
use crate::value::{self, layout};
use crate::wire::Consistency;
use model::operation::Context;
use model::{Column, DataType};

/// What Cassandra adds to the bytes of each cell: its timestamp and time to live.
const CELL_BYTES: usize = 20;
/// The key of an element of a list.
const LIST_KEY_BYTES: usize = 16;

/// What a statement is warned of; `serial` is the level that its request gives for conditions.
///
/// # Errors
/// Why it is refused.
pub fn check_statement(
    guardrails: &Guardrails,
    execution: &Execution<'_>,
    serial: Option<Consistency>,
    context: &Context,
) -> Result<Vec<Violation>, Violation> {
    let consistency = execution.options.consistency;
    let mut guard = Guard::new(guardrails);
    // A copy: what functions cost here is not the statement's.
    let bindings = &execution.bindings.clone();
    let environment = Environment { bindings, context };
    match &execution.prepared.statement {
        Statement::Select(plan) => {
            guard.values(Values::ReadConsistencyLevels, levels([consistency]))?;
            check_select(&mut guard, plan, execution.options.page_size, &environment)?;
        }
        Statement::Modify(plan) => {
            check_written_levels(&mut guard, consistency, serial)?;
            check_modify(&mut guard, plan, &environment)?;
        }
        Statement::Batch(batch) => {
            check_written_levels(&mut guard, consistency, serial)?;
            batch.statements.iter().try_for_each(|plan| check_modify(&mut guard, plan, &environment))?;
        }
        Statement::Truncate(_) => guard.feature(Feature::DropTruncateTable, true)?,
        Statement::Use(_) | Statement::Schema(_) | Statement::Describe(_) => {}
    }
    Ok(guard.warnings)
}

/// As [`check_statement`], of the statements of a BATCH.
///
/// # Errors
/// Why it is refused.
pub fn check_batch(
    guardrails: &Guardrails,
    statements: &[BatchStatement<'_>],
    (consistency, serial): (Consistency, Option<Consistency>),
    context: &Context,
) -> Result<Vec<Violation>, Violation> {
    let mut guard = Guard::new(guardrails);
    check_written_levels(&mut guard, consistency, serial)?;
    for BatchStatement { plan, bindings } in statements {
        let bindings: &Bindings<'_> = &bindings.clone();
        check_modify(&mut guard, plan, &Environment { bindings, context })?;
    }
    Ok(guard.warnings)
}

/// What is to be logged of a partition that statements have made large: no client is told.
#[must_use]
pub fn large_partition(guardrails: &Guardrails, what: &str, bytes: u64) -> Vec<Violation> {
    let mut guard = Guard::new(guardrails);
    match guard.limit(Limit::PartitionSize, &what, bytes) {
        Ok(()) => guard.warnings,
        Err(violation) => vec![violation],
    }
}

/// The serial level counts whether or not there is a condition, as in Cassandra.
fn check_written_levels(guard: &mut Guard<'_>, consistency: Consistency, serial: Option<Consistency>) -> Result<(), Violation> {
    guard.values(Values::WriteConsistencyLevels, levels([consistency, serial.unwrap_or(Consistency::Serial)]))
}

fn check_select(guard: &mut Guard<'_>, plan: &Select, page_size: Option<u32>, environment: &Environment<'_>) -> Result<(), Violation> {
    guard.feature(Feature::AllowFiltering, plan.allow_filtering)?;
    guard.feature(Feature::GroupBy, plan.group_by.is_some())?;
    if plan.partition.iter().any(KeyTerm::is_in) {
        check_combined(guard, &"partition key", plan.partition.iter().map(|term| key_count(term, environment)))?;
        let given: u64 = plan.partition.iter().map(|term| key_count(term, environment)).fold(1, u64::saturating_mul);
        // Keys that are given twice are counted once.
        if given > guard.least(Limit::PartitionKeysInSelect)
            && let Ok(keys) = partition_keys(&plan.table, &plan.partition, environment)
        {
            guard.limit(Limit::PartitionKeysInSelect, &plan.table.name, keys.len() as u64)?;
        }
    }
    check_clustering(guard, &plan.clustering, environment)?;
    match page_size {
        Some(rows) if is_paged(plan, rows, environment) => guard.limit(Limit::PageSize, &plan.table.name, rows.into()),
        _ => Ok(()),
    }
}

fn check_clustering(guard: &mut Guard<'_>, plan: &ClusteringPlan, environment: &Environment<'_>) -> Result<(), Violation> {
    match &plan.tuples {
        Some(tuples) => check_combined(guard, &"clustering key", [tuple_count(tuples, environment)].into_iter()),
        None if plan.keys.iter().any(KeyTerm::is_in) => {
            check_combined(guard, &"clustering key", plan.keys.iter().map(|term| key_count(term, environment)))
        }
        None => Ok(()),
    }
}

/// Checks what INs combine to: as far as it is too much, as Cassandra does, which combines one after the other.
fn check_combined(guard: &mut Guard<'_>, what: &&str, counts: impl Iterator<Item = u64>) -> Result<(), Violation> {
    let mut combined = 1u64;
    for count in counts {
        combined = combined.saturating_mul(count);
        if guard.refuses(Limit::InSelectCartesianProduct, combined) {
            break;
        }
    }
    guard.limit(Limit::InSelectCartesianProduct, what, combined)
}

/// How many values a restriction gives.
fn key_count(term: &KeyTerm, environment: &Environment<'_>) -> u64 {
    match term {
        KeyTerm::Equal(_) => 1,
        KeyTerm::In(terms) => terms.len() as u64,
        KeyTerm::InList(term) => element_count(term, environment),
    }
}

fn tuple_count(tuples: &TupleKeys, environment: &Environment<'_>) -> u64 {
    match tuples {
        TupleKeys::Terms(tuples) => tuples.len() as u64,
        TupleKeys::Tuples(terms) => terms.len() as u64,
        TupleKeys::List(term) => element_count(term, environment),
    }
}

fn element_count(term: &Term, environment: &Environment<'_>) -> u64 {
    match term.evaluate(environment) {
        Ok(Bound::Bytes(list)) => layout::elements(&list).count() as u64,
        _ => 0,
    }
}

/// Whether Cassandra would page: not what is one page whatever there is.
fn is_paged(plan: &Select, page_size: u32, environment: &Environment<'_>) -> bool {
    if !plan.aggregates.is_empty() || plan.group_by.is_some() {
        return true;
    }
    let limit = plan.limit.as_ref().and_then(|limit| match limit.evaluate(environment) {
        Ok(Bound::Bytes(bytes)) => <[u8; 4]>::try_from(&*bytes).map(i32::from_be_bytes).ok(),
        _ => None,
    });
    plan.nearest.is_none() && limit.is_none_or(|limit| i64::from(limit) > i64::from(page_size))
}

fn check_modify(guard: &mut Guard<'_>, plan: &Modify, environment: &Environment<'_>) -> Result<(), Violation> {
    guard.feature(Feature::UserTimestamps, plan.timestamp.is_some())?;
    if let Some(Ok(Bound::Bytes(timestamp))) = plan.timestamp.as_ref().map(|timestamp| timestamp.evaluate(environment))
        && let Ok(timestamp) = <[u8; 8]>::try_from(&*timestamp).map(i64::from_be_bytes)
    {
        let now_us = environment.context.now.wall_us;
        for limit in [Limit::MaximumTimestamp, Limit::MinimumTimestamp] {
            guard.timestamp(limit, &plan.table.name, timestamp, now_us)?;
        }
    }
    check_lists(guard, plan)?;
    if ![Limit::ItemsPerCollection, Limit::CollectionSize, Limit::ColumnValueSize].iter().any(|limit| guard.measures(*limit)) {
        return Ok(());
    }
    for (column, assignment) in plan.static_assignments.iter().chain(&plan.assignments) {
        check_assignment(guard, &plan.table.columns[column.position], assignment, environment)?;
    }
    Ok(())
}

/// Looks for what lists can only do once they have been read.
fn check_lists(guard: &Guard<'_>, plan: &Modify) -> Result<(), Violation> {
    plan.static_assignments.iter().chain(&plan.assignments).try_for_each(|(column, assignment)| {
        let what = match assignment {
            Assignment::SetElement(..) => "Setting of list items by index requiring read before write",
            Assignment::DeleteElement(_) => "Removal of list items by index requiring read before write",
            Assignment::Remove(_) => "Removal of list items requiring read before write",
            _ => return Ok(()),
        };
        let is_list = matches!(plan.table.columns[column.position].data_type, DataType::List(..));
        guard.feature_as(what, Feature::ReadBeforeWriteListOperations, is_list)
    })
}

/// Looks at what is written to a column: of what was there before nothing is known without reading it.
fn check_assignment(
    guard: &mut Guard<'_>,
    column: &Column,
    assignment: &Assignment,
    environment: &Environment<'_>,
) -> Result<(), Violation> {
    match assignment {
        Assignment::Set(term) | Assignment::Append(term) | Assignment::Prepend(term) => {
            let Ok(Bound::Bytes(bytes)) = term.evaluate(environment) else { return Ok(()) };
            let bytes = value::normalize(&column.data_type, &bytes).unwrap_or_default();
            if column.data_type.is_collection() {
                let (items, size) = measured(&column.data_type, &bytes);
                guard.limit(Limit::ItemsPerCollection, &column.name, items as u64)?;
                guard.limit(Limit::CollectionSize, &column.name, size as u64)?;
            }
            guard.limit(Limit::ColumnValueSize, &column.name, largest(&column.data_type, &bytes) as u64)
        }
        Assignment::SetElement(key, element) => {
            [key, element].into_iter().try_for_each(|part| check_part(guard, column, part, environment))
        }
        Assignment::DeleteElement(part) | Assignment::SetField(_, part) => check_part(guard, column, part, environment),
        Assignment::Remove(_) | Assignment::Delete | Assignment::Count { .. } => Ok(()),
    }
}

/// Looks at an element, key or field by itself.
fn check_part(guard: &mut Guard<'_>, column: &Column, part: &Term, environment: &Environment<'_>) -> Result<(), Violation> {
    match part.evaluate(environment) {
        Ok(Bound::Bytes(bytes)) => guard.limit(Limit::ColumnValueSize, &column.name, bytes.len() as u64),
        _ => Ok(()),
    }
}

/// The bytes of the largest cell that a value is written as, or of its key.
fn largest(data_type: &DataType, bytes: &[u8]) -> usize {
    let largest = match data_type {
        _ if !data_type.is_multi_cell() => Some(bytes.len()),
        DataType::Map(..) => layout::entries(bytes).map(|(key, value)| key.len().max(value.len())).max(),
        DataType::Udt(..) => layout::fields(bytes).flatten().map(<[u8]>::len).max(),
        _ => layout::elements(bytes).map(<[u8]>::len).max(),
    };
    largest.unwrap_or_default()
}

/// How many elements a collection has, and its bytes as Cassandra counts them.
fn measured(data_type: &DataType, bytes: &[u8]) -> (usize, usize) {
    let (items, element_bytes) = match data_type {
        DataType::Map(..) => layout::entries(bytes).fold((0, 0), |(items, all), (key, value)| (items + 1, all + key.len() + value.len())),
        _ => layout::elements(bytes).fold((0, 0), |(items, all), element| (items + 1, all + element.len())),
    };
    let size = match data_type {
        _ if !data_type.is_multi_cell() => bytes.len() + CELL_BYTES,
        DataType::List(..) => element_bytes + items * (CELL_BYTES + LIST_KEY_BYTES),
        _ => element_bytes + items * CELL_BYTES,
    };
    (items, size)
}
