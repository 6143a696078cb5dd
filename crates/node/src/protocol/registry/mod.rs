//! The protocols there are. This folder is what a new one is added to; nothing else in the node names one.
//!
//! Each enum of `kinds` has a variant for each protocol, and each macro of `dispatch` an arm. The compiler finds what is missing.

mod dispatch;
mod kinds;

pub use kinds::Protocol;
pub(crate) use kinds::{AnyCoordinator, CoreStates, Reply, Session, Workspaces};
