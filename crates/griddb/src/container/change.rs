//! Changes of a schema that clients of GridDB ask for.

use super::catalog::Catalog;
use super::existing::Container;
use super::index_request::IndexRequest;
use super::renaming::Renaming;
use super::table::{changed_table, divided_table, new_table, renamed_table};
use crate::name::ContainerName;
use crate::partitioning::{Division, Partitioning};
use crate::schema::{Definition, Kind};
use crate::{ErrorCode, GridError};
use base::TableId;
use model::{Keyspace, Schema, Table};
use std::sync::Arc;

/// How many containers a database may have.
const CONTAINERS_MAX: usize = 16_384;

/// A change of a schema that clients of GridDB ask for.
#[derive(Clone, Debug)]
pub enum ContainerChange {
    /// Make a container, unless it is there with these columns.
    Put {
        /// What is wanted.
        definition: Definition,
        /// Whether one with other columns is changed.
        is_modifiable: bool,
    },
    /// Drop it, if it is there.
    Drop(ContainerName, Option<Kind>),
    /// Make or drop data partitions of a partitioned table.
    Divide(ContainerName, Division),
    /// Give a column another name.
    Rename(ContainerName, Renaming),
    /// Make an index, unless it is there.
    CreateIndex(IndexRequest),
    /// Drop all indexes that are meant.
    DropIndexes(IndexRequest),
}

/// What a change comes to.
#[derive(Debug)]
pub struct Changed {
    /// The new schema; its version is still that of the former.
    pub schema: Schema,
    /// Whether the database's keyspace is new.
    pub keyspace_is_new: bool,
    /// The table.
    pub table: Arc<Table>,
}

impl ContainerChange {
    /// The schema with the change; none if it changes nothing.
    ///
    /// # Errors
    /// What cannot be done.
    pub fn apply(&self, schema: &Schema, database: &str, uuid: u128, now_us: i64) -> Result<Option<Changed>, GridError> {
        match self {
            Self::Put { definition, is_modifiable } => put(schema, database, (definition, *is_modifiable), uuid, now_us),
            Self::Drop(name, kind) => drop_container(schema, database, name, *kind),
            Self::Divide(name, division) => divide(schema, database, (name, division), now_us),
            Self::Rename(name, renaming) => rename(schema, database, name, renaming),
            Self::CreateIndex(wanted) => create_index(schema, database, wanted),
            Self::DropIndexes(wanted) => drop_indexes(schema, database, wanted),
        }
    }
}

fn put(
    schema: &Schema,
    database: &str,
    (definition, is_modifiable): (&Definition, bool),
    uuid: u128,
    now_us: i64,
) -> Result<Option<Changed>, GridError> {
    let name = definition.name.table_name();
    if let Some(table) = schema.table(database, &name) {
        let Some(container) = Container::of(table) else {
            return Err(GridError::new(
                ErrorCode::DS_DS_CONTAINER_NAME_INVALID,
                format!("{database}.{name} is a table of CQL, not a container"),
            ));
        };
        if container.accepts(definition, is_modifiable)? {
            return Ok(None);
        }
        return Ok(Some(with_table(schema, changed_table(&container, definition, now_us))));
    }
    let mut keyspace =
        schema.keyspaces.get(database).map_or_else(|| Keyspace::of_one_replica(database), |keyspace| Keyspace::clone(keyspace));
    if keyspace.tables.len() >= CONTAINERS_MAX {
        return Err(GridError::new(ErrorCode::CM_LIMITS_EXCEEDED, format!("a database has at most {CONTAINERS_MAX} containers")));
    }
    let table = Arc::new(new_table(schema.next_table, uuid, database, &name, definition));
    let keyspace_is_new = !schema.keyspaces.contains_key(database);
    keyspace.tables.insert(name, Arc::clone(&table));
    let mut schema = schema.clone();
    schema.next_table.0 += 1;
    schema.keyspaces.insert(database.to_owned(), Arc::new(keyspace));
    Ok(Some(Changed { schema, keyspace_is_new, table }))
}

