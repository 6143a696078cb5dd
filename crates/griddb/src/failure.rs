//! Why an operation stops.

use crate::GridError;
use model::operation::Stop;

/// Why an operation ends without its result.
pub(crate) enum Failure {
    /// The client is told.
    Refused(GridError),
    /// The shard must do something first.
    Stop(Stop),
}

impl From<GridError> for Failure {
    fn from(error: GridError) -> Self {
        Self::Refused(error)
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}
