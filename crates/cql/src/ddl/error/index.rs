//! Why a statement about an index is refused.

use super::kind::DdlErrorKind;
use model::DataType;

/// Why a statement about an index is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the fields are what the messages name
pub enum IndexError {
    #[error("Index name must not be empty, or contain non-alphanumeric-underscore characters (got \"{0}\")")]
    Name(String),
    #[error("Cannot specify options for a non-CUSTOM index")]
    Options,
    #[error("Index '{0}' already exists")]
    Exists(String),
    #[error("Index {name} is a duplicate of existing index {existing}")]
    Twice { name: String, existing: String },
    #[error("Secondary indexes on counter tables aren't supported")]
    OnCounters,
    #[error("Only CUSTOM indexes can be created without specifying a target column")]
    WithoutColumn,
    #[error("Only CUSTOM indexes support multiple columns")]
    OnManyColumns,
    #[error("A storage-attached index cannot be created over multiple columns: {0}")]
    StorageAttachedOnManyColumns(String),
    #[error("Cannot specify {0} as a CUSTOM option")]
    OwnOption(&'static str),
    #[error("Table '{0}' doesn't exist")]
    UnknownTable(String),
    #[error("Secondary indexes are not supported on {0}")]
    OnDuration(&'static str),
    #[error("Cannot create secondary index on the only partition key column {0}")]
    OnPartitionKey(String),
    #[error(
        "Cannot create {kind}() index on frozen column {column}. Frozen collections are immutable and must be fully indexed by using the \
         'full({column})' modifier"
    )]
    OnFrozen { kind: &'static str, column: String },
    #[error("full() indexes can only be created on frozen collections")]
    FullIndex,
    #[error("Cannot create {kind}() index on {column}. Non-collection columns only support simple indexes")]
    OnSimple { kind: &'static str, column: String },
    #[error("Cannot create index on {kind} of column {column} with non-map type")]
    OnNoMap { kind: &'static str, column: String },
    #[error("Cannot create index on non-frozen UDT column {0}")]
    OnUserType(String),
    #[error("Illegal value for boolean option '{option}': {value}")]
    Flag { option: String, value: String },
    #[error("CQL type {0} cannot be analyzed.")]
    Analysis(DataType),
    #[error("CQL type {0} cannot have vector options")]
    VectorOption(DataType),
    #[error("{0} cannot be set without enabling SAI_VECTOR_ALLOW_CUSTOM_PARAMETERS")]
    GraphOption(&'static str),
    #[error("Similarity function {0} was not recognized for index null. Valid values are: EUCLIDEAN, DOT_PRODUCT, COSINE")]
    Similarity(String),
    #[error("Cannot create more than one storage-attached index on the same column: {0}")]
    StorageAttachedTwice(String),
    #[error("SAI ANN indexes are only allowed on vector columns with float elements")]
    OnVectorOf,
    #[error("Cosine similarity is not supported for single-dimension vectors")]
    OnOneDimension,
    #[error("Incorrect index mode: {0}")]
    SasiMode(String),
    #[error("complex columns are not yet supported by SASI")]
    SasiOnCollection,
    #[error("SPARSE mode is only supported on non-literal columns.")]
    SasiSparseText,
    #[error("SPARSE mode doesn't support analyzers.")]
    SasiSparseAnalyzed,
    #[error("Unable to find analyzer class '{0}'")]
    SasiAnalyzer(String),
    #[error("{0} does not support type {1}")]
    SasiAnalyzerType(&'static str, DataType),
    #[error("case_sensitive option cannot be specified together with either normalize_lowercase or normalize_uppercase")]
    SasiCase,
    #[error("Options to normalize terms cannot be both uppercase and lowercase at the same time")]
    SasiBothCases,
    #[error("Only single character delimiters supported, was {0}")]
    SasiDelimiter(String),
    #[error("Unable to find custom indexer class '{0}'")]
    Class(String),
    #[error("Properties specified [{0}] are not understood by StorageAttachedIndex")]
    UnknownOption(String),
    #[error("Can't rename column {column} because it has dependent secondary indexes ({indexes})")]
    RenameIndexedColumn { column: String, indexes: String },
    #[error("Cannot drop column {column} because it has dependent secondary indexes ({indexes})")]
    DropIndexedColumn { column: String, indexes: String },
}

impl IndexError {
    /// Its error code.
    #[must_use]
    pub fn kind(&self) -> DdlErrorKind {
        match self {
            Self::Class(_)
            | Self::UnknownOption(_)
            | Self::SasiMode(_)
            | Self::SasiOnCollection
            | Self::SasiSparseText
            | Self::SasiSparseAnalyzed
            | Self::SasiAnalyzer(_)
            | Self::SasiAnalyzerType(..)
            | Self::SasiCase
            | Self::SasiBothCases
            | Self::SasiDelimiter(_) => DdlErrorKind::Config,
            _ => DdlErrorKind::Invalid,
        }
    }
}
