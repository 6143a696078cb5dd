//! Statements as the parser gives them: names and terms unresolved, nothing checked against a schema.
//!
//! One file a family: what statements are made of (`name`, `type_name`, `term`, `selector`, `relation`, `property`), then the
//! statements (`select`, `modification`, `table`, `definition`, `function`, `access`, `describe`).
//!
//! Invariant: no tree is deeper than [`NESTING_MAX`](super::NESTING_MAX) plus
//! [`EXPRESSION_OPERATORS_MAX`](super::EXPRESSION_OPERATORS_MAX) nodes, so that recursion over it is safe.

mod access;
mod define;
mod describe;
mod function;
mod list;
mod modification;
mod name;
mod property;
mod relation;
mod select;
mod selector;
mod statement;
mod table;
mod term;
mod type_name;

pub use access::{
    AccessScope, AddIdentity, AlterRole, CreateRole, DropIdentity, DropRole, GrantPermissions, GrantRole, ListPermissions, ListRoles,
    PasswordHashes, PermissionSet, Resource, RevokePermissions, RevokeRole, RoleOption,
};
pub use define::{
    AlterKeyspace, AlterType, AlterTypeOperation, AlterView, CreateIndex, CreateKeyspace, CreateTrigger, CreateType, CreateView, DropIndex,
    DropKeyspace, DropTrigger, DropType, DropView, IndexTarget,
};
pub use describe::{Describe, DescribeTarget, KeyspaceScope, SchemaScope};
pub use function::{CreateAggregate, CreateFunction, DropAggregate, DropFunction, NullInput};
pub use modification::{
    Assignment, Attributes, Batch, BatchKind, ConditionClause, Delete, Deletion, Insert, InsertSource, JsonDefault, JsonValue,
    Modification, PruneView, Truncate, Update,
};
pub use name::{FunctionName, Identifier, QualifiedName};
pub use property::{Property, PropertyValue};
pub use relation::{CompareOperator, Comparison, InValues, Relation, RelationTarget, WhereClause, WhereExpression};
pub use select::{OrderBy, OrderDirection, Ordering, Select, SelectKind, Selection};
pub use selector::{CellAttribute, Selector, SelectorItem};
pub use statement::{Statement, UnsupportedStatement};
pub use table::{
    AlterTable, AlterTableOperation, ColumnDefinition, ColumnMask, CopyTable, CreateTable, DropTable, PrimaryKey, TableOptions,
};
pub use term::{ArithmeticOperator, BindMarker, Literal, Term};
pub use type_name::{NativeType, TypeName};
