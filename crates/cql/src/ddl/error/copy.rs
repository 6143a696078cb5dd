//! Why CREATE TABLE … LIKE is refused.

/// Why CREATE TABLE … LIKE is refused. All of it is invalid (0x2200).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the fields are what the messages name
pub enum CopyError {
    #[error("Source Keyspace '{0}' doesn't exist")]
    UnknownSource(String),
    #[error("Souce Table '{keyspace}.{table}' doesn't exist")]
    UnknownTable { keyspace: String, table: String },
    #[error("Cannot use CREATE TABLE LIKE on a materialized view '{keyspace}.{view}'.")]
    OfView { keyspace: String, view: String },
    #[error("Target Keyspace '{0}' doesn't exist")]
    UnknownTarget(String),
    #[error("Masking function {function} doesn't belong to target keyspace '{keyspace}'.")]
    OtherMask { function: String, keyspace: String },
    #[error("UDTs {names} do not exist in target keyspace '{keyspace}'.")]
    MissingTypes { names: String, keyspace: String },
    #[error(
        "Target keyspace '{target_keyspace}' has same UDT name '{name}' as source keyspace '{source_keyspace}' but with different \
         structure."
    )]
    OtherType { name: String, source_keyspace: String, target_keyspace: String },
}
