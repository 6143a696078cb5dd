//! All containers of a node.

use super::existing::Container;
use crate::name::ContainerName;
use crate::{ErrorCode, GridError};
use base::TableId;
use model::Schema;
use std::collections::HashMap;
use std::sync::Arc;

/// The database of clients that name none.
pub const PUBLIC_DATABASE: &str = "public";

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
