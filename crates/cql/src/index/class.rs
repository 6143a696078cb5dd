//! Cassandra's kinds of index. They are one here; a kind says which restrictions an index answers.

use model::{Column, DataType, Index, Table};

/// What the storage-attached index is called.
const STORAGE_ATTACHED: [&str; 3] = ["sai", "storageattachedindex", "org.apache.cassandra.index.sai.storageattachedindex"];
/// What Cassandra's first kind of index is called.
const LEGACY: [&str; 1] = ["legacy_local_table"];
const STORAGE_ATTACHED_CLASS: &str = "org.apache.cassandra.index.sai.StorageAttachedIndex";
const SASI_CLASS: &str = "org.apache.cassandra.index.sasi.SASIIndex";
const SASI: [&str; 2] = ["sasiindex", "org.apache.cassandra.index.sasi.sasiindex"];

/// What kind of index a statement has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexClass {
    /// Cassandra's first: equality, one restriction of a statement.
    Legacy,
    /// SAI: equality and ranges, any number of restrictions.
    StorageAttached,
    /// SASI: what SAI answers, and LIKE.
    Sasi,
}

impl IndexClass {
    /// An index's kind.
    #[must_use]
    pub fn of(index: &Index) -> Self {
        index.class.as_deref().and_then(Self::named).unwrap_or(Self::Legacy)
    }

    /// The kind that `USING` names in a statement, `is_custom` in CREATE CUSTOM INDEX. As in Cassandra a class with its package is spelled as it is.
    pub(crate) fn declared(class: &str, is_custom: bool) -> Option<Self> {
        let is_spelled = class == STORAGE_ATTACHED_CLASS || class == SASI_CLASS;
        Self::named(class).filter(|kind| match kind {
            Self::Legacy => !is_custom,
            Self::StorageAttached => is_spelled || !class.contains('.'),
            Self::Sasi => is_spelled,
        })
    }

    /// The kind of an index with this class.
    fn named(class: &str) -> Option<Self> {
        let class = class.to_ascii_lowercase();
        let kinds = [(&LEGACY[..], Self::Legacy), (&STORAGE_ATTACHED, Self::StorageAttached), (&SASI, Self::Sasi)];
        kinds.into_iter().find(|(names, _)| names.contains(&class.as_str())).map(|(_, kind)| kind)
    }

    /// Whether it answers ranges of values of a type.
    #[must_use]
    pub fn has_ranges(self, ty: &DataType) -> bool {
        let is_ordered = matches!(
            ty,
            DataType::TinyInt
                | DataType::SmallInt
                | DataType::Int
                | DataType::BigInt
                | DataType::Varint
                | DataType::Decimal
                | DataType::Float
                | DataType::Double
                | DataType::Timestamp
                | DataType::Date
                | DataType::Time
                | DataType::TimeUuid
                | DataType::Inet
        );
        match self {
            Self::Legacy => false,
            Self::StorageAttached => is_ordered,
            Self::Sasi => is_ordered || matches!(ty, DataType::Text | DataType::Ascii),
        }
    }
}

/// Whether an index has entries. A storage-attached one on vectors has none: the nearest are found among all rows.
#[must_use]
pub fn has_entries(table: &Table, index: &Index) -> bool {
    let is_of_vectors = |(_, column): (usize, &Column)| matches!(column.data_type, DataType::Vector(..));
    table.column_of_id(index.column).is_some_and(|found| !is_of_vectors(found) || IndexClass::of(index) == IndexClass::Legacy)
}
