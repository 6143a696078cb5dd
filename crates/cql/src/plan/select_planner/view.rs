//! WHERE of a materialized view: what a row of the base table must match to be shown.

use super::draft::column_filter;
use crate::CqlError;
use crate::language::ast::{CompareOperator, Comparison, RelationTarget, WhereClause, WhereExpression};
use crate::plan::columns::find_column;
use crate::plan::{Planner, Source, ViewCondition};
use model::Table;

impl Planner<'_> {
    /// The conditions of a view of `table`.
    ///
    /// # Errors
    /// What no view may ask for, in Cassandra's words.
    pub(in crate::plan) fn view_conditions(&mut self, table: &Table, clause: &WhereClause) -> Result<Vec<ViewCondition>, CqlError> {
        let mut conditions = Vec::new();
        for expression in clause {
            let WhereExpression::Relation(relation) = expression else {
                return Err(CqlError::invalid("WHERE clause for materialized view cannot contain custom index expressions"));
            };
            let name = match &relation.target {
                RelationTarget::Column(name) => name,
                RelationTarget::Token(_) => return Err(CqlError::invalid("Cannot use token relation when defining a materialized view")),
                _ => return Err(CqlError::invalid("Only columns by themselves can be restricted in a materialized view of TarnDB")),
            };
            let (position, column) = find_column(table, name)?;
            let parts = match &relation.comparison {
                Comparison::IsNotNull => {
                    conditions.push(ViewCondition { position, filter: None });
                    continue;
                }
                Comparison::Between(low, high) => vec![
                    Comparison::Compare(CompareOperator::GreaterOrEqual, low.clone()),
                    Comparison::Compare(CompareOperator::LessOrEqual, high.clone()),
                ],
                other => vec![other.clone()],
            };
            for comparison in &parts {
                let compared = self.comparison(column, &column.data_type, &column.name, comparison)?;
                // The value comes from the column itself: the source is not asked.
                let filter = column_filter(Source::Partition(position), column, compared);
                conditions.push(ViewCondition { position, filter: Some(filter) });
            }
        }
        Ok(conditions)
    }
}
