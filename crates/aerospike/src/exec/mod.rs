//! Running requests about records.
//!
//! [`start`] says what must happen for a request: run it on the shard that owns its record ([`RecordRequest`] is a
//! `model::operation::Operation`), coordinate a batch or scan over many, or first declare a set or bins that it is the first to write.
//!
//! Starting a request again after a declaration is safe: nothing of it has run.

mod batch;
mod need;
mod options;
mod read;
mod request;
mod scan;
mod single;
mod start;
mod write;

pub use need::Need;
pub use options::{IsPrimary, Namespace, Options};
pub use single::RecordRequest;
pub use start::{Shape, Work, part, start};

use crate::ResultCode;
use model::Table;
use model::operation::{Coordinator, RowStore, Stop};
use model::record_set::{RecordSet, RecordSetError};

/// Drives a batch or a scan. It never fails: what goes wrong is in the reply.
pub trait RecordCoordinator: Coordinator<Error = ResultCode> {
    /// What a part that could not be run is taken to have replied; `None` if the whole request fails with it. `part` is a number among
    /// those of the last step.
    fn part_failed(&self, part: usize, code: ResultCode) -> Option<Vec<u8>>;

    /// Whether any part of it writes.
    fn writes(&self) -> bool;
}

/// Why a request on one record did not run to its end.
enum Failure {
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

/// The dictionary of a set as it is where an operation runs: others may have declared and written bins since the operation was made.
fn dictionary<'a>(store: &'a dyn RowStore, table: &'a Table) -> Result<&'a RecordSet, Stop> {
    store.record_set(table.id).unwrap_or(table).records.as_ref().ok_or(Stop::UnknownTable)
}

/// What a client is told when a [`Need`] cannot be met.
#[must_use]
pub fn declaration_failure(error: &RecordSetError) -> ResultCode {
    match error {
        RecordSetError::SetName(_) => ResultCode::PARAMETER,
        RecordSetError::BinName(_) | RecordSetError::TooManyBins => ResultCode::BIN_NAME,
        RecordSetError::NotARecordSet { .. } | RecordSetError::TooManySets => ResultCode::FORBIDDEN,
    }
}

#[cfg(test)]
mod tests;
