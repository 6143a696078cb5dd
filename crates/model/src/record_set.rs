//! Record sets: tables of an open kind. A record is a row found by a digest, its bins are cells, and a bin has any name and any kind of value.
//!
//! The table's columns are the dictionary: each pair of a bin's name and a value's kind gets a column when it is first written, with the
//! column type that has the same bytes. Nothing is ever taken out of the dictionary or numbered anew.
//!
//! | column | id | what |
//! |---|---|---|
//! | `digest` | 0 | the partition key: 20 bytes that name the record. A cell of this number is for transactions, see [`TRANSACTION`] |
//! | `generation` | 1 | how often the record was written |
//! | `key_integer`, `key_string`, `key_blob` | 2, 3, 4 | the key that the digest was made of, if it was sent to be kept |
//! | one for each bin and kind | from 5 | `name` for the first kind of value seen in a bin, `name:kind` for others |

mod dictionary;

pub use dictionary::{BINS_MAX, Bin, RecordSet};

use crate::column_id::ColumnId;
use crate::schema::{Column, ColumnKind, Keyspace, Order, Schema, Table, TableOptions};
use crate::types::DataType;
use base::Token;
use dictionary::BINS_FROM;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The length of a record's digest.
pub const DIGEST_BYTES: usize = 20;
/// The column of what a transaction over several records keeps in a row. It is a cell that has expired long ago, whatever it says: nobody sees it but who looks
/// for it, and it is the first of its row.
pub const TRANSACTION: ColumnId = ColumnId(0);
/// The set of the records by which clients begin, commit and end transactions.
pub const MONITOR_SET: &str = "<ERO~MRT";
/// So long deletions are remembered in sets that transactions have used, in seconds: longer than a transaction lasts. A record that one of them has found missing
/// is then known to have come and gone since.
pub const REMEMBERED_S: u32 = 150;
/// The column of a record's generation.
pub const GENERATION: ColumnId = ColumnId(1);
/// The column of a record's key, if that is an integer.
pub const KEY_INTEGER: ColumnId = ColumnId(2);
/// The column of a record's key, if that is a string.
pub const KEY_STRING: ColumnId = ColumnId(3);
/// The column of a record's key, if that is bytes.
pub const KEY_BLOB: ColumnId = ColumnId(4);

/// The kind of values that are GeoJSON, whose columns are texts; those that former versions have made are blobs.
pub const GEOJSON_KIND: u8 = 23;
/// The option of an index that says which kind of values it is of.
pub const AEROSPIKE_KIND_OPTION: &str = "aerospike_type";
/// What that is of an index of places and regions.
pub const GEO2DSPHERE: &str = "geo2dsphere";

/// The table of records without a set. No set may have this name.
pub const NO_SET: &str = "_no_set";

/// The longest name of a set.
pub const SET_NAME_BYTES_MAX: usize = 63;
/// The longest name of a bin.
pub const BIN_NAME_BYTES_MAX: usize = 15;
/// How many sets a namespace may have.
pub const SETS_MAX: usize = 4_096;

/// A pair that a write needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBin {
    /// The bin's name.
    pub name: String,
    /// The protocol's number for the kind of value.
    pub kind: u8,
    /// What the kind is called.
    pub kind_name: &'static str,
    /// The column type whose values have the same bytes.
    pub data_type: DataType,
}

/// Why a set cannot have what a write needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordSetError {
    /// The name of a set is empty, too long or reserved.
    #[error("`{0}` cannot be the name of a set")]
    SetName(String),
    /// The name of a bin is empty or too long.
    #[error("`{0}` cannot be the name of a bin")]
    BinName(String),
    /// The name is that of a table that is no record set.
    #[error("{keyspace}.{table} is a table, not a record set")]
    NotARecordSet {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        table: String,
    },
    /// The namespace has [`SETS_MAX`] sets.
    #[error("a namespace has at most {SETS_MAX} sets")]
    TooManySets,
    /// The namespace has [`BINS_MAX`] pairs.
    #[error("the sets of a namespace have at most {BINS_MAX} pairs of bin name and kind of value together")]
    TooManyBins,
}

/// A schema in which a set has what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The schema; its version is still that of the former.
    pub schema: Schema,
    /// Whether the namespace's keyspace is new.
    pub keyspace_is_new: bool,
    /// Whether the set's table is new.
    pub table_is_new: bool,
}

