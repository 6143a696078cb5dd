//! What statements about a table do to its CDC log.

use super::change::{Context, SchemaEvent, SchemaEventTarget};
use super::error::CdcError;
use super::limits::{COLUMNS_MAX, SYSTEM_TABLE_IDS_FROM};
use super::{DdlError, name};
use crate::cdc::{CdcOptions, base_of, generation_ms, log_name, log_of, log_table};
use crate::wire::ChangeKind;
use base::TableId;
use model::{Keyspace, Schema, Table};
use std::sync::Arc;

/// The first log's streams begin so much earlier: a member whose clock is behind writes nothing before their time.
const CLOCKS_APART_MS: i64 = 60_000;

/// Makes the log of `table` what the table and its options ask for. `former` is the table before the statement. Gives what clients are told of it.
pub(super) fn follow(
    context: &Context<'_>,
    schema: &mut Schema,
    keyspace: &mut Keyspace,
    former: Option<&Table>,
    table: &Table,
) -> Result<Option<SchemaEvent>, DdlError> {
    let Some(options) = CdcOptions::of(&table.options).filter(|options| options.enabled) else { return Ok(None) };
    check(table)?;
    let log_name = log_name(&table.name);
    let (log, change) = match log_of(keyspace, table) {
        Some(known) => {
            let mut log = Table::clone(known);
            log_table::follow(&mut log, former.unwrap_or(table), table, &options, context.environment.now_us);
            if log == **known {
                return Ok(None);
            }
            (log, ChangeKind::Updated)
        }
        None if keyspace.tables.contains_key(&log_name) => {
            return Err(CdcError::LogExists { keyspace: keyspace.name.clone(), table: table.name.clone(), log: log_name }.into());
        }
        None => {
            name::check_table_name(&keyspace.name, &log_name)?;
            let id = schema.next_table;
            let next = id.0.checked_add(1).filter(|next| *next < SYSTEM_TABLE_IDS_FROM).ok_or(DdlError::TooManyTables(id.0))?;
            schema.next_table = TableId(next);
            let generation = generation_ms(context.schema).unwrap_or(context.environment.now_us.div_euclid(1000) - CLOCKS_APART_MS);
            (log_table::new_log(table, id, generation, &options), ChangeKind::Created)
        }
    };
    if usize::from(log.next_column.0) >= COLUMNS_MAX {
        return Err(DdlError::TooManyColumns { keyspace: keyspace.name.clone(), table: log_name, maximum: COLUMNS_MAX });
    }
    keyspace.tables.insert(log_name.clone(), Arc::new(log));
    Ok(Some(SchemaEvent { change, target: SchemaEventTarget::Table(log_name), keyspace: keyspace.name.clone() }))
}

/// Refuses a table that cannot have a log.
fn check(table: &Table) -> Result<(), DdlError> {
    let (keyspace, name) = (table.keyspace.clone(), table.name.clone());
    if table.is_cdc_log() {
        return Err(CdcError::Nested { keyspace, table: name }.into());
    }
    if table.is_counter() {
        return Err(CdcError::OfCounters { keyspace, table: name }.into());
    }
    match table.columns.iter().find(|column| column.name.starts_with(log_table::OWN_PREFIX)) {
        Some(column) => Err(DdlError::Cdc(CdcError::Column { keyspace, table: name, column: column.name.clone() })),
        None => Ok(()),
    }
}

/// Refuses to drop the log of a table whose changes are logged.
pub(super) fn check_drop(keyspace: &Keyspace, table: &Table) -> Result<(), DdlError> {
    let base = base_of(table).and_then(|base| keyspace.tables.get(base));
    let is_written = base.and_then(|base| CdcOptions::of(&base.options)).is_some_and(|options| options.enabled);
    if is_written { Err(DdlError::Cdc(CdcError::DropLog { keyspace: keyspace.name.clone(), table: table.name.clone() })) } else { Ok(()) }
}

/// Refuses what follows rows of a log.
pub(super) fn check_follower(table: &Table, what: &'static str) -> Result<(), DdlError> {
    if table.is_cdc_log() {
        return Err(CdcError::OnLog { what, keyspace: table.keyspace.clone(), table: table.name.clone() }.into());
    }
    Ok(())
}
