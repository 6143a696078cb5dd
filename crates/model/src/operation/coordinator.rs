//! Requests that need more than one partition: what to run next, given what came back.

use super::Operation;
use base::{TableId, Token};

/// Drives a request over several partitions from the core that holds the connection.
///
/// `step` is first called without results; then, each time, with the replies of the parts it asked for, in the order it asked.
pub trait Coordinator {
    /// What the client can get instead of a reply, in its protocol's terms.
    type Error;

    /// Says what to run next, or that the reply is complete. What is appended to `reply` before the last step goes to the client at once:
    /// a part of a reply that comes in several, or nothing.
    ///
    /// # Errors
    /// What the client gets instead of the rest of the reply; what this step appended is dropped.
    fn step(&mut self, results: Vec<Vec<u8>>, reply: &mut Vec<u8>) -> Result<Step, Self::Error>;

    /// What it means to the request if one of the parts that are out fails.
    fn standing(&self) -> Standing {
        Standing::Open
    }
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// If a part fails, so does the request.
    Open,
    /// It will be done, sooner or later: if a part fails, its client is not told that nothing was done.
    Decided,
    /// It has been done, and its client told.
    Done,
}

/// What a coordinator wants.
pub enum Step {
    /// Run these, on the cores that own their tokens, at the same time.
    Run(Vec<Part>),
    /// Call again at this time, without results: as yet there is nothing to do.
    Wait {
        /// The monotonic clock's, in microseconds.
        until_us: u64,
    },
    /// The reply is complete.
    Done,
}

/// A part of a request.
pub struct Part {
    /// A table of the keyspace that it is about.
    pub table: TableId,
    /// Runs on the core that owns this token, on the member of the cluster that serves its slot for the table's keyspace.
    pub token: Token,
    /// What runs; its reply is private to the coordinator.
    pub operation: Box<dyn Operation>,
}
