//! Carries out a load.

use crate::control::{Control, Observer};
use crate::dataset::Dataset;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::target::{Target, TargetError};

/// Why a load did not start. Once it has started, there is an [`Outcome`].
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The plan contradicts itself.
    #[error("this load cannot be run: {0}")]
    Plan(&'static str),
    /// No connection could be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// This machine refused something: sockets, threads.
    #[error("the load generator cannot work here: {0}")]
    Io(#[from] std::io::Error),
}

/// Carries out `plan` against `target` and returns when it is over. `observer` hears of each second on this thread.
///
/// # Errors
/// When the load cannot start. What stops it later is in [`Outcome::ended`].
pub fn run(
    target: &dyn Target,
    _dataset: &Dataset,
    plan: &Plan,
    _control: &Control,
    _observer: &mut dyn Observer,
) -> Result<Outcome, LoadError> {
    target.session(_dataset.rows(), &plan.mix, 0)?;
    Err(LoadError::Plan("the event loop is not there yet"))
}