fn divide(
    schema: &Schema,
    database: &str,
    (name, division): (&ContainerName, &Division),
    now_us: i64,
) -> Result<Option<Changed>, GridError> {
    let container = named(schema, database, name)?;
    let undivided = || GridError::new(ErrorCode::SQL_DDL_INVALID_PARTITIONING_TABLE_TYPE, format!("the table {name} is not partitioned"));
    let mut partitioning = Partitioning::clone(container.definition.partitioning.as_ref().ok_or_else(undivided)?);
    let now_s = now_us.div_euclid(1_000_000).clamp(0, i64::from(u32::MAX)) as u32;
    let is_changed = partitioning.change(division, now_s)?;
    Ok(is_changed.then(|| with_table(schema, divided_table(&container, &partitioning))))
}

fn rename(schema: &Schema, database: &str, name: &ContainerName, renaming: &Renaming) -> Result<Option<Changed>, GridError> {
    let container = named(schema, database, name)?;
    if renaming.is_made(&container) {
        return Ok(None);
    }
    let position = renaming.position(&container)?;
    Ok(Some(with_table(schema, renamed_table(&container, position, &renaming.to))))
}

/// The container of a name that has to be there.
fn named(schema: &Schema, database: &str, name: &ContainerName) -> Result<Container, GridError> {
    let unknown = || GridError::new(ErrorCode::TXN_CONTAINER_NOT_FOUND, format!("there is no table {name}"));
    schema.table(database, &name.table_name()).and_then(Container::of).ok_or_else(unknown)
}

fn drop_container(schema: &Schema, database: &str, name: &ContainerName, kind: Option<Kind>) -> Result<Option<Changed>, GridError> {
    let Some(container) = schema.table(database, &name.table_name()).and_then(Container::of) else { return Ok(None) };
    if kind.is_some_and(|kind| kind != container.definition.kind) {
        return Err(GridError::new(ErrorCode::TXN_CONTAINER_TYPE_INVALID, format!("the container {name} is of the other type")));
    }
    let mut changed = schema.clone();
    if let Some(keyspace) = changed.keyspaces.get_mut(database) {
        Arc::make_mut(keyspace).tables.remove(&container.table.name);
    }
    Ok(Some(Changed { schema: changed, keyspace_is_new: false, table: container.table }))
}

fn create_index(schema: &Schema, database: &str, wanted: &IndexRequest) -> Result<Option<Changed>, GridError> {
    let (keyspace, container) = of_request(schema, database, wanted)?;
    if wanted.is_there(&container)? {
        return Ok(None);
    }
    let index = wanted.declare(schema.next_table, keyspace, &container);
    let mut table = Table::clone(&container.table);
    table.indexes.insert(index.name.clone(), Arc::new(index));
    let mut changed = with_table(schema, table);
    changed.schema.next_table.0 += 1;
    Ok(Some(changed))
}

fn drop_indexes(schema: &Schema, database: &str, wanted: &IndexRequest) -> Result<Option<Changed>, GridError> {
    let (_, container) = of_request(schema, database, wanted)?;
    let gone: Vec<TableId> = container.indexes().filter(|index| wanted.is_about(index)).filter_map(|index| index.entries).collect();
    if gone.is_empty() {
        return Ok(None);
    }
    let mut table = Table::clone(&container.table);
    table.indexes.retain(|_, index| !gone.contains(&index.id));
    Ok(Some(with_table(schema, table)))
}

/// The container that a request is about, and its keyspace.
fn of_request<'s>(schema: &'s Schema, database: &str, wanted: &IndexRequest) -> Result<(&'s Keyspace, Container), GridError> {
    let keyspace = schema.keyspaces.get(database).ok_or_else(|| Catalog::unknown(wanted.container))?;
    let table = keyspace.tables.values().find(|table| i64::from(table.id.0) == wanted.container);
    let container = table.and_then(Container::of).ok_or_else(|| Catalog::unknown(wanted.container))?;
    container.check_version(wanted.version)?;
    Ok((keyspace, container))
}

/// The schema in which a table has changed.
fn with_table(schema: &Schema, table: Table) -> Changed {
    let (mut schema, table) = (schema.clone(), Arc::new(table));
    if let Some(keyspace) = schema.keyspaces.get_mut(&table.keyspace) {
        Arc::make_mut(keyspace).tables.insert(table.name.clone(), Arc::clone(&table));
    }
    Changed { schema, keyspace_is_new: false, table }
}
