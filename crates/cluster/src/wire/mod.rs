//! What goes over a connection between two nodes: frames, and the messages with which a connection begins.
//!
//! ```text
//! who connects                         who listens
//!   Hello  ──────────────────────────►  accept: cluster, version, member, process
//!          ◄──────────────────────────  Welcome (who it is) or Refusal, after which it closes
//!   a member:  Metadata and data frames both ways
//!   a joiner:  Join ────────────────►   JoinReply or Refusal
//! ```

mod frame;
mod hello;
mod join;
#[cfg(test)]
mod tests;

pub use frame::{BODY_BYTES_MAX, DATA_KINDS, Frame, FrameError, FrameReader, HEADER_BYTES, Kind, MAGIC, append_frame};
pub use hello::{Hello, Refusal, RefusalMessage, accept, link_version};
pub use join::{Join, JoinReply};
