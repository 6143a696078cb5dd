//! How an operation ends, and when its writes are acknowledged.

use crate::ShardError;
use engine::Sequence;

/// The caller's name for a parked operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub [u64; 2]);

/// What became of an operation.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ran; its writes survive the death of the process, its reply is appended.
    Done,
    /// It ran and its reply is appended, but must not be sent before the device or other members have what it wrote, or what it read:
    /// [`hold`](crate::Shard::hold) it, now.
    Unsynced(Sequence),
    /// It needs something first: [`park`](crate::Shard::park) it, now. Nothing was appended.
    Waits,
    /// It cannot be done. Nothing was appended.
    Failed(ShardError),
}

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Once it survives the death of the process.
    Memory,
    /// Once it survives the loss of power: writes of many clients share a flush.
    Device,
}
