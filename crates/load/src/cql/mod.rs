//! CQL: prepared statements through the project's own codec.

pub mod client;
mod session;
mod settings;
mod statements;
mod target;
mod template;

pub use settings::{ConsistencyLevel, CqlSettings};
pub use target::CqlTarget;
