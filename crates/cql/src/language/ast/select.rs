//! SELECT.

use super::{
    modification::Attributes,
    name::{Identifier, QualifiedName},
    relation::WhereClause,
    selector::{Selector, SelectorItem},
    term::Term,
};

/// `SELECT … FROM …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    /// `JSON` or not.
    pub kind: SelectKind,
    /// `DISTINCT`
    pub distinct: bool,
    /// What to return.
    pub selection: Selection,
    /// The table or view.
    pub from: QualifiedName,
    /// `WHERE …`
    pub where_clause: WhereClause,
    /// `GROUP BY …`
    pub group_by: Vec<Selector>,
    /// `ORDER BY …`
    pub order_by: Vec<OrderBy>,
    /// `PER PARTITION LIMIT …`: an integer literal or a marker.
    pub per_partition_limit: Option<Term>,
    /// `LIMIT …`: an integer literal or a marker.
    pub limit: Option<Term>,
    /// `ALLOW FILTERING`
    pub allow_filtering: bool,
    /// `BYPASS CACHE` (ScyllaDB)
    pub bypass_cache: bool,
    /// `USING TIMEOUT …` (ScyllaDB)
    pub attributes: Attributes,
}

/// How rows are returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectKind {
    /// As columns.
    Columns,
    /// As one JSON text a row.
    Json,
}

/// What a SELECT returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// `*`
    Wildcard,
    /// One or more selectors.
    Selectors(Vec<SelectorItem>),
}

/// One part of ORDER BY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderBy {
    /// The column.
    pub column: Identifier,
    /// By what of it.
    pub ordering: Ordering,
    /// `ASC`, which is also meant without a word, or `DESC`.
    pub direction: OrderDirection,
}

/// What of a column orders the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ordering {
    /// Its value.
    Value,
    /// `ANN OF vector`: its distance from a vector.
    NearestTo(Term),
}

/// `ASC` or `DESC`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderDirection {
    /// Lowest first.
    Ascending,
    /// Highest first.
    Descending,
}
