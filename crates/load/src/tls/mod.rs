//! TLS between a protocol and the socket.
//!
//! ```text
//! session or client ── plaintext ──► records, at the latest when the connection sends ──► socket
//! ```

pub(crate) mod access;
pub(crate) mod link;
pub(crate) mod session;
