//! What a request asks the node to do.

use super::need::Need;
use super::single::RecordRequest;
use crate::ResultCode;
use model::operation::Coordinator;

/// What must happen for a request.
pub enum Work<'a> {
    /// It runs as an operation on the core that owns its token; its reply is the whole reply.
    Record(RecordRequest<'a>),
    /// Several steps; each may give the client a part of the reply.
    Coordinate(Box<dyn RecordCoordinator>),
    /// Several steps that nobody waits for: the client is told at once that it has begun.
    Background(Box<dyn RecordCoordinator>),
    /// These must be declared first; then the request is to be started again.
    Declare(Vec<Need>),
}

/// Drives a batch or a scan. It never fails: what goes wrong is in the reply.
pub trait RecordCoordinator: Coordinator<Error = ResultCode> {
    /// What a part that could not be run is taken to have replied; `None` if the whole request fails with it. `part` is a number among
    /// those of the last step.
    fn part_failed(&self, part: usize, code: ResultCode) -> Option<Vec<u8>>;

    /// Whether any part of it writes.
    fn writes(&self) -> bool;

    /// What must be declared before it goes on: it waits ([`model::operation::Step::Wait`]) until that is done, and is asked for the next step then.
    fn take_needs(&mut self) -> Vec<Need> {
        Vec::new()
    }

    /// What functions have logged since it was asked last: levels and lines.
    fn take_log(&mut self) -> Vec<(i64, String)> {
        Vec::new()
    }
}
