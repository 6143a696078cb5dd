//! Why tables are not copied.

use crate::cql_endpoint::EndpointError;
use crate::feed::FeedError;
use crate::patience::Passing;
use load::cql::client::ClientError;

/// CQL's code of a statement that a node has forgotten, as after a restart.
const UNPREPARED: i32 = 0x2500;

/// Why tables are not copied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportError {
    /// How a side is named.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The operating system gives no thread.
    #[error("no thread for a job: {0}; give fewer --jobs")]
    Thread(std::io::Error),
    /// The source, or that it says nothing.
    #[error("the source: {0}")]
    Source(FeedError),
    /// The target, or that it says nothing.
    #[error("the target: {0}")]
    Target(FeedError),
    /// No such keyspace.
    #[error("the source has no keyspace {keyspace}; it has {known}")]
    NoKeyspace {
        /// What was asked for.
        keyspace: String,
        /// Those that it has.
        known: String,
    },
    /// No such table.
    #[error("the source has no table {keyspace}.{table}; it has {known}")]
    NoTable {
        /// The keyspace.
        keyspace: String,
        /// What was asked for.
        table: String,
        /// Those that the keyspace has.
        known: String,
    },
    /// A table that was asked for by its name and cannot be copied.
    #[error("{keyspace}.{table} cannot be imported: {why}")]
    Unfit {
        /// The keyspace.
        keyspace: String,
        /// Its name.
        table: String,
        /// Why.
        why: &'static str,
    },
    /// The source places its partitions by another function.
    #[error("the source's partitioner is {partitioner}: only Murmur3Partitioner's tokens are known")]
    Partitioner {
        /// Its class.
        partitioner: String,
    },
    /// What is there is not what is to be copied.
    #[error(
        "{what} {name} of the target differs from the source's: {difference}. Change either with ALTER, or drop the target's, whose rows are lost then"
    )]
    Differs {
        /// Table or type.
        what: &'static str,
        /// Its name.
        name: String,
        /// How.
        difference: String,
    },
    /// The target refuses a part of the schema.
    #[error("the target does not make {what}: {error}")]
    NotMade {
        /// What.
        what: String,
        /// Its words.
        error: FeedError,
    },
    /// Of a table.
    #[error("{keyspace}.{table}: {error}")]
    Of {
        /// The keyspace.
        keyspace: String,
        /// Its name.
        table: String,
        /// Why.
        error: Box<ImportError>,
    },
    /// The comparison.
    #[error("{rows} rows of {keyspace} are not the same on both sides, see above")]
    NotTheSame {
        /// The keyspace.
        keyspace: String,
        /// How many.
        rows: u64,
    },
    /// All rows are there, and something else is not.
    #[error("left out: {count} of what {keyspace} has, see above")]
    LeftOut {
        /// The keyspace.
        keyspace: String,
        /// How many things.
        count: usize,
    },
}

impl ImportError {
    pub(super) fn at_source(error: ClientError) -> Self {
        Self::Source(error.into())
    }

    pub(super) fn at_target(error: ClientError) -> Self {
        Self::Target(error.into())
    }

    /// Whether the command line is wrong.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, Self::Endpoint(_) | Self::NoKeyspace { .. } | Self::NoTable { .. } | Self::Unfit { .. })
    }
}

impl Passing for ImportError {
    fn may_pass(&self) -> bool {
        let (Self::Source(error) | Self::Target(error)) = self else { return false };
        error.may_pass() || matches!(error, FeedError::Client(ClientError::Refused { code: UNPREPARED, .. }))
    }
}
