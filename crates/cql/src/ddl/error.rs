//! Why a schema statement is refused, in Cassandra's words, misspellings included: clients and their tests match on them.

use super::compaction_value::CompactionValueError;
use crate::CqlError;
use crate::cdc::CdcOptionError;
use crate::language::ast;
use model::DataType;

/// bcrypt looks at so many bytes of a password.
pub const PASSWORD_BYTES_MAX: usize = 72;

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
    // Materialized views.
    #[error("Base table '{0}' doesn't exist")]
    UnknownBase(String),
    #[error("Cannot create a materialized view on a table in a separate keyspace")]
    ViewKeyspace,
    #[error("Cannot create materialized view '{0}' - a table with the same name already exists")]
    ViewNamedAsTable(String),
    #[error("Materialized views are not supported on counter tables")]
    ViewOfCounters,
    #[error(
        "Cannot create materialized view '{view}' for base table '{base}' with gc_grace_seconds of 0, since this value is used to TTL \
         undelivered updates. Setting gc_grace_seconds too low might cause undelivered updates to expire before being replayed."
    )]
    ViewOfForgetful { view: String, base: String },
    #[error("Cannot use aliases when defining a materialized view (got {0})")]
    ViewAlias(String),
    #[error("Can only select columns by name when defining a materialized view (got {0})")]
    ViewSelector(String),
    #[error("Undefined column name {column} in table {table}")]
    UndefinedColumn { column: String, table: String },
    #[error("Cannot include static column '{column}' in materialized view '{view}'")]
    ViewStatic { column: String, view: String },
    #[error("Unknown column '{column}' referenced in PRIMARY KEY for materialized view '{view}'")]
    ViewUnknownKeyColumn { column: String, view: String },
    #[error("Duplicate column '{column}' in PRIMARY KEY clause for materialized view '{view}'")]
    ViewKeyColumnTwice { column: String, view: String },
    #[error("Invalid non-frozen collection type '{data_type}' for PRIMARY KEY column '{column}'")]
    ViewCollectionKey { column: String, data_type: String },
    #[error("Invalid non-frozen user-defined type '{data_type}' for PRIMARY KEY column '{column}'")]
    ViewUserTypeKey { column: String, data_type: String },
    #[error("Clustering key columns must exactly match columns in CLUSTERING ORDER BY directive")]
    ViewOrder,
    #[error("Cannot create materialized view '{view}' without primary key columns {columns} from base table '{base}'")]
    ViewMissingKeys { view: String, columns: String, base: String },
    #[error("Cannot include more than one non-primary key column in materialized view primary key (got {0})")]
    ViewManyColumns(String),
    #[error("{0}")]
    ViewWhere(String),
    #[error("Primary key columns {0} must be restricted with 'IS NOT NULL' or otherwise")]
    ViewFreeKeys(String),
    #[error("Non-primary key columns can only be restricted with 'IS NOT NULL' (got: {0} restricted illegally)")]
    ViewRestrictions(String),
    #[error(
        "Cannot set default_time_to_live for a materialized view. Data in a materialized view always expire at the same time than the \
         corresponding data in the parent table."
    )]
    ViewTimeToLive,
    #[error(
        "Forbidden default_time_to_live detected for a materialized view. Data in a materialized view always expire at the same time than \
         the corresponding data in the parent table. default_time_to_live must be set to zero, see CASSANDRA-12868 for more information"
    )]
    AlterViewTimeToLive,
    #[error("Cannot use 'COMPACT STORAGE' when defining a materialized view")]
    ViewCompact,
    #[error(
        "Cannot alter gc_grace_seconds of a materialized view to 0, since this value is used to TTL undelivered updates. Setting \
         gc_grace_seconds too low might cause undelivered updates to expire before being replayed."
    )]
    ViewGrace,
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
    IndexOnView,
    // Functions and aggregates.
    #[error("Function '{0}' doesn't exist")]
    UnknownFunction(String),
    #[error("Aggregate '{0}' doesn't exist")]
    UnknownAggregate(String),
    #[error("Cannot use both 'OR REPLACE' and 'IF NOT EXISTS' directives")]
    ReplaceIfNotExists,
    /// ScyllaDB's words: Cassandra has functions in Java.
    #[error("Language '{0}' is not supported")]
    FunctionLanguage(String),
    #[error("Duplicate argument names for given function {name} with argument names [{arguments}]")]
    ArgumentTwice { name: String, arguments: String },
    #[error("Function '{0}' cannot replace an aggregate")]
    FunctionIsAggregate(String),
    #[error("Function '{0}' already exists")]
    FunctionExists(String),
    #[error("Function '{name}' must have {directive} directive")]
    FunctionNullInput { name: String, directive: &'static str },
    #[error(
        "Cannot replace function '{name}', the new return type {new} is not compatible with the return type {former} of existing function"
    )]
    FunctionReturns { name: String, new: String, former: String },
    #[error("Could not compile function '{name}': {why}")]
    FunctionBody { name: String, why: String },
    #[error(
        "'DROP {kind} {name}' matches multiple function definitions; specify the argument types by issuing a statement like \
         'DROP {kind} {name} (type, type, ...)'. You can use cqlsh 'DESCRIBE {kind} {name}' command to find all overloads"
    )]
    FunctionAmbiguous { kind: &'static str, name: String },
    #[error("Function '{name}' is still referenced by aggregates [{aggregates}]")]
    FunctionUsed { name: String, aggregates: String },
    #[error("Aggregate '{0}' cannot replace a function")]
    AggregateIsFunction(String),
    #[error("Aggregate '{0}' already exists")]
    AggregateExists(String),
    #[error(
        "Cannot replace aggregate '{name}', the new return type {new} isn't compatible with the return type {former} of existing function"
    )]
    AggregateReturns { name: String, new: String, former: String },
    #[error("State function {0} doesn't exist")]
    StateFunction(String),
    #[error("State function {0} return type must be the same as the first argument type - check STYPE, argument and return types")]
    StateType(String),
    #[error("Final function {0} doesn't exist")]
    FinalFunction(String),
    #[error("Reduce function {0} doesn't exist")]
    ReduceFunction(String),
    #[error("{0}")]
    InitialCondition(String),
    #[error("INITCOND must not be empty for all types except TEXT, ASCII, BLOB")]
    EmptyInitialCondition,
    #[error("Cannot create aggregate '{name}' without INITCOND because state function {function} does not accept 'null' arguments")]
    NoInitialCondition { name: String, function: String },
    #[error("Cannot drop user type '{keyspace}.{name}' as it is still used by functions {users}")]
    TypeUsedByFunctions { keyspace: String, name: String, users: String },
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
    #[error("{0}")]
    CdcOption(CdcOptionError),
    #[error("Cannot create CDC log table for table {keyspace}.{table} because a table of name {keyspace}.{log} already exists")]
    CdcLogExists { keyspace: String, table: String, log: String },
    #[error("Cannot create a CDC log for a table {keyspace}.{table}, because creating nested CDC logs is not allowed")]
    NestedCdcLog { keyspace: String, table: String },
    #[error("Cannot create CDC log for table {keyspace}.{table}. Counter support not implemented")]
    CdcOfCounters { keyspace: String, table: String },
    #[error("Cannot create CDC log for table {keyspace}.{table}: the name of its column {column} begins as those of the log do")]
    CdcColumn { keyspace: String, table: String, column: String },
    #[error("Cannot create CDC log for materialized view {0}: enable it for the base table")]
    CdcOfView(String),
    #[error("Cannot alter CDC log table {keyspace}.{table}: it follows its base table")]
    AlterCdcLog { keyspace: String, table: String },
    #[error("Cannot drop CDC log table {keyspace}.{table}: disable cdc of its base table first, or drop that")]
    DropCdcLog { keyspace: String, table: String },
    #[error("{what} are not supported on CDC log table {keyspace}.{table}")]
    OnCdcLog { what: &'static str, keyspace: String, table: String },
    #[error("Keyspace {0} has record sets of Aerospike clients: truncate them and leave it, or use another keyspace")]
    HasRecordSets(String),

    // Replication.
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

    // Types.
    #[error("Counters are not allowed inside collections: {0}")]
    CounterInCollection(ast::TypeName),
    #[error("Counters are not allowed inside tuples")]
    CounterInTuple,
    #[error("Counters are not allowed inside vectors")]
    CounterInVector,
    #[error("Durations are not allowed inside sets: {0}")]
    DurationInSet(ast::TypeName),
    #[error("Durations are not allowed as map keys: {0}")]
    DurationAsKey(ast::TypeName),
    #[error("Non-frozen UDTs with nested non-frozen collections are not supported")]
    NestedCollection,
    #[error("Non-frozen collections are not allowed inside collections: {0}")]
    CollectionInCollection(ast::TypeName),
    #[error("Non-frozen UDTs are not allowed inside collections: {0}")]
    UserTypeInCollection(ast::TypeName),
    #[error("vectors may only have positive dimensions; given {0}")]
    VectorWithoutDimension(i64),
    #[error("vectors may have at most {maximum} dimensions; given {dimension}")]
    VectorTooLong { dimension: i64, maximum: u16 },
    #[error(
        "Statement on keyspace {keyspace} cannot refer to a user type in keyspace {other}; user types can only be used in the keyspace they are defined in"
    )]
    ForeignType { keyspace: String, other: String },
    #[error("Duplicate field name '{field}' in type '{name}'")]
    FieldTwice { field: String, name: String },
    #[error("A user type cannot contain counters")]
    CounterField,
    #[error("A user type cannot contain non-frozen UDTs")]
    UserTypeField,
    #[error("Cannot add field {field} to type {keyspace}.{name}: a field with name {field} already exists")]
    FieldExists { keyspace: String, name: String, field: String },
    #[error("Cannot add new field {field} of type {data_type} to user type {keyspace}.{name} as it would create a circular reference")]
    CircularType { keyspace: String, name: String, field: String, data_type: String },
    #[error(
        "Cannot add new field {field} of type {data_type} to user type {keyspace}.{name} as the type is being used in partition key \
         by the following tables: {tables}"
    )]
    TypeInPartitionKey { keyspace: String, name: String, field: String, data_type: String, tables: String },
    #[error("Unkown field {field} in user type {keyspace}.{name}")]
    UnknownField { keyspace: String, name: String, field: String },
    #[error("Duplicate field name {field} in type {name}")]
    RenamedFieldTwice { field: String, name: String },
    #[error("Altering field types is no longer supported")]
    AlterFieldType,
    #[error("Cannot drop user type '{keyspace}.{name}' as it is still used by user types {users}")]
    TypeUsedByTypes { keyspace: String, name: String, users: String },
    #[error("Cannot drop user type '{keyspace}.{name}' as it is still used by tables {users}")]
    TypeUsedByTables { keyspace: String, name: String, users: String },

    // Table options.
    #[error("{name} must be greater than or equal to {minimum} (got {value})")]
    OptionTooSmall { name: &'static str, minimum: i32, value: i32 },
    #[error("{name} must be less than or equal to {maximum} (got {value})")]
    OptionTooLarge { name: &'static str, maximum: i32, value: i32 },
    #[error("max_index_interval must be greater than or equal to min_index_interval ({minimum}) (got {maximum})")]
    IndexIntervals { minimum: i32, maximum: i32 },
    #[error("bloom_filter_fp_chance must be larger than 6.71E-5 and less than or equal to 1.0 (got {0})")]
    BloomFilterChance(String),
    #[error("crc_check_chance must be larger than or equal to 0 and smaller than or equal to 1.0 (got {0})")]
    CrcCheckChance(String),
    #[error("Cannot set default_time_to_live on a table with counters")]
    CounterTimeToLive,
    #[error("Invalid value {value} for option '{name}'")]
    SpeculativeRetry { name: &'static str, value: String },
    #[error("Invalid value {value} for PERCENTILE option '{name}': must be between (0.0 and 100.0)")]
    SpeculativePercentile { name: &'static str, value: String },
    #[error("Invalid value {value} for option '{name}': MIN()/MAX() arguments should be of different types, but both are of type {kind}")]
    SpeculativePair { name: &'static str, value: String, kind: &'static str },
    #[error("Invalid value {0} for option 'read_repair': only 'BLOCKING' and 'NONE' are allowed")]
    ReadRepair(String),
    #[error("Memtable configuration \"{0}\" not found.")]
    Memtable(String),
    #[error("Invalid value '{0}' for caching sub-option 'keys': only 'ALL' and 'NONE' are allowed")]
    CachingKeys(String),
    #[error("Invalid value '{0}' for caching sub-option 'rows_per_partition': only 'ALL', 'NONE', and integer values are allowed")]
    CachingRows(String),
    #[error("Invalid caching sub-options [{0}]: only 'keys' and 'rows_per_partition' are allowed")]
    CachingOption(String),
    #[error("Missing sub-option 'class' for the 'compaction' option")]
    NoCompactionClass,
    #[error("Unable to find compaction strategy class '{0}'")]
    CompactionClass(String),
    #[error("Properties specified [{options}] are not understood by {class}")]
    CompactionOption { options: String, class: &'static str },
    #[error(transparent)]
    CompactionValue(CompactionValueError),
    #[error("Invalid value {value} for '{name}' compaction sub-option - must be an integer")]
    CompactionThreshold { name: &'static str, value: String },
    #[error("Min compaction threshold cannot be less than 2 (got {0})")]
    CompactionMinimum(i32),
    #[error("Min compaction threshold (got {minimum}) cannot be greater than max compaction threshold (got {maximum})")]
    CompactionThresholds { minimum: i32, maximum: i32 },
    #[error("Missing sub-option 'class' for the 'compression' option.")]
    NoCompressionClass,
    #[error("The 'class' option must not be empty. To disable compression use 'enabled' : false")]
    EmptyCompressionClass,
    #[error("Could not create Compression for type {0}")]
    CompressionClass(String),
    #[error("Unknown compression options {0}")]
    CompressionOption(String),
    #[error("If the 'enabled' option is set to false no other options must be specified")]
    CompressionDisabled,
    #[error("Invalid value for {0}")]
    CompressionNumber(&'static str),
    #[error("ZstdCompressor.create() threw an error: java.lang.IllegalArgumentException compression_level={0} is invalid")]
    ZstdLevel(i32),
    #[error("ZstdCompressor.create() threw an error: java.lang.NumberFormatException For input string: \"{0}\"")]
    ZstdLevelNumber(String),
    #[error("chunk_length_in_kb must be a power of 2")]
    ChunkLength,

    // Indexes.
    #[error("Index name must not be empty, or contain non-alphanumeric-underscore characters (got \"{0}\")")]
    IndexName(String),
    #[error("CUSTOM index requires specifying the index class")]
    CustomIndexWithoutClass,
    #[error("Cannot specify options for a non-CUSTOM index")]
    IndexOptions,
    #[error("Index '{0}' already exists")]
    IndexExists(String),
    #[error("Index {name} is a duplicate of existing index {existing}")]
    IndexTwice { name: String, existing: String },
    #[error("Secondary indexes on counter tables aren't supported")]
    IndexOnCounters,
    #[error("Only CUSTOM indexes can be created without specifying a target column")]
    IndexWithoutColumn,
    #[error("Only CUSTOM indexes support multiple columns")]
    IndexOnManyColumns,
    #[error("Table '{0}' doesn't exist")]
    IndexUnknownTable(String),
    #[error("Secondary indexes are not supported on {0}")]
    IndexOnDuration(&'static str),
    #[error("Cannot create secondary index on the only partition key column {0}")]
    IndexOnPartitionKey(String),
    #[error(
        "Cannot create {kind}() index on frozen column {column}. Frozen collections are immutable and must be fully indexed by using the \
         'full({column})' modifier"
    )]
    IndexOnFrozen { kind: &'static str, column: String },
    #[error("full() indexes can only be created on frozen collections")]
    FullIndex,
    #[error("Cannot create {kind}() index on {column}. Non-collection columns only support simple indexes")]
    IndexOnSimple { kind: &'static str, column: String },
    #[error("Cannot create index on {kind} of column {column} with non-map type")]
    IndexOnNoMap { kind: &'static str, column: String },
    #[error("Cannot create index on non-frozen UDT column {0}")]
    IndexOnUserType(String),
    #[error("Illegal value for boolean option '{option}': {value}")]
    IndexFlag { option: String, value: String },
    #[error("CQL type {0} cannot be analyzed.")]
    IndexAnalysis(DataType),
    #[error("CQL type {0} cannot have vector options")]
    IndexVectorOption(DataType),
    #[error("{0} cannot be set without enabling SAI_VECTOR_ALLOW_CUSTOM_PARAMETERS")]
    IndexGraphOption(&'static str),
    #[error("Similarity function {0} was not recognized for index null. Valid values are: EUCLIDEAN, DOT_PRODUCT, COSINE")]
    Similarity(String),
    #[error("Cannot create more than one storage-attached index on the same column: {0}")]
    StorageAttachedTwice(String),
    #[error("SAI ANN indexes are only allowed on vector columns with float elements")]
    IndexOnVectorOf,
    #[error("Cosine similarity is not supported for single-dimension vectors")]
    IndexOnOneDimension,
    #[error("Incorrect index mode: {0}")]
    SasiMode(String),
    #[error("Unknown option of a SASI index: {0}")]
    SasiOption(String),
    #[error("SASI doesn't support collections")]
    SasiOnCollection,
    #[error("Unable to find custom indexer class '{0}'")]
    IndexClass(String),
    #[error("Properties specified [{0}] are not understood by StorageAttachedIndex")]
    IndexOption(String),
    #[error("Cannot drop column {column} because it has dependent secondary indexes ({indexes})")]
    DropIndexedColumn { column: String, indexes: String },

    // Not here.
    #[error("{0} is not supported by TarnDB yet")]
    Unsupported(&'static str),
    #[error("You have to be logged in and not anonymous to perform this request")]
    Anonymous,

    // Roles.
    #[error("Role name can't be an empty string, nor have a zero byte")]
    RoleName,
    #[error("{0} already exists")]
    RoleExists(String),
    #[error("{0} doesn't exist")]
    UnknownRole(String),
    #[error("Role {0} doesn't exist")]
    UnknownAlteredRole(String),
    #[error("You are not authorized to view roles granted to {0} ")]
    HiddenRole(String),
    #[error("User {role} has no {permission} permission on {resource} or any of its parents")]
    NotPermitted { role: String, permission: &'static str, resource: String },
    #[error("User {0} does not have sufficient privileges to perform the requested operation")]
    Insufficient(String),
    #[error("Only superusers {0}")]
    OnlySuperusers(&'static str),
    #[error("You are not authorized to view {0}'s permissions")]
    HiddenPermissions(String),
    #[error("Resource type {0} does not support any of the requested permissions")]
    NotApplicable(&'static str),
    #[error("Resource {0} doesn't exist")]
    UnknownResource(String),
    #[error("In this context function name must be explictly qualified by a keyspace")]
    FunctionKeyspace,
    #[error("Altering permissions on builtin functions is not supported")]
    NativeFunction,
    #[error("You aren't allowed to alter your own superuser status or that of a role granted to you")]
    OwnSuperuser,
    #[error("You aren't allowed to alter {0}")]
    OwnOption(&'static str),
    #[error("Cannot DROP primary role for current login")]
    OwnRole,
    #[error("Can not add identity for non-existent role '{0}'")]
    IdentityOfNobody(String),
    #[error("{0} already exists")]
    IdentityExists(String),
    #[error("identity '{0}' doesn't exist")]
    UnknownIdentity(String),
    #[error("An identity has 1 to {0} bytes")]
    IdentityLength(usize),
    #[error("There would be no superuser left who can log in")]
    LastSuperuser,
    #[error("{member} is a member of {group}")]
    IsMember { member: String, group: String },
    #[error("{member} is not a member of {group}")]
    IsNotMember { member: String, group: String },
    #[error("Invalid hashed password value. Please use jBCrypt.")]
    HashedPassword,
    #[error("A password has 1 to {} bytes, none of which is zero", PASSWORD_BYTES_MAX)]
    Password,
    #[error("org.apache.cassandra.auth.CassandraRoleManager doesn't support {0}")]
    RoleOption(&'static str),
    #[error("a role has no option {name:?}{}", suggestion.as_ref().map_or(String::new(), |known| format!("; did you mean {known}?")))]
    UnknownRoleOption { name: String, suggestion: Option<String> },
    #[error("The option {limit} of a role is a number up to {}, not {value:?}; 0 is no limit", model::ROLE_LIMIT_MAX)]
    RoleLimit { limit: &'static str, value: String },
    #[error("Invalid value(s) for DATACENTERS '[{0}]', All values must be valid datacenters")]
    UnknownDatacenters(String),
    #[error("'{0}' is no address or network, as '10.1.0.0/16' or 'fd00::7' are; groups of networks have no names here")]
    NoNetwork(String),
    #[error("{0} is not supported by {1}")]
    NoAuthorizer(&'static str, &'static str),

    #[error("This is not a schema statement")]
    NotASchemaStatement,
}

/// Which of CQL's error codes a [`DdlError`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DdlErrorKind {
    /// 0x2000
    Syntax,
    /// 0x2100
    Unauthorized,
    /// 0x2200
    Invalid,
    /// 0x2300
    Config,
    /// 0x2400
    AlreadyExists,
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
            | Self::NotApplicable(_)
            | Self::UnknownClass { .. } => DdlErrorKind::Syntax,
            Self::SystemKeyspace(_)
            | Self::Anonymous
            | Self::HiddenRole(_)
            | Self::NotPermitted { .. }
            | Self::Insufficient(_)
            | Self::OnlySuperusers(_)
            | Self::HiddenPermissions(_)
            | Self::OwnSuperuser
            | Self::OwnOption(_) => DdlErrorKind::Unauthorized,
            Self::KeyspaceExists(_) | Self::TableExists { .. } => DdlErrorKind::AlreadyExists,
            Self::TableName { .. }
            | Self::TableNameLength { .. }
            | Self::NoReplicationClass
            | Self::UnknownReplicationClass(_)
            | Self::ReplicationFactor(_)
            | Self::NegativeReplicationFactor(_)
            | Self::ZeroReplicationFactor
            | Self::TransientReplication
            | Self::UnknownReplicationOption { .. }
            | Self::NoDataCenter
            | Self::CounterInTable { .. }
            | Self::NonCounterInTable { .. }
            | Self::TableId
            | Self::TableIdTaken { .. }
            | Self::AlterTableId
            | Self::OptionTooSmall { .. }
            | Self::OptionTooLarge { .. }
            | Self::IndexIntervals { .. }
            | Self::BloomFilterChance(_)
            | Self::CrcCheckChance(_)
            | Self::SpeculativeRetry { .. }
            | Self::SpeculativePercentile { .. }
            | Self::SpeculativePair { .. }
            | Self::ReadRepair(_)
            | Self::CdcOption(_)
            | Self::Memtable(_)
            | Self::CachingKeys(_)
            | Self::CachingRows(_)
            | Self::CachingOption(_)
            | Self::NoCompactionClass
            | Self::CompactionClass(_)
            | Self::CompactionOption { .. }
            | Self::CompactionValue(_)
            | Self::CompactionThreshold { .. }
            | Self::CompactionMinimum(_)
            | Self::CompactionThresholds { .. }
            | Self::NoCompressionClass
            | Self::EmptyCompressionClass
            | Self::CompressionClass(_)
            | Self::CompressionOption(_)
            | Self::CompressionDisabled
            | Self::CompressionNumber(_)
            | Self::ZstdLevel(_)
            | Self::ZstdLevelNumber(_)
            | Self::IndexClass(_)
            | Self::IndexOption(_)
            | Self::ChunkLength => DdlErrorKind::Config,
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
