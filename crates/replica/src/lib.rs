//! The stream of writes from one core of a primary's node to the same slots' core on another node, and what of it is acknowledged.
//!
//! ```text
//! primary's core: apply ─► Outbound::push ─► Append frames ─► Inbound: check term, apply ─┐
//!        reply ◄── committed: all that must have ─◄── Outbound::acknowledged ◄── Ack ──────┘
//! ```
//!
//! What is sent are row images, never operations. Items of a stream are in the order in which the primary applied them, named by its
//! engine's sequence; an acknowledgement covers all before it. Nothing here knows what is in an item.

mod inbound;
mod outbound;
mod wire;

pub use inbound::{Inbound, Offered};
pub use outbound::{Images, Outbound};
pub use wire::{Append, Item, Items, Purpose, WireError, begin_append, push_item};
