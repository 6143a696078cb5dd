//! ALTER TABLE and DROP TABLE.

use super::change::{Context, Outcome, SchemaEvent, SchemaEventTarget};
use super::error::{CdcError, IndexError, TableOptionError, ViewError};
use super::limits::COLUMNS_MAX;
use super::options::{Occasion, TableParameters};
use super::property::Properties;
use super::types::{TypeResolver, is_value_compatible, without_user_types};
use super::{DdlError, cdc, mask, view};
use crate::cdc::log_of;
use crate::language::ast::{self, AlterTableOperation, Identifier};
use crate::plan::MaskedColumn;
use crate::wire::ChangeKind;
use base::TableId;
use model::{Column, ColumnId, ColumnKind, DROPPED_AT_OPTION, DataType, DroppedColumn, KeptOption, Keyspace, Order, Table};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

pub(super) fn alter(context: &Context<'_>, statement: &ast::AlterTable) -> Result<Outcome, DdlError> {
    let Some((keyspace, former)) = context.table(&statement.name)? else {
        return absent(context, &statement.name, statement.if_exists);
    };
    check_declared(former)?;
    if former.view.is_some() {
        return Err(ViewError::AlterTableOfView.into());
    }
    if former.is_cdc_log() {
        return Err(CdcError::AlterLog { keyspace: keyspace.name.clone(), table: former.name.clone() }.into());
    }
    let mut table = Table::clone(former);
    match &statement.operation {
        AlterTableOperation::Add { .. } if table.compact => return Err(DdlError::CompactAdd),
        AlterTableOperation::Drop { .. } if table.compact && table.clustering_len > 0 => return Err(DdlError::CompactDropValue),
        AlterTableOperation::Add { if_not_exists, columns } => add(context, keyspace, &mut table, columns, *if_not_exists)?,
        AlterTableOperation::Drop { if_exists, columns, timestamp } => {
            let timestamp = timestamp.as_ref().map(drop_timestamp).transpose()?;
            drop_columns(&mut table, columns, *if_exists, timestamp, context.environment.now_us)?;
        }
        AlterTableOperation::Rename { if_exists, columns } => rename(&mut table, columns, *if_exists)?,
        AlterTableOperation::With(properties) => set_options(&mut table, properties)?,
        AlterTableOperation::AlterType { .. } => return Err(DdlError::AlterColumnType),
        AlterTableOperation::Mask { if_exists, column, mask } => set_mask(context, &mut table, column, mask.as_ref(), *if_exists)?,
        AlterTableOperation::DropCompactStorage => return Err(DdlError::DropCompactStorage),
    }
    if table == **former {
        return Ok(Outcome::unchanged());
    }
    let target = SchemaEventTarget::Table(table.name.clone());
    let mut keyspace = Keyspace::clone(keyspace);
    view::follow(&mut keyspace, former, &table);
    let mut schema = context.schema.clone();
    let of_log = cdc::follow(context, &mut schema, &mut keyspace, Some(former), &table)?;
    keyspace.tables.insert(table.name.clone(), Arc::new(table));
    let name = keyspace.name.clone();
    schema.keyspaces.insert(name.clone(), Arc::new(keyspace));
    let mut outcome = context.table_changed(schema, ChangeKind::Updated, target, &name, Vec::new());
    outcome.change.iter_mut().for_each(|change| change.further.extend(of_log.clone()));
    Ok(outcome)
}

pub(super) fn drop(context: &Context<'_>, statement: &ast::DropTable) -> Result<Outcome, DdlError> {
    let Some((keyspace, table)) = context.table(&statement.name)? else {
        return absent(context, &statement.name, statement.if_exists);
    };
    check_declared(table)?;
    if table.view.is_some() {
        return Err(ViewError::DropTableOfView.into());
    }
    if !table.views.is_empty() {
        return Err(ViewError::DropBase(keyspace.name.clone()).into());
    }
    cdc::check_drop(keyspace, table)?;
    let log = log_of(keyspace, table);
    let mut keyspace = Keyspace::clone(keyspace);
    keyspace.tables.remove(&table.name);
    let mut dropped: Vec<TableId> = table.stored().collect();
    let mut of_log = None;
    if let Some(log) = log {
        keyspace.tables.remove(&log.name);
        dropped.extend(log.stored());
        let target = SchemaEventTarget::Table(log.name.clone());
        of_log = Some(SchemaEvent { change: ChangeKind::Dropped, target, keyspace: keyspace.name.clone() });
    }
    let target = SchemaEventTarget::Table(table.name.clone());
    let event = SchemaEvent { change: ChangeKind::Dropped, target, keyspace: keyspace.name.clone() };
    let mut schema = context.schema.clone();
    schema.keyspaces.insert(keyspace.name.clone(), Arc::new(keyspace));
    let mut outcome = context.with_schema(schema, Some(event), dropped);
    outcome.change.iter_mut().for_each(|change| change.further.extend(of_log.clone()));
    Ok(outcome)
}

