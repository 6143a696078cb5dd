//! Sets and bins that a request is the first to name: added to the schema before it runs.

use crate::schema_changes::{ResolvedChange, SchemaChange, SchemaEnvironment, SchemaFailure, SchemaUpdate};
use aerospike::ResultCode;
use aerospike::exec::Need;
use cql::ddl::{self, SchemaEvent, SchemaEventTarget};
use cql::wire::ChangeKind;
use model::record_set::{self, GEOJSON_KIND, RecordSetError};
use model::{DataType, Keyspace, Schema};
use std::sync::Arc;

/// Makes record sets and their bins, as far as they are not there.
pub(super) struct Declaration(pub(super) Vec<Need>);

impl SchemaChange for Declaration {
    fn resolve(&self, schema: &Arc<Schema>, environment: &mut SchemaEnvironment<'_>) -> Result<ResolvedChange, SchemaFailure> {
        let mut declared = Declared::new(environment);
        let mut changed = Schema::clone(schema);
        for need in &self.0 {
            let uuid = (environment.uuid)();
            declared.add(&mut changed, need, uuid)?;
        }
        if changed.has_record_transactions() && !environment.knows_record_transactions {
            let message = "transactions can be used once every member of the cluster runs a program that knows them".to_owned();
            return Err(SchemaFailure::Rejected { code: ResultCode::FORBIDDEN.0.into(), message });
        }
        if declared.events.is_empty() {
            return Ok(ResolvedChange::default());
        }
        changed.version = ddl::content_version(&changed);
        let update = SchemaUpdate { schema: Arc::new(changed), dropped: Vec::new(), truncated: Vec::new(), events: declared.events };
        Ok(ResolvedChange { update: Some(update), warnings: Vec::new() })
    }
}

/// What has become new.
pub(super) struct Declared {
    pub(super) events: Vec<SchemaEvent>,
    /// The replication factor of new keyspaces; 1 without.
    factor: Option<u8>,
    /// Whether columns of GeoJSON are texts: some member may not know those yet.
    has_texts: bool,
}

impl Declared {
    pub(super) fn new(environment: &SchemaEnvironment<'_>) -> Self {
        let factor = environment.in_cluster.then_some(environment.config.aerospike.replication_factor);
        Self { events: Vec::new(), factor, has_texts: environment.knows_geospatial }
    }

    /// Makes a set and its bins, and its namespace, as far as they are not there.
    pub(super) fn add(&mut self, schema: &mut Schema, need: &Need, uuid: u128) -> Result<(), RecordSetError> {
        let Need { namespace, set, bins, remembers } = need;
        let mut bins = bins.clone();
        for bin in bins.iter_mut().filter(|bin| bin.kind == GEOJSON_KIND && !self.has_texts) {
            bin.data_type = DataType::Blob;
        }
        let declared = schema.declare_bins(namespace, set, &bins, uuid)?;
        let (is_new, mut has_changed) = (declared.as_ref().is_some_and(|declared| declared.table_is_new), declared.is_some());
        if let Some(declared) = declared {
            *schema = declared.schema;
            if declared.keyspace_is_new {
                self.keyspace_is_new(schema, namespace);
            }
        }
        has_changed |= *remembers && schema.remember_deletions(namespace, set);
        if !has_changed {
            return Ok(());
        }
        let change = if is_new { ChangeKind::Created } else { ChangeKind::Updated };
        let table = record_set::table_name(set).unwrap_or_default().to_owned();
        self.events.push(SchemaEvent { change, target: SchemaEventTarget::Table(table), keyspace: namespace.clone() });
        Ok(())
    }

    /// Makes a namespace without sets, if it is not there.
    pub(super) fn add_keyspace(&mut self, schema: &mut Schema, namespace: &str) {
        if !schema.keyspaces.contains_key(namespace) {
            schema.keyspaces.insert(namespace.to_owned(), Arc::new(Keyspace::of_one_replica(namespace)));
            self.keyspace_is_new(schema, namespace);
        }
    }

    fn keyspace_is_new(&mut self, schema: &mut Schema, namespace: &str) {
        if let Some((factor, keyspace)) = self.factor.zip(schema.keyspaces.get_mut(namespace)) {
            let parameters = &mut Arc::make_mut(keyspace).replication.parameters;
            parameters.insert("replication_factor".to_owned(), factor.to_string());
        }
        let target = SchemaEventTarget::Keyspace;
        self.events.push(SchemaEvent { change: ChangeKind::Created, target, keyspace: namespace.to_owned() });
    }
}
