//! Why a run is no measurement.

use cql::wire::WireError;
use load::cql::client::ClientError;

/// What ends a run early. None of these is a figure: the run says nothing then.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A request or the preparation of the load failed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A reply was not the right one.
    #[error("the reply to {request} of key {key} is wrong: {what}")]
    WrongReply {
        /// What was asked.
        request: &'static str,
        /// Which row.
        key: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// The server closed a connection.
    #[error("the server closed a connection with {in_flight} requests in flight")]
    Closed {
        /// Requests that will never be answered.
        in_flight: usize,
    },
    /// Nothing came for too long.
    #[error("no reply for {seconds} s with {in_flight} requests in flight")]
    Stalled {
        /// How long.
        seconds: u64,
        /// Requests that wait.
        in_flight: u64,
    },
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Client(error.into())
    }
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        Self::Client(error.into())
    }
}
