//! How a request ended, in the protocol's own numbers.

/// A result code as a reply's header has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResultCode(pub u8);

/// Declares the codes with the names that a log shows.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        impl ResultCode {
            $($(#[$doc])* pub const $name: Self = Self($number);)*

            /// The code's name; empty if it has none.
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
    /// Done.
    OK = 0;
    /// Something unexpected here.
    SERVER_ERROR = 1;
    /// No such record.
    NOT_FOUND = 2;
    /// The record has another generation than the client expects.
    GENERATION = 3;
    /// The request makes no sense.
    PARAMETER = 4;
    /// The record exists and was to be created.
    KEY_EXISTS = 5;
    /// The bin exists and was to be created.
    BIN_EXISTS = 6;
    /// Out of memory.
    OUT_OF_MEMORY = 8;
    /// Not done in time; whether it was done is unknown.
    TIMEOUT = 9;
    /// Not allowed as this server is configured.
    ALWAYS_FORBIDDEN = 10;
    /// The partition is not available.
    PARTITION_UNAVAILABLE = 11;
    /// The bin's type does not take the operation.
    BIN_TYPE = 12;
    /// The record would be too big.
    RECORD_TOO_BIG = 13;
    /// Too many requests for one record.
    KEY_BUSY = 14;
    /// The scan was stopped.
    SCAN_ABORT = 15;
    /// Not served here.
    UNSUPPORTED_FEATURE = 16;
    /// The bin does not exist and was to be updated.
    BIN_NOT_FOUND = 17;
    /// The device does not keep up with writes.
    DEVICE_OVERLOAD = 18;
    /// The stored key is another than the one sent.
    KEY_MISMATCH = 19;
    /// No such namespace.
    INVALID_NAMESPACE = 20;
    /// A name of a bin is too long, or a record has too many bins.
    BIN_NAME = 21;
    /// Not allowed at this time.
    FORBIDDEN = 22;
    /// The element does not exist and was to be updated.
    ELEMENT_NOT_FOUND = 23;
    /// The element exists and was to be created.
    ELEMENT_EXISTS = 24;
    /// Needs another edition.
    ENTERPRISE_ONLY = 25;
    /// The operation does not fit the bin's present value.
    OP_NOT_APPLICABLE = 26;
    /// The filter was false.
    FILTERED_OUT = 27;
    /// Security is not served here.
    SECURITY_NOT_SUPPORTED = 51;
    /// Security is not switched on.
    SECURITY_NOT_ENABLED = 52;
    /// The kind of authentication is not known.
    SECURITY_SCHEME_NOT_SUPPORTED = 53;
    /// The security command is not known.
    INVALID_COMMAND = 54;
    /// A field of the security command makes no sense.
    INVALID_FIELD = 55;
    /// The security commands came in a wrong order.
    ILLEGAL_STATE = 56;
    /// No such user, or a name that no user can have.
    INVALID_USER = 60;
    /// The user exists and was to be created.
    USER_ALREADY_EXISTS = 61;
    /// Not what a client makes of a password.
    INVALID_PASSWORD = 62;
    /// A password that is not allowed.
    FORBIDDEN_PASSWORD = 64;
    /// Another password.
    INVALID_CREDENTIAL = 65;
    /// The session is over: log in again.
    EXPIRED_SESSION = 66;
    /// No such role, or one that cannot be changed.
    INVALID_ROLE = 70;
    /// The role exists and was to be created.
    ROLE_ALREADY_EXISTS = 71;
    /// No such privilege, or on nothing that is there.
    INVALID_PRIVILEGE = 72;
    /// Not a list of addresses and networks.
    INVALID_WHITELIST = 73;
    /// Quotas are not served.
    QUOTAS_NOT_ENABLED = 74;
    /// Not a number of operations.
    INVALID_QUOTA = 75;
    /// Not authenticated.
    NOT_AUTHENTICATED = 80;
    /// The role does not allow it.
    ROLE_VIOLATION = 81;
    /// The address is not allowed.
    NOT_WHITELISTED = 82;
    /// The quota is used up.
    QUOTA_EXCEEDED = 83;
    /// A user-defined function failed.
    UDF_BAD_RESPONSE = 100;
    /// The record is locked by another transaction.
    MRT_BLOCKED = 120;
    /// The record has changed since the transaction has read it.
    MRT_VERSION_MISMATCH = 121;
    /// The transaction's time is over.
    MRT_EXPIRED = 122;
    /// The transaction writes too many records.
    MRT_TOO_MANY_WRITES = 123;
    /// The transaction is committed already.
    MRT_COMMITTED = 124;
    /// The transaction was aborted.
    MRT_ABORTED = 125;
    /// The transaction has locked the record already.
    MRT_ALREADY_LOCKED = 126;
    /// The transaction has begun already.
    MRT_MONITOR_EXISTS = 127;
    /// Batches are switched off.
    BATCH_DISABLED = 150;
    /// The batch is too long.
    BATCH_MAX_REQUESTS_EXCEEDED = 151;
    /// Too many batches at once.
    BATCH_QUEUES_FULL = 152;
    /// The text is no GeoJSON, or of a type that is not served.
    GEO_INVALID_GEOJSON = 160;
    /// The secondary index exists.
    INDEX_ALREADY_EXISTS = 200;
    /// No such secondary index.
    INDEX_NOT_FOUND = 201;
    /// The secondary index is not ready.
    INDEX_NOT_READABLE = 203;
    /// Something about a secondary index.
    INDEX_GENERIC = 204;
    /// The name of a secondary index is too long.
    INDEX_NAME_TOO_LONG = 205;
    /// Too many secondary indexes.
    TOO_MANY_INDEXES = 206;
    /// The query was stopped.
    QUERY_ABORTED = 210;
    /// Too many queries at once.
    QUERY_QUEUE_FULL = 211;
    /// The query was not done in time.
    QUERY_TIMEOUT = 212;
    /// Something about a query.
    QUERY_GENERIC = 213;
}

impl std::fmt::Debug for ResultCode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ResultCode({} {})", self.0, self.name())
    }
}

impl std::fmt::Display for ResultCode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "result code {} ({})", self.0, self.name())
    }
}

impl std::error::Error for ResultCode {}
