//! Tables of a backup become tables here, with ids of this database.

use crate::cluster::schema_diff;
use crate::core::Core;
use crate::message::Message;
use crate::request_id::RequestId;
use crate::schema_changes::{ResolvedChange, SchemaAction, SchemaChange, SchemaEnvironment, SchemaFailure, SchemaRequest, SchemaUpdate};
use base::{CoreId, TableId};
use cql::ddl::{SchemaEvent, content_version};
use io::Reactor;
use model::{Function, Functions, Index, Keyspace, Schema, Table, UserAggregate};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Nobody's: the outcome is seen in the schema.
const NOBODY: RequestId = RequestId { index: u32::MAX, generation: u32::MAX };

/// Makes tables as they are in a backup.
pub(super) struct CreateTables {
    pub(super) schema: Schema,
    /// Where a refusal goes.
    pub(super) refused: Sender<String>,
}

impl SchemaChange for CreateTables {
    fn resolve(&self, schema: &Arc<Schema>, environment: &mut SchemaEnvironment<'_>) -> Result<ResolvedChange, SchemaFailure> {
        let made = check_members(&self.schema, environment).and_then(|()| with_tables(schema, &self.schema));
        Ok(resolved(schema, made, &self.refused))
    }
}

/// The change that a restore makes of the schema, none if it is as it was; a refusal goes to who asked.
pub(super) fn resolved(schema: &Schema, made: Result<Schema, String>, refused: &Sender<String>) -> ResolvedChange {
    match made {
        Ok(made) => {
            let update = (made != *schema).then(|| SchemaUpdate {
                events: events(schema, &made),
                schema: Arc::new(Schema { version: content_version(&made), ..made }),
                dropped: Vec::new(),
                truncated: Vec::new(),
            });
            ResolvedChange { update, warnings: Vec::new() }
        }
        Err(why) => {
            // Who asked may have given up.
            let _ = refused.send(why);
            ResolvedChange::default()
        }
    }
}

/// Whether every member knows what a backup has: each with whether that is missing somewhere.
pub(super) fn all_known(needs: &[(&str, bool)]) -> Result<(), String> {
    match needs.iter().find(|(_, is_missing)| *is_missing) {
        Some((what, _)) => Err(format!("the backup has {what}, and a member runs a program that does not know them; update it first")),
        None => Ok(()),
    }
}

impl Core {
    /// Asks core 0 for a change of a restore.
    pub(super) fn change_restored<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, change: impl SchemaChange + 'static) {
        let action = SchemaAction::Change(Box::new(change));
        let request = SchemaRequest { origin: self.core, request: NOBODY, action };
        reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
    }
}

/// Whether every member of the cluster knows what the schema has.
fn check_members(wanted: &Schema, environment: &SchemaEnvironment<'_>) -> Result<(), String> {
    let has_indexes = wanted.tables().any(|table| !table.indexes.is_empty());
    let has_functions = wanted.keyspaces.values().any(|keyspace| !keyspace.functions.is_empty());
    all_known(&[
        ("indexes", has_indexes && !environment.knows_indexes),
        ("materialized views", wanted.has_views() && !environment.knows_views),
        ("CDC logs", wanted.has_cdc_logs() && !environment.knows_cdc),
        ("functions", has_functions && !environment.knows_functions),
        ("functions in WebAssembly", wanted.wasm_functions().next().is_some() && !environment.knows_wasm),
        ("indexes of record sets", wanted.has_record_set_indexes() && !environment.knows_record_set_indexes),
        ("SPATIAL indexes of containers", wanted.has_spatial_indexes() && !environment.knows_spatial_indexes),
        ("partitioned tables of GridDB's clients", wanted.has_partitioned_containers() && !environment.knows_partitioned_containers),
        ("transactions over records", wanted.has_record_transactions() && !environment.knows_record_transactions),
        ("GeoJSON as texts", wanted.has_geospatial_bins() && !environment.knows_geospatial),
        ("vectors of more than 65,535 dimensions", wanted.has_long_vectors() && !environment.knows_long_vectors),
        ("indexes that take texts apart", wanted.has_analyzers() && !environment.knows_analyzers),
        ("masked columns", wanted.has_masks() && !environment.knows_masks),
    ])
}

/// What drivers that ask for events are told: of a new keyspace also each table.
fn events(before: &Schema, after: &Schema) -> Vec<SchemaEvent> {
    let mut between = before.clone();
    for (name, keyspace) in &after.keyspaces {
        between.keyspaces.entry(name.clone()).or_insert_with(|| Arc::new(emptied(keyspace)));
    }
    let mut events = schema_diff::differences(before, &between);
    events.extend(schema_diff::differences(&between, after));
    events
}

fn emptied(keyspace: &Keyspace) -> Keyspace {
    Keyspace { tables: Default::default(), types: Default::default(), functions: Functions::default(), ..keyspace.clone() }
}

/// The schema with the tables of another one.
fn with_tables(schema: &Schema, wanted: &Schema) -> Result<Schema, String> {
    let mut made = schema.clone();
    for (name, source) in &wanted.keyspaces {
        let mut keyspace = schema.keyspaces.get(name).map_or_else(|| emptied(source), |known| Keyspace::clone(known));
        for (name, wanted) in &source.types {
            match keyspace.types.get(name) {
                Some(known) if known != wanted => {
                    return Err(format!("the type {}.{name} exists and is another one; drop or rename it", source.name));
                }
                Some(_) => {}
                None => drop(keyspace.types.insert(name.clone(), Arc::clone(wanted))),
            }
        }
        add_functions(&mut keyspace, source)?;
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

fn add_functions(keyspace: &mut Keyspace, source: &Keyspace) -> Result<(), String> {
    let is_another = |name: &str| format!("the function {}.{name} exists and is another one; drop it", source.name);
    for wanted in source.functions.functions() {
        let types = wanted.argument_types();
        match keyspace.functions.function(&wanted.name, &types) {
            Some(known) if known != wanted => return Err(is_another(&wanted.name)),
            Some(_) => {}
            None if keyspace.functions.aggregate(&wanted.name, &types).is_some() => return Err(is_another(&wanted.name)),
            None => keyspace.functions.put_function(Function::clone(wanted)),
        }
    }
    for wanted in source.functions.aggregates() {
        match keyspace.functions.aggregate(&wanted.name, &wanted.arguments) {
            Some(known) if known != wanted => return Err(is_another(&wanted.name)),
            Some(_) => {}
            None if keyspace.functions.function(&wanted.name, &wanted.arguments).is_some() => return Err(is_another(&wanted.name)),
            None => keyspace.functions.put_aggregate(UserAggregate::clone(wanted)),
        }
    }
    Ok(())
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
