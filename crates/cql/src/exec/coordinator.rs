//! Statements that need more than one partition: what to run next, given what came back.

use crate::CqlError;
use base::Token;
use model::operation::Operation;

/// Drives a statement over several partitions from the core that holds the connection.
///
/// `step` is first called without results; then, each time, with the replies of the parts it asked for, in the order it asked.
pub trait Coordinator {
    /// Says what to run next, or that the reply frame has been appended.
    ///
    /// # Errors
    /// What the client gets instead of a reply.
    fn step(&mut self, results: Vec<Vec<u8>>, reply: &mut Vec<u8>) -> Result<Step, CqlError>;
}

/// What a coordinator wants.
pub enum Step {
    /// Run these, on the cores that own their tokens, at the same time.
    Run(Vec<Part>),
    /// The reply has been appended.
    Done,
}

/// A part of a statement.
pub struct Part {
    /// Runs on the core that owns this token.
    pub token: Token,
    /// What runs; its reply is private to the coordinator.
    pub operation: Box<dyn Operation>,
}
