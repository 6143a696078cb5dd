//! `tarndb backup` and `tarndb restore`, and what a node answers them.
//!
//! ```text
//! backup:  start on all nodes ─► a stream a core ─► files    all scanned ─► cut on all ─► release on all ─► each file ends at its cut
//!                                                                  └── again, if one has not held ◄──┘        └─► schema, roles, manifest
//! restore: verify ─► tables ─► chunks, to the primary of each slot ─► unfinished batches ─► views ─► roles     each step is in the progress file
//! ```
//!
//! A backup is a directory, or what is under a prefix of a bucket of S3: [`Location`]. It is written through a target and its sinks, and read through a source.
//!
//! One point in time: a node that is paused runs no operation. Release succeeds when it was paused until then, and is asked for when all were paused.
//! So there is a moment at which all were, and the backup is what was written before it.

mod archive;
mod bucket_target;
mod chain;
mod chunks;
mod client;
mod earlier;
mod encryption;
pub(crate) mod endpoint;
mod error;
mod files;
mod folder_target;
mod format;
mod interrupt;
mod location;
mod occupancy;
mod progress;
mod rate_limit;
pub(crate) mod request;
mod restore;
mod resume;
mod roles;
mod sink;
mod source;
mod stream;
pub(crate) mod streams;
mod take;
mod target;
mod verify;

pub(crate) use error::BackupError;
pub(crate) use location::Location;
pub(crate) use restore::restore;
pub(crate) use take::backup;
