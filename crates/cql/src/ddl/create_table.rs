//! CREATE TABLE.
//!
//! Checks come in Cassandra's order, so that a statement with several faults is told of the same one.

use super::change::{Context, Outcome, SchemaEvent, SchemaEventTarget};
use super::error::TableOptionError;
use super::limits::{COLUMNS_MAX, SYSTEM_TABLE_IDS_FROM};
use super::options::{Occasion, TableParameters};
use super::property::Properties;
use super::types::{TypeResolver, contains_duration};
use super::{DdlError, cdc, name};
use crate::language::ast::{self, OrderDirection};
use crate::plan::MaskedColumn;
use crate::wire::ChangeKind;
use base::TableId;
use model::{Column, ColumnId, ColumnKind, ColumnMask, DataType, Keyspace, Order, Table, TableOptions};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// The mask of a column, if a statement gives it one.
pub(super) type Masks<'m> = dyn Fn(&Context<'_>, MaskedColumn<'_>, Option<&ast::ColumnMask>) -> Result<Mask, DdlError> + 'm;

/// The same of one statement.
type MasksOf<'m> = dyn Fn(MaskedColumn<'_>, Option<&ast::ColumnMask>) -> Result<Mask, DdlError> + 'm;

type Mask = Option<Arc<ColumnMask>>;

pub(super) fn create(context: &Context<'_>, statement: &ast::CreateTable, masks: &Masks<'_>) -> Result<Outcome, DdlError> {
    let given = statement.name.keyspace.as_ref();
    if given.is_none() && context.keyspace.is_none() {
        return Err(DdlError::NoKeyspace);
    }
    check_statement(statement)?;
    context.keyspace_name(given)?;
    let mut properties = Properties::new(&statement.options.properties);
    let uuid = properties.text("id")?;
    let mut parameters = TableParameters::default();
    parameters.declare(&mut properties, Occasion::Create)?;
    let keyspace = context.existing_keyspace(given)?;
    let table = statement.name.name.as_str();
    if keyspace.tables.contains_key(table) {
        let exists = DdlError::TableExists { keyspace: keyspace.name.clone(), table: table.to_owned() };
        return if statement.if_not_exists { Ok(Outcome::unchanged()) } else { Err(exists) };
    }
    properties.finish()?;
    let uuid = match uuid {
        Some(text) => chosen_uuid(context, &text)?,
        None => context.environment.table_uuid,
    };
    let id = context.schema.next_table;
    let resolver = TypeResolver { keyspace: Some(&keyspace.name), types: Some(&keyspace.types) };
    let masks = |column: MaskedColumn<'_>, mask: Option<&ast::ColumnMask>| masks(context, column, mask);
    let table = build(statement, &keyspace.name, resolver, &parameters, (id, uuid), &masks)?;
    name::check_table_name(&keyspace.name, &table.name)?;
    check_counters(&table)?;
    if table.compact {
        check_compact(&table)?;
    }
    added(context, keyspace, table)
}

/// The outcome in which `keyspace` has a new table, which has the next table's id.
pub(super) fn added(context: &Context<'_>, keyspace: &Keyspace, table: Table) -> Result<Outcome, DdlError> {
    let name = table.name.clone();
    let mut keyspace = Keyspace::clone(keyspace);
    let mut schema = context.schema.clone();
    let next_table = table.id.0.checked_add(1).filter(|next| *next < SYSTEM_TABLE_IDS_FROM);
    schema.next_table = TableId(next_table.ok_or(DdlError::TooManyTables(table.id.0))?);
    let of_log = cdc::follow(context, &mut schema, &mut keyspace, None, &table)?;
    keyspace.tables.insert(name.clone(), Arc::new(table));
    let event = SchemaEvent { change: ChangeKind::Created, target: SchemaEventTarget::Table(name), keyspace: keyspace.name.clone() };
    schema.keyspaces.insert(keyspace.name.clone(), Arc::new(keyspace));
    let mut outcome = context.with_schema(schema, Some(event), Vec::new());
    outcome.change.iter_mut().for_each(|change| change.further.extend(of_log.clone()));
    Ok(outcome)
}

/// The table that a statement of the system's own declares.
pub(crate) fn declare_table(keyspace: &str, statement: &ast::CreateTable, id: TableId, uuid: u128) -> Result<Table, DdlError> {
    let mut properties = Properties::new(&statement.options.properties);
    let mut parameters = TableParameters::default();
    parameters.declare(&mut properties, Occasion::Create)?;
    properties.finish()?;
    check_statement(statement)?;
    build(statement, keyspace, TypeResolver { keyspace: Some(keyspace), types: None }, &parameters, (id, uuid), &|_, _| Ok(None))
}

