//! Why a schema statement is refused, in Cassandra's words, misspellings included: clients and their tests match on them.

mod cdc;
mod copy;
mod index;
mod kind;
mod replication;
mod role;
mod routine;
mod table_option;
mod types;
mod view;

pub use cdc::CdcError;
pub use copy::CopyError;
pub use index::IndexError;
pub use kind::DdlErrorKind;
pub use replication::ReplicationError;
pub use role::{PASSWORD_BYTES_MAX, RoleError};
pub use routine::RoutineError;
pub use table_option::TableOptionError;
pub use types::TypeError;
pub use view::ViewError;

use crate::CqlError;
use crate::language::ast;
use model::DataType;

/// A schema statement that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the fields are what the messages name
pub enum DdlError {
    // Properties of statements: what is wrong with the statement alone.
    #[error("Unknown property '{0}'")]
    UnknownProperty(String),
    #[error("Missing mandatory option '{0}'")]
    MissingProperty(&'static str),
    #[error("Invalid value for property '{0}'. It should be a string")]
    NotAString(String),
    #[error("Invalid value for property '{0}'. It should be a map.")]
    NotAMap(String),
    #[error(
        "Invalid boolean value {value} for '{name}'. Positive values can be '1', 'true' or 'yes'. \
         Negative values can be '0', 'false' or 'no'."
    )]
    NotABoolean { name: String, value: String },
    #[error("Invalid integer value {value} for '{name}'")]
    NotAnInteger { name: String, value: String },
    #[error("Invalid double value {value} for '{name}'")]
    NotADouble { name: String, value: String },
    #[error("frozen<> is only allowed on collections, tuples, and user-defined types (got {0})")]
    NotFreezable(ast::TypeName),
    #[error("Error setting type {class}: Unable to find abstract-type class '{full}'")]
    UnknownClass { class: String, full: String },

    // Names.
    #[error("No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename")]
    NoKeyspace,
    #[error("Keyspace '{0}' doesn't exist")]
    UnknownKeyspace(String),
    #[error("Table '{keyspace}.{table}' doesn't exist")]
    UnknownTable { keyspace: String, table: String },
    #[error("Type '{keyspace}.{name}' doesn't exist")]
    UnknownDroppedType { keyspace: String, name: String },
    #[error("Type {keyspace}.{name} doesn't exist")]
    UnknownAlteredType { keyspace: String, name: String },
    #[error("Index '{keyspace}.{name}' doesn't exist'")]
    UnknownIndex { keyspace: String, name: String },
    #[error("Materialized view '{keyspace}.{name}' doesn't exist")]
    UnknownView { keyspace: String, name: String },
    #[error("Trigger class '{0}' couldn't be loaded")]
    TriggerClass(String),
    #[error("Trigger '{name}' on '{keyspace}.{table}' doesn't exist")]
    UnknownTrigger { keyspace: String, table: String, name: String },
    #[error("Unknown type {keyspace}.{name}")]
    UnknownType { keyspace: String, name: String },
    #[error("Cannot add existing keyspace \"{0}\"")]
    KeyspaceExists(String),
    #[error("Cannot add already existing table \"{table}\" to keyspace \"{keyspace}\"")]
    TableExists { keyspace: String, table: String },
    #[error("A user type with name '{0}' already exists")]
    TypeExists(String),
    #[error("Keyspace name must not be empty and must contain alphanumeric or underscore characters only (got \"{0}\")")]
    KeyspaceName(String),
    #[error("Keyspace name must not be more than {maximum} characters long (got {characters} characters for \"{name}\")")]
    KeyspaceNameLength { name: String, characters: usize, maximum: usize },
    #[error("{keyspace}.{table}: Table name must not be empty or not contain non-alphanumeric-underscore characters (got \"{table}\")")]
    TableName { keyspace: String, table: String },
    #[error("{keyspace}.{table}: Table name must not be more than {maximum} characters long (got {characters} characters for \"{table}\")")]
    TableNameLength { keyspace: String, table: String, characters: usize, maximum: usize },
    #[error("System keyspace '{0}' is not user-modifiable")]
    CreateSystemKeyspace(String),
    #[error("{0} keyspace is not user-modifiable.")]
    SystemKeyspace(String),
    #[error("{keyspace}.{table} is a record set: Aerospike clients make and change it")]
    RecordSet { keyspace: String, table: String },
    #[error("{keyspace}.{table} is a container: GridDB clients make, change and drop it")]
    Container { keyspace: String, table: String },
    #[error("Keyspace {0} has record sets of Aerospike clients: truncate them and leave it, or use another keyspace")]
    HasRecordSets(String),

    // Tables.
    #[error("No PRIMARY KEY specifed for table '{0}' (exactly one required)")]
    NoPrimaryKey(ast::QualifiedName),
    #[error("Multiple PRIMARY KEY specified for table '{0}' (exactly one required)")]
    ManyPrimaryKeys(ast::QualifiedName),
    #[error("Duplicate column '{column}' declaration for table '{table}'")]
    ColumnTwice { column: String, table: ast::QualifiedName },
    #[error("Duplicate column '{column}' in PRIMARY KEY clause for table '{table}'")]
    KeyColumnTwice { column: String, table: String },
    #[error("Unknown column '{column}' referenced in PRIMARY KEY for table '{table}'")]
    UnknownKeyColumn { column: String, table: String },
    #[error("Static column '{0}' cannot be part of the PRIMARY KEY")]
    StaticKeyColumn(String),
    #[error("counter type is not supported for PRIMARY KEY column '{0}'")]
    CounterKeyColumn(String),
    #[error("duration type is not supported for PRIMARY KEY column '{0}'")]
    DurationKeyColumn(String),
    #[error("Invalid non-frozen collection type {data_type} for PRIMARY KEY column '{column}'")]
    CollectionKeyColumn { column: String, data_type: DataType },
    #[error("Invalid non-frozen user-defined type \"{keyspace}.{name}\" for PRIMARY KEY column '{column}'")]
    UserTypeKeyColumn { column: String, keyspace: String, name: String },
    #[error("Static columns are only useful (and thus allowed) if the table has at least one clustering column")]
    StaticWithoutClustering,
    #[error("Cannot mix counter and non counter columns in the same table")]
    CounterMix,
    #[error("{keyspace}.{table}: Cannot have a counter column (\"{column}\") in a non counter table")]
    CounterInTable { keyspace: String, table: String, column: String },
    #[error("{keyspace}.{table}: Cannot have a non counter column (\"{column}\") in a counter table")]
    NonCounterInTable { keyspace: String, table: String, column: String },
    #[error("Duplicate column '{column}' in CLUSTERING ORDER BY clause for table '{table}'")]
    OrderTwice { column: String, table: String },
    #[error("Only clustering key columns can be defined in CLUSTERING ORDER directive: [{0}] are not clustering columns")]
    OrderOfOthers(String),
    #[error(
        "The order of columns in the CLUSTERING ORDER directive must match that of the clustering columns ({expected} must appear before {found})"
    )]
    OrderOutOfOrder { expected: String, found: String },
    #[error("Missing CLUSTERING ORDER for column {0}")]
    OrderMissing(String),
    #[error("Invalid table id")]
    TableId,
    #[error("Table id {id:032x} is already in use")]
    TableIdTaken { id: u128 },
    #[error("Cannot alter table id.")]
    AlterTableId,
    #[error("Table {keyspace}.{table} has had as many columns as a table ever may ({maximum}): make a new table")]
    TooManyColumns { keyspace: String, table: String, maximum: usize },
    #[error("No table can be created any more: all {0} ids have been given out")]
    TooManyTables(u32),
    #[error("Type {data_type} is too large: a type may have at most {levels} levels and {parts} parts", levels = model::TYPE_DEPTH_MAX, parts = model::TYPE_PARTS_MAX)]
    TypeTooLarge { data_type: String },

    // ALTER TABLE.
    #[error("Column with name '{0}' already exists")]
    ColumnExists(String),
    #[error("Cannot re-add previously dropped column '{column}' of kind {kind}, incompatible with previous kind {former}")]
    DroppedKind { column: String, kind: &'static str, former: &'static str },
    #[error("Cannot re-add previously dropped counter column {0}")]
    DroppedCounter(String),
    #[error("Cannot add a column '{column}' of type {data_type}, incompatible with previously dropped column '{column}' of type {former}")]
    DroppedType { column: String, data_type: DataType, former: DataType },
    #[error("Column {column} was not found in table '{keyspace}.{table}'")]
    DropUnknownColumn { keyspace: String, table: String, column: String },
    #[error("Cannot drop PRIMARY KEY column {0}")]
    DropKeyColumn(String),
    #[error("Cannot drop non-frozen column {column} of user type {name}")]
    DropUserTypeColumn { column: String, name: String },
    #[error("Invalid timestamp {0} for a dropped column: it must be a 64-bit integer")]
    DropTimestamp(String),
    #[error("Undefined column name {column} in table {keyspace}.{table}")]
    UnknownColumn { keyspace: String, table: String, column: String },
    #[error("Cannot rename non PRIMARY KEY column {0}")]
    RenameValueColumn(String),
    #[error("Cannot rename column {from} to {to} in table '{keyspace}.{table}'; another column with that name already exists")]
    RenameTaken { keyspace: String, table: String, from: String, to: String },
    #[error("Altering column types is no longer supported")]
    AlterColumnType,
    #[error("DROP COMPACT STORAGE is disabled. Enable in cassandra.yaml to use.")]
    DropCompactStorage,
    #[error("{0}")]
    Mask(String),
    #[error("Function '{name}' is still referenced by column masks in tables {tables}")]
    FunctionMasks { name: String, tables: String },
    #[error("Column with name '{column}' doesn't exist on table '{table}'")]
    MaskUnknownColumn { column: String, table: String },
    #[error("Non-frozen collections and UDTs are not supported with COMPACT STORAGE")]
    CompactMultiCell,
    #[error("Static columns are not supported in COMPACT STORAGE tables")]
    CompactStatic,
    #[error("No definition found that is not part of the PRIMARY KEY")]
    CompactWithoutValues,
    #[error("COMPACT STORAGE with composite PRIMARY KEY allows no more than one column not part of the PRIMARY KEY (got: {0})")]
    CompactValues(String),
    #[error("Cannot add new column to a COMPACT STORAGE table")]
    CompactAdd,
    #[error("Cannot drop the value column of a COMPACT STORAGE table")]
    CompactDropValue,
    #[error("Secondary indexes are not supported on compact value column of COMPACT STORAGE tables")]
    IndexOnCompactValue,
    #[error("Secondary indexes are not supported on PRIMARY KEY columns in COMPACT STORAGE tables")]
    IndexOnCompactKey,

    // Not here.
    #[error("{0} is not supported by TarnDB yet")]
    Unsupported(&'static str),
    #[error("You have to be logged in and not anonymous to perform this request")]
    Anonymous,
    #[error("This is not a schema statement")]
    NotASchemaStatement,

    /// Why the replication of a keyspace is refused.
    #[error(transparent)]
    Replication(#[from] ReplicationError),
    /// Why an option of a table is refused.
    #[error(transparent)]
    TableOption(#[from] TableOptionError),
    /// Why a type, or a statement about a user type, is refused.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// Why a statement about a function or an aggregate is refused.
    #[error(transparent)]
    Routine(#[from] RoutineError),
    /// Why a statement about a materialized view, or a table that has one, is refused.
    #[error(transparent)]
    View(#[from] ViewError),
    /// Why a statement about an index is refused.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Why CREATE TABLE … LIKE is refused.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// Why a statement about change logs, or a table that has one, is refused.
    #[error(transparent)]
    Cdc(#[from] CdcError),
    /// Why a statement about roles, permissions or identities is refused.
    #[error(transparent)]
    Role(#[from] RoleError),
}

impl DdlError {
    /// Its error code.
    #[must_use]
    pub fn kind(&self) -> DdlErrorKind {
        match self {
            Self::UnknownProperty(_)
            | Self::NotAString(_)
            | Self::NotAMap(_)
            | Self::NotABoolean { .. }
            | Self::NotAnInteger { .. }
            | Self::NotADouble { .. }
            | Self::NotFreezable(_)
            | Self::UnknownClass { .. } => DdlErrorKind::Syntax,
            Self::SystemKeyspace(_) | Self::Anonymous => DdlErrorKind::Unauthorized,
            Self::TableName { .. }
            | Self::TableNameLength { .. }
            | Self::CounterInTable { .. }
            | Self::NonCounterInTable { .. }
            | Self::TableId
            | Self::TableIdTaken { .. }
            | Self::AlterTableId => DdlErrorKind::Config,
            Self::KeyspaceExists(_) | Self::TableExists { .. } => DdlErrorKind::AlreadyExists,
            Self::Replication(error) => error.kind(),
            Self::TableOption(error) => error.kind(),
            Self::Type(error) => error.kind(),
            Self::Routine(error) => error.kind(),
            Self::View(error) => error.kind(),
            Self::Index(error) => error.kind(),
            Self::Cdc(error) => error.kind(),
            Self::Role(error) => error.kind(),
            _ => DdlErrorKind::Invalid,
        }
    }
}

impl From<DdlError> for CqlError {
    fn from(error: DdlError) -> Self {
        let message = error.to_string();
        match error.kind() {
            DdlErrorKind::Syntax => Self::Syntax(message),
            DdlErrorKind::Unauthorized => Self::Unauthorized(message),
            DdlErrorKind::Invalid => Self::Invalid(message),
            DdlErrorKind::Config => Self::Config(message),
            DdlErrorKind::AlreadyExists => {
                let (keyspace, table) = match error {
                    DdlError::KeyspaceExists(keyspace) => (keyspace, String::new()),
                    DdlError::TableExists { keyspace, table } => (keyspace, table),
                    _ => (String::new(), String::new()),
                };
                Self::AlreadyExists { keyspace, table, message }
            }
        }
    }
}
