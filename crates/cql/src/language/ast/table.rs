//! CREATE, ALTER and DROP TABLE.

use super::{
    name::{FunctionName, Identifier, QualifiedName},
    property::Property,
    select::OrderDirection,
    term::{Literal, Term},
    type_name::TypeName,
};

/// `CREATE TABLE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTable {
    /// The table.
    pub name: QualifiedName,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// The columns, in the text's order.
    pub columns: Vec<ColumnDefinition>,
    /// Every PRIMARY KEY given, next to a column or apart; exactly one is right.
    pub primary_keys: Vec<PrimaryKey>,
    /// `WITH …`
    pub options: TableOptions,
}

/// `CREATE TABLE … LIKE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyTable {
    /// The table to make.
    pub name: QualifiedName,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// The table that it is to be like.
    pub source: QualifiedName,
    /// `WITH …`: options that it has instead of those of the source.
    pub properties: Vec<Property>,
}

/// A column as CREATE TABLE and ALTER TABLE define it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: Identifier,
    /// Its type.
    pub type_name: TypeName,
    /// `STATIC`
    pub is_static: bool,
    /// `MASKED WITH …`
    pub mask: Option<ColumnMask>,
}

/// The function that hides a column from those who may not see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnMask {
    /// `DEFAULT`
    Default,
    /// A function and the arguments that follow the column's value.
    Function {
        /// The function.
        name: FunctionName,
        /// Its further arguments.
        arguments: Vec<Term>,
    },
}

/// `PRIMARY KEY ((partition), clustering)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrimaryKey {
    /// The partition key's columns, at least one.
    pub partition: Vec<Identifier>,
    /// The clustering columns.
    pub clustering: Vec<Identifier>,
}

/// What stands after WITH in CREATE TABLE and CREATE MATERIALIZED VIEW.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// `name = value`, `ID = …` among them.
    pub properties: Vec<Property>,
    /// `CLUSTERING ORDER BY (…)`
    pub clustering_order: Vec<(Identifier, OrderDirection)>,
    /// `COMPACT STORAGE`
    pub compact_storage: bool,
}

/// `ALTER TABLE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterTable {
    /// The table.
    pub name: QualifiedName,
    /// `IF EXISTS`
    pub if_exists: bool,
    /// What to do.
    pub operation: AlterTableOperation,
}

/// What an ALTER TABLE does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlterTableOperation {
    /// `ADD …`
    Add {
        /// `IF NOT EXISTS`
        if_not_exists: bool,
        /// The columns to add.
        columns: Vec<ColumnDefinition>,
    },
    /// `DROP …`
    Drop {
        /// `IF EXISTS`
        if_exists: bool,
        /// The columns to drop.
        columns: Vec<Identifier>,
        /// `USING TIMESTAMP …`: an integer literal.
        timestamp: Option<Literal>,
    },
    /// `RENAME … TO …`
    Rename {
        /// `IF EXISTS`
        if_exists: bool,
        /// The old and the new names.
        columns: Vec<(Identifier, Identifier)>,
    },
    /// `ALTER … TYPE …`
    AlterType {
        /// The column.
        column: Identifier,
        /// The type to give it.
        type_name: TypeName,
    },
    /// `ALTER … MASKED WITH …` and `ALTER … DROP MASKED`
    Mask {
        /// `IF EXISTS`
        if_exists: bool,
        /// The column.
        column: Identifier,
        /// The new mask, or none.
        mask: Option<ColumnMask>,
    },
    /// `DROP COMPACT STORAGE`
    DropCompactStorage,
    /// `WITH …`
    With(Vec<Property>),
}

/// `DROP TABLE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropTable {
    /// The table.
    pub name: QualifiedName,
    /// `IF EXISTS`
    pub if_exists: bool,
}