/// What can be said of the statement alone.
fn check_statement(statement: &ast::CreateTable) -> Result<(), DdlError> {
    let mut names = HashSet::new();
    if let Some(twice) = statement.columns.iter().find(|column| !names.insert(column.name.as_str())) {
        return Err(DdlError::ColumnTwice { column: twice.name.as_str().to_owned(), table: statement.name.clone() });
    }
    let given = &statement.options.clustering_order;
    for (position, (column, _)) in given.iter().enumerate() {
        if given.iter().take(position).any(|(other, _)| other == column) {
            let table = statement.name.name.as_str().to_owned();
            return Err(DdlError::OrderTwice { column: column.as_str().to_owned(), table });
        }
    }
    match statement.primary_keys.len() {
        0 => Err(DdlError::NoPrimaryKey(statement.name.clone())),
        1 => Ok(()),
        _ => Err(DdlError::ManyPrimaryKeys(statement.name.clone())),
    }
}

pub(super) fn chosen_uuid(context: &Context<'_>, text: &str) -> Result<u128, DdlError> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    let has_form = text.len() == 36 && digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = u128::from_str_radix(&digits, 16).ok().filter(|_| has_form).ok_or(DdlError::TableId)?;
    let mut tables = context.schema.keyspaces.values().flat_map(|keyspace| keyspace.tables.values());
    if tables.any(|table| table.uuid == id) { Err(DdlError::TableIdTaken { id }) } else { Ok(id) }
}

fn build(
    statement: &ast::CreateTable,
    keyspace: &str,
    resolver: TypeResolver<'_>,
    parameters: &TableParameters,
    (id, uuid): (TableId, u128),
    masks: &MasksOf<'_>,
) -> Result<Table, DdlError> {
    let name = statement.name.name.as_str();
    let primary_key = statement.primary_keys.first().ok_or_else(|| DdlError::NoPrimaryKey(statement.name.clone()))?;
    let (mut declared, masks) = declared_columns(statement, keyspace, resolver, masks)?;
    let keys = take_keys(name, primary_key, &mut declared)?;
    let orders = clustering_orders(statement, &primary_key.clustering)?;
    parameters.check()?;
    let clustering_len = primary_key.clustering.len();
    if clustering_len == 0 && declared.values().any(|(_, is_static)| *is_static) {
        return Err(DdlError::StaticWithoutClustering);
    }
    let partition_key_len = primary_key.partition.len();
    let full = || DdlError::TooManyColumns { keyspace: keyspace.to_owned(), table: name.to_owned(), maximum: COLUMNS_MAX };
    let columns = in_order((keys, partition_key_len), &orders, declared, masks).ok_or_else(full)?;
    let next_column = u16::try_from(columns.len()).map(ColumnId).map_err(|_| full())?;
    let options: TableOptions = parameters.to_options();
    Ok(Table {
        id,
        uuid,
        keyspace: keyspace.to_owned(),
        name: name.to_owned(),
        columns,
        partition_key_len,
        clustering_len,
        next_column,
        dropped_columns: BTreeMap::new(),
        indexes: BTreeMap::new(),
        records: None,
        compact: statement.options.compact_storage,
        views: BTreeSet::new(),
        view: None,
        options,
    })
}

/// The columns that a statement declares, by name: their types, and whether they are static; and the masks of those that have one.
type Declared<'s> = (BTreeMap<&'s str, (DataType, bool)>, BTreeMap<&'s str, Arc<ColumnMask>>);

fn declared_columns<'s>(
    statement: &'s ast::CreateTable,
    keyspace: &str,
    resolver: TypeResolver<'_>,
    masks: &MasksOf<'_>,
) -> Result<Declared<'s>, DdlError> {
    let table = statement.name.name.as_str();
    let (mut declared, mut given_masks) = (BTreeMap::new(), BTreeMap::new());
    for column in &statement.columns {
        let (data_type, name) = (resolver.column_type(&column.type_name)?, column.name.as_str());
        let mask = masks(MaskedColumn { keyspace, table, name, data_type: &data_type }, column.mask.as_ref())?;
        given_masks.extend(mask.map(|mask| (name, mask)));
        declared.insert(name, (data_type, column.is_static));
    }
    Ok((declared, given_masks))
}

