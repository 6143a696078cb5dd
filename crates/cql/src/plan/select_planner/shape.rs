//! The rules for DISTINCT, GROUP BY and ORDER BY.

use super::draft::Restrictions;
use super::reads::Reads;
use crate::CqlError;
use crate::language::ast::{self, OrderDirection, Ordering};
use crate::plan::columns::find_column;
use crate::plan::{KeyTerm, SortKey};
use model::{Column, ColumnKind, Order, Table};

/// Checks that a SELECT DISTINCT asks for partitions only.
pub(super) fn check_distinct(table: &Table, reads: &Reads, restrictions: &Restrictions) -> Result<(), CqlError> {
    if restrictions.about_rows {
        return Err(CqlError::invalid(
            "SELECT DISTINCT with WHERE clause only supports restriction by partition key and/or static columns.",
        ));
    }
    let requested = reads.source_columns();
    for position in &requested {
        let column = &table.columns[*position];
        if !matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Static) {
            return Err(not_distinct(column));
        }
    }
    if restrictions.partition.is_empty()
        && let Some(missing) = (0..table.partition_key_len).find(|position| !requested.contains(position))
    {
        return Err(CqlError::Invalid(format!(
            "SELECT DISTINCT queries must request all the partition key columns (missing {})",
            table.columns[missing].name
        )));
    }
    Ok(())
}

fn not_distinct(column: &Column) -> CqlError {
    CqlError::Invalid(format!(
        "SELECT DISTINCT queries must only request partition key columns and/or static columns (not {})",
        column.name
    ))
}

/// Whether a selection has static columns and none that rows have.
pub(super) fn has_only_static(table: &Table, reads: &Reads) -> bool {
    let selected = reads.source_columns();
    let kind = |position: &usize| table.columns[*position].kind;
    selected.iter().any(|position| kind(position) == ColumnKind::Static)
        && selected.iter().all(|position| matches!(kind(position), ColumnKind::PartitionKey | ColumnKind::Static))
}

/// Whether rows come in the reverse of the stored order, and what they are sorted by when they come from several partitions.
pub(super) fn order_by(
    table: &Table,
    statement: &ast::Select,
    reads: &mut Reads,
    restrictions: &Restrictions,
) -> Result<(bool, Vec<SortKey>), CqlError> {
    if statement.order_by.iter().all(|part| matches!(part.ordering, Ordering::NearestTo(_))) {
        return Ok((false, Vec::new()));
    }
    if restrictions.partition.is_empty() {
        return Err(CqlError::invalid("ORDER BY is only supported when the partition key is restricted by an EQ or an IN."));
    }
    let several = restrictions.partition.iter().any(KeyTerm::is_in);
    let mut reversed = None;
    let mut sort = Vec::new();
    let mut next = table.partition_key_len;
    for part in &statement.order_by {
        let (position, column) = find_column(table, &part.column)?;
        if column.kind != ColumnKind::Clustering {
            return Err(CqlError::Invalid(format!(
                "Order by is currently only supported on the clustered columns of the PRIMARY KEY, got {}",
                column.name
            )));
        }
        if position < next || (next..position).any(|skipped| !restrictions.equal[skipped]) {
            return Err(CqlError::invalid(
                "Order by currently only supports the ordering of columns following their declared order in the PRIMARY KEY",
            ));
        }
        next = position + 1;
        let descending = part.direction == OrderDirection::Descending;
        let turned = descending != (column.order == Order::Descending);
        if reversed.is_some_and(|reversed| reversed != turned) {
            return Err(CqlError::invalid("Unsupported order by relation"));
        }
        reversed = Some(turned);
        if several {
            // Partitions are sorted by a column of their rows, which is requested with that.
            if statement.distinct {
                return Err(not_distinct(column));
            }
            let source = reads.column(position);
            sort.push(SortKey { source: reads.source(source), data_type: column.data_type.clone(), descending });
        }
    }
    Ok((reversed.unwrap_or(false), sort))
}
