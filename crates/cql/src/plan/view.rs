//! Materialized views as statements about their base table need them.

use super::Filter;
use model::Table;
use std::sync::Arc;

/// A view of a table.
#[derive(Clone, Debug)]
pub struct ViewPlan {
    /// The view.
    pub table: Arc<Table>,
    /// What it asks of a row.
    pub conditions: Vec<ViewCondition>,
}

/// What a view asks of a column of its base table.
#[derive(Clone, Debug)]
pub struct ViewCondition {
    /// The column's position.
    pub position: usize,
    /// What its value must match besides being there; none of IS NOT NULL.
    pub filter: Option<Filter>,
}
