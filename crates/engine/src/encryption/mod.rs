//! Encryption at rest: everything of a segment but its header block is ciphertext wherever it reaches a device.
//!
//! ```text
//! frames (plain) ──► stable: on its way into the stable memory        both with the same key at the same place,
//!                └─► device: on its way to the device, and back       so both hold the same bytes, and what
//!                                                                     the stable memory has is not encrypted again
//! ```
//!
//! Each use of a segment has a key of its own (`keys`), which follows from what its header says. The cipher is XTS-AES-256 over sectors
//! (`xts`): a sector is written again as it fills up, and records are read alone. Checksums are inside, so damage shows as without it.
//!
//! Invariant: the engine sees plain bytes only; nothing here runs in a shard without a key.

mod device;
mod keys;
mod stable;
/// The cipher, also for files that are not a shard's.
pub mod xts;

pub(crate) use device::{DeviceCipher, Mirrors};
pub use keys::{LogKey, SegmentCipher};
pub(crate) use stable::Stable;
