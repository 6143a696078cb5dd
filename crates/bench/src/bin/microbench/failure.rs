//! Why there is no figure.

use cql::wire::WireError;
use engine::OpenError;
use load::cql::client::ClientError;

/// What ends a benchmark early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The engine did not take its configuration.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Schema or statements could not be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A request cannot be encoded.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Replies are missing, or not those expected.
    #[error("a delivery of {frames} {kind} was answered with {got} bytes instead of {wanted}{}", text.as_deref().map(|text| format!(": {text}")).unwrap_or_default())]
    Replies {
        /// What was asked.
        kind: &'static str,
        /// Requests in the delivery.
        frames: u16,
        /// Bytes of all replies.
        got: usize,
        /// Bytes they should have.
        wanted: usize,
        /// The server's words if one of them is an error.
        text: Option<String>,
    },
    /// A row is not what was written.
    #[error("the reply to the read of key {key} is not the row that was written")]
    WrongRow {
        /// The number of the key.
        key: u64,
    },
}
