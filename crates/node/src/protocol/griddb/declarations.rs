//! Containers made, changed and dropped, as changes of the schema.

use crate::schema_changes::{ResolvedChange, SchemaChange, SchemaEnvironment, SchemaFailure, SchemaUpdate};
use cql::ddl::{self, SchemaEvent, SchemaEventTarget};
use cql::wire::ChangeKind;
use griddb::{ContainerChange, GridError};
use model::Schema;
use std::sync::Arc;

/// The replication factor of a database that is new, in a cluster.
const REPLICATION_FACTOR: usize = 3;

/// A change of one container.
pub(super) struct Declaration {
    pub(super) database: Box<str>,
    pub(super) change: ContainerChange,
}

impl SchemaChange for Declaration {
    fn resolve(&self, schema: &Arc<Schema>, environment: &mut SchemaEnvironment<'_>) -> Result<ResolvedChange, SchemaFailure> {
        let refused = |GridError { code, message, .. }| SchemaFailure::Rejected { code: code.0, message: message.into_owned() };
        let uuid = (environment.uuid)();
        let Some(mut changed) = self.change.apply(schema, &self.database, uuid, environment.now_us).map_err(refused)? else {
            return Ok(ResolvedChange::default());
        };
        let event = |change, target| SchemaEvent { change, target, keyspace: self.database.to_string() };
        let mut events = Vec::new();
        if changed.keyspace_is_new {
            if let (true, Some(keyspace)) = (environment.in_cluster, changed.schema.keyspaces.get_mut(&*self.database)) {
                let factor = environment.members.clamp(1, REPLICATION_FACTOR);
                let parameters = &mut Arc::make_mut(keyspace).replication.parameters;
                parameters.insert("replication_factor".to_owned(), factor.to_string());
            }
            events.push(event(ChangeKind::Created, SchemaEventTarget::Keyspace));
        }
        let was_there = schema.table(&self.database, &changed.table.name).is_some();
        let is_there = changed.schema.table(&self.database, &changed.table.name).is_some();
        let kind = match (was_there, is_there) {
            (_, false) => ChangeKind::Dropped,
            (true, true) => ChangeKind::Updated,
            (false, true) => ChangeKind::Created,
        };
        events.push(event(kind, SchemaEventTarget::Table(changed.table.name.clone())));
        changed.schema.version = ddl::content_version(&changed.schema);
        let dropped = if is_there { Vec::new() } else { changed.table.stored().collect() };
        let update = SchemaUpdate { schema: Arc::new(changed.schema), dropped, truncated: Vec::new(), events };
        Ok(ResolvedChange { update: Some(update), warnings: Vec::new() })
    }
}
