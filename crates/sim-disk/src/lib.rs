//! A disk and a stable memory that do not exist: they keep what real ones keep, lose what real ones lose, and fail as real ones fail.
//!
//! Used by the engine's own tests and by the simulator of whole nodes (`sim`): one model of the medium, so that both are tried against the
//! same. It follows "What is assumed of the medium" in `docs/internals/log-format.md`, and with [`Faults`] breaks those assumptions too.
//!
//! Nothing here reads a clock or rolls a die of its own: chance and time are the caller's.

mod disk;
mod faults;
mod stable;
mod tear;

pub use disk::Disk;
pub use faults::{Fault, FaultEvent, Faults};
pub use stable::Stable;
