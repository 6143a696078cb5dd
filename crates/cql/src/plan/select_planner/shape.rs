//! The rules for DISTINCT, GROUP BY and ORDER BY.

use super::draft::Restrictions;
use super::reads::Reads;
use crate::CqlError;
use crate::language::ast::{self, OrderDirection, Ordering, Selector};
use crate::plan::columns::find_column;
use crate::plan::{KeyTerm, SortKey};
use model::{ColumnKind, Order, Table};

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
            return Err(CqlError::Invalid(format!(
                "SELECT DISTINCT queries must only request partition key columns and/or static columns (not {})",
                column.name
            )));
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

/// Whether a selection has static columns and none that rows have.
pub(super) fn has_only_static(table: &Table, reads: &Reads) -> bool {
    let selected = reads.source_columns();
    let kind = |position: &usize| table.columns[*position].kind;
    selected.iter().any(|position| kind(position) == ColumnKind::Static)
        && selected.iter().all(|position| matches!(kind(position), ColumnKind::PartitionKey | ColumnKind::Static))
}

/// The sources that make a group.
pub(super) fn group_by(
    table: &Table,
    statement: &ast::Select,
    reads: &mut Reads,
    restrictions: &Restrictions,
) -> Result<Option<Vec<usize>>, CqlError> {
    if statement.group_by.is_empty() {
        return Ok(None);
    }
    let keys = table.partition_key_len + table.clustering_len;
    let out_of_order =
        || CqlError::invalid("Group by currently only support groups of columns following their declared order in the PRIMARY KEY");
    let mut next = 0;
    for selector in &statement.group_by {
        let Selector::Column(name) = selector else {
            return Err(CqlError::invalid("Functions in GROUP BY are not supported by TarnDB yet"));
        };
        let (position, column) = find_column(table, name)?;
        if position >= keys {
            return Err(CqlError::Invalid(format!(
                "Group by is currently only supported on the columns of the PRIMARY KEY, got {}",
                column.name
            )));
        }
        if position < next {
            return Err(out_of_order());
        }
        if (next..position).any(|skipped| !restrictions.equal[skipped]) {
            return Err(out_of_order());
        }
        next = position + 1;
    }
    if next < table.partition_key_len {
        return Err(CqlError::invalid("Group by is not supported on only a part of the partition key"));
    }
    if statement.distinct && next > table.partition_key_len {
        return Err(CqlError::invalid("Grouping on clustering columns is not allowed for SELECT DISTINCT queries"));
    }
    // The partition tells groups apart anyway.
    let mut sources = Vec::new();
    for position in table.partition_key_len..next {
        let source = reads.column(position);
        sources.push(reads.source(source));
    }
    Ok(Some(sources))
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
            let source = reads.column(position);
            sort.push(SortKey { source: reads.source(source), data_type: column.data_type.clone(), descending });
        }
    }
    Ok((reversed.unwrap_or(false), sort))
}
