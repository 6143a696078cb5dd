//! Records that plain reads name by their digests alone. The name of a record's set is part of what its digest is of, so that one set of a namespace has it at most:
//! it is looked for among the records without a set, and where it is not one of those, in all sets that the client may read.

use super::options::Options;
use super::sets::{current, sets};
use crate::record::Record;
use base::TableId;
use model::operation::{Context, PartitionKey, RowStore, Stop};
use model::record_set::RecordSet;
use model::{Keyspace, Schema, Table};
use std::sync::Arc;

/// A namespace, in whose sets a record is looked for.
#[derive(Clone, Copy)]
pub(super) struct Elsewhere<'a> {
    pub(super) keyspace: &'a Keyspace,
    /// The only tables in which the client may look, in order; none if that is all.
    pub(super) only: Option<&'a [TableId]>,
}

/// The tables of sets in which a client may look that may not read everything; none if it may.
pub(super) fn readable(schema: &Schema, options: &Options<'_>) -> Option<Arc<[TableId]>> {
    let may_read = options.may_read?;
    let keyspaces = options.namespaces.iter().filter_map(|namespace| schema.keyspaces.get(&namespace.name));
    let mut tables: Vec<TableId> =
        keyspaces.flat_map(|keyspace| sets(keyspace)).filter(|table| may_read(table)).map(|table| table.id).collect();
    tables.sort_unstable();
    Some(tables.into())
}

impl<'a> Elsewhere<'a> {
    /// The sets in which the client may look.
    pub(super) fn tables(self) -> impl Iterator<Item = &'a Arc<Table>> {
        sets(self.keyspace).filter(move |table| self.only.is_none_or(|only| only.binary_search(&table.id).is_ok()))
    }

    /// The set that has the record, if one has; it is not at this place.
    pub(super) fn find(
        self,
        place: &PartitionKey<'_>,
        context: &Context,
        store: &'a dyn RowStore,
    ) -> Result<Option<(&'a Table, &'a RecordSet)>, Stop> {
        for table in self.tables().filter(|table| table.id != place.table && store.has_rows(table.id)) {
            let row = store.get(&PartitionKey { table: table.id, ..*place }, &[])?;
            if row.is_some_and(|row| Record::of_row(row, context.now_s()).is_some()) {
                return current(store, table).map(Some);
            }
        }
        Ok(None)
    }
}
