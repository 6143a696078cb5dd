//! INSERT, UPDATE, DELETE, BATCH, TRUNCATE.

use super::{
    name::{Identifier, QualifiedName},
    relation::{Relation, WhereClause},
    term::{BindMarker, Term},
};

/// What stands after USING. The values are literals or markers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `TIMESTAMP`: microseconds since 1970; an integer literal or a marker.
    pub timestamp: Option<Term>,
    /// `TTL`: seconds; an integer literal or a marker.
    pub time_to_live: Option<Term>,
    /// `TIMEOUT` (ScyllaDB): a duration literal or a marker.
    pub timeout: Option<Term>,
    /// `CONCURRENCY` (ScyllaDB, PRUNE only): an integer literal or a marker.
    pub concurrency: Option<Term>,
}

/// A statement that a BATCH may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Modification {
    /// INSERT
    Insert(Insert),
    /// UPDATE
    Update(Update),
    /// DELETE
    Delete(Delete),
}

/// `INSERT INTO …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insert {
    /// The table.
    pub table: QualifiedName,
    /// The values and the columns they are for.
    pub source: InsertSource,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// `USING …`
    pub attributes: Attributes,
}

/// Where an INSERT takes its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InsertSource {
    /// `(columns) VALUES (values)`; the counts may differ here.
    Values {
        /// The columns.
        columns: Vec<Identifier>,
        /// The values.
        values: Vec<Term>,
    },
    /// `JSON …`
    Json {
        /// The JSON object.
        value: JsonValue,
        /// What the columns get that it does not mention.
        default: JsonDefault,
    },
}

/// A JSON object as an INSERT gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonValue {
    /// In the text.
    Text(Box<str>),
    /// With the request.
    Marker(BindMarker),
}

/// What the columns get that a JSON object does not mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonDefault {
    /// They are deleted; also without `DEFAULT`.
    Null,
    /// They stay.
    Unset,
}

/// `UPDATE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The table.
    pub table: QualifiedName,
    /// `USING …`
    pub attributes: Attributes,
    /// `SET …`, in the text's order.
    pub assignments: Vec<Assignment>,
    /// `WHERE …`
    pub where_clause: WhereClause,
    /// `IF …`
    pub condition: ConditionClause,
}

/// One part of SET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// `c = value`
    Set {
        /// The column.
        column: Identifier,
        /// Its new value.
        value: Term,
    },
    /// `c = c + value` and `c += value`
    Add {
        /// The column.
        column: Identifier,
        /// What to add or append.
        value: Term,
    },
    /// `c = c - value` and `c -= value`
    Subtract {
        /// The column.
        column: Identifier,
        /// What to subtract or remove.
        value: Term,
    },
    /// `c = value + c`
    Prepend {
        /// The column.
        column: Identifier,
        /// What to put in front.
        value: Term,
    },
    /// `c[key] = value`
    SetElement {
        /// The column.
        column: Identifier,
        /// The element's key or index.
        key: Term,
        /// Its new value.
        value: Term,
    },
    /// `c.field = value`
    SetField {
        /// The column.
        column: Identifier,
        /// The field.
        field: Identifier,
        /// Its new value.
        value: Term,
    },
}

/// What stands after IF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionClause {
    /// There is no IF.
    None,
    /// `IF EXISTS`
    Exists,
    /// Relations joined by AND, over columns, elements and fields.
    Relations(Vec<Relation>),
}

/// `DELETE … FROM …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// What to delete; empty for whole rows.
    pub deletions: Vec<Deletion>,
    /// The table.
    pub table: QualifiedName,
    /// `USING …`
    pub attributes: Attributes,
    /// `WHERE …`
    pub where_clause: WhereClause,
    /// `IF …`
    pub condition: ConditionClause,
}

/// What a DELETE deletes of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// `c`
    Column(Identifier),
    /// `c[key]`
    Element {
        /// The column.
        column: Identifier,
        /// The element's key or index.
        key: Term,
    },
    /// `c.field`
    Field {
        /// The column.
        column: Identifier,
        /// The field.
        field: Identifier,
    },
}

/// `BEGIN … BATCH … APPLY BATCH`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Which promise it makes.
    pub kind: BatchKind,
    /// `USING …`
    pub attributes: Attributes,
    /// The statements, perhaps none.
    pub statements: Vec<Modification>,
}

/// The kinds of batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BatchKind {
    /// All or nothing, in the end.
    Logged,
    /// `UNLOGGED`
    Unlogged,
    /// `COUNTER`
    Counter,
}

/// `TRUNCATE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truncate {
    /// The table.
    pub table: QualifiedName,
    /// `USING TIMEOUT …` (ScyllaDB)
    pub attributes: Attributes,
}

/// `PRUNE MATERIALIZED VIEW …` (ScyllaDB)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PruneView {
    /// The view.
    pub view: QualifiedName,
    /// `WHERE …`
    pub where_clause: WhereClause,
    /// `USING …`
    pub attributes: Attributes,
}
