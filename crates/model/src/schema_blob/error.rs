//! Why bytes are not a schema.

/// Bytes that are not a schema that this program understands.
#[derive(Debug, thiserror::Error)]
pub enum SchemaBlobError {
    /// The last line is not a checksum: the blob is cut off, or is something else.
    #[error("the schema does not end with its checksum: it is cut off or overwritten; restore it from a backup")]
    NoChecksum,
    /// The content is not what was written.
    #[error("the schema is damaged: its checksum is {stored:08x}, its content gives {computed:08x}; restore it from a backup")]
    Checksum {
        /// As the blob says.
        stored: u32,
        /// As its content gives.
        computed: u32,
    },
    /// A newer program wrote it.
    #[error("the schema has format {found}, and this program reads formats up to {supported}: run the newer program that wrote it")]
    Newer {
        /// The blob's format.
        found: u32,
        /// The newest format that is understood.
        supported: u32,
    },
    /// It is not the JSON that its format promises.
    #[error("the schema is not what its format promises: {0}")]
    Json(#[from] serde_json::Error),
    /// A role has been granted one that is not there.
    #[error("the schema contradicts itself: the role {role} has been granted one that is not there")]
    UnknownRole {
        /// The role.
        role: String,
    },
    /// Two roles have the same identity.
    #[error("the schema contradicts itself: the identity {identity} is that of two roles")]
    IdentityTwice {
        /// The identity.
        identity: String,
    },
    /// A role has been allowed what this program does not know.
    #[error("the role {role} has been granted a permission, or one on something, or has a limit, that this program does not know")]
    UnknownPermission {
        /// The role.
        role: String,
    },
    /// Its parts contradict each other.
    #[error("the schema contradicts itself in {keyspace}.{name}: {fault}")]
    Inconsistent {
        /// The keyspace.
        keyspace: String,
        /// The table or type; empty for the keyspace itself.
        name: String,
        /// What is wrong.
        fault: Inconsistency,
    },
}

/// What contradicts what in a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistency {
    /// Two things of one name.
    #[error("the name is there twice")]
    NameTwice,
    /// Two things of one id, or an id that was not given out yet.
    #[error("an id is there twice, or was never given out")]
    Id,
    /// Key columns are missing or not in front.
    #[error("its columns are not in the order of partition key, clustering key, others")]
    ColumnOrder,
    /// A type refers to a user type that is not there, or to itself.
    #[error("a type refers to a user type that is not there, or to itself")]
    UnknownType,
    /// A type is too deep or has too many parts.
    #[error("a type has more levels or parts than any may have")]
    TypeBounds,
    /// A record set's bins are not its columns.
    #[error("the bins of a record set are there twice, or are not its columns")]
    Bins,
    /// A view of what is no table.
    #[error("the table that it is a view of is not there")]
    View,
    /// An aggregate without its state function.
    #[error("the state function of an aggregate is not there")]
    StateFunction,
    /// A mask without its function, or with an argument that is not hexadecimal.
    #[error("the function that masks a column is not there, or an argument of it is not hexadecimal")]
    Mask,
    /// An aggregate's first state is not hexadecimal.
    #[error("the first state of an aggregate is not hexadecimal")]
    Initial,
    /// A UUID is not 32 hexadecimal digits.
    #[error("a UUID is not 32 hexadecimal digits")]
    Uuid,
}
