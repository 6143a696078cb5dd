//! Nouns shared by every protocol: types, schema, rows, and the operation that a protocol runs on a partition.

mod column_id;
mod function;
pub mod operation;
mod permission;
pub mod record_set;
pub mod row;
mod schema;
pub mod schema_blob;
mod types;

pub use column_id::ColumnId;
pub use function::{Function, Functions, NullInput, UserAggregate};
pub use permission::{Permission, Permissions, Resource};
pub use schema::{
    CONTAINER_OPTION, Column, ColumnKind, DroppedColumn, Index, IndexPart, KeptOption, Keyspace, Order, Replication, Role, Schema, Table,
    TableOptions, View,
};
pub use types::{DataType, Frozen, TYPE_DEPTH_MAX, TYPE_PARTS_MAX, UserType};
