//! Containers made, changed and dropped, as changes of the schema.

use crate::schema_changes::{ResolvedChange, SchemaChange, SchemaEnvironment, SchemaFailure, SchemaUpdate};
use base::TableId;
use cql::ddl::{self, SchemaEvent, SchemaEventTarget};
use cql::permissions::Rights;
use cql::wire::ChangeKind;
use griddb::partitioning::Division;
use griddb::{ContainerChange, ErrorCode, GridError};
use model::{Permission, Resource, Schema};
use std::sync::Arc;

/// The replication factor of a database that is new, in a cluster.
pub(super) const REPLICATION_FACTOR: usize = 3;

/// A change of one container.
pub(super) struct Declaration {
    pub(super) database: Box<str>,
    pub(super) change: ContainerChange,
    /// As whom its client has logged in; none where nobody has to.
    pub(super) asker: Option<Arc<str>>,
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
        if let Some(asker) = self.asker.as_ref().filter(|_| environment.config.checks_permissions) {
            self.check(schema, asker, kind, &changed.table.name).map_err(refused)?;
            if kind == ChangeKind::Created {
                let keyspace = changed.keyspace_is_new.then(|| Resource::Keyspace(self.database.to_string()));
                let table = Resource::table(&self.database, &changed.table.name);
                let made: Vec<Resource> = keyspace.into_iter().chain([table]).collect();
                ddl::own(&mut changed.schema, asker, &made);
            }
        }
        ddl::forget_absent(&mut changed.schema);
        changed.schema.version = ddl::content_version(&changed.schema);
        if changed.schema.has_indexes() && !environment.knows_indexes {
            let message = "indexes can be made once every member of the cluster runs a program that knows them";
            return Err(refused(GridError::unsupported(message)));
        }
        if changed.schema.has_spatial_indexes() && !environment.knows_spatial_indexes {
            let message = "SPATIAL indexes can be made once every member of the cluster runs a program that knows them";
            return Err(refused(GridError::unsupported(message)));
        }
        if changed.schema.has_partitioned_containers() && !environment.knows_partitioned_containers {
            let message = "partitioned tables can be made once every member of the cluster runs a program that knows them";
            return Err(refused(GridError::unsupported(message)));
        }
        let stored =
            |schema: &Schema| schema.table(&self.database, &changed.table.name).into_iter().flat_map(|table| table.stored()).collect();
        let (before, after): (Vec<TableId>, Vec<TableId>) = (stored(schema), stored(&changed.schema));
        let dropped = before.into_iter().filter(|table| !after.contains(table)).collect();
        let update = SchemaUpdate { schema: Arc::new(changed.schema), dropped, truncated: Vec::new(), events };
        Ok(ResolvedChange { update: Some(update), warnings: Vec::new() })
    }
}

impl Declaration {
    /// Refuses a change that the asker may not make.
    fn check(&self, schema: &Schema, asker: &Arc<str>, kind: ChangeKind, table: &str) -> Result<(), GridError> {
        let (permission, resource) = match kind {
            ChangeKind::Created => (Permission::Create, Resource::AllTablesIn(self.database.to_string())),
            // Who puts rows makes the data partitions that they need.
            ChangeKind::Updated if matches!(self.change, ContainerChange::Divide(_, Division::Add(_))) => {
                (Permission::Modify, Resource::table(&self.database, table))
            }
            ChangeKind::Updated => (Permission::Alter, Resource::table(&self.database, table)),
            ChangeKind::Dropped => (Permission::Drop, Resource::table(&self.database, table)),
        };
        if Rights::of(schema, asker).allow(permission, &resource) {
            return Ok(());
        }
        let message = format!("the user {asker} has no {} permission on {resource}", permission.name());
        Err(GridError::new(ErrorCode::TXN_OPERATION_NOT_ALLOWED, message))
    }
}
