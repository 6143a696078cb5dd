//! CQL: prepared statements through the project's own codec.

pub mod client;
mod settings;
mod target;

pub use settings::{ConsistencyLevel, CqlSettings};
pub use target::CqlTarget;
