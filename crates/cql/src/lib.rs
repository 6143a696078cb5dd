//! The Cassandra protocol and language: bytes to frames to messages to operations, without I/O.
//!
//! The modules in the order in which a request passes through them: [`session`] and [`wire`] (bytes to requests), [`language`] (text to a
//! tree), [`plan`] (a tree against a schema), [`exec`] (a plan with its values, on a shard), [`reply`] (the answer as a frame). Beside them
//! [`value`] knows the bytes of one value, [`index`] which entries rows have in indexes, [`cdc`] what logs say of changes, [`ddl`] changes schemas, [`system`] and [`describe`] show them, [`roles`] knows who may log in,
//! [`permissions`] who may do what, [`guardrails`] what operators let nobody do, and [`listings`] tells. [`ConnectedClient`] is what others see of a connection.

pub mod cdc;
mod clients;
pub mod ddl;
pub mod describe;
mod error;
pub mod exec;
pub mod guardrails;
pub mod index;
pub mod language;
pub mod listings;
pub mod permissions;
pub mod plan;
pub mod reply;
pub mod roles;
pub mod session;
mod slow;
pub mod system;
mod trace;
pub mod value;
pub mod whitelist;
pub mod wire;

pub use clients::{ClientState, ConnectedClient, Encryption};
pub use error::{Asked, CqlError};
pub use slow::SlowRequest;
pub use trace::{Trace, TraceEvent};
