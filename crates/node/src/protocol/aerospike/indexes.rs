//! Secondary indexes made and dropped, as changes of the schema.

use super::answer::Answer;
use super::declarations::Declared;
use super::records::Records;
use crate::message::Message;
use crate::protocol::Reply;
use crate::requests::{REQUEST_BYTES, Request};
use crate::schema_changes::{ResolvedChange, SchemaAction, SchemaChange, SchemaEnvironment, SchemaFailure, SchemaRequest, SchemaUpdate};
use aerospike::ResultCode;
use aerospike::exec::Need;
use aerospike::index::{Definition, IndexChange, IndexRefusal, ValueKind};
use aerospike::session::Progress;
use base::CoreId;
use cql::ddl::{self, SchemaEvent, SchemaEventTarget};
use cql::wire::ChangeKind;
use io::Reactor;
use model::Schema;
use model::record_set::{RecordSetError, table_name};
use std::sync::Arc;

/// An index made or dropped.
struct IndexDeclaration(IndexChange);

fn rejected(code: ResultCode, message: &str) -> SchemaFailure {
    SchemaFailure::Rejected { code: code.0.into(), message: message.to_owned() }
}

fn refused(IndexRefusal { code, message }: IndexRefusal) -> SchemaFailure {
    rejected(code, message)
}

impl SchemaChange for IndexDeclaration {
    fn resolve(&self, schema: &Arc<Schema>, environment: &mut SchemaEnvironment<'_>) -> Result<ResolvedChange, SchemaFailure> {
        let mut changed = Schema::clone(schema);
        let mut declared = Declared::new(environment);
        let (table, dropped) = match &self.0 {
            IndexChange::Create { namespace, set, name, definition } => {
                if !environment.knows_record_set_indexes {
                    let message = "indexes can be made once every member of the cluster runs a program that knows them";
                    return Err(rejected(ResultCode::FORBIDDEN, message));
                }
                if definition.kind == ValueKind::Geo && !environment.knows_geospatial {
                    let message = "GEO2DSPHERE indexes can be made once every member of the cluster runs a program that knows them";
                    return Err(rejected(ResultCode::FORBIDDEN, message));
                }
                let table = table_name(set).ok_or_else(|| RecordSetError::SetName(set.clone()))?;
                let bin = definition.needed_bin().map_err(|code| rejected(code, "the bin cannot be"))?;
                let need = Need { namespace: namespace.clone(), set: set.clone(), bins: vec![bin], remembers: false };
                declared.add(&mut changed, &need, (environment.uuid)())?;
                if !definition.add(&mut changed, namespace, table, name).map_err(refused)? {
                    return Ok(ResolvedChange::default());
                }
                (table.to_owned(), Vec::new())
            }
            IndexChange::Drop { namespace, name } => {
                let (table, entries) = Definition::remove(&mut changed, namespace, name).map_err(refused)?;
                (table, vec![entries])
            }
        };
        if declared.events.iter().all(|event| event.target != SchemaEventTarget::Table(table.clone())) {
            let target = SchemaEventTarget::Table(table);
            declared.events.push(SchemaEvent { change: ChangeKind::Updated, target, keyspace: self.0.namespace().to_owned() });
        }
        changed.version = ddl::content_version(&changed);
        let update = SchemaUpdate { schema: Arc::new(changed), dropped, truncated: Vec::new(), events: declared.events };
        Ok(ResolvedChange { update: Some(update), warnings: Vec::new() })
    }
}

impl<R: Reactor<Message = Message>> Records<'_, R> {
    /// Makes or drops an index for a client that may. Appends the value that is answered, unless that comes later.
    pub(super) fn change_index_checked(&mut self, change: &IndexChange, value: &mut Vec<u8>) -> Progress {
        let is_served = self.core.config.aerospike.namespaces.iter().any(|known| known.name == change.namespace());
        let refusal = match self.check_index_change(change) {
            Err(code) => Some((code, "role violation")),
            Ok(()) if !is_served => Some((ResultCode::INVALID_NAMESPACE, "no such namespace")),
            Ok(()) => None,
        };
        if let Some((code, message)) = refusal {
            value.extend_from_slice(format!("ERROR:{}:{message}", code.0).as_bytes());
            return Progress::Replied;
        }
        let core = &mut *self.core;
        let request = core.requests.insert(Request::single(self.connection, Reply::Aerospike(Answer::Info), REQUEST_BYTES));
        let action = SchemaAction::Change(Box::new(IndexDeclaration(change.clone())));
        let request = SchemaRequest { origin: core.core, request, action };
        self.reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
        Progress::Waiting
    }
}
