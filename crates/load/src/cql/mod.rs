//! CQL: prepared statements through the project's own codec.

mod access;
pub mod client;
mod consistency;
mod own;
mod session;
mod settings;
mod statements;
mod target;
mod template;
mod topology;

pub use consistency::{ConsistencyLevel, UnknownConsistency};
pub use own::OwnStatements;
pub use settings::CqlSettings;
pub use target::CqlTarget;
