//! A core's part in backups and restores, which threads of the HTTP port ask for.
//!
//! ```text
//! HTTP thread ── Request ──► BackupPort ──► core: scan of its slots, with what is written meanwhile ── frames ──► HTTP thread ──► tool
//!                                             └─ cut: the shard is paused, and the stream says so; release: it goes on
//! HTTP thread ── rows ─────► BackupPort ──► core: one operation, replicated as a client's write is ── outcome ──► HTTP thread
//! ```
//!
//! Invariants: a core never waits for a thread; what it sends is bounded, and a backup that is too slow ends, never a writer. A pause ends by itself.

mod create;
mod frames;
mod port;
mod read_pacing;
mod restore;
mod restores;
mod roles;
mod scan;
mod session;
mod turn;

pub use frames::{FRAME_HEAD_BYTES, FrameKind, FrameReceiver, frames, read_frame_head};
pub use port::{BackupFigures, BackupPort, BackupRequest, PlaceReport};
pub(crate) use restores::{RESTORER, Restores};
pub(crate) use session::CoreBackup;
