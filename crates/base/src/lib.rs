//! What every other crate stands on: ids, sizes, checksums, seeded randomness, aligned buffers and pools of buffers.
//!
//! Nothing here knows a protocol, a file or a clock.

mod aligned;
mod buffer_pool;
mod checksum;
mod compression;
mod ids;
mod nearest;
mod rng;
mod size;
mod time;
mod z_curve;

pub use aligned::{AlignedBuffer, BLOCK_BYTES, SECTOR_BYTES};
pub use buffer_pool::BufferPool;
pub use checksum::{Checksum, checksum, checksum_parts};
pub use compression::Compression;
pub use ids::{CoreId, Epoch, NodeId, SLOT_COUNT, Slot, TableId, Token};
pub use nearest::nearest;
pub use rng::Rng;
pub use size::{ParseSizeError, format_size, parse_size};
pub use time::Now;
pub use z_curve::z_curve;
