//! Why a request on one record stops.

use crate::ResultCode;
use model::operation::Stop;

/// Why a request on one record did not run to its end.
pub(super) enum Failure {
    /// The client gets this code.
    Code(ResultCode),
    /// The shard must do something first.
    Stop(Stop),
}

impl From<ResultCode> for Failure {
    fn from(code: ResultCode) -> Self {
        Self::Code(code)
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}
