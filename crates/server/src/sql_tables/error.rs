//! Why tables cannot be read.

use load::cql::client::ClientError;

/// SQLite's own name for tables of a statement alone.
pub(super) const TEMP: &str = "temp";

/// Why tables could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TablesError {
    /// What the CQL port says, or that it says nothing.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A table is not what it was when the statement began.
    #[error("{message}")]
    Changed {
        /// The node's words.
        message: String,
    },
    /// There is no such keyspace.
    #[error("there is no keyspace {name}")]
    NoKeyspace {
        /// What was asked for.
        name: String,
    },
    /// A name without a keyspace.
    #[error("no such table: {name}; name its keyspace, as ks.{name}, or give a keyspace for such names with the statement")]
    Unqualified {
        /// The name.
        name: String,
    },
    /// Names that SQLite cannot tell apart.
    #[error("the names {} differ by capitals alone: a statement can have one of them, with its own capitals", names.join(" and "))]
    Capitals {
        /// The names.
        names: Vec<String>,
    },
    /// A keyspace that is called like something of SQLite's.
    #[error(
        "tables of a keyspace that is called {TEMP} are reached without its name: give it as the keyspace of such names with the statement"
    )]
    Reserved,
}
