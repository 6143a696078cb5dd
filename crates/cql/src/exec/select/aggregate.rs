//! What an aggregate has of the rows so far.

use crate::CqlError;
use crate::plan::Aggregate;
use crate::value;

/// The state of one of `Select::aggregates`.
pub(super) enum Accumulator {
    /// `count(*)`
    Rows(u64),
    /// A native aggregate.
    Values(value::aggregate::Aggregate),
}

impl Accumulator {
    /// Of no rows.
    pub(super) fn new(aggregate: &Aggregate) -> Self {
        match aggregate {
            Aggregate::CountRows => Self::Rows(0),
            Aggregate::Of(function, _) => function.aggregate().map_or(Self::Rows(0), Self::Values),
        }
    }

    /// Adds rows that only count.
    pub(super) fn count(&mut self, rows: u64) {
        if let Self::Rows(count) = self {
            *count = count.saturating_add(rows);
        }
    }

    /// Adds a row's value.
    pub(super) fn add(&mut self, bytes: Option<&[u8]>) -> Result<(), CqlError> {
        match self {
            Self::Rows(_) => Ok(()),
            Self::Values(aggregate) => aggregate.add(bytes).map_err(|error| CqlError::Invalid(error.to_string())),
        }
    }

    /// The aggregate's value.
    pub(super) fn finish(self) -> Result<Option<Vec<u8>>, CqlError> {
        match self {
            Self::Rows(count) => Ok(Some(i64::try_from(count).unwrap_or(i64::MAX).to_be_bytes().to_vec())),
            Self::Values(aggregate) => {
                let mut bytes = Vec::new();
                let some = aggregate.finish(&mut bytes).map_err(|error| CqlError::Invalid(error.to_string()))?;
                Ok(some.then_some(bytes))
            }
        }
    }
}