/// The token of a record: the slot is the partition that clients of record sets compute, and the rest spreads within it.
#[inline]
#[must_use]
pub fn token(digest: &[u8]) -> Token {
    let mut bytes = [0; DIGEST_BYTES];
    let length = digest.len().min(DIGEST_BYTES);
    bytes[..length].copy_from_slice(&digest[..length]);
    let slot = u64::from(u16::from_le_bytes([bytes[0], bytes[1]]) & 0xFFF);
    let rest = u64::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9], bytes[10], bytes[11]]) >> 12;
    // The smallest token is kept for "before everything".
    Token::from_biased((slot << 52 | rest).max(1))
}

/// The name of the table that holds a set; `None` for a set that cannot be.
#[must_use]
pub fn table_name(set: &str) -> Option<&str> {
    match set {
        "" => Some(NO_SET),
        NO_SET => None,
        _ => (set.len() <= SET_NAME_BYTES_MAX && !set.contains([':', ';', '\0'])).then_some(set),
    }
}

/// The name of the set that a table holds; the inverse of [`table_name`].
#[must_use]
pub fn set_name(table: &str) -> &str {
    if table == NO_SET { "" } else { table }
}

impl Schema {
    /// The record set of a name, if the namespace has it.
    ///
    /// # Errors
    /// A name that no set can have, or that is another kind of table's.
    pub fn record_set(&self, namespace: &str, set: &str) -> Result<Option<&Arc<Table>>, RecordSetError> {
        let name = table_name(set).ok_or_else(|| RecordSetError::SetName(set.to_owned()))?;
        match self.table(namespace, name) {
            Some(table) if table.records.is_none() => {
                Err(RecordSetError::NotARecordSet { keyspace: namespace.to_owned(), table: name.to_owned() })
            }
            table => Ok(table),
        }
    }

    /// A schema in which the set exists and its dictionary has `bins`; `None` if this one is.
    ///
    /// # Errors
    /// Names that cannot be, or limits that are reached.
    pub fn declare_bins(&self, namespace: &str, set: &str, bins: &[NewBin], uuid: u128) -> Result<Option<Declared>, RecordSetError> {
        let existing = self.record_set(namespace, set)?;
        let is_known = |table: &Arc<Table>, bin: &NewBin| {
            table.records.as_ref().is_some_and(|records| records.column(bin.name.as_bytes(), bin.kind).is_some())
        };
        if existing.is_some_and(|table| bins.iter().all(|bin| is_known(table, bin))) {
            return Ok(None);
        }
        let mut keyspace =
            self.keyspaces.get(namespace).map_or_else(|| Keyspace::of_one_replica(namespace), |keyspace| Keyspace::clone(keyspace));
        let mut next_table = self.next_table;
        let mut table = match existing {
            Some(table) => Table::clone(table),
            None => {
                if keyspace.tables.values().filter(|table| table.records.is_some()).count() >= SETS_MAX {
                    return Err(RecordSetError::TooManySets);
                }
                let name = table_name(set).ok_or_else(|| RecordSetError::SetName(set.to_owned()))?;
                let table = new_table(next_table, uuid, namespace, name);
                next_table.0 += 1;
                table
            }
        };
        let others = keyspace.tables.values().filter(|other| other.name != table.name);
        let room =
            BINS_MAX - others.filter_map(|other| other.records.as_ref()).map(|records| records.bins().len()).sum::<usize>().min(BINS_MAX);
        for bin in bins {
            table.declare_bin(bin, room)?;
        }
        let (keyspace_is_new, table_is_new) = (!self.keyspaces.contains_key(namespace), existing.is_none());
        keyspace.tables.insert(table.name.clone(), Arc::new(table));
        let mut schema = self.clone();
        schema.next_table = next_table;
        schema.keyspaces.insert(namespace.to_owned(), Arc::new(keyspace));
        Ok(Some(Declared { schema, keyspace_is_new, table_is_new }))
    }
}

