//! What a statement asks the node to do.

use super::operation::Execution;
use crate::container::ContainerChange;

/// What a statement comes to.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and the larger is the usual one")]
pub enum Work<'a> {
    /// Its reply has been appended.
    Answered,
    /// The schema has to change. Then it is started again if the client hears of the container, and is done otherwise.
    Change {
        /// How.
        change: ContainerChange,
        /// Whether it is started again.
        starts_again: bool,
    },
    /// It runs on the core that owns the partition; the operation's reply is the whole reply.
    Run(Execution<'a>),
}
