//! Guardrails that switch something off, with Cassandra's words for what is not allowed.

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
    /// Operations on lists that read before they write: by index, and removal of elements.
    ReadBeforeWriteListOperations,
    /// CREATE INDEX.
    SecondaryIndexes,
    /// Keyspaces with `SimpleStrategy`.
    SimpleStrategy,
    /// Tables whose compression is switched off.
    UncompressedTables,
    /// USING TIMESTAMP.
    UserTimestamps,
}

impl Feature {
    /// All.
    pub const ALL: [Self; 11] = [
        Self::AllowFiltering,
        Self::AlterTable,
        Self::CompactTables,
        Self::DropKeyspace,
        Self::DropTruncateTable,
        Self::GroupBy,
        Self::ReadBeforeWriteListOperations,
        Self::SecondaryIndexes,
        Self::SimpleStrategy,
        Self::UncompressedTables,
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
            Self::ReadBeforeWriteListOperations => ("read_before_write_list_operations", "List operation requiring read before write"),
            Self::SecondaryIndexes => ("secondary_indexes", "Creating secondary indexes"),
            Self::SimpleStrategy => ("simplestrategy", "SimpleStrategy"),
            Self::UncompressedTables => ("uncompressed_tables_enabled", "Uncompressed table"),
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
            Self::ReadBeforeWriteListOperations => "read_before_write_list_operations_enabled",
            Self::SecondaryIndexes => "secondary_indexes_enabled",
            Self::SimpleStrategy => "simplestrategy_enabled",
            Self::UncompressedTables => "uncompressed_tables_enabled",
            Self::UserTimestamps => "user_timestamps_enabled",
        }
    }

    /// Whether statements use it that are looked at before they run, not when the schema has decided on them.
    pub(super) fn is_of_rows(self) -> bool {
        matches!(
            self,
            Self::AllowFiltering | Self::DropTruncateTable | Self::GroupBy | Self::ReadBeforeWriteListOperations | Self::UserTimestamps
        )
    }
}