/// Refuses a table that CQL does not define.
pub(super) fn check_declared(table: &Table) -> Result<(), DdlError> {
    if table.is_container() {
        return Err(DdlError::Container { keyspace: table.keyspace.clone(), table: table.name.clone() });
    }
    if table.records.is_none() {
        return Ok(());
    }
    Err(DdlError::RecordSet { keyspace: table.keyspace.clone(), table: table.name.clone() })
}

fn absent(context: &Context<'_>, name: &ast::QualifiedName, if_exists: bool) -> Result<Outcome, DdlError> {
    if if_exists {
        return Ok(Outcome::unchanged());
    }
    let keyspace = context.keyspace_name(name.keyspace.as_ref())?.to_owned();
    Err(DdlError::UnknownTable { keyspace, table: name.name.as_str().to_owned() })
}

fn add(
    context: &Context<'_>,
    keyspace: &Keyspace,
    table: &mut Table,
    columns: &[ast::ColumnDefinition],
    if_not_exists: bool,
) -> Result<(), DdlError> {
    let resolver = TypeResolver { keyspace: Some(&keyspace.name), types: Some(&keyspace.types) };
    let is_counter = table.is_counter();
    for definition in columns {
        let name = definition.name.as_str();
        if table.column(name).is_some() {
            if if_not_exists {
                continue;
            }
            return Err(DdlError::ColumnExists(name.to_owned()));
        }
        let data_type = resolver.column_type(&definition.type_name)?;
        let masked = MaskedColumn { keyspace: &keyspace.name, table: &table.name, name, data_type: &data_type };
        let mask = mask::attached(context, masked, definition.mask.as_ref())?;
        let kind = if definition.is_static { ColumnKind::Static } else { ColumnKind::Regular };
        if kind == ColumnKind::Static && table.clustering_len == 0 {
            return Err(DdlError::StaticWithoutClustering);
        }
        if let Some(dropped) = table.dropped_columns.get(name) {
            check_against_dropped(name, kind, &data_type, dropped)?;
        }
        let (keyspace, table_name, column) = (table.keyspace.clone(), table.name.clone(), name.to_owned());
        match (is_counter, data_type == DataType::Counter) {
            (true, false) => return Err(DdlError::NonCounterInTable { keyspace, table: table_name, column }),
            // a table without any columns but its key can become one that counts
            (false, true) if !table.value_columns().is_empty() => {
                return Err(DdlError::CounterInTable { keyspace, table: table_name, column });
            }
            _ => {}
        }
        let id = match table.dropped_at(name) {
            Some((former, _)) => former,
            None => {
                let id = table.next_column;
                let next = id.0.checked_add(1).filter(|next| usize::from(*next) <= COLUMNS_MAX);
                table.next_column = ColumnId(next.ok_or(DdlError::TooManyColumns { keyspace, table: table_name, maximum: COLUMNS_MAX })?);
                id
            }
        };
        insert(table, Column { id, name: column, kind, order: Order::Ascending, data_type, mask });
    }
    Ok(())
}

/// Gives a column another mask, or none.
fn set_mask(
    context: &Context<'_>,
    table: &mut Table,
    column: &Identifier,
    given: Option<&ast::ColumnMask>,
    if_exists: bool,
) -> Result<(), DdlError> {
    let Some(column) = table.columns.iter_mut().find(|other| other.name == column.as_str()) else {
        let unknown = DdlError::MaskUnknownColumn { column: column.as_str().to_owned(), table: table.name.clone() };
        return if if_exists { Ok(()) } else { Err(unknown) };
    };
    let masked = MaskedColumn { keyspace: &table.keyspace, table: &table.name, name: &column.name, data_type: &column.data_type };
    column.mask = mask::attached(context, masked, given)?;
    Ok(())
}

/// Puts a static or regular column where its kind and name belong.
fn insert(table: &mut Table, column: Column) {
    let key_len = table.partition_key_len + table.clustering_len;
    let sort_key = |column: &Column| (column.kind == ColumnKind::Regular, column.name.clone());
    let wanted = sort_key(&column);
    let before = table.value_columns().iter().take_while(|other| sort_key(other) < wanted).count();
    table.columns.insert(key_len + before, column);
}

fn check_against_dropped(name: &str, kind: ColumnKind, data_type: &DataType, dropped: &DroppedColumn) -> Result<(), DdlError> {
    let kind_name = |kind| if kind == ColumnKind::Static { "STATIC" } else { "REGULAR" };
    let column = name.to_owned();
    if kind != dropped.kind {
        return Err(DdlError::DroppedKind { column, kind: kind_name(kind), former: kind_name(dropped.kind) });
    }
    if dropped.data_type == DataType::Counter {
        return Err(DdlError::DroppedCounter(column));
    }
    if !is_value_compatible(&without_user_types(data_type), &dropped.data_type) {
        return Err(DdlError::DroppedType { column, data_type: data_type.clone(), former: dropped.data_type.clone() });
    }
    Ok(())
}

