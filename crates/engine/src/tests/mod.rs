//! Tests of the engine as a whole: a simulated disk and stable memory, a model that knows every acknowledged write, and what breaks them.
#![allow(clippy::unwrap_used)]

mod faults;
mod golden;
mod model;
mod shard;
mod work;

/// Bugs that the model test must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planted {
    /// Writes are not copied into the stable memory.
    SkipMirror,
    /// Flush cycles end without a sync.
    SkipSync,
}
