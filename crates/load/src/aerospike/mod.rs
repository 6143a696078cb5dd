//! Aerospike: one request in flight on each socket, through the project's own codec.
//!
//! A row is a record, its fields are bins. Requests carry the key's digest and not the key. An insert refuses a record that exists; an
//! update of one field keeps the other bins, one of all replaces the record, and both refuse one that does not exist.

pub mod client;
mod session;
mod settings;
mod target;

pub use settings::AerospikeSettings;
pub use target::AerospikeTarget;

use crate::target::TargetError;
use ::aerospike::wire::WireError;

/// Name of the protocol.
const PROTOCOL: &str = "aerospike";

/// What is not the protocol.
fn wire(error: WireError) -> TargetError {
    TargetError::Protocol { protocol: PROTOCOL, what: error.into() }
}

/// Refuses a namespace that is not among those that the server names.
fn check_namespace(wanted: &str, named: &str) -> Result<(), TargetError> {
    if named.split(';').any(|name| name == wanted) {
        return Ok(());
    }
    Err(TargetError::Refused { what: format!("namespace {wanted}"), kind: "no such namespace", message: format!("it has: {named}") })
}
