//! Containers as tables. A container is a table with one partition, that of its number; the row key is the clustering key.
//!
//! | column | id | what |
//! |---|---|---|
//! | `partition` | 0 | GridDB's partition: the partition key |
//! | the container's columns, in lower case | from 1, in their order | the first ones are the clustering key if they make the row key |
//! | `row_id` | after them | the clustering key of a container without a row key: 1, 2, 3, … |
//!
//! Where a container has columns of these names, the added ones get `_` at their end. What a table cannot say (names as they were written,
//! types, their order, which column may be null) is in its option [`CONTAINER_OPTION`].

use crate::name::ContainerName;
use crate::schema::{ColumnDefinition, Definition, ElementType, Kind};
use crate::{ErrorCode, GridError, token_of_partition};
use base::{TableId, Token};
use model::operation::PartitionKey;
use model::{
    CONTAINER_OPTION, Column, ColumnId, ColumnKind, DataType, DroppedColumn, KeptOption, Keyspace, Order, Replication, Schema, Table,
    TableOptions,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// How many partitions clients are told of.
pub const PARTITION_COUNT: u32 = 128;

/// The database of clients that name none.
pub const PUBLIC_DATABASE: &str = "public";

/// How many containers a database may have.
const CONTAINERS_MAX: usize = 16_384;

/// A container that exists.
#[derive(Debug)]
pub struct Container {
    /// Its table.
    pub table: Arc<Table>,
    /// How it was declared.
    pub definition: Definition,
    /// The table's column of each of its columns.
    ids: Vec<ColumnId>,
    /// Positions by ascending id.
    by_id: Vec<usize>,
    partition: [u8; 4],
    token: Token,
}

impl Container {
    /// The container that a table is.
    fn of(table: &Arc<Table>) -> Option<Self> {
        let KeptOption::Map(kept) = table.options.kept.get(CONTAINER_OPTION)? else { return None };
        let partition = kept.get("partition")?.parse().ok().filter(|partition| *partition < PARTITION_COUNT)?;
        let column = |line: &str| {
            let mut words = line.split(' ');
            let id = ColumnId(words.next()?.parse().ok()?);
            let name = words.next()?.to_owned();
            let (element, is_array) = words.next().map(|word| word.strip_suffix("[]").map_or((word, false), |element| (element, true)))?;
            let element = ElementType::of_name(element)?;
            Some((id, ColumnDefinition { name, element, is_array, is_not_null: words.next().is_some() }))
        };
        let (ids, columns): (Vec<_>, Vec<_>) = kept.get("columns")?.lines().map(column).collect::<Option<Vec<_>>>()?.into_iter().unzip();
        let mut by_id: Vec<usize> = (0..ids.len()).collect();
        by_id.sort_by_key(|position| ids[*position]);
        let definition = Definition {
            name: ContainerName::parse(kept.get("name")?),
            partition,
            kind: if kept.get("type")? == "TIME_SERIES" { Kind::TimeSeries } else { Kind::Collection },
            columns,
            key_len: kept.get("row_key_columns")?.parse().ok()?,
            version: kept.get("version")?.parse().ok()?,
        };
        let (partition, token) = (partition.to_be_bytes(), token_of_partition(partition));
        Some(Self { table: Arc::clone(table), definition, ids, by_id, partition, token })
    }

    /// The partition that all its rows are in.
    #[must_use]
    pub fn partition(&self) -> PartitionKey<'_> {
        PartitionKey { table: self.table.id, token: self.token, bytes: &self.partition }
    }

    /// The number by which clients know it.
    #[must_use]
    pub fn id(&self) -> i64 {
        i64::from(self.table.id.0)
    }

    /// The columns that make the row key.
    #[must_use]
    pub fn key_columns(&self) -> &[ColumnDefinition] {
        &self.definition.columns[..self.definition.key_len]
    }

    /// Whether it is a time series.
    #[must_use]
    pub fn is_time_series(&self) -> bool {
        self.definition.kind == Kind::TimeSeries
    }

    /// The table's column of one of its columns.
    #[must_use]
    pub fn column_id(&self, position: usize) -> ColumnId {
        self.ids[position]
    }

    /// Its columns besides the row key, with their positions, by ascending ids.
    pub(crate) fn in_order_of_ids(&self) -> impl Iterator<Item = (usize, &ColumnDefinition)> {
        let values = self.by_id.iter().filter(|position| **position >= self.definition.key_len);
        values.map(|position| (*position, &self.definition.columns[*position]))
    }

    /// Whether it is as it is wanted; if not, and it may not be changed to that, an error.
    pub(crate) fn accepts(&self, wanted: &Definition, is_modifiable: bool) -> Result<bool, GridError> {
        let has = &self.definition;
        if has.kind != wanted.kind {
            return Err(GridError::new(ErrorCode::TXN_CONTAINER_TYPE_INVALID, format!("the container {} is of the other type", has.name)));
        }
        // Without leave to change it, the order of columns does not matter.
        let is_same = has.has_columns(wanted.kind, &wanted.columns, wanted.key_len);
        let is_in_order = || has.columns.iter().zip(&wanted.columns).all(|(own, other)| own.is_same(other));
        if is_same && (!is_modifiable || is_in_order()) {
            return Ok(true);
        }
        let disabled = |why: &str| GridError::new(ErrorCode::DS_DS_CHANGE_SCHEMA_DISABLE, format!("the container {} {why}", has.name));
        if !is_modifiable {
            return Err(disabled("has other columns, and it was not asked to change them"));
        }
        if !has.has_key(&wanted.columns, wanted.key_len) {
            return Err(disabled("has another row key, which cannot be changed"));
        }
        for column in &wanted.columns {
            if self.position(&column.name).is_some_and(|position| !has.columns[position].is_same(column)) {
                return Err(disabled(&format!("has a column {} of another type, which cannot be changed", column.name)));
            }
        }
        Ok(false)
    }

    /// The position of a column.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.definition.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }
}

