//! Guardrails with two thresholds, and their messages in Cassandra's words: clients match on them.

use std::fmt::Display;

/// A guardrail with two thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Keyspaces of users.
    Keyspaces,
    /// Tables of users, views among them.
    Tables,
    /// Columns of a table.
    ColumnsPerTable,
    /// Indexes of a table.
    SecondaryIndexesPerTable,
    /// Views of a table.
    MaterializedViewsPerTable,
    /// Fields of a user type.
    FieldsPerUdt,
    /// Dimensions of a vector.
    VectorDimensions,
    /// Rows of a page.
    PageSize,
    /// Partitions that a SELECT gives by IN.
    PartitionKeysInSelect,
    /// What the INs of a SELECT combine to.
    InSelectCartesianProduct,
    /// Bytes that a statement writes to a collection.
    CollectionSize,
    /// Elements that a statement writes to a collection.
    ItemsPerCollection,
    /// Bytes of a value, or of an element or key of a collection, that a statement writes.
    ColumnValueSize,
    /// Bytes of the rows of a partition.
    PartitionSize,
    /// The fewest replicas of a keyspace.
    MinimumReplicationFactor,
    /// The most replicas of a keyspace.
    MaximumReplicationFactor,
    /// How far a timestamp may lie in the past, in microseconds.
    MinimumTimestamp,
    /// How far it may lie in the future.
    MaximumTimestamp,
}

/// Which of its two thresholds a value exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exceeded {
    Warning,
    Failure,
}

/// The name of a guardrail, and of the settings of its thresholds.
macro_rules! names {
    ($name:literal) => {
        [$name, concat!($name, "_warn_threshold"), concat!($name, "_fail_threshold")]
    };
}

impl Limit {
    /// All.
    pub const ALL: [Self; 18] = [
        Self::Keyspaces,
        Self::Tables,
        Self::ColumnsPerTable,
        Self::SecondaryIndexesPerTable,
        Self::MaterializedViewsPerTable,
        Self::FieldsPerUdt,
        Self::VectorDimensions,
        Self::PageSize,
        Self::PartitionKeysInSelect,
        Self::InSelectCartesianProduct,
        Self::CollectionSize,
        Self::ItemsPerCollection,
        Self::ColumnValueSize,
        Self::PartitionSize,
        Self::MinimumReplicationFactor,
        Self::MaximumReplicationFactor,
        Self::MinimumTimestamp,
        Self::MaximumTimestamp,
    ];

    fn names(self) -> [&'static str; 3] {
        match self {
            Self::Keyspaces => names!("keyspaces"),
            Self::Tables => names!("tables"),
            Self::ColumnsPerTable => names!("columns_per_table"),
            Self::SecondaryIndexesPerTable => names!("secondary_indexes_per_table"),
            Self::MaterializedViewsPerTable => names!("materialized_views_per_table"),
            Self::FieldsPerUdt => names!("fields_per_udt"),
            Self::VectorDimensions => names!("vector_dimensions"),
            Self::PageSize => names!("page_size"),
            Self::PartitionKeysInSelect => names!("partition_keys_in_select"),
            Self::InSelectCartesianProduct => names!("in_select_cartesian_product"),
            Self::CollectionSize => names!("collection_size"),
            Self::ItemsPerCollection => names!("items_per_collection"),
            Self::ColumnValueSize => names!("column_value_size"),
            Self::PartitionSize => names!("partition_size"),
            Self::MinimumReplicationFactor => names!("minimum_replication_factor"),
            Self::MaximumReplicationFactor => names!("maximum_replication_factor"),
            Self::MinimumTimestamp => names!("minimum_timestamp"),
            Self::MaximumTimestamp => names!("maximum_timestamp"),
        }
    }

