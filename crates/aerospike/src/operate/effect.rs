//! What an operation does to its bin.

use crate::value::Particle;

/// What becomes of the bin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// It stays as it is, or stays missing.
    Keep,
    /// It gets this value.
    Set(Particle<'a>),
    /// It is removed.
    Remove,
}

/// What an operation does to its bin, and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect<'a> {
    /// What becomes of the bin.
    pub bin: Change<'a>,
    /// The answer, which may be nil; none where the operation has nothing to say.
    pub result: Option<Particle<'a>>,
}

impl<'a> Effect<'a> {
    /// Nothing changes.
    pub(super) fn answer(result: Option<Particle<'a>>) -> Self {
        Self { bin: Change::Keep, result }
    }

    /// The bin changes, and there is nothing to say.
    pub(super) fn change(bin: Change<'a>) -> Self {
        Self { bin, result: None }
    }
}
