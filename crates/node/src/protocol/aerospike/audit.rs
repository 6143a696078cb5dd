//! Serving Aerospike's requests where they are audited.

use super::audited::{PROTOCOL, TAG, event, failure_of};
use super::records::Records;
use crate::audit::{Category, Event, Failure, Operation, Source};
use crate::message::Message;
use aerospike::index::IndexChange;
use aerospike::info::Truncation;
use aerospike::session::Progress;
use aerospike::udf::{KEYSPACE, ModuleChange};
use aerospike::wire;
use io::Reactor;

impl<R: Reactor<Message = Message>> Records<'_, R> {
    /// Serves a request about records, and has the audit log tell of it.
    #[inline(never)]
    pub(super) fn start_audited(&mut self, message: &wire::Message<'_>, body: &[u8], out: &mut Vec<u8>) -> Progress {
        let start = out.len();
        let progress = self.start_checked(message, body, out);
        self.audit(event(message), progress, failure_of(&out[start..]));
        progress
    }

    /// Deletes a set's records, and has the audit log tell of it.
    pub(super) fn truncate_audited(&mut self, truncation: &Truncation<'_>, value: &mut Vec<u8>) -> Progress {
        let start = value.len();
        let progress = self.truncate_checked(truncation, value);
        let event = Event {
            category: Category::Ddl,
            kind: "TRUNCATE",
            keyspace: Some(truncation.namespace.into()),
            object: truncation.set.map(Into::into),
            operation: Operation::None,
        };
        self.audit(event, progress, failure_of(&value[start..]));
        progress
    }

    /// Makes or drops an index, and has the audit log tell of it.
    pub(super) fn change_index_audited(&mut self, change: &IndexChange, value: &mut Vec<u8>) -> Progress {
        let start = value.len();
        let progress = self.change_index_checked(change, value);
        let event = Event {
            category: Category::Ddl,
            kind: if matches!(change, IndexChange::Create { .. }) { "CREATE INDEX" } else { "DROP INDEX" },
            keyspace: Some(change.namespace().into()),
            object: Some(change.name().into()),
            operation: Operation::None,
        };
        self.audit(event, progress, failure_of(&value[start..]));
        progress
    }

    /// Registers a module or takes one away, and has the audit log tell of it.
    pub(super) fn change_module_audited(&mut self, change: &ModuleChange, value: &mut Vec<u8>) -> Progress {
        let start = value.len();
        let progress = self.change_module_checked(change, value);
        let event = Event {
            category: Category::Ddl,
            kind: if matches!(change, ModuleChange::Put { .. }) { "CREATE FUNCTION" } else { "DROP FUNCTION" },
            keyspace: Some(KEYSPACE.into()),
            object: Some(change.name().into()),
            operation: Operation::None,
        };
        self.audit(event, progress, failure_of(&value[start..]));
        progress
    }

    pub(super) fn audit(&mut self, event: Event, progress: Progress, failure: Option<Failure>) {
        let Some(client) = self.client.as_deref() else { return };
        let (address, role) = (client.address, client.role.clone());
        let source = Source { protocol: PROTOCOL, address, role, wall_us: self.reactor.now().wall_us };
        let Some(audit) = &mut self.core.audit else { return };
        match progress {
            Progress::Replied => audit.ended(&source, &[event], failure.as_ref()),
            Progress::Waiting => audit.waits(self.connection, TAG, source, vec![event]),
        }
    }
}
