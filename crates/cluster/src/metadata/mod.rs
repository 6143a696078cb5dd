//! A member's part in the metadata group: time, messages and stored blobs come in; messages, blobs to store and events go out.
//!
//! ```text
//! receive ─┐                         ┌─► take_messages
//! turn ────┼─► RawNode ─► ready ─────┼─► take_writes ─► (disk) ─► written ─► messages that waited, entries that may be applied
//! propose ─┘        ▲      (group)   └─► committed entries ─► State::apply ─► take_events
//!                   └ conf changes, Down, Up, EndTransfers (leading)
//! ```
//!
//! Nothing that depends on a blob is sent or applied before the blob is stored. When one cannot be stored, or the cluster goes by a version of the nodes' protocol
//! that this program does not know, the member falls silent: it neither votes nor holds a lease from then on, and the process may go on with what it knows. When there
//! is only no room for a blob, it tries again each second, and is silent until it has stored it.

mod event;
mod group;
mod heartbeats;
mod joining;
mod leader;
mod leading;
mod lease;
mod member;
#[cfg(test)]
mod net;
mod progress;
mod proposals;
mod proposing;
mod storing;
#[cfg(test)]
pub(crate) mod test_parts;
#[cfg(test)]
mod tests;
mod timing;

pub use event::{Blobs, Event, ProposalId, RestoreError, Stored};
pub use member::Metadata;
pub use timing::{DOWN_AFTER_US, HEARTBEAT_US, LEASE_US, TRANSFER_WAIT_US};
