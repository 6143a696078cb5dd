//! Which guardrails there are, and their messages in Cassandra's words: clients match on them.

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
}

/// A guardrail that switches something off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// ALLOW FILTERING.
    AllowFiltering,
    /// ALTER TABLE that adds, drops or renames columns.
    AlterTable,
    /// Tables with COMPACT STORAGE.
    CompactTables,
    /// DROP KEYSPACE.
    DropKeyspace,
    /// DROP TABLE and TRUNCATE.
    DropTruncateTable,
    /// GROUP BY.
    GroupBy,
    /// CREATE INDEX.
    SecondaryIndexes,
    /// Keyspaces with `SimpleStrategy`.
    SimpleStrategy,
    /// USING TIMESTAMP.
    UserTimestamps,
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
    pub const ALL: [Self; 13] = [
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
        )
    }

    /// What a client is told whose `what` has a value beyond a threshold.
    pub(super) fn message(self, exceeded: Exceeded, what: &dyn Display, value: u64, threshold: u64) -> String {
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
            _ if is_warning => self.warning(what, value, threshold),
            _ => self.refusal(what, value, threshold),
        }
    }

    fn warning(self, what: &dyn Display, value: u64, threshold: u64) -> String {
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

    fn refusal(self, what: &dyn Display, value: u64, threshold: u64) -> String {
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

impl Feature {
    /// All.
    pub const ALL: [Self; 9] = [
        Self::AllowFiltering,
        Self::AlterTable,
        Self::CompactTables,
        Self::DropKeyspace,
        Self::DropTruncateTable,
        Self::GroupBy,
        Self::SecondaryIndexes,
        Self::SimpleStrategy,
        Self::UserTimestamps,
    ];

    /// As messages call it, and what they call what is not allowed.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::AllowFiltering => ("allow_filtering", "Querying with ALLOW FILTERING"),
            Self::AlterTable => ("alter_table", "ALTER TABLE changing columns"),
            Self::CompactTables => ("compact_tables", "Creation of new COMPACT STORAGE tables"),
            Self::DropKeyspace => ("drop_keyspace_enabled", "DROP KEYSPACE functionality"),
            Self::DropTruncateTable => ("drop_truncate_table_enabled", "DROP and TRUNCATE TABLE functionality"),
            Self::GroupBy => ("group_by", "GROUP BY functionality"),
            Self::SecondaryIndexes => ("secondary_indexes", "Creating secondary indexes"),
            Self::SimpleStrategy => ("simplestrategy", "SimpleStrategy"),
            Self::UserTimestamps => ("user_timestamps", "User provided timestamps (USING TIMESTAMP)"),
        }
    }

    /// Why one may want to switch it off, where messages say so.
    pub(super) fn reason(self) -> Option<&'static str> {
        (self == Self::AllowFiltering)
            .then_some("ALLOW FILTERING can potentially visit all the data in the table and have unpredictable performance.")
    }

    /// The setting that says whether it may be used.
    #[must_use]
    pub fn setting(self) -> &'static str {
        match self {
            Self::AllowFiltering => "allow_filtering_enabled",
            Self::AlterTable => "alter_table_enabled",
            Self::CompactTables => "compact_tables_enabled",
            Self::DropKeyspace => "drop_keyspace_enabled",
            Self::DropTruncateTable => "drop_truncate_table_enabled",
            Self::GroupBy => "group_by_enabled",
            Self::SecondaryIndexes => "secondary_indexes_enabled",
            Self::SimpleStrategy => "simplestrategy_enabled",
            Self::UserTimestamps => "user_timestamps_enabled",
        }
    }

    /// Whether statements use it that are looked at before they run, not when the schema has decided on them.
    pub(super) fn is_of_rows(self) -> bool {
        matches!(self, Self::AllowFiltering | Self::DropTruncateTable | Self::GroupBy | Self::UserTimestamps)
    }
}
