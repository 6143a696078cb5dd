//! Statements as they are for those who may not see masked columns.
//!
//! A SELECT reads the same and shows masks: cores and members that find its rows need not know for whom. A conditional statement shows masks where
//! its condition does not hold.

use super::mask::{Mask, masks_of};
use super::{Aggregate, Batch, Conditions, Expression, Modify, RowTarget, Select, Source, Statement};
use crate::CqlError;
use crate::language::ast::{self, Ordering, RelationTarget, WhereExpression};
use model::{Schema, Table};
use std::sync::Arc;

/// The masked columns of a table that a statement compares with something.
#[derive(Debug)]
pub struct QueriedMasks {
    /// The table.
    pub table: Arc<Table>,
    /// Names of columns, in the table's order; at least one.
    pub columns: Vec<String>,
}

/// The names of the masked columns that a SELECT restricts, in the table's order.
pub(super) fn restricted(table: &Table, statement: &ast::Select) -> Vec<String> {
    if !table.has_masks() {
        return Vec::new();
    }
    let mut named: Vec<&ast::Identifier> = Vec::new();
    for expression in &statement.where_clause {
        let WhereExpression::Relation(relation) = expression else { continue };
        match &relation.target {
            RelationTarget::Column(column) | RelationTarget::Element { column, .. } | RelationTarget::Field { column, .. } => {
                named.push(column);
            }
            RelationTarget::Tuple(columns) | RelationTarget::Token(columns) => named.extend(columns),
        }
    }
    let nearest = statement.order_by.iter().filter(|part| matches!(part.ordering, Ordering::NearestTo(_)));
    named.extend(nearest.map(|part| &part.column));
    masked_names(table, |position| named.iter().any(|name| table.columns[position].name == name.as_str()))
}

/// The masked columns that a statement compares with something: in WHERE of a SELECT, and of a conditional statement, which tells as much.
pub(super) fn queried(statement: &Statement) -> Vec<QueriedMasks> {
    let of_modify = |plan: &Arc<Modify>| QueriedMasks { table: Arc::clone(&plan.table), columns: compared(plan) };
    let all: Vec<QueriedMasks> = match statement {
        Statement::Select(plan) => {
            vec![QueriedMasks { table: Arc::clone(&plan.table), columns: plan.masked_restrictions.clone() }]
        }
        Statement::Modify(plan) => vec![of_modify(plan)],
        Statement::Batch(batch) => batch.statements.iter().map(of_modify).collect(),
        _ => Vec::new(),
    };
    all.into_iter().filter(|queried| !queried.columns.is_empty()).collect()
}

fn compared(plan: &Modify) -> Vec<String> {
    let table = &*plan.table;
    let keys = match &plan.conditions {
        Conditions::None => return Vec::new(),
        _ if plan.target == RowTarget::Rows => table.partition_key_len + table.clustering_len,
        _ => table.partition_key_len,
    };
    let in_condition = |position: usize| match &plan.conditions {
        Conditions::Columns(conditions) => conditions.iter().any(|condition| condition.column.position == position),
        _ => false,
    };
    masked_names(table, |position| position < keys || in_condition(position))
}

fn masked_names(table: &Table, is_meant: impl Fn(usize) -> bool) -> Vec<String> {
    let masked = table.columns.iter().enumerate().filter(|(position, column)| column.mask.is_some() && is_meant(*position));
    masked.map(|(_, column)| column.name.clone()).collect()
}

/// A statement with masks in place of values, and these.
pub(super) type Masked = (Statement, Vec<Arc<Mask>>);

/// A statement as it is for those who may not see masked columns; none if it shows no masked column.
pub(super) fn masked(schema: &Schema, statement: &Statement) -> Result<Option<Masked>, CqlError> {
    Ok(match statement {
        Statement::Select(plan) if plan.table.has_masks() => {
            let masks = masks_of(schema, &plan.table)?;
            masked_select(plan, &masks).map(|plan| (Statement::Select(Arc::new(plan)), masks))
        }
        Statement::Modify(plan) if shows_masks(plan) => {
            let masks = masks_of(schema, &plan.table)?;
            Some((Statement::Modify(Arc::new(masked_modify(plan, &masks))), masks))
        }
        Statement::Batch(batch) if batch.statements.iter().any(|plan| shows_masks(plan)) => {
            let (mut statements, mut all) = (Vec::with_capacity(batch.statements.len()), Vec::new());
            for plan in &batch.statements {
                let masks = masks_of(schema, &plan.table)?;
                statements.push(Arc::new(masked_modify(plan, &masks)));
                all.extend(masks);
            }
            Some((Statement::Batch(Batch { kind: batch.kind, timestamp: batch.timestamp.clone(), statements }), all))
        }
        _ => None,
    })
}

fn shows_masks(plan: &Modify) -> bool {
    plan.is_conditional() && plan.table.has_masks()
}

fn masked_modify(plan: &Modify, masks: &[Arc<Mask>]) -> Modify {
    Modify { masks: masks.into(), ..plan.clone() }
}

fn masked_select(plan: &Select, masks: &[Arc<Mask>]) -> Option<Select> {
    let position = |source: &Source| match *source {
        Source::Partition(index) => Some(index),
        Source::Clustering(index) => Some(plan.table.partition_key_len + index),
        Source::Cell(cell) => plan.cells.get(cell).map(|cell| cell.position),
        Source::WriteTime(_) | Source::TimeToLive(_) | Source::WriteTimes(_) | Source::TimesToLive(_) => None,
    };
    let mask = |source: &Source| masks.iter().find(|mask| Some(mask.position) == position(source)).cloned();
    let by_source: Vec<Option<Arc<Mask>>> = plan.sources.iter().map(mask).collect();
    let mut masked = plan.clone();
    let mut is_changed = false;
    for output in &mut masked.outputs {
        is_changed |= put_masks(&mut output.expression, &by_source);
    }
    for aggregate in &mut masked.aggregates {
        if let Aggregate::Of(_, arguments) = aggregate {
            is_changed |= put_all(arguments, &by_source);
        }
    }
    // What is computed from rows is no longer what the shard gives.
    (masked.plain, masked.single) = (false, false);
    is_changed.then_some(masked)
}

fn put_all(expressions: &mut [Expression], by_source: &[Option<Arc<Mask>>]) -> bool {
    let mut is_changed = false;
    for expression in expressions {
        is_changed |= put_masks(expression, by_source);
    }
    is_changed
}

/// Puts masks into the places of the sources that have one, and says whether there was any.
fn put_masks(expression: &mut Expression, by_source: &[Option<Arc<Mask>>]) -> bool {
    match expression {
        Expression::Source(source) => {
            let Some(Some(mask)) = by_source.get(*source) else { return false };
            *expression = Expression::Masked(*source, Arc::clone(mask));
            true
        }
        Expression::Term(_) | Expression::Aggregate(_) | Expression::Masked(..) => false,
        Expression::Call(_, parts)
        | Expression::Token(_, parts)
        | Expression::List(parts)
        | Expression::Vector(_, parts)
        | Expression::Set(_, parts)
        | Expression::Fields(parts) => put_all(parts, by_source),
        Expression::Map(_, entries) => {
            let mut is_changed = false;
            for (key, value) in entries {
                is_changed |= put_masks(key, by_source);
                is_changed |= put_masks(value, by_source);
            }
            is_changed
        }
        Expression::Element(whole, ..) | Expression::Slice(whole, ..) | Expression::Stamps(whole, _) | Expression::Field(whole, _) => {
            put_masks(whole, by_source)
        }
    }
}
