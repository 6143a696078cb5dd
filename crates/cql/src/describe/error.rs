//! What a DESCRIBE cannot find, in Cassandra's words. All of these have error code 0x2200.

use crate::CqlError;

/// Something to describe that is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescribeError {
    /// Neither the statement nor the session names a keyspace.
    #[error("No keyspace specified and no current keyspace")]
    NoKeyspace,
    /// No such keyspace.
    #[error("'{0}' not found in keyspaces")]
    UnknownKeyspace(String),
    /// Nothing of this kind and name in the keyspace.
    #[error("{kind}'{name}' not found in {place}'{keyspace}'")]
    Unknown {
        /// What was asked for, and a space, or nothing.
        kind: &'static str,
        /// Its name.
        name: String,
        /// What the keyspace is called in the message.
        place: &'static str,
        /// The keyspace.
        keyspace: String,
    },
}

impl DescribeError {
    fn unknown(kind: &'static str, place: &'static str, keyspace: &str, name: &str) -> Self {
        Self::Unknown { kind, name: name.to_owned(), place, keyspace: keyspace.to_owned() }
    }

    pub(super) fn any(keyspace: &str, name: &str) -> Self {
        Self::unknown("", "keyspace ", keyspace, name)
    }

    pub(super) fn table(keyspace: &str, name: &str) -> Self {
        Self::unknown("Table ", "keyspace ", keyspace, name)
    }

    pub(super) fn user_type(keyspace: &str, name: &str) -> Self {
        Self::unknown("User defined type ", "", keyspace, name)
    }

    pub(super) fn index(keyspace: &str, name: &str) -> Self {
        Self::unknown("Table for existing index ", "", keyspace, name)
    }

    pub(super) fn view(keyspace: &str, name: &str) -> Self {
        Self::unknown("Materialized view ", "", keyspace, name)
    }

    pub(super) fn function(keyspace: &str, name: &str) -> Self {
        Self::unknown("User defined function ", "", keyspace, name)
    }

    pub(super) fn aggregate(keyspace: &str, name: &str) -> Self {
        Self::unknown("User defined aggregate ", "", keyspace, name)
    }
}

impl From<DescribeError> for CqlError {
    fn from(error: DescribeError) -> Self {
        Self::Invalid(error.to_string())
    }
}
