//! The seams to the outside: what a node may ask of clock, disk and network, and what it is told back.
//!
//! Everything is a value: a request goes out, a completion comes in. `io-linux` serves these seams with io_uring; the simulator
//! serves them with a fake machine. Nothing below `node` sees anything else of the world.
//!
//! One core is one thread: a [`Reactor`] drives one [`Handler`] and calls it with everything that happened; the handler answers by
//! calling the reactor. Neither is ever shared between threads; cores speak by messages.

mod blob;
mod disk;
mod latencies;
mod network;
mod reactor;
mod stable;

pub use base::Now;
pub use blob::{
    BLOB_COPIES, Blob, BlobCopy, BlobFault, BlobOwner, BlobRepair, BlobSealer, BlobsLost, DISPENSABLE_PREFIX, MANIFEST_BLOB,
    RecoveredBlobs, Sealed, choose_copy, is_blob_name, open_blob, recover_blobs, recover_blobs_without, seal_blob,
};
pub use disk::{DiskCompletion, DiskError, DiskRequest, DiskTag, FileId, Work, WriteSource};
pub use latencies::{DISK_BOUNDS_US, DiskHistogram, DiskLatencies};
pub use network::{ConnectionId, ListenerId, Placement};
pub use reactor::{Handler, Reactor, Room, Turn};
pub use stable::StableMemory;
