//! Why a statement fails, in GridDB's numbers and names.

use std::borrow::Cow;

/// A number as GridDB's clients show it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub i32);

/// Declares the codes with the names that clients show.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        impl ErrorCode {
            $($(#[$doc])* pub const $name: Self = Self($number);)*

            /// The code's name; empty if it has none.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self.0 {
                    $($number => stringify!($name),)*
                    _ => "",
                }
            }
        }
    };
}

codes! {
    /// No memory for it.
    CM_NO_MEMORY = 1001;
    /// Not served, for this container or at all.
    CM_NOT_SUPPORTED = 1007;
    /// More than the server takes or gives.
    CM_LIMITS_EXCEEDED = 1008;
    /// Wrong name or password.
    TXN_AUTH_FAILED = 10_005;
    /// Not logged in.
    TXN_AUTH_REQUIRED = 10_006;
    /// The partition has no owner now.
    TXN_PARTITION_STATE_UNMATCH = 10_010;
    /// No such statement.
    TXN_STATEMENT_TYPE_UNKNOWN = 10_013;
    /// Not done in time.
    TXN_STATEMENT_TIMEOUT = 10_014;
    /// No transaction has begun.
    TXN_TRANSACTION_NOT_BEGIN = 10_015;
    /// The container is gone.
    TXN_CONTAINER_NOT_FOUND = 10_016;
    /// The client knows another schema of the container.
    TXN_CONTAINER_SCHEMA_UNMATCH = 10_017;
    /// A collection was asked for and it is a time series, or the other way round.
    TXN_CONTAINER_TYPE_INVALID = 10_018;
    /// The write may have been done, or not.
    TXN_REPLICATION_ACK_TIMEOUT = 10_020;
    /// The request cannot be read.
    TXN_DECODE_FAILED = 10_038;
    /// The client expects another cluster.
    TXN_CLUSTER_NAME_INVALID = 10_053;
    /// The client speaks a version that is not served.
    TXN_CLIENT_VERSION_NOT_ACCEPTABLE = 10_054;
    /// A statement that is not served.
    TXN_STATEMENT_TYPE_UNSUPPORTED = 10_055;
    /// No such partition.
    TXN_PARTITION_ID_INVALID = 10_065;
    /// Not allowed.
    TXN_OPERATION_NOT_ALLOWED = 10_079;
    /// No such database.
    TXN_DATABASE_NOT_EXIST = 10_087;
    /// The server could not do it.
    DS_DS_STATEMENT_FAILED = 60_001;
    /// A schema that cannot be.
    DS_DS_SCHEMA_INVALID = 60_015;
    /// The container exists with another schema.
    DS_DS_CHANGE_SCHEMA_DISABLE = 60_016;
    /// A container cannot have such a name.
    DS_DS_CONTAINER_NAME_INVALID = 60_025;
    /// A row that cannot be stored.
    DS_COL_ROWDATA_INVALID = 60_046;
    /// A row key that cannot be.
    DS_COL_ROWKEY_INVALID = 60_049;
    /// The container has no row key.
    DS_COL_ROWKEY_UNDEFINED = 60_050;
    /// The row key of a time series has no index.
    DS_TIM_CREATEINDEX_ON_ROWKEY = 60_081;
    /// The container has no such column.
    DS_COLUMN_ID_INVALID = 60_102;
    /// No such row set.
    DS_DS_RESULT_ID_INVALID = 60_132;
    /// Another transaction has locked the row for too long.
    DS_CON_LOCK_CONFLICT = 60_166;
    /// The transaction is over: committed, aborted, or beyond its time.
    TM_TRANSACTION_NOT_FOUND = 110_005;
    /// Such a statement begins no transaction.
    TM_TRANSACTION_BEGIN_NOT_ALLOWED = 110_007;
    /// A mode of transactions that is not known.
    TM_TRANSACTION_MODE_INVALID = 110_031;
    /// Such a query locks no rows.
    TQ_FOR_UPDATE_INVALID = 150_002;
    /// The query names another container.
    TQ_INVALID_COLLECTION_NAME = 150_010;
    /// No such column.
    TQ_COLUMN_NOT_FOUND = 150_012;
    /// No such function.
    TQ_FUNCTION_NOT_FOUND = 150_014;
    /// Division by zero.
    TQ_DIVIDE_BY_ZERO = 150_016;
    /// Operator and operands do not fit.
    TQ_OPERATION_NOT_DEFINED = 150_018;
    /// Such a column has no such aggregation.
    TQ_COLUMN_CANNOT_AGGREGATE = 150_020;
    /// The query is no TQL.
    TQ_SYNTAX_ERROR_EXECUTION = 151_001;
    /// Aggregations have no order.
    TQ_SYNTAX_ERROR_ORDERBY_WITH_AGGREGATION = 151_005;
    /// A value of another type is needed.
    TQ_CONSTRAINT_CANNOT_CAST = 152_001;
    /// A selection that the container does not allow.
    TQ_CONSTRAINT_SELECTION_ABUSE = 152_003;
    /// An array has no such element.
    TQ_CONSTRAINT_ARRAY_OUT_OF_RANGE = 152_009;
    /// An argument of another type is needed.
    TQ_CONSTRAINT_INVALID_ARGUMENT_TYPE = 152_010;
    /// Another number of arguments is needed.
    TQ_CONSTRAINT_INVALID_ARGUMENT_COUNT = 152_011;
    /// An argument that cannot be.
    TQ_CONSTRAINT_INVALID_ARGUMENT_RANGE = 152_012;
    /// TQL that is not served.
    /// A statement of SQL that cannot be read.
    SQL_COMPILE_SYNTAX_ERROR = 240_001;
    /// SQL that is not served.
    SQL_COMPILE_UNSUPPORTED = 240_002;
    /// A table is partitioned by the column, which keeps its value.
    SQL_COMPILE_PARTITIONING_KEY_NOT_UPDATABLE = 240_016;
    /// A statement of SQL fails while it runs.
    SQL_EXECUTION_FAILED = 241_001;
    /// A statement of SQL was cancelled, or has taken too long.
    SQL_CANCELLED = 241_002;
    /// There is no table of the name.
    SQL_DDL_TABLE_NOT_EXISTS = 280_005;
    /// It is a view, and no table.
    SQL_DDL_INVALID_CONTAINER_ATTRIBUTE = 280_010;
    /// What a definition says cannot be.
    SQL_DDL_INVALID_PARAMETER = 280_012;
    /// A table cannot be partitioned by the column.
    SQL_DDL_INVALID_PARTITION_COLUMN = 280_013;
    /// There is no such column, or there cannot be one of such a name.
    SQL_DDL_INVALID_COLUMN = 280_016;
    /// The table is not partitioned so.
    SQL_DDL_INVALID_PARTITIONING_TABLE_TYPE = 280_024;
    /// The data partition was dropped.
    SQL_TABLE_PARTITION_ALREADY_REMOVED = 280_025;
    /// A table has too many data partitions.
    SQL_TABLE_PARTITION_MAX_ASSIGN_COUNT = 280_026;
}

