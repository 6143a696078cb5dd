//! Why tables are not copied.

use crate::endpoint::EndpointError;
use crate::feed::FeedError;
use crate::patience::Passing;
use aerospike::ResultCode;
use griddb::GridError;
use load::aerospike::client::ClientError as AerospikeError;
use load::cql::client::ClientError;
use load::target::TargetError;

/// CQL's code of a statement that a node has forgotten, as after a restart.
const UNPREPARED: i32 = 0x2500;

/// Aerospike's codes of what may pass: the server is overloaded, a partition is on its way, a session is over.
const PASSING: [ResultCode; 10] = [
    ResultCode::OUT_OF_MEMORY,
    ResultCode::TIMEOUT,
    ResultCode::PARTITION_UNAVAILABLE,
    ResultCode::KEY_BUSY,
    ResultCode::SCAN_ABORT,
    ResultCode::DEVICE_OVERLOAD,
    ResultCode::EXPIRED_SESSION,
    ResultCode::QUOTA_EXCEEDED,
    ResultCode::BATCH_QUEUES_FULL,
    ResultCode::QUERY_QUEUE_FULL,
];

/// GridDB's names of what may pass: a partition is on its way, the server does not answer in time.
const PASSING_KINDS: [&str; 4] =
    ["TXN_PARTITION_STATE_UNMATCH", "TXN_STATEMENT_TIMEOUT", "TXN_REPLICATION_ACK_TIMEOUT", "DS_CON_LOCK_CONFLICT"];

/// Why what keeps the state of imports is none of the tables that are copied.
pub(super) const IS_STATE: &str = "it keeps how far imports have come";

/// Who is read, or written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Source,
    Target,
}

impl std::fmt::Display for Side {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Source => "source",
            Self::Target => "target",
        })
    }
}

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
    /// A side that speaks Aerospike's protocol, or that it says nothing.
    #[error("the {side}: {error}")]
    Aerospike {
        /// Which.
        side: Side,
        /// Its words.
        error: AerospikeError,
    },
    /// A side that speaks GridDB's protocol, or that it says nothing.
    #[error("the {side}: {error}")]
    GridDb {
        /// Which.
        side: Side,
        /// Its words.
        error: TargetError,
    },
    /// What is told of containers and rows.
    #[error("what is told of a container makes no sense: {0}")]
    Told(GridError),
    /// No such database.
    #[error("the {side} has no database {database}; at the target `putDatabase` or CREATE KEYSPACE makes it")]
    NoDatabase {
        /// Which side.
        side: Side,
        /// What was asked for.
        database: String,
    },
    /// Rows that nothing tells apart from those that are copied.
    #[error("the target has rows of container {container}, which has no row key: copied rows would come beside them. Drop it first")]
    NotEmpty {
        /// Its name.
        container: String,
    },
    /// An index of a kind that is not here.
    #[error("it is neither TREE nor SPATIAL")]
    OtherIndex,
    /// What was tried for as long as there was patience.
    #[error(transparent)]
    GaveUp(Box<ImportError>),
    /// An option of another protocol.
    #[error("{option} is for {of} only")]
    Option {
        /// Its name.
        option: &'static str,
        /// Who has it.
        of: &'static str,
    },
    /// No such namespace at the source.
    #[error("the source has no namespace {namespace}; it has {known}")]
    NoNamespace {
        /// What was asked for.
        namespace: String,
        /// Those that it has.
        known: String,
    },
    /// No such namespace at the target.
    #[error("the target has no namespace {namespace}; it has {known}: name it in its setting aerospike_namespaces, and start it again")]
    NoNamespaceHere {
        /// What was asked for.
        namespace: String,
        /// Those that it has.
        known: String,
    },
    /// No such set.
    #[error("the source has no set {set} in {namespace}; it has {known}")]
    NoSet {
        /// The namespace.
        namespace: String,
        /// What was asked for.
        set: String,
        /// Those that the namespace has.
        known: String,
    },
    /// Somebody of a cluster is away.
    #[error("the {side}: no node that answers has partition {partition} of {namespace}; name more of its nodes")]
    NoOwner {
        /// Which side.
        side: Side,
        /// The first partition that nobody has.
        partition: usize,
        /// The namespace.
        namespace: String,
    },
    /// Expressions are not served.
    #[error("the source does not tell which records have changed: --restart copies all of them again")]
    NotByTime,
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

    /// The same, said of a table.
    pub(super) fn of(self, keyspace: &str, table: &str) -> Self {
        Self::Of { keyspace: keyspace.to_owned(), table: table.to_owned(), error: Box::new(self) }
    }

    /// Whether a side has said no.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::OtherIndex | Self::GridDb { error: TargetError::Refused { .. }, .. })
    }

    /// Whether the command line is wrong.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Endpoint(_)
                | Self::Option { .. }
                | Self::NoKeyspace { .. }
                | Self::NoTable { .. }
                | Self::NoNamespace { .. }
                | Self::NoDatabase { side: Side::Source, .. }
                | Self::NoSet { .. }
                | Self::Unfit { .. }
        )
    }
}

impl Passing for ImportError {
    fn may_pass(&self) -> bool {
        match self {
            Self::Source(error) | Self::Target(error) => {
                error.may_pass() || matches!(error, FeedError::Client(ClientError::Refused { code: UNPREPARED, .. }))
            }
            Self::Aerospike { error: AerospikeError::Io(_), .. } | Self::NoOwner { .. } => true,
            Self::Aerospike { error: AerospikeError::Refused { code, .. }, .. } => PASSING.contains(code),
            Self::GridDb { error, .. } => match error {
                TargetError::Connect { .. } | TargetError::Silent { .. } | TargetError::Broken { .. } => true,
                TargetError::Refused { kind, .. } => PASSING_KINDS.contains(kind),
                _ => false,
            },
            _ => false,
        }
    }
}
