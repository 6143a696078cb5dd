//! Sets and bins that a request is the first to name: added to the schema before it runs.

use crate::schema_changes::{ResolvedChange, SchemaChange, SchemaEnvironment, SchemaFailure, SchemaUpdate};
use aerospike::exec::Need;
use cql::ddl::{self, SchemaEvent, SchemaEventTarget};
use cql::wire::ChangeKind;
use model::Schema;
use model::record_set::{self, RecordSetError};
use std::sync::Arc;

/// Makes record sets and their bins, as far as they are not there.
pub(super) struct Declaration(pub(super) Vec<Need>);

impl SchemaChange for Declaration {
    fn resolve(&self, schema: &Arc<Schema>, environment: &mut SchemaEnvironment<'_>) -> Result<ResolvedChange, SchemaFailure> {
        let factor = environment.in_cluster.then_some(environment.config.aerospike.replication_factor);
        let mut declared = Declared { schema: None, events: Vec::new(), factor };
        for need in &self.0 {
            let uuid = (environment.uuid)();
            declared.add(schema, need, uuid)?;
        }
        let Some(mut schema) = declared.schema else { return Ok(ResolvedChange::default()) };
        schema.version = ddl::content_version(&schema);
        let update = SchemaUpdate { schema: Arc::new(schema), dropped: Vec::new(), truncated: Vec::new(), events: declared.events };
        Ok(ResolvedChange { update: Some(update), warnings: Vec::new() })
    }
}

/// A schema in the making, once something is new.
struct Declared {
    schema: Option<Schema>,
    events: Vec<SchemaEvent>,
    /// The replication factor of new keyspaces; 1 without.
    factor: Option<u8>,
}

impl Declared {
    fn add(&mut self, former: &Schema, need: &Need, uuid: u128) -> Result<(), RecordSetError> {
        let Need { namespace, set, bins } = need;
        let schema = self.schema.as_ref().unwrap_or(former);
        let Some(mut declared) = schema.declare_bins(namespace, set, bins, uuid)? else { return Ok(()) };
        let event = |change, target| SchemaEvent { change, target, keyspace: namespace.clone() };
        if declared.keyspace_is_new {
            if let Some((factor, keyspace)) = self.factor.zip(declared.schema.keyspaces.get_mut(namespace)) {
                let parameters = &mut Arc::make_mut(keyspace).replication.parameters;
                parameters.insert("replication_factor".to_owned(), factor.to_string());
            }
            self.events.push(event(ChangeKind::Created, SchemaEventTarget::Keyspace));
        }
        let change = if declared.table_is_new { ChangeKind::Created } else { ChangeKind::Updated };
        let table = record_set::table_name(set).unwrap_or_default().to_owned();
        self.events.push(event(change, SchemaEventTarget::Table(table)));
        self.schema = Some(declared.schema);
        Ok(())
    }
}
