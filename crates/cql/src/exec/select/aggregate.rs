//! What an aggregate has of the rows so far.

use crate::CqlError;
use crate::exec::function::failure;
use crate::plan::Aggregate;
use crate::value;
use crate::value::function::UserSpec;
use crate::value::script::{Meter, ScriptState};

/// The state of one of `Select::aggregates`.
pub(super) enum Accumulator {
    /// `count(*)`
    Rows(u64),
    /// A native aggregate.
    Values(value::aggregate::Aggregate),
    /// An aggregate of a user.
    Script(ScriptState),
}

impl Accumulator {
    /// Of no rows.
    pub(super) fn new(aggregate: &Aggregate) -> Self {
        match aggregate {
            Aggregate::CountRows => Self::Rows(0),
            Aggregate::Of(function, _) => match function.user() {
                Some(UserSpec::Aggregate(aggregate)) => Self::Script(aggregate.begin()),
                _ => function.aggregate().map_or(Self::Rows(0), Self::Values),
            },
        }
    }

    /// Adds rows that only count.
    pub(super) fn count(&mut self, rows: u64) {
        if let Self::Rows(count) = self {
            *count = count.saturating_add(rows);
        }
    }

    /// Adds a row's values.
    pub(super) fn add(&mut self, arguments: &[Option<&[u8]>], meter: &Meter) -> Result<(), CqlError> {
        match self {
            Self::Rows(_) => Ok(()),
            Self::Script(state) => state.add(arguments, meter).map_err(failure),
            Self::Values(aggregate) => {
                aggregate.add(arguments.first().copied().flatten()).map_err(|error| CqlError::Invalid(error.to_string()))
            }
        }
    }

    /// The aggregate's value.
    pub(super) fn finish(self, meter: &Meter) -> Result<Option<Vec<u8>>, CqlError> {
        match self {
            Self::Rows(count) => Ok(Some(i64::try_from(count).unwrap_or(i64::MAX).to_be_bytes().to_vec())),
            Self::Script(state) => state.finish(meter).map_err(failure),
            Self::Values(aggregate) => {
                let mut bytes = Vec::new();
                let some = aggregate.finish(&mut bytes).map_err(|error| CqlError::Invalid(error.to_string()))?;
                Ok(some.then_some(bytes))
            }
        }
    }
}
