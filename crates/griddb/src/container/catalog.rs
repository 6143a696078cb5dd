//! All containers of a node.

use super::existing::Container;
use crate::name::ContainerName;
use crate::{ErrorCode, GridError};
use base::TableId;
use model::Schema;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The database of clients that name none.
pub const PUBLIC_DATABASE: &str = "public";

/// All containers there are.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    containers: HashMap<TableId, Known>,
}

/// A container, and its data partitions if it is a partitioned table.
#[derive(Clone, Debug)]
struct Known {
    container: Arc<Container>,
    parts: Option<Arc<Parts>>,
}

#[derive(Debug)]
struct Parts {
    by_number: BTreeMap<u32, Arc<Container>>,
    /// Those that were dropped, whose rows may still be there.
    dropped: Vec<Arc<Container>>,
}

impl Known {
    fn of(container: Container) -> Self {
        let parts = container.definition.partitioning.as_ref().map(|partitioning| {
            let part = |(interval, part)| Arc::new(container.part(part, partitioning.expires_at_s(interval)));
            let by_number = partitioning.parts().map(|(interval, number)| (number, part((interval, number)))).collect();
            Arc::new(Parts { by_number, dropped: partitioning.dropped_parts().map(part).collect() })
        });
        Self { container: Arc::new(container), parts }
    }

    fn parts(&self) -> impl Iterator<Item = &Arc<Container>> {
        self.parts.iter().flat_map(|parts| parts.by_number.values())
    }

    fn dropped(&self) -> impl Iterator<Item = &Arc<Container>> {
        self.parts.iter().flat_map(|parts| &parts.dropped)
    }
}

impl Catalog {
    /// Follows a change of the schema.
    pub fn follow(&mut self, schema: &Schema) {
        let mut containers = HashMap::new();
        for table in schema.tables().filter(|table| table.is_container()) {
            let known = self.containers.remove(&table.id).filter(|known| Arc::ptr_eq(&known.container.table, table));
            if let Some(known) = known.or_else(|| Container::of(table).map(Known::of)) {
                containers.insert(table.id, known);
            }
        }
        self.containers = containers;
    }

    /// All places that have rows: containers, and data partitions, those that were dropped among them.
    pub fn places(&self) -> impl Iterator<Item = &Arc<Container>> {
        self.containers.values().flat_map(|known| {
            let undivided = Some(&known.container).filter(|container| !container.is_divided());
            undivided.into_iter().chain(known.parts()).chain(known.dropped())
        })
    }

    /// Data partitions that were dropped.
    pub fn dropped(&self) -> impl Iterator<Item = &Arc<Container>> {
        self.containers.values().flat_map(Known::dropped)
    }

    /// Whether there is any container.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.containers.is_empty()
    }

    /// The container, or data partition, of a number.
    ///
    /// # Errors
    /// There is none, any more.
    pub fn by_id(&self, id: i64) -> Result<&Arc<Container>, GridError> {
        let known = u64::try_from(id).ok().and_then(|id| self.containers.get(&TableId(id as u32))).ok_or_else(|| Self::unknown(id))?;
        let Some(part) = (id >> 32).checked_sub(1).and_then(|part| u32::try_from(part).ok()) else { return Ok(&known.container) };
        let found = known.parts.as_ref().and_then(|parts| parts.by_number.get(&part));
        found.ok_or_else(|| match &known.container.definition.partitioning {
            // Numbers are given in turn: what has a later one has been made, and this member has not heard of it.
            Some(partitioning) if part >= partitioning.next() => Self::unknown(id).behind(),
            Some(_) => {
                let message = format!("the data partition of the table {} was dropped, or has expired", known.container.definition.name);
                GridError::new(ErrorCode::SQL_TABLE_PARTITION_ALREADY_REMOVED, message)
            }
            None => Self::unknown(id),
        })
    }

    pub(crate) fn unknown(id: i64) -> GridError {
        GridError::new(ErrorCode::TXN_CONTAINER_NOT_FOUND, format!("there is no container with the number {id}"))
    }

    /// The container of a name.
    #[must_use]
    pub fn by_name(&self, schema: &Schema, database: &str, name: &ContainerName) -> Option<&Arc<Container>> {
        self.containers.get(&schema.table(database, &name.table_name())?.id).map(|known| &known.container)
    }

    /// The containers of a database in one partition, by name.
    pub fn of_partition<'a>(&'a self, schema: &'a Schema, database: &str, partition: u32) -> impl Iterator<Item = &'a Arc<Container>> {
        let tables = schema.keyspaces.get(database).into_iter().flat_map(|keyspace| keyspace.tables.values());
        let containers = tables.filter_map(|table| self.containers.get(&table.id)).map(|known| &known.container);
        containers.filter(move |container| container.definition.partition == partition)
    }
}
