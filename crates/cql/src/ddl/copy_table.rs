//! CREATE TABLE … LIKE: a new table with the columns and options of another one, and none of its rows, indexes and views.
//!
//! Cassandra has it after 5.0. Checks come in its order.

use super::alter_table::{check_declared, set_options};
use super::change::{Context, Outcome};
use super::create_table::added;
use super::error::CopyError;
use super::{DdlError, name};
use crate::language::ast;
use model::{CDC_LOG_OPTION, Column, ColumnId, DROPPED_AT_OPTION, DataType, Keyspace, Table, UserType};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) fn copy(context: &Context<'_>, statement: &ast::CopyTable) -> Result<Outcome, DdlError> {
    let source = source(context, &statement.source)?;
    let target = context.keyspace_name(statement.name.keyspace.as_ref())?;
    let keyspace = context.schema.keyspaces.get(target).ok_or_else(|| CopyError::UnknownTarget(target.to_owned()))?;
    let table = statement.name.name.as_str();
    if keyspace.tables.contains_key(table) {
        let exists = DdlError::TableExists { keyspace: keyspace.name.clone(), table: table.to_owned() };
        return if statement.if_not_exists { Ok(Outcome::unchanged()) } else { Err(exists) };
    }
    name::check_table_name(&keyspace.name, table)?;
    let types = if source.keyspace == keyspace.name { None } else { Some(types_of(source, keyspace)?) };
    let mut table = Table {
        id: context.schema.next_table,
        uuid: context.environment.table_uuid,
        keyspace: keyspace.name.clone(),
        name: table.to_owned(),
        columns: columns(source, types),
        partition_key_len: source.partition_key_len,
        clustering_len: source.clustering_len,
        next_column: ColumnId(source.columns.len() as u16),
        dropped_columns: BTreeMap::new(),
        options: source.options.clone(),
        records: None,
        indexes: BTreeMap::new(),
        compact: source.compact,
        views: BTreeSet::new(),
        view: None,
    };
    for of_source in [DROPPED_AT_OPTION, CDC_LOG_OPTION] {
        table.options.kept.remove(of_source);
    }
    set_options(&mut table, &statement.properties)?;
    added(context, keyspace, table)
}

/// The table to copy.
fn source<'a>(context: &Context<'a>, name: &'a ast::QualifiedName) -> Result<&'a Table, DdlError> {
    let keyspace = source_keyspace(context, name)?;
    let known = context.schema.keyspaces.get(keyspace).ok_or_else(|| CopyError::UnknownSource(keyspace.to_owned()))?;
    let (keyspace, table) = (keyspace.to_owned(), name.name.as_str().to_owned());
    match known.tables.get(&table) {
        None => Err(CopyError::UnknownTable { keyspace, table }.into()),
        Some(known) if known.view.is_some() => Err(CopyError::OfView { keyspace, view: table }.into()),
        Some(known) => check_declared(known).map(|()| &**known),
    }
}

/// The keyspace of the table to copy: the session's unless it is named.
pub(super) fn source_keyspace<'a>(context: &Context<'a>, name: &'a ast::QualifiedName) -> Result<&'a str, DdlError> {
    name.keyspace.as_ref().map(ast::Identifier::as_str).or(context.keyspace).ok_or(DdlError::NoKeyspace)
}

/// The source's columns, with ids of their own and these types.
fn columns(source: &Table, types: Option<Vec<DataType>>) -> Vec<Column> {
    let types = types.unwrap_or_else(|| source.columns.iter().map(|column| column.data_type.clone()).collect());
    let columns = source.columns.iter().zip(types).enumerate();
    columns.map(|(position, (column, data_type))| Column { id: ColumnId(position as u16), data_type, ..column.clone() }).collect()
}

/// The types of the source's columns with the target's user types in the places of those of the same name.
fn types_of(source: &Table, target: &Keyspace) -> Result<Vec<DataType>, DdlError> {
    if let Some(mask) = source.columns.iter().filter_map(|column| column.mask.as_ref()).find(|mask| mask.keyspace == source.keyspace) {
        let function = format!("{}.{}", mask.keyspace, mask.function);
        return Err(CopyError::OtherMask { function, keyspace: target.name.clone() }.into());
    }
    let mut moved = Moved { source, target, missing: BTreeSet::new() };
    let types = source.columns.iter().map(|column| moved.data_type(&column.data_type)).collect::<Result<_, _>>()?;
    if moved.missing.is_empty() {
        return Ok(types);
    }
    let names = moved.missing.into_iter().collect::<Vec<_>>().join(", ");
    Err(CopyError::MissingTypes { names, keyspace: target.name.clone() }.into())
}

/// Types on their way from one keyspace to another.
struct Moved<'a> {
    source: &'a Table,
    target: &'a Keyspace,
    /// User types that the target does not have.
    missing: BTreeSet<String>,
}

impl Moved<'_> {
    fn data_type(&mut self, data_type: &DataType) -> Result<DataType, DdlError> {
        Ok(match data_type {
            DataType::List(element, frozen) => DataType::List(self.part(element)?, *frozen),
            DataType::Set(element, frozen) => DataType::Set(self.part(element)?, *frozen),
            DataType::Map(key, value, frozen) => DataType::Map(self.part(key)?, self.part(value)?, *frozen),
            DataType::Vector(element, dimension) => DataType::Vector(self.part(element)?, *dimension),
            DataType::Tuple(fields) => DataType::Tuple(fields.iter().map(|field| self.data_type(field)).collect::<Result<_, _>>()?),
            DataType::Udt(user, frozen) => DataType::Udt(self.user_type(user)?, *frozen),
            other => other.clone(),
        })
    }

    fn part(&mut self, part: &DataType) -> Result<Arc<DataType>, DdlError> {
        self.data_type(part).map(Arc::new)
    }

    /// The target's type of the same name and structure.
    fn user_type(&mut self, user: &Arc<UserType>) -> Result<Arc<UserType>, DdlError> {
        let fields = user.fields.iter().map(|(name, field)| Ok((name.clone(), self.data_type(field)?)));
        let fields = fields.collect::<Result<Vec<_>, DdlError>>()?;
        match self.target.types.get(&user.name) {
            Some(known) if known.fields == fields => Ok(Arc::clone(known)),
            // Where a part of it is missing, that is said.
            Some(_) if self.missing.is_empty() => Err(CopyError::OtherType {
                name: user.name.clone(),
                source_keyspace: self.source.keyspace.clone(),
                target_keyspace: self.target.name.clone(),
            }
            .into()),
            Some(known) => Ok(Arc::clone(known)),
            None => {
                self.missing.insert(user.name.clone());
                Ok(Arc::clone(user))
            }
        }
    }
}