/// All containers there are.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    containers: HashMap<TableId, Arc<Container>>,
}

impl Catalog {
    /// Follows a change of the schema.
    pub fn follow(&mut self, schema: &Schema) {
        let mut containers = HashMap::new();
        for table in schema.tables().filter(|table| table.is_container()) {
            let known = self.containers.remove(&table.id).filter(|container| Arc::ptr_eq(&container.table, table));
            if let Some(container) = known.or_else(|| Container::of(table).map(Arc::new)) {
                containers.insert(table.id, container);
            }
        }
        self.containers = containers;
    }

    /// All of them.
    pub fn containers(&self) -> impl Iterator<Item = &Arc<Container>> {
        self.containers.values()
    }

    /// The container of a number.
    ///
    /// # Errors
    /// There is none, any more.
    pub fn by_id(&self, id: i64) -> Result<&Arc<Container>, GridError> {
        let table = u32::try_from(id).ok().map(TableId);
        table.and_then(|table| self.containers.get(&table)).ok_or_else(|| Self::unknown(id))
    }

    pub(crate) fn unknown(id: i64) -> GridError {
        GridError::new(ErrorCode::TXN_CONTAINER_NOT_FOUND, format!("there is no container with the number {id}"))
    }

    /// The container of a name.
    #[must_use]
    pub fn by_name(&self, schema: &Schema, database: &str, name: &ContainerName) -> Option<&Arc<Container>> {
        self.containers.get(&schema.table(database, &name.table_name())?.id)
    }

    /// The containers of a database in one partition, by name.
    pub fn of_partition<'a>(&'a self, schema: &'a Schema, database: &str, partition: u32) -> impl Iterator<Item = &'a Arc<Container>> {
        let tables = schema.keyspaces.get(database).into_iter().flat_map(|keyspace| keyspace.tables.values());
        tables.filter_map(|table| self.containers.get(&table.id)).filter(move |container| container.definition.partition == partition)
    }
}

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
        let table = Arc::new(changed_table(&container, definition, now_us));
        let mut schema = schema.clone();
        if let Some(keyspace) = schema.keyspaces.get_mut(database) {
            Arc::make_mut(keyspace).tables.insert(name, Arc::clone(&table));
        }
        return Ok(Some(Changed { schema, keyspace_is_new: false, table }));
    }
    let mut keyspace = schema.keyspaces.get(database).map_or_else(|| new_keyspace(database), |keyspace| Keyspace::clone(keyspace));
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

fn new_keyspace(name: &str) -> Keyspace {
    Keyspace {
        name: name.to_owned(),
        replication: Replication {
            class: "org.apache.cassandra.locator.SimpleStrategy".to_owned(),
            parameters: BTreeMap::from([("replication_factor".to_owned(), "1".to_owned())]),
        },
        durable_writes: true,
        tables: BTreeMap::new(),
        types: BTreeMap::new(),
        functions: Default::default(),
    }
}

/// A name for a column of the table's own.
fn free_name(definition: &Definition, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    while definition.columns.iter().any(|column| column.name.eq_ignore_ascii_case(&name)) {
        name.push('_');
    }
    name
}