impl Schema {
    /// Whether a record set has texts of GeoJSON, or an index of places and regions.
    #[must_use]
    pub fn has_geospatial_bins(&self) -> bool {
        let is_text = |table: &Arc<Table>| {
            table.records.as_ref().is_some_and(|records| records.bins().iter().any(|bin| bin.kind == GEOJSON_KIND && bin.is_text))
        };
        let is_indexed = |table: &Arc<Table>| {
            table.indexes.values().any(|index| index.options.get(AEROSPIKE_KIND_OPTION).is_some_and(|kind| kind == GEO2DSPHERE))
        };
        self.tables().any(|table| is_text(table) || table.records.is_some() && is_indexed(table))
    }

    /// Has deletions in a set remembered for transactions ([`REMEMBERED_S`]); false if they are.
    pub fn remember_deletions(&mut self, namespace: &str, set: &str) -> bool {
        let keyspace = self.keyspaces.get_mut(namespace);
        let Some((keyspace, name)) = keyspace.zip(table_name(set)) else { return false };
        let is_forgetful = |table: &Arc<Table>| table.records.is_some() && !table.remembers_deletions();
        if !keyspace.tables.get(name).is_some_and(is_forgetful) {
            return false;
        }
        if let Some(table) = Arc::make_mut(keyspace).tables.get_mut(name) {
            Arc::make_mut(table).options.gc_grace_seconds = REMEMBERED_S;
        }
        true
    }
}

impl Table {
    /// Whether transactions may use this record set.
    #[must_use]
    pub fn remembers_deletions(&self) -> bool {
        self.options.gc_grace_seconds >= REMEMBERED_S
    }

    fn declare_bin(&mut self, bin: &NewBin, bins_max: usize) -> Result<(), RecordSetError> {
        if bin.name.is_empty() || bin.name.len() > BIN_NAME_BYTES_MAX {
            return Err(RecordSetError::BinName(bin.name.clone()));
        }
        let name = self.bin_column_name(bin);
        let Some(records) = &mut self.records else { return Ok(()) };
        if records.column(bin.name.as_bytes(), bin.kind).is_some() {
            return Ok(());
        }
        if records.bins().len() >= bins_max {
            return Err(RecordSetError::TooManyBins);
        }
        let id = records.add(Bin { name: bin.name.clone(), kind: bin.kind, is_text: bin.data_type == DataType::Text });
        self.next_column = ColumnId(id.0 + 1);
        let place = 1 + self.columns[1..].partition_point(|column| column.name < name);
        self.columns.insert(place, column(id, &name, ColumnKind::Regular, bin.data_type.clone()));
        Ok(())
    }

    /// A name that no column has.
    fn bin_column_name(&self, bin: &NewBin) -> String {
        let with_kind = format!("{}:{}", bin.name, bin.kind_name);
        let numbered = (2..).map(|number| format!("{with_kind}:{number}"));
        let mut names = [bin.name.clone(), with_kind.clone()].into_iter().chain(numbered);
        names.find(|name| self.column(name).is_none()).unwrap_or(with_kind)
    }
}

fn column(id: ColumnId, name: &str, kind: ColumnKind, data_type: DataType) -> Column {
    Column { id, name: name.to_owned(), kind, order: Order::Ascending, data_type, mask: None }
}

fn new_table(id: base::TableId, uuid: u128, keyspace: &str, name: &str) -> Table {
    let columns = vec![
        column(ColumnId(0), "digest", ColumnKind::PartitionKey, DataType::Blob),
        column(GENERATION, "generation", ColumnKind::Regular, DataType::Int),
        column(KEY_BLOB, "key_blob", ColumnKind::Regular, DataType::Blob),
        column(KEY_INTEGER, "key_integer", ColumnKind::Regular, DataType::BigInt),
        column(KEY_STRING, "key_string", ColumnKind::Regular, DataType::Text),
    ];
    Table {
        id,
        uuid,
        keyspace: keyspace.to_owned(),
        name: name.to_owned(),
        columns,
        partition_key_len: 1,
        clustering_len: 0,
        next_column: ColumnId(BINS_FROM),
        dropped_columns: BTreeMap::new(),
        indexes: BTreeMap::new(),
        compact: false,
        views: BTreeSet::new(),
        view: None,
        // Records have one history: what is gone needs no time to be told to others.
        options: TableOptions {
            gc_grace_seconds: 0,
            comment: "record set: CQL reads it, Aerospike clients write it".to_owned(),
            ..TableOptions::default()
        },
        records: Some(RecordSet::default()),
    }
}

#[cfg(test)]
mod tests;
