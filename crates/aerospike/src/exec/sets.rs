//! Tables of sets.

use model::operation::{RowStore, Stop};
use model::record_set::{MONITOR_SET, NO_SET, RecordSet};
use model::{Keyspace, Table};
use std::sync::Arc;

/// A namespace's sets, without that of monitors and without what is in none.
pub(super) fn sets(keyspace: &Keyspace) -> impl Iterator<Item = &Arc<Table>> {
    keyspace.tables.values().filter(|table| table.records.is_some() && ![NO_SET, MONITOR_SET].contains(&table.name.as_str()))
}

/// A set with its dictionary as it is where an operation runs: others may have declared and written bins since the operation was made.
pub(super) fn current<'a>(store: &'a dyn RowStore, table: &'a Table) -> Result<(&'a Table, &'a RecordSet), Stop> {
    let table = store.record_set(table.id).unwrap_or(table);
    Ok((table, table.records.as_ref().ok_or(Stop::UnknownTable)?))
}
