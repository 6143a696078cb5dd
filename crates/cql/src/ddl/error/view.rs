//! Why a statement about a materialized view, or a table that has one, is refused.

use super::kind::DdlErrorKind;

/// Why a statement about a materialized view, or a table that has one, is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the fields are what the messages name
pub enum ViewError {
    #[error("Base table '{0}' doesn't exist")]
    UnknownBase(String),
    #[error("Cannot create a materialized view on a table in a separate keyspace")]
    Keyspace,
    #[error("Cannot create materialized view '{0}' - a table with the same name already exists")]
    NamedAsTable(String),
    #[error("Materialized views are not supported on counter tables")]
    OfCounters,
    #[error(
        "Cannot create materialized view '{view}' for base table '{base}' with gc_grace_seconds of 0, since this value is used to TTL \
         undelivered updates. Setting gc_grace_seconds too low might cause undelivered updates to expire before being replayed."
    )]
    OfForgetful { view: String, base: String },
    #[error("Cannot use aliases when defining a materialized view (got {0})")]
    Alias(String),
    #[error("Can only select columns by name when defining a materialized view (got {0})")]
    Selector(String),
    #[error("Undefined column name {column} in table {table}")]
    UndefinedColumn { column: String, table: String },
    #[error("Cannot include static column '{column}' in materialized view '{view}'")]
    Static { column: String, view: String },
    #[error("Unknown column '{column}' referenced in PRIMARY KEY for materialized view '{view}'")]
    UnknownKeyColumn { column: String, view: String },
    #[error("Duplicate column '{column}' in PRIMARY KEY clause for materialized view '{view}'")]
    KeyColumnTwice { column: String, view: String },
    #[error("Invalid non-frozen collection type '{data_type}' for PRIMARY KEY column '{column}'")]
    CollectionKey { column: String, data_type: String },
    #[error("Invalid non-frozen user-defined type '{data_type}' for PRIMARY KEY column '{column}'")]
    UserTypeKey { column: String, data_type: String },
    #[error("Clustering key columns must exactly match columns in CLUSTERING ORDER BY directive")]
    Order,
    #[error("Cannot create materialized view '{view}' without primary key columns {columns} from base table '{base}'")]
    MissingKeys { view: String, columns: String, base: String },
    #[error("Cannot include more than one non-primary key column in materialized view primary key (got {0})")]
    ManyColumns(String),
    #[error("{0}")]
    Where(String),
    #[error("Primary key columns {0} must be restricted with 'IS NOT NULL' or otherwise")]
    FreeKeys(String),
    #[error("Non-primary key columns can only be restricted with 'IS NOT NULL' (got: {0} restricted illegally)")]
    Restrictions(String),
    #[error(
        "Cannot set default_time_to_live for a materialized view. Data in a materialized view always expire at the same time than the \
         corresponding data in the parent table."
    )]
    TimeToLive,
    #[error(
        "Forbidden default_time_to_live detected for a materialized view. Data in a materialized view always expire at the same time than \
         the corresponding data in the parent table. default_time_to_live must be set to zero, see CASSANDRA-12868 for more information"
    )]
    AlterViewTimeToLive,
    #[error("Cannot use 'COMPACT STORAGE' when defining a materialized view")]
    Compact,
    #[error(
        "Cannot alter gc_grace_seconds of a materialized view to 0, since this value is used to TTL undelivered updates. Setting \
         gc_grace_seconds too low might cause undelivered updates to expire before being replayed."
    )]
    Grace,
    #[error(
        "Cannot alter gc_grace_seconds of the base table of a materialized view to 0, since this value is used to TTL undelivered updates. \
         Setting gc_grace_seconds too low might cause undelivered updates to expire before being replayed."
    )]
    BaseGrace,
    #[error("Cannot use ALTER TABLE on a materialized view; use ALTER MATERIALIZED VIEW instead")]
    AlterTableOfView,
    #[error("Cannot use DROP TABLE on a materialized view. Please use DROP MATERIALIZED VIEW instead.")]
    DropTableOfView,
    /// Cassandra means to name the views, and names the keyspace.
    #[error("Cannot drop a table when materialized views still depend on it ({0})")]
    DropBase(String),
    #[error("Cannot drop column {column} on base table {table} with materialized views")]
    DropBaseColumn { column: String, table: String },
    #[error("Secondary indexes on materialized views aren't supported")]
    Index,
}

impl ViewError {
    /// Its error code.
    #[must_use]
    pub fn kind(&self) -> DdlErrorKind {
        DdlErrorKind::Invalid
    }
}