/// A table's columns as it has them: the primary key's, then static ones, then the others, both by name. `None` if they are too many.
fn in_order<'s>(
    (keys, partition_key_len): (Vec<(&'s str, DataType)>, usize),
    orders: &[Order],
    others: BTreeMap<&'s str, (DataType, bool)>,
    mut masks: BTreeMap<&'s str, Arc<ColumnMask>>,
) -> Option<Vec<Column>> {
    let mut columns = Vec::with_capacity(keys.len() + others.len());
    let mut push = |name: &str, kind, order, data_type| {
        let id = u16::try_from(columns.len()).ok().filter(|id| usize::from(*id) < COLUMNS_MAX).map(ColumnId)?;
        columns.push(Column { id, name: name.to_owned(), kind, order, data_type, mask: masks.remove(name) });
        Some(())
    };
    for (position, (column, data_type)) in keys.into_iter().enumerate() {
        match position.checked_sub(partition_key_len) {
            None => push(column, ColumnKind::PartitionKey, Order::Ascending, data_type)?,
            Some(position) => {
                let order = orders.get(position).copied().unwrap_or(Order::Ascending);
                push(column, ColumnKind::Clustering, order, data_type)?;
            }
        }
    }
    let (statics, regulars): (Vec<_>, Vec<_>) = others.into_iter().partition(|(_, (_, is_static))| *is_static);
    for (kind, values) in [(ColumnKind::Static, statics), (ColumnKind::Regular, regulars)] {
        for (column, (data_type, _)) in values {
            push(column, kind, Order::Ascending, data_type)?;
        }
    }
    Some(columns)
}

/// Takes the columns of the primary key out of those that are declared, each with whether it is static.
fn take_keys<'s>(
    table: &str,
    primary_key: &'s ast::PrimaryKey,
    declared: &mut BTreeMap<&str, (DataType, bool)>,
) -> Result<Vec<(&'s str, DataType)>, DdlError> {
    let mut keys = Vec::new();
    for column in primary_key.partition.iter().chain(&primary_key.clustering) {
        let column = column.as_str();
        if keys.iter().any(|(key, _)| *key == column) {
            return Err(DdlError::KeyColumnTwice { column: column.to_owned(), table: table.to_owned() });
        }
        let unknown = || DdlError::UnknownKeyColumn { column: column.to_owned(), table: table.to_owned() };
        let (data_type, is_static) = declared.remove(column).ok_or_else(unknown)?;
        check_key_column(column, &data_type, is_static)?;
        keys.push((column, data_type));
    }
    Ok(keys)
}

/// What a table with COMPACT STORAGE cannot have.
fn check_compact(table: &Table) -> Result<(), DdlError> {
    let values = table.value_columns();
    if values.iter().any(|column| column.data_type.is_multi_cell()) {
        return Err(DdlError::CompactMultiCell);
    }
    if values.iter().any(|column| column.kind == ColumnKind::Static) {
        return Err(DdlError::CompactStatic);
    }
    match (table.clustering_len, values) {
        (0, []) => Err(DdlError::CompactWithoutValues),
        (1.., [_, _, ..]) => {
            let names: Vec<&str> = values.iter().map(|column| column.name.as_str()).collect();
            Err(DdlError::CompactValues(names.join(", ")))
        }
        _ => Ok(()),
    }
}

fn check_key_column(column: &str, data_type: &DataType, is_static: bool) -> Result<(), DdlError> {
    let name = column.to_owned();
    if is_static {
        return Err(DdlError::StaticKeyColumn(name));
    }
    match data_type {
        DataType::Udt(user, _) if data_type.is_multi_cell() => {
            Err(DdlError::UserTypeKeyColumn { column: name, keyspace: user.keyspace.clone(), name: user.name.clone() })
        }
        _ if data_type.is_multi_cell() => Err(DdlError::CollectionKeyColumn { column: name, data_type: data_type.clone() }),
        DataType::Counter => Err(DdlError::CounterKeyColumn(name)),
        _ if contains_duration(data_type) => Err(DdlError::DurationKeyColumn(name)),
        _ => Ok(()),
    }
}

/// The orders of the first clustering columns; those that the statement does not mention are ascending.
fn clustering_orders(statement: &ast::CreateTable, clustering: &[ast::Identifier]) -> Result<Vec<Order>, DdlError> {
    let given = &statement.options.clustering_order;
    let others: Vec<&str> =
        given.iter().map(|(column, _)| column).filter(|column| !clustering.contains(column)).map(|c| c.as_str()).collect();
    if !others.is_empty() {
        return Err(DdlError::OrderOfOthers(others.join(", ")));
    }
    let mut orders = Vec::with_capacity(given.len());
    for ((column, direction), expected) in given.iter().zip(clustering) {
        if column != expected {
            let expected_name = expected.as_str().to_owned();
            let is_given = given.iter().any(|(column, _)| column == expected);
            return Err(if is_given {
                DdlError::OrderOutOfOrder { expected: expected_name, found: column.as_str().to_owned() }
            } else {
                DdlError::OrderMissing(expected_name)
            });
        }
        orders.push(match direction {
            OrderDirection::Ascending => Order::Ascending,
            OrderDirection::Descending => Order::Descending,
        });
    }
    Ok(orders)
}

/// A table counts in all its columns or in none.
fn check_counters(table: &Table) -> Result<(), DdlError> {
    if !table.is_counter() {
        return Ok(());
    }
    if table.value_columns().iter().any(|column| column.data_type != DataType::Counter) {
        return Err(DdlError::CounterMix);
    }
    if table.options.default_time_to_live > 0 { Err(DdlError::TableOption(TableOptionError::CounterTimeToLive)) } else { Ok(()) }
}
