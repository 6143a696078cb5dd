//! GROUP BY: columns of the primary key in their order, the last of them as it is or through a function that keeps the order.

use super::draft::Restrictions;
use super::reads::Reads;
use crate::CqlError;
use crate::language::ast::{self, Selector};
use crate::plan::columns::find_column;
use crate::plan::{Aggregate, Expression, GroupBy, Planner};
use std::sync::Arc;

impl Planner<'_> {
    /// What makes a group, if there is a GROUP BY. Checks come in Cassandra's order.
    pub(super) fn group_by(
        &mut self,
        statement: &ast::Select,
        reads: &mut Reads,
        restrictions: &Restrictions,
    ) -> Result<Option<GroupBy>, CqlError> {
        if statement.group_by.is_empty() {
            return Ok(None);
        }
        let table = Arc::clone(&reads.table);
        let (mut next, mut function) = (0, None);
        for selector in &statement.group_by {
            let position = match selector {
                Selector::Column(_) if function.is_some() => {
                    return Err(CqlError::invalid("Functions are only supported on the last element of the GROUP BY clause"));
                }
                Selector::Column(name) => find_column(&table, name)?.0,
                Selector::Function { .. } | Selector::Arithmetic { .. } => {
                    let (position, expression) = self.group_function(selector, reads)?;
                    function = Some(expression);
                    position
                }
                other => return Err(not_of_key(other)),
            };
            if position >= table.partition_key_len + table.clustering_len {
                return Err(not_of_key(&table.columns[position].name));
            }
            if position < next || (next..position).any(|skipped| !restrictions.equal[skipped]) {
                return Err(CqlError::invalid(
                    "Group by currently only support groups of columns following their declared order in the PRIMARY KEY",
                ));
            }
            next = position + 1;
        }
        if next < table.partition_key_len {
            return Err(CqlError::invalid("Group by is not supported on only a part of the partition key"));
        }
        if statement.distinct && next > table.partition_key_len {
            return Err(CqlError::invalid("Grouping on clustering columns is not allowed for SELECT DISTINCT queries"));
        }
        // The partition tells groups apart anyway, and the function has taken the last column's place.
        let columns = table.partition_key_len..next - usize::from(function.is_some());
        let sources = columns.map(|position| {
            let source = reads.column(position);
            reads.source(source)
        });
        Ok(Some(GroupBy { sources: sources.collect(), function }))
    }

    /// A function in GROUP BY, and the position of the clustering column that it is of.
    fn group_function(&mut self, selector: &Selector, reads: &mut Reads) -> Result<(usize, Expression), CqlError> {
        let mut aggregates = Vec::new();
        let (expression, _) = self.selector(selector, None, reads, &mut aggregates)?;
        if let Some(aggregate) = aggregates.first() {
            let name = match aggregate {
                Aggregate::CountRows => "system.count".into(),
                Aggregate::Of(function, _) => function.signature().full_name(),
            };
            return Err(CqlError::Invalid(format!("Aggregate functions are not supported within the GROUP BY clause, got: {name}")));
        }
        if let Expression::Call(function, _) = &expression
            && !function.is_monotonic()
        {
            let signature = function.signature();
            return Err(CqlError::Invalid(format!("Only monotonic functions are supported in the GROUP BY clause. Got: {signature} ")));
        }
        let table = Arc::clone(&reads.table);
        let position = first_source(&expression).and_then(|source| reads.source_columns().get(source).copied());
        let position = position.ok_or_else(|| not_of_key(selector))?;
        if position < table.partition_key_len {
            let name = &table.columns[position].name;
            return Err(CqlError::Invalid(format!("Group by functions are only supported on clustering columns, got {name}")));
        }
        Ok((position, expression))
    }
}

fn not_of_key(what: impl std::fmt::Display) -> CqlError {
    CqlError::Invalid(format!("Group by is currently only supported on the columns of the PRIMARY KEY, got {what}"))
}

/// The first source that a call is of.
fn first_source(expression: &Expression) -> Option<usize> {
    match expression {
        Expression::Source(source) => Some(*source),
        Expression::Call(_, arguments) | Expression::Token(_, arguments) => arguments.iter().find_map(first_source),
        _ => None,
    }
}
