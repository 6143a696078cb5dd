//! DESCRIBE, answered by the server.

use super::name::{FunctionName, Identifier, QualifiedName};

/// `DESCRIBE …` and `DESC …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Describe {
    /// What to describe.
    pub target: DescribeTarget,
    /// `WITH INTERNALS`
    pub with_internals: bool,
    /// `WITH INTERNALS AND PASSWORDS` (ScyllaDB)
    pub with_passwords: bool,
}

/// What a DESCRIBE describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DescribeTarget {
    /// `CLUSTER`
    Cluster,
    /// `[FULL] SCHEMA`
    Schema(SchemaScope),
    /// `KEYSPACES`
    Keyspaces,
    /// `[ONLY] KEYSPACE [ks]`: the session's without a name.
    Keyspace(KeyspaceScope, Option<Identifier>),
    /// `TABLES`
    Tables,
    /// `TABLE t`
    Table(QualifiedName),
    /// `INDEX i`
    Index(QualifiedName),
    /// `MATERIALIZED VIEW v`
    View(QualifiedName),
    /// `TYPES`
    Types,
    /// `TYPE t`
    Type(QualifiedName),
    /// `FUNCTIONS`
    Functions,
    /// `FUNCTION f`
    Function(FunctionName),
    /// `AGGREGATES`
    Aggregates,
    /// `AGGREGATE a`
    Aggregate(FunctionName),
    /// A bare name: a keyspace, or else a table, view or index.
    Any(QualifiedName),
}

/// How much a description of the schema shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaScope {
    /// Without the keyspaces of the system.
    User,
    /// `FULL`
    Full,
}

/// How much a description of a keyspace shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyspaceScope {
    /// The keyspace and all that is in it.
    WithContents,
    /// `ONLY`
    Only,
}
