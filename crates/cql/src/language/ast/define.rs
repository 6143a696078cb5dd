//! CREATE, ALTER and DROP of everything in a schema but tables and functions.

use super::{
    name::{Identifier, QualifiedName},
    property::Property,
    relation::WhereClause,
    select::Selection,
    table::{PrimaryKey, TableOptions},
    type_name::TypeName,
};

/// `CREATE KEYSPACE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateKeyspace {
    /// The keyspace.
    pub name: Identifier,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// `WITH …`
    pub properties: Vec<Property>,
}

/// `ALTER KEYSPACE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterKeyspace {
    /// The keyspace.
    pub name: Identifier,
    /// `IF EXISTS`
    pub if_exists: bool,
    /// `WITH …`
    pub properties: Vec<Property>,
}

/// `DROP KEYSPACE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropKeyspace {
    /// The keyspace.
    pub name: Identifier,
    /// `IF EXISTS`
    pub if_exists: bool,
}

/// `CREATE [CUSTOM] INDEX …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateIndex {
    /// The index, if the statement names it.
    pub name: Option<Identifier>,
    /// `CUSTOM`
    pub custom: bool,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// The table.
    pub table: QualifiedName,
    /// What of it is indexed; may be empty.
    pub targets: Vec<IndexTarget>,
    /// `USING 'class'`
    pub using: Option<Box<str>>,
    /// `WITH …`, `OPTIONS = {…}` among them.
    pub properties: Vec<Property>,
}

/// What an index is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexTarget {
    /// `c`
    Column(Identifier),
    /// `keys(c)`
    Keys(Identifier),
    /// `values(c)`
    Values(Identifier),
    /// `entries(c)`
    Entries(Identifier),
    /// `full(c)`
    Full(Identifier),
    /// `(c, …)`: the partition key of a local index (ScyllaDB).
    Columns(Vec<Identifier>),
}

/// `DROP INDEX …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropIndex {
    /// The index.
    pub name: QualifiedName,
    /// `IF EXISTS`
    pub if_exists: bool,
}

/// `CREATE TYPE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateType {
    /// The type.
    pub name: QualifiedName,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// Its fields, in the text's order, at least one.
    pub fields: Vec<(Identifier, TypeName)>,
}

/// `ALTER TYPE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterType {
    /// The type.
    pub name: QualifiedName,
    /// `IF EXISTS`
    pub if_exists: bool,
    /// What to do.
    pub operation: AlterTypeOperation,
}

/// What an ALTER TYPE does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlterTypeOperation {
    /// `ADD …`
    Add {
        /// `IF NOT EXISTS`
        if_not_exists: bool,
        /// The field.
        field: Identifier,
        /// Its type.
        type_name: TypeName,
    },
    /// `RENAME … TO …`
    Rename {
        /// `IF EXISTS`
        if_exists: bool,
        /// The old and the new names.
        fields: Vec<(Identifier, Identifier)>,
    },
    /// `ALTER … TYPE …`
    AlterType {
        /// The field.
        field: Identifier,
        /// The type to give it.
        type_name: TypeName,
    },
}

/// `DROP TYPE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropType {
    /// The type.
    pub name: QualifiedName,
    /// `IF EXISTS`
    pub if_exists: bool,
}

/// `CREATE MATERIALIZED VIEW … AS SELECT …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateView {
    /// The view.
    pub name: QualifiedName,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// What it shows.
    pub selection: Selection,
    /// Its base table.
    pub from: QualifiedName,
    /// `WHERE …`
    pub where_clause: WhereClause,
    /// `PRIMARY KEY …`
    pub primary_key: PrimaryKey,
    /// `WITH …`
    pub options: TableOptions,
}

/// `ALTER MATERIALIZED VIEW …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterView {
    /// The view.
    pub name: QualifiedName,
    /// `IF EXISTS`
    pub if_exists: bool,
    /// `WITH …`
    pub properties: Vec<Property>,
}

/// `DROP MATERIALIZED VIEW …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropView {
    /// The view.
    pub name: QualifiedName,
    /// `IF EXISTS`
    pub if_exists: bool,
}

/// `CREATE TRIGGER …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTrigger {
    /// The trigger.
    pub name: Identifier,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// The table.
    pub table: QualifiedName,
    /// `USING 'class'`
    pub class: Box<str>,
}

/// `DROP TRIGGER … ON …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropTrigger {
    /// The trigger.
    pub name: Identifier,
    /// `IF EXISTS`
    pub if_exists: bool,
    /// The table.
    pub table: QualifiedName,
}