    /// As messages call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// The setting beyond which clients are warned.
    #[must_use]
    pub fn warn_setting(self) -> &'static str {
        self.names()[1]
    }

    /// The setting beyond which they are refused.
    #[must_use]
    pub fn fail_setting(self) -> &'static str {
        self.names()[2]
    }

    /// Whether it is about statements on rows, not on the schema.
    pub(super) fn is_of_rows(self) -> bool {
        matches!(
            self,
            Self::PageSize
                | Self::PartitionKeysInSelect
                | Self::InSelectCartesianProduct
                | Self::CollectionSize
                | Self::ItemsPerCollection
                | Self::ColumnValueSize
                | Self::MinimumTimestamp
                | Self::MaximumTimestamp
        )
    }

    /// Whether too little is what it says something of, and not too much.
    #[must_use]
    pub fn is_least(self) -> bool {
        self == Self::MinimumReplicationFactor
    }

    /// Whether a value is beyond a threshold, which is given.
    pub(super) fn is_exceeded(self, value: u64, threshold: u64) -> bool {
        if self.is_least() { value < threshold } else { value > threshold }
    }

    /// Why one may want it, where messages say so.
    pub(super) fn reason(self) -> Option<&'static str> {
        match self {
            Self::PartitionSize => Some("Too large partitions can cause performance problems."),
            Self::MinimumTimestamp => Some("Timestamps too far in the past can cause writes can be unexpectedly lost"),
            Self::MaximumTimestamp => Some("Timestamps too far in the future can lead to data that can't be easily overwritten"),
            _ => None,
        }
    }

    /// What a client is told whose `what` has a value beyond a threshold.
    pub(super) fn message(self, exceeded: Exceeded, what: &dyn Display, value: i128, threshold: i128) -> String {
        let is_warning = exceeded == Exceeded::Warning;
        let kind = if is_warning { "warning" } else { "failure" };
        match self {
            Self::CollectionSize => {
                format!("Detected collection {what} of size {value}, this exceeds the {kind} threshold of {threshold}.")
            }
            Self::ItemsPerCollection => {
                format!("Detected collection {what} with {value} items, this exceeds the {kind} threshold of {threshold}.")
            }
            Self::ColumnValueSize => {
                format!("Value of column '{what}' has size {value}, this exceeds the {kind} threshold of {threshold}.")
            }
            Self::VectorDimensions => {
                format!("{what} has a vector of {value} dimensions, this exceeds the {kind} threshold of {threshold}.")
            }
            Self::PartitionSize => format!("Partition {what} has size {value}, this exceeds the {kind} threshold of {threshold}"),
            Self::MinimumReplicationFactor => {
                format!("The keyspace {what} has a replication factor of {value}, below the {kind} threshold of {threshold}.")
            }
            Self::MaximumReplicationFactor => {
                format!("The keyspace {what} has a replication factor of {value}, above the {kind} threshold of {threshold}.")
            }
            Self::MinimumTimestamp => {
                format!(
                    "The modification to table {what} has a timestamp {value} before the minimum allowable {kind} threshold {threshold}"
                )
            }
            Self::MaximumTimestamp => {
                format!("The modification to table {what} has a timestamp {value} after the maximum allowable {kind} threshold {threshold}")
            }
            _ if is_warning => self.warning(what, value, threshold),
            _ => self.refusal(what, value, threshold),
        }
    }

    fn warning(self, what: &dyn Display, value: i128, threshold: i128) -> String {
        match self {
            Self::ColumnsPerTable => format!("The table {what} has {value} columns, this exceeds the warning threshold of {threshold}."),
            Self::FieldsPerUdt => format!("The user type {what} has {value} columns, this exceeds the warning threshold of {threshold}."),
            Self::PageSize => format!("Query for table {what} with page size {value} exceeds warning threshold of {threshold}."),
            Self::PartitionKeysInSelect => format!(
                "Query with partition keys in IN clause on table {what}, with number of partition keys {value} exceeds warning threshold of {threshold}."
            ),
            Self::InSelectCartesianProduct => format!(
                "The cartesian product of the IN restrictions on {what} produces {value} values, this exceeds warning threshold of {threshold}."
            ),
            _ => {
                let (one, many) = self.created();
                format!("Creating {one} {what}, current number of {many} {value} exceeds warning threshold of {threshold}.")
            }
        }
    }

    fn refusal(self, what: &dyn Display, value: i128, threshold: i128) -> String {
        match self {
            Self::ColumnsPerTable => format!("Tables cannot have more than {threshold} columns, but {value} provided for table {what}"),
            Self::FieldsPerUdt => {
                format!("User types cannot have more than {threshold} columns, but {value} provided for user type {what}.")
            }
            Self::PageSize => format!("Aborting query for table {what}, page size {value} exceeds fail threshold of {threshold}."),
            Self::PartitionKeysInSelect => format!(
                "Aborting query with partition keys in IN clause on table {what}, number of partition keys {value} exceeds fail threshold of {threshold}."
            ),
            Self::InSelectCartesianProduct => format!(
                "Aborting query because the cartesian product of the IN restrictions on {what} produces {value} values, this exceeds fail threshold of {threshold}."
            ),
            Self::Keyspaces | Self::Tables => {
                let (one, many) = self.created();
                format!("Cannot have more than {threshold} {many}, aborting the creation of {one} {what}")
            }
            _ => {
                let (one, _) = self.created();
                let many = if self == Self::SecondaryIndexesPerTable { "secondary indexes" } else { "materialized views" };
                format!("Tables cannot have more than {threshold} {many}, aborting the creation of {one} {what}")
            }
        }
    }

    /// What is created, and what is counted.
    fn created(self) -> (&'static str, &'static str) {
        match self {
            Self::Keyspaces => ("keyspace", "keyspaces"),
            Self::SecondaryIndexesPerTable => ("secondary index", "indexes"),
            Self::MaterializedViewsPerTable => ("materialized view", "views"),
            _ => ("table", "tables"),
        }
    }
}
