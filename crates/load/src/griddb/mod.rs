//! GridDB: one request in flight on each connection, as its clients have it, through the project's own codec.
//!
//! A row is a row of a collection, whose row key is the key. A request is about one row, or about all that a connection has in flight: those
//! of one container are put together in one request, and asked for together in another.
//!
//! | file | what it does |
//! |---|---|
//! | [`settings`] | how a target is reached |
//! | [`target`] | looks at a server, makes and drops containers; with a blocking [`client`] |
//! | [`session`] | a connection without its socket: from [`handshake`] to replies |
//! | [`gathered`] | what a connection was asked and has not sent |
//! | [`format`] | columns, keys and rows of the dataset as the protocol has them |

pub mod client;
mod format;
mod gathered;
mod handshake;
mod session;
mod settings;
mod target;

pub use settings::GridDbSettings;
pub use target::GridDbTarget;

use crate::target::TargetError;
use ::griddb::{ErrorCode, GridError};
use std::net::SocketAddr;

/// Name of the protocol.
const PROTOCOL: &str = "griddb";

/// What is not the protocol.
fn wire(error: impl std::error::Error + Send + Sync + 'static) -> TargetError {
    TargetError::Protocol { protocol: PROTOCOL, what: error.into() }
}

fn unexpected(what: &'static str) -> TargetError {
    TargetError::Protocol { protocol: PROTOCOL, what: what.into() }
}

/// Whether frames to and from an address have addresses of IPv6.
fn is_ipv6(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_ipv6()
}

/// The protocol's name of an error. Other servers have many more.
fn name_of(error: &GridError) -> &'static str {
    match error.code.name() {
        "" => "other error",
        name => name,
    }
}

/// An error's number, and the server's words.
fn words_of(error: &GridError) -> String {
    format!("{}: {}", error.code.0, error.message)
}

/// The server says no to `what`.
fn refused(what: &str, error: &GridError) -> TargetError {
    let message = words_of(error);
    match error.code {
        ErrorCode::TXN_AUTH_FAILED | ErrorCode::TXN_AUTH_REQUIRED => TargetError::Credentials { message },
        _ => TargetError::Refused { what: what.to_owned(), kind: name_of(error), message },
    }
}
