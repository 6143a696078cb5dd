//! What a reader has to know of a table and its log.

use super::error::FeedError;
use cql::cdc::{CdcOptions, log_name, log_of};
use model::{ColumnKind, Schema};

/// A table with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) keyspace: String,
    pub(crate) table: String,
    /// A digest of the log's id: another one for each log.
    pub(crate) id: u64,
    /// For how many seconds changes live; 0 is for ever.
    pub(crate) ttl_s: u32,
    /// Whether changes are logged now.
    pub(crate) is_enabled: bool,
    /// Columns of the partition key.
    pub(crate) partition: Vec<String>,
    /// Clustering columns.
    pub(crate) clustering: Vec<String>,
    /// All others.
    pub(crate) values: Vec<String>,
}

/// An id of a log, made shorter.
pub(crate) fn digest(uuid: u128) -> u64 {
    (uuid >> 64) as u64 ^ uuid as u64
}

impl Log {
    /// Of a node's own schema.
    pub(crate) fn of(schema: &Schema, keyspace: &str, table: &str) -> Result<Self, FeedError> {
        let names = || (keyspace.to_owned(), table.to_owned());
        let no_table = || {
            let (keyspace, table) = names();
            FeedError::NoTable { keyspace, table }
        };
        let base = schema.table(keyspace, table).ok_or_else(no_table)?;
        let log = schema.keyspaces.get(keyspace).and_then(|keyspace| log_of(keyspace, base));
        let (Some(log), Some(options)) = (log, CdcOptions::of(&base.options)) else {
            let (keyspace, table) = names();
            return Err(FeedError::NoLog { keyspace, table });
        };
        let of_kind = |wanted: &[ColumnKind]| {
            let columns = base.columns.iter().filter(|column| wanted.contains(&column.kind));
            columns.map(|column| column.name.clone()).collect()
        };
        let (keyspace, table) = names();
        Ok(Self {
            keyspace,
            table,
            id: digest(log.uuid),
            ttl_s: options.ttl_s,
            is_enabled: options.enabled,
            partition: base.partition_key().iter().map(|column| column.name.clone()).collect(),
            clustering: base.clustering().iter().map(|column| column.name.clone()).collect(),
            values: of_kind(&[ColumnKind::Static, ColumnKind::Regular]),
        })
    }

    /// The log's name in a statement.
    pub(super) fn quoted(&self) -> String {
        format!("{}.{}", quoted(&self.keyspace), quoted(&log_name(&self.table)))
    }
}

/// A name in a statement, whatever is in it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
