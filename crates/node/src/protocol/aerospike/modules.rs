//! Modules of functions registered and taken away, as changes of the schema.

use super::answer::Answer;
use super::declarations::Declared;
use super::records::Records;
use crate::message::Message;
use crate::protocol::Reply;
use crate::requests::{REQUEST_BYTES, Request};
use crate::schema_changes::{ResolvedChange, SchemaAction, SchemaChange, SchemaEnvironment, SchemaFailure, SchemaRequest, SchemaUpdate};
use aerospike::ResultCode;
use aerospike::session::Progress;
use aerospike::udf::{KEYSPACE, ModuleChange, ModuleRefusal};
use base::CoreId;
use cql::ddl::{self, SchemaEvent, SchemaEventTarget};
use cql::wire::ChangeKind;
use io::Reactor;
use model::Schema;
use std::sync::Arc;

/// A module registered or taken away.
struct ModuleDeclaration(ModuleChange);

fn refused(ModuleRefusal { code, message }: ModuleRefusal) -> SchemaFailure {
    SchemaFailure::Rejected { code: code.0.into(), message }
}

impl SchemaChange for ModuleDeclaration {
    fn resolve(&self, schema: &Arc<Schema>, environment: &mut SchemaEnvironment<'_>) -> Result<ResolvedChange, SchemaFailure> {
        if !environment.knows_functions {
            let message = "modules can be registered once every member of the cluster runs a program that knows functions".to_owned();
            return Err(refused(ModuleRefusal { code: ResultCode::FORBIDDEN, message }));
        }
        let mut changed = Schema::clone(schema);
        let mut declared = Declared::new(environment);
        if matches!(self.0, ModuleChange::Put { .. }) {
            declared.add_keyspace(&mut changed, KEYSPACE);
        }
        if !self.0.apply(&mut changed).map_err(refused)? {
            return Ok(ResolvedChange::default());
        }
        let change = if matches!(self.0, ModuleChange::Put { .. }) { ChangeKind::Created } else { ChangeKind::Dropped };
        let target = SchemaEventTarget::Function { name: self.0.name().to_owned(), argument_types: Vec::new() };
        declared.events.push(SchemaEvent { change, target, keyspace: KEYSPACE.to_owned() });
        changed.version = ddl::content_version(&changed);
        let update = SchemaUpdate { schema: Arc::new(changed), dropped: Vec::new(), truncated: Vec::new(), events: declared.events };
        Ok(ResolvedChange { update: Some(update), warnings: Vec::new() })
    }
}

impl<R: Reactor<Message = Message>> Records<'_, R> {
    /// Registers a module or takes one away for a client that may. Appends the value that is answered, unless that comes later.
    pub(super) fn change_module_checked(&mut self, change: &ModuleChange, value: &mut Vec<u8>) -> Progress {
        if let Err(code) = self.check_module_change(change) {
            value.extend_from_slice(format!("ERROR:{}:role violation", code.0).as_bytes());
            return Progress::Replied;
        }
        let core = &mut *self.core;
        let request = core.requests.insert(Request::single(self.connection, Reply::Aerospike(Answer::Info), REQUEST_BYTES));
        let action = SchemaAction::Change(Box::new(ModuleDeclaration(change.clone())));
        let request = SchemaRequest { origin: core.core, request, action };
        self.reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
        Progress::Waiting
    }
}
