//! What this node knows of its cluster.
//!
//! Owns: this member of the metadata group (core 0), the view and the lease that all cores act on, the role of this core in each slot.
//! Never touches: rows, streams, requests of clients.
//!
//! ```text
//! core 0: group ── committed entries ──► state ── schema first, then ──► View ──► each core: roles ── what changed ──► the floors above
//!           └──── heartbeats ──────────► lease ────────────────────────► each core ──► shard
//! ```
//!
//! | state of a process | next |
//! |---|---|
//! | founds or restores | its shards have recovered: it takes part in the group |
//! | joins | asks one address of `join` after the other → `JOIN_REPLY` → takes part |
//! | known | the state names this incarnation: views become current, and slots are served under the lease |
//! | shuts down, or is removed | `leadership::shutdown` |

pub(crate) mod announcements;
pub(crate) mod group;
pub(crate) mod joining;
pub(crate) mod lease;
pub(crate) mod metadata;
pub(crate) mod orders;
pub(crate) mod ring;
pub(crate) mod roles;
pub(crate) mod schema_diff;
pub(crate) mod view;
