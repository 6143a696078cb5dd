//! Tables of a backup become tables here, with ids of this database.

use crate::core::Core;
use crate::message::{Message, SchemaAction, SchemaRequest, SchemaUpdate};
use crate::request_id::RequestId;
use crate::schema_changes::{ResolvedChange, SchemaChange, SchemaEnvironment, SchemaFailure};
use base::{CoreId, TableId};
use cql::ddl::content_version;
use io::Reactor;
use model::{Index, Keyspace, Schema, Table};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Nobody's: the outcome is seen in the schema.
const NOBODY: RequestId = RequestId { index: u32::MAX, generation: u32::MAX };

/// Makes tables as they are in a backup.
pub struct CreateTables {
    /// What to make; its ids are the backup's, its uuids those that the tables get. A table that is there with its uuid is left as it is.
    pub schema: Schema,
    /// Where a refusal goes. Success is seen in the schema.
    pub refused: Sender<String>,
}

impl SchemaChange for CreateTables {
    fn resolve(&self, schema: &Arc<Schema>, _: &mut SchemaEnvironment<'_>) -> Result<ResolvedChange, SchemaFailure> {
        match with_tables(schema, &self.schema) {
            Ok(made) => {
                let update = (made != **schema).then(|| SchemaUpdate {
                    schema: Arc::new(Schema { version: content_version(&made), ..made }),
                    dropped: Vec::new(),
                    truncated: Vec::new(),
                    events: Vec::new(),
                });
                Ok(ResolvedChange { update, warnings: Vec::new() })
            }
            Err(why) => {
                // Who asked may have given up.
                let _ = self.refused.send(why);
                Ok(ResolvedChange::default())
            }
        }
    }
}

impl Core {
    pub(super) fn create_tables<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, create: CreateTables) {
        let action = SchemaAction::Change(Box::new(create));
        let request = SchemaRequest { origin: self.core, request: NOBODY, action };
        reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
    }
}

/// The schema with the tables of another one.
fn with_tables(schema: &Schema, wanted: &Schema) -> Result<Schema, String> {
    let mut made = schema.clone();
    for (name, source) in &wanted.keyspaces {
        let mut keyspace = match schema.keyspaces.get(name) {
            Some(known) => Keyspace::clone(known),
            None => Keyspace { tables: Default::default(), types: Default::default(), ..Keyspace::clone(source) },
        };
        for (name, wanted) in &source.types {
            match keyspace.types.get(name) {
                Some(known) if known != wanted => {
                    return Err(format!("the type {}.{name} exists and is another one; drop or rename it", source.name));
                }
                Some(_) => {}
                None => drop(keyspace.types.insert(name.clone(), Arc::clone(wanted))),
            }
        }
        for (name, wanted) in &source.tables {
            match keyspace.tables.get(name) {
                Some(known) if known.uuid != wanted.uuid => {
                    return Err(format!("the table {}.{name} exists; drop it, or restore other tables", source.name));
                }
                Some(known) if known.views == wanted.views => {}
                Some(known) => {
                    drop(keyspace.tables.insert(name.clone(), Arc::new(Table { views: wanted.views.clone(), ..Table::clone(known) })))
                }
                None => drop(keyspace.tables.insert(name.clone(), Arc::new(with_new_ids(wanted, &mut made.next_table)))),
            }
        }
        made.keyspaces.insert(name.clone(), Arc::new(keyspace));
    }
    Ok(made)
}

fn with_new_ids(wanted: &Table, next: &mut TableId) -> Table {
    let mut take = || {
        let id = *next;
        *next = TableId(id.0 + 1);
        id
    };
    let id = take();
    let indexes = wanted.indexes.iter().map(|(name, index)| (name.clone(), Arc::new(Index { id: take(), ..Index::clone(index) })));
    Table { id, indexes: indexes.collect(), ..wanted.clone() }
}
