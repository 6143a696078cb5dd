//! A core's part in a cluster. A node without clustering has none of this and pays nothing for it.
//!
//! ```text
//!  a view of the metadata          a frame of another node           a turn of the core's loop
//!           │                                 │                                 │
//!     view_change.rs                     dispatch.rs                         turn.rs
//!           └─────────────────────────────────┼─────────────────────────────────┘
//!                                             ▼
//!  operations    what operators see and order
//!  routing       requests that another core or member has to run
//!  leadership    a slot changes its primary: transfer, reconciliation, shutdown
//!  rebuild       a replica gets the rows that it lacks: full copy or catch-up
//!  replication   a write reaches every replica in sync before it is acknowledged
//!  membership    members, the metadata's group, views, the role of this core in each slot
//!  links         connections between cores of nodes, and their frames
//! ```
//!
//! Each floor is a folder; its `mod.rs` says what it owns, what it never touches, and how its state changes. A file imports from its own floor and
//! from lower ones only; `scripts/check-circles.py` reads the next line and fails the build otherwise.
//!
//! Floors, lowest first: links, membership, replication, rebuild, leadership, routing, operations.
//!
//! Each floor has its own part in [`ClusterCore`]. The files that hold these parts know nothing of `Core`; the files that act on them are `impl Core` and
//! `impl ClusterCore`, and nobody imports those.
//!
//! Invariants: a core applies views in their order. It serves a slot only under the lease, as the primary of the newest term that it knows of the slot.
//! Every member that is in sync by its view has what it acknowledges.

mod config;
mod core;
mod dispatch;
mod leadership;
mod links;
pub(crate) mod membership;
mod operations;
mod rebuild;
mod replication;
mod routing;
mod turn;
mod view_change;

pub(crate) use self::core::ClusterCore;
pub use config::{ClusterConfig, Planted};
pub(crate) use links::frames::Forward;
pub use membership::group::MetadataBlobs;
pub use membership::orders::{Answer, Order};
pub(crate) use membership::ring::Ring;
pub(crate) use membership::schema_diff;
pub use membership::view::View;
pub(crate) use operations::Figures;
pub use operations::board::Board;
pub use operations::reports::{ClusterReport, CoreReport, MemberReport, PendingReport, Report};
pub use rebuild::progress::{Held, RebuildReport};
pub use rebuild::relaid::{committed_sequence, relaid_replication};
pub(crate) use replication::pacing::{Budget, Rest, Slice};
pub(crate) use routing::requests::{Asker, NOBODY, PATIENCE_US, Place, Route};
