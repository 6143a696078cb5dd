//! Records that plain reads name by their digests alone. The name of a record's set is part of what its digest is of, so that one set of a namespace has it at most:
//! it is looked for among the records without a set, and where it is not one of those, in all sets that the client may read.

use super::options::Options;
use super::request::Request;
use super::target::current;
use crate::record::Record;
use base::TableId;
use model::operation::{Context, PartitionKey, RowStore, Stop};
use model::record_set::{MONITOR_SET, NO_SET};
use model::{Keyspace, Schema, Table};
use std::sync::Arc;

/// A namespace, in whose sets a record is looked for.
#[derive(Clone, Copy)]
pub(super) struct Elsewhere<'a> {
    pub(super) keyspace: &'a Keyspace,
    /// The only tables in which the client may look, in order; none if that is all.
    pub(super) only: Option<&'a [TableId]>,
}

/// A namespace's sets, without that of monitors and without what is in none.
pub(super) fn sets(keyspace: &Keyspace) -> impl Iterator<Item = &Arc<Table>> {
    keyspace.tables.values().filter(|table| table.records.is_some() && ![NO_SET, MONITOR_SET].contains(&table.name.as_str()))
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

    /// The request as one about the set that has its record, if one has.
    pub(super) fn find<'s>(self, request: &Request<'s>, context: &Context, store: &'s dyn RowStore) -> Result<Option<Request<'s>>, Stop>
    where
        'a: 's,
    {
        for table in self.tables().filter(|table| table.id != request.table.id && store.has_rows(table.id)) {
            let (table, set) = current(store, table)?;
            let place = PartitionKey { table: table.id, ..request.partition() };
            if store.get(&place, &[])?.is_some_and(|row| Record::of_row(row, context.now_s()).is_some()) {
                return Ok(Some(Request { table, set, elsewhere: None, ..*request }));
            }
        }
        Ok(None)
    }
}