impl std::fmt::Debug for ErrorCode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ErrorCode({} {})", self.0, self.name())
    }
}

/// Why a statement fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.name())]
pub struct GridError {
    /// For programs.
    pub code: ErrorCode,
    /// For people.
    pub message: Cow<'static, str>,
    is_behind: bool,
    /// An interval of a partitioned table that the statement is about, and that has no data partition.
    unmade: Option<i64>,
}

impl GridError {
    /// An error with a text of its own.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), is_behind: false, unmade: None }
    }

    /// The same, where nothing is known before the program runs.
    #[must_use]
    pub const fn fixed(code: ErrorCode, message: &'static str) -> Self {
        Self { code, message: Cow::Borrowed(message), is_behind: false, unmade: None }
    }

    /// A request that ends too early or says what cannot be.
    #[must_use]
    pub fn malformed(what: &'static str) -> Self {
        Self::new(ErrorCode::TXN_DECODE_FAILED, what)
    }

    /// The same, of a statement that names a later schema than this one.
    #[must_use]
    pub(crate) fn behind(self) -> Self {
        Self { is_behind: true, ..self }
    }

    /// Whether the statement names a later schema than this one: a member of a cluster may have to hear of it.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// A row of an interval that has no data partition.
    #[cold]
    pub(crate) fn of_unmade(interval: i64) -> Self {
        let message = "the table has no data partition for the row";
        Self { unmade: Some(interval), ..Self::fixed(ErrorCode::SQL_TABLE_PARTITION_ALREADY_REMOVED, message) }
    }

    /// The interval that has no data partition, if it is that.
    pub(crate) fn unmade(&self) -> Option<i64> {
        self.unmade
    }

    /// What this server does not do.
    #[must_use]
    pub fn unsupported(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::TXN_STATEMENT_TYPE_UNSUPPORTED, what)
    }
}
