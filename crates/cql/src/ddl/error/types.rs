//! Why a type, or a statement about a user type, is refused.

use super::kind::DdlErrorKind;
use crate::language::ast;

/// Why a type, or a statement about a user type, is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the fields are what the messages name
pub enum TypeError {
    #[error("Cannot drop user type '{keyspace}.{name}' as it is still used by functions {users}")]
    TypeUsedByFunctions { keyspace: String, name: String, users: String },
    #[error("Counters are not allowed inside collections: {0}")]
    CounterInCollection(ast::TypeName),
    #[error("Counters are not allowed inside tuples")]
    CounterInTuple,
    #[error("Counters are not allowed inside vectors")]
    CounterInVector,
    #[error("Durations are not allowed inside sets: {0}")]
    DurationInSet(ast::TypeName),
    #[error("Durations are not allowed as map keys: {0}")]
    DurationAsKey(ast::TypeName),
    #[error("Non-frozen UDTs with nested non-frozen collections are not supported")]
    NestedCollection,
    #[error("Non-frozen collections are not allowed inside collections: {0}")]
    CollectionInCollection(ast::TypeName),
    #[error("Non-frozen UDTs are not allowed inside collections: {0}")]
    UserTypeInCollection(ast::TypeName),
    #[error("vectors may only have positive dimensions; given {0}")]
    VectorWithoutDimension(i32),
    #[error(
        "Statement on keyspace {keyspace} cannot refer to a user type in keyspace {other}; user types can only be used in the keyspace they are defined in"
    )]
    ForeignType { keyspace: String, other: String },
    #[error("Duplicate field name '{field}' in type '{name}'")]
    FieldTwice { field: String, name: String },
    #[error("A user type cannot contain counters")]
    CounterField,
    #[error("A user type cannot contain non-frozen UDTs")]
    UserTypeField,
    #[error("Cannot add field {field} to type {keyspace}.{name}: a field with name {field} already exists")]
    FieldExists { keyspace: String, name: String, field: String },
    #[error("Cannot add new field {field} of type {data_type} to user type {keyspace}.{name} as it would create a circular reference")]
    CircularType { keyspace: String, name: String, field: String, data_type: String },
    #[error(
        "Cannot add new field {field} of type {data_type} to user type {keyspace}.{name} as the type is being used in partition key \
         by the following tables: {tables}"
    )]
    TypeInPartitionKey { keyspace: String, name: String, field: String, data_type: String, tables: String },
    #[error("Unkown field {field} in user type {keyspace}.{name}")]
    UnknownField { keyspace: String, name: String, field: String },
    #[error("Duplicate field name {field} in type {name}")]
    RenamedFieldTwice { field: String, name: String },
    #[error("Altering field types is no longer supported")]
    AlterFieldType,
    #[error("Cannot drop user type '{keyspace}.{name}' as it is still used by user types {users}")]
    TypeUsedByTypes { keyspace: String, name: String, users: String },
    #[error("Cannot drop user type '{keyspace}.{name}' as it is still used by tables {users}")]
    TypeUsedByTables { keyspace: String, name: String, users: String },
}

impl TypeError {
    /// Its error code.
    #[must_use]
    pub fn kind(&self) -> DdlErrorKind {
        DdlErrorKind::Invalid
    }
}