fn drop_columns(table: &mut Table, columns: &[Identifier], if_exists: bool, timestamp: Option<i64>, now_us: i64) -> Result<(), DdlError> {
    let mut seen: Vec<&Identifier> = Vec::new();
    for name in columns {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let Some((position, column)) = table.column(name.as_str()) else {
            if if_exists {
                continue;
            }
            let (keyspace, table) = (table.keyspace.clone(), table.name.clone());
            return Err(DdlError::DropUnknownColumn { keyspace, table, column: name.as_str().to_owned() });
        };
        if position < table.partition_key_len + table.clustering_len {
            return Err(DdlError::DropKeyColumn(column.name.clone()));
        }
        if let (DataType::Udt(user, _), true) = (&column.data_type, column.data_type.is_multi_cell()) {
            return Err(DdlError::DropUserTypeColumn { column: column.name.clone(), name: user.name.clone() });
        }
        let indexes: Vec<&str> =
            table.indexes.values().filter(|index| index.column == column.id).map(|index| index.name.as_str()).collect();
        if !indexes.is_empty() {
            return Err(IndexError::DropIndexedColumn { column: column.name.clone(), indexes: indexes.join(",") }.into());
        }
        if !table.views.is_empty() {
            return Err(ViewError::DropBaseColumn { column: column.name.clone(), table: table.name.clone() }.into());
        }
        let column = table.columns.remove(position);
        remember_drop(table, &column, timestamp);
        let (data_type, dropped_at_us) = (without_user_types(&column.data_type), timestamp.unwrap_or(now_us));
        let dropped = DroppedColumn { kind: column.kind, data_type, dropped_at_us };
        table.dropped_columns.insert(column.name, dropped);
    }
    Ok(())
}

/// A column that was dropped at a timestamp may come back with what was written after it; any other one comes back empty.
fn remember_drop(table: &mut Table, column: &Column, timestamp: Option<i64>) {
    let former = table.options.kept.remove(DROPPED_AT_OPTION);
    let mut dropped = if let Some(KeptOption::Map(dropped)) = former { dropped } else { BTreeMap::new() };
    dropped.remove(&column.name);
    if let Some(timestamp) = timestamp {
        dropped.insert(column.name.clone(), format!("{} {timestamp}", column.id.0));
    }
    if !dropped.is_empty() {
        table.options.kept.insert(DROPPED_AT_OPTION.to_owned(), KeptOption::Map(dropped));
    }
}

fn drop_timestamp(literal: &ast::Literal) -> Result<i64, DdlError> {
    let text = literal.raw_text();
    text.parse().map_err(|_| DdlError::DropTimestamp(text.into_owned()))
}

/// No new name may be one that is or was there: the renames of one statement happen at once.
fn rename(table: &mut Table, columns: &[(Identifier, Identifier)], if_exists: bool) -> Result<(), DdlError> {
    let key_len = table.partition_key_len + table.clustering_len;
    let mut taken: HashSet<String> = table.columns.iter().map(|column| column.name.clone()).collect();
    for (from, to) in columns {
        let (from, to) = (from.as_str(), to.as_str());
        let Some((position, _)) = table.column(from) else {
            if if_exists {
                continue;
            }
            let (keyspace, table) = (table.keyspace.clone(), table.name.clone());
            return Err(DdlError::UnknownColumn { keyspace, table, column: from.to_owned() });
        };
        if position >= key_len {
            return Err(DdlError::RenameValueColumn(from.to_owned()));
        }
        let id = table.columns[position].id;
        let indexes: Vec<&str> = table.indexes.values().filter(|index| index.column == id).map(|index| index.name.as_str()).collect();
        if !indexes.is_empty() {
            return Err(IndexError::RenameIndexedColumn { column: from.to_owned(), indexes: indexes.join(", ") }.into());
        }
        if !taken.insert(to.to_owned()) {
            let (keyspace, table) = (table.keyspace.clone(), table.name.clone());
            return Err(DdlError::RenameTaken { keyspace, table, from: from.to_owned(), to: to.to_owned() });
        }
        if let Some(column) = table.columns.get_mut(position) {
            column.name = to.to_owned();
        }
    }
    Ok(())
}

/// Gives `table` the options of `WITH`.
pub(super) fn set_options(table: &mut Table, properties: &[ast::Property]) -> Result<(), DdlError> {
    let mut properties = Properties::new(properties);
    if properties.text("id")?.is_some() {
        return Err(DdlError::AlterTableId);
    }
    let mut parameters = TableParameters::of(&table.options);
    parameters.declare(&mut properties, Occasion::Alter)?;
    properties.finish()?;
    parameters.check()?;
    if table.is_counter() && parameters.default_time_to_live > 0 {
        return Err(TableOptionError::CounterTimeToLive.into());
    }
    if !table.views.is_empty() && parameters.gc_grace_seconds == 0 {
        return Err(ViewError::BaseGrace.into());
    }
    let dropped_at = table.options.kept.remove_entry(DROPPED_AT_OPTION);
    table.options = parameters.to_options();
    table.options.kept.extend(dropped_at);
    Ok(())
}
