//! Why a statement stops.

use crate::CqlError;
use model::operation::Stop;

/// Why a statement did not run to its end.
#[derive(Debug)]
pub enum Failure {
    /// The client gets this error.
    Error(CqlError),
    /// The shard must do something first.
    Stop(Stop),
}

impl From<CqlError> for Failure {
    fn from(error: CqlError) -> Self {
        Self::Error(error)
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}
