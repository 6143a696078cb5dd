//! Nouns shared by every protocol: types, schema, rows, and the operation that a protocol runs on a partition.

pub mod aggregate;
mod column_id;
mod column_mask;
mod function;
pub mod operation;
mod permission;
pub mod record_set;
mod role_limits;
pub mod row;
mod schema;
pub mod schema_blob;
mod types;

pub use column_id::ColumnId;
pub use column_mask::{ColumnMask, MaskArgument};
pub use function::{Function, Functions, NullInput, UserAggregate};
pub use permission::{Permission, Permissions, Resource};
pub use role_limits::{Limit, ROLE_LIMIT_MAX, RoleLimits};
pub use schema::{
    CDC_LOG_OPTION, CDC_OPTION, CONTAINER_OPTION, Column, ColumnKind, DROPPED_AT_OPTION, DroppedColumn, Index, IndexPart, KeptOption,
    Keyspace, Order, PARTITIONING_ENTRY, Replication, Role, Schema, Table, TableOptions, View,
};
pub use types::{DataType, Frozen, TYPE_DEPTH_MAX, TYPE_PARTS_MAX, UserType, VECTOR_DIMENSIONS_MAX};
