//! Scans and queries in the background: started for a client that is answered at once, and ended by those who may.

use super::answer::Answer;
use super::records::{Records, check_waiting, route};
use crate::cluster::{PATIENCE_US, Route};
use crate::message::Message;
use crate::protocol::{AnyCoordinator, Reply};
use crate::request_figures::RequestKind;
use aerospike::ResultCode;
use aerospike::exec::{RecordCoordinator, Shape};
use aerospike::jobs::Abort;
use aerospike::session::Progress;
use aerospike::wire;
use io::Reactor;

impl<R: Reactor<Message = Message>> Records<'_, R> {
    /// Starts a job. It is a request of nobody's: the client's connection may end.
    pub(super) fn start_background(
        &mut self,
        message: &wire::Message<'_>,
        body: &[u8],
        shape: Shape,
        coordinator: Box<dyn RecordCoordinator>,
        out: &mut Vec<u8>,
    ) -> Result<Progress, ResultCode> {
        let core = &mut *self.core;
        check_waiting(core)?;
        core.requests.meter.set_kind(RequestKind::of(coordinator.writes()));
        // However little time the client gives its request, each part of the job has its own.
        let route = core.cluster.is_some().then(|| Route { is_write: true, patience_us: PATIENCE_US, ..route(body, message) });
        let reply = Reply::Aerospike(Answer::Message(shape));
        core.coordinate_for_nobody(self.reactor, reply, AnyCoordinator::Aerospike(coordinator), route);
        shape.write(out, ResultCode::OK);
        Ok(Progress::Replied)
    }

    /// Ends jobs for a client that may, and appends the value that is answered.
    pub(super) fn abort_jobs_checked(&mut self, abort: Abort, value: &mut Vec<u8>) {
        let said = match self.check_abort() {
            Ok(()) => abort.run(&self.core.config.aerospike.jobs),
            Err(code) => format!("ERROR:{}:role violation", code.0),
        };
        value.extend_from_slice(said.as_bytes());
    }
}
