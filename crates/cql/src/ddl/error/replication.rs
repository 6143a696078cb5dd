//! Why the replication of a keyspace is refused.

use super::kind::DdlErrorKind;

/// Why the replication of a keyspace is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the fields are what the messages name
pub enum ReplicationError {
    #[error("Missing replication strategy class")]
    NoReplicationClass,
    #[error("Unable to find replication strategy class '{0}'")]
    UnknownReplicationClass(String),
    #[error("Unable to use given strategy class: LocalStrategy is reserved for internal use.")]
    LocalStrategy,
    #[error("For input string: \"{0}\"")]
    ReplicationFactor(String),
    #[error("Replication factor must be non-negative, found {0}")]
    NegativeReplicationFactor(i32),
    #[error("Replication factor must be at least 1, found 0")]
    ZeroReplicationFactor,
    #[error("Transient replication is not enabled on this node")]
    TransientReplication,
    #[error("Unrecognized strategy option {{{option}}} passed to {strategy} for keyspace {keyspace}")]
    UnknownReplicationOption { option: String, strategy: &'static str, keyspace: String },
    #[error("Configuration for at least one datacenter must be present")]
    NoDataCenter,
}

impl ReplicationError {
    /// Its error code.
    #[must_use]
    pub fn kind(&self) -> DdlErrorKind {
        match self {
            Self::LocalStrategy => DdlErrorKind::Invalid,
            _ => DdlErrorKind::Config,
        }
    }
}
