//! The replicas that a statement needs, and whose rows it may read.

use crate::cluster::ClusterCore;
use base::{TableId, Token};
use cql::plan::{BatchKind, Prepared, Statement};
use cql::wire::{Consistency, WriteType};
use cql::{Asked, CqlError};
use shard::Access;

/// What timeouts and failures tell of a statement.
pub(super) fn asked(cluster: Option<&ClusterCore>, statement: &Statement, consistency: Consistency) -> Asked {
    let writes = match statement {
        Statement::Modify(plan) if plan.is_conditional() => Some(WriteType::Cas),
        Statement::Modify(plan) if plan.table.is_counter() => Some(WriteType::Counter),
        Statement::Modify(_) => Some(WriteType::Simple),
        Statement::Batch(batch) => Some(type_of_batch(batch.kind, batch.statements.iter().any(|plan| plan.is_conditional()))),
        _ => None,
    };
    // A node by itself has all the replicas there are.
    let required = cluster.and_then(|cluster| Some(cluster.required(table_of(statement)?, consistency)));
    Asked { consistency, required: required.unwrap_or(1), writes }
}

pub(super) fn type_of_batch(kind: BatchKind, is_conditional: bool) -> WriteType {
    match kind {
        _ if is_conditional => WriteType::Cas,
        BatchKind::Logged => WriteType::Batch,
        BatchKind::Unlogged => WriteType::UnloggedBatch,
        BatchKind::Counter => WriteType::Counter,
    }
}

/// A table that a statement is about.
pub(super) fn table_of(statement: &Statement) -> Option<TableId> {
    match statement {
        Statement::Select(plan) => Some(plan.table.id),
        Statement::Modify(plan) => Some(plan.table.id),
        Statement::Batch(batch) => batch.statements.first().map(|plan| plan.table.id),
        _ => None,
    }
}

pub(super) fn is_write(prepared: &Prepared) -> bool {
    !matches!(prepared.statement, Statement::Select(_))
}

/// Whose rows a statement about one partition may read.
///
/// # Errors
/// There are fewer replicas than the level asks for.
#[inline]
pub(super) fn access(
    cluster: Option<&ClusterCore>,
    prepared: &Prepared,
    token: Token,
    consistency: Consistency,
) -> Result<Access, CqlError> {
    let Some(cluster) = cluster else { return Ok(Access::Primary) };
    let Some(table) = table_of(&prepared.statement) else { return Ok(Access::Primary) };
    if !consistency.reads_any() {
        return cluster.check_replicas(table, token, consistency).map(|()| Access::Primary);
    }
    let reads_any = !is_write(prepared) && cluster.may_read_here(table, token);
    Ok(if reads_any { Access::AnyReplica } else { Access::Primary })
}
