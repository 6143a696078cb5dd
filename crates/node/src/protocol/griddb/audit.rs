//! Serving GridDB's statements where they are audited.

use super::audited::{TAG, event, failure_of};
use super::statements::Statements;
use super::travel::Travelled;
use crate::audit::Event;
use crate::message::Message;
use griddb::session::Progress;
use griddb::wire::Statement;
use io::Reactor;
use std::sync::Arc;

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    /// Serves a statement, and has the audit log tell of it.
    #[inline(never)]
    pub(super) fn start_audited(&mut self, statement: &Statement<'_>, travelled: Travelled<'_>, out: &mut Vec<u8>) -> Progress {
        let start = out.len();
        let catalog = Arc::clone(&self.core.protocols.griddb.catalog);
        let event = event(statement, travelled.database, &catalog);
        let progress = self.start(statement, travelled, false, out);
        if let Some(event) = event {
            self.audit(event, progress, &out[start..], travelled.is_ipv6);
        }
        progress
    }

    /// Has the audit log tell of a statement that has been started, and may have its reply.
    pub(super) fn audit(&mut self, event: Event, progress: Progress, reply: &[u8], is_ipv6: bool) {
        let source = self.source(self.client.as_deref().and_then(|client| client.role.clone()));
        let Some(audit) = &mut self.core.audit else { return };
        match progress {
            Progress::Replied => audit.ended(&source, &[event], failure_of(reply, is_ipv6).as_ref()),
            Progress::Waiting => audit.waits(self.connection, TAG, source, vec![event]),
        }
    }
}