fn new_column(id: ColumnId, name: String, kind: ColumnKind, data_type: DataType) -> Column {
    Column { id, name, kind, order: Order::Ascending, data_type }
}

fn new_table(id: TableId, uuid: u128, keyspace: &str, name: &str, definition: &Definition) -> Table {
    let ids: Vec<ColumnId> = (1..=definition.columns.len() as u16).map(ColumnId).collect();
    let own = ids.iter().zip(&definition.columns).enumerate().map(|(position, (id, declared))| {
        let kind = if position < definition.key_len { ColumnKind::Clustering } else { ColumnKind::Regular };
        new_column(*id, declared.name.to_ascii_lowercase(), kind, declared.data_type())
    });
    let (mut keys, mut values): (Vec<_>, Vec<_>) = own.partition(|column| column.kind == ColumnKind::Clustering);
    let row_id = ColumnId(definition.columns.len() as u16 + 1);
    if keys.is_empty() {
        keys.push(new_column(row_id, free_name(definition, "row_id"), ColumnKind::Clustering, DataType::BigInt));
    }
    values.sort_by(|one, other| one.name.cmp(&other.name));
    let clustering_len = keys.len();
    let partition = new_column(ColumnId(0), free_name(definition, "partition"), ColumnKind::PartitionKey, DataType::Int);
    Table {
        id,
        uuid,
        keyspace: keyspace.to_owned(),
        name: name.to_owned(),
        columns: std::iter::once(partition).chain(keys).chain(values).collect(),
        partition_key_len: 1,
        clustering_len,
        next_column: ColumnId(row_id.0 + 1),
        dropped_columns: BTreeMap::new(),
        // Rows have one history: what is gone needs no time to be told to others.
        options: TableOptions {
            gc_grace_seconds: 0,
            comment: "container: CQL reads it, GridDB clients write it".to_owned(),
            kept: BTreeMap::from([(CONTAINER_OPTION.to_owned(), kept(definition, &ids))]),
            ..TableOptions::default()
        },
        records: None,
        indexes: BTreeMap::new(),
        compact: false,
        views: BTreeSet::new(),
        view: None,
    }
}

/// The table of a container whose columns change: those of a known name keep their values.
fn changed_table(container: &Container, wanted: &Definition, now_us: i64) -> Table {
    let mut table = Table::clone(&container.table);
    let first_value = table.partition_key_len + table.clustering_len;
    let (mut values, mut ids) = (table.columns.split_off(first_value), Vec::new());
    let mut kept_values = Vec::new();
    for (position, declared) in wanted.columns.iter().enumerate() {
        let known = container.position(&declared.name).map(|position| container.column_id(position));
        let id = known.unwrap_or(table.next_column);
        ids.push(id);
        if known.is_none() {
            table.next_column.0 += 1;
            kept_values.push(new_column(id, declared.name.to_ascii_lowercase(), ColumnKind::Regular, declared.data_type()));
        } else if position >= wanted.key_len {
            kept_values.extend(values.extract_if(.., |column| column.id == id));
        }
    }
    for column in values {
        let dropped = DroppedColumn { kind: column.kind, data_type: column.data_type, dropped_at_us: now_us };
        table.dropped_columns.insert(column.name, dropped);
    }
    for column in &kept_values {
        table.dropped_columns.remove(&column.name);
    }
    kept_values.sort_by(|one, other| one.name.cmp(&other.name));
    table.columns.append(&mut kept_values);
    let definition = Definition {
        name: container.definition.name.clone(),
        partition: container.definition.partition,
        version: container.definition.version + 1,
        ..wanted.clone()
    };
    table.options.kept.insert(CONTAINER_OPTION.to_owned(), kept(&definition, &ids));
    table
}

/// What a table's columns do not say.
fn kept(definition: &Definition, ids: &[ColumnId]) -> KeptOption {
    let columns = definition.columns.iter().zip(ids).map(|(column, id)| {
        let (array, not_null) = (if column.is_array { "[]" } else { "" }, if column.is_not_null { " NOT-NULL" } else { "" });
        format!("{} {} {}{array}{not_null}\n", id.0, column.name, column.element.name())
    });
    let kind = if definition.kind == Kind::TimeSeries { "TIME_SERIES" } else { "COLLECTION" };
    let entries = [
        ("name", definition.name.to_string()),
        ("partition", definition.partition.to_string()),
        ("type", kind.to_owned()),
        ("columns", columns.collect()),
        ("row_key_columns", definition.key_len.to_string()),
        ("version", definition.version.to_string()),
    ];
    KeptOption::Map(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}
