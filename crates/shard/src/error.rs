//! Why a shard refuses or fails an operation.

use engine::{NoSpace, WriteError};
use model::operation::Stop;

/// Why an operation failed, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShardError {
    /// The log of the shard has not been read yet.
    #[error("this node is still recovering; try again in a moment")]
    NotReady,
    /// The table has just been dropped.
    #[error("the table does not exist any more")]
    UnknownTable,
    /// The device is behind.
    #[error("the device is behind the writers; try again in a moment")]
    Busy,
    /// No space is left for writes.
    #[error("device full: {space}")]
    Full {
        /// What has no more space.
        space: NoSpace,
    },
    /// The index would take too much memory.
    #[error("the index takes {index_bytes} bytes, which is all that the memory limit leaves; delete data or raise the limit")]
    IndexFull {
        /// Bytes of the index.
        index_bytes: usize,
    },
    /// More bytes than one atomic group may have.
    #[error("the write takes {bytes} bytes where {bytes_max} are the most; split it")]
    TooLarge {
        /// Bytes it takes.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The device failed earlier.
    #[error("the device failed earlier and this core takes no more writes; replace the device and restart the node")]
    Poisoned,
    /// A row cannot be read.
    #[error(transparent)]
    Read(Stop),
    /// Another member is the primary of the slot, or nobody is for the moment. Nothing was done.
    #[error("{}", Stop::NotPrimary)]
    NotPrimary,
    /// The node has ceased to be the primary before the other members had the write: it may have been done, or not.
    #[error("this node ceased to be the primary of the slot before the other replicas had the write; it may or may not have been applied")]
    OutcomeUnknown,
    /// A read was not answered in time.
    #[error("the member that serves the slot did not answer in time")]
    NoAnswer,
    /// Too few replicas have the slot's data, or none may serve it for the moment. Nothing was done.
    #[error("{alive} replicas of the slot are alive and have everything, {required} are required")]
    Unavailable {
        /// The level that was asked for, as the protocol numbers it.
        consistency: u16,
        /// How many replicas it needs.
        required: u16,
        /// How many there are.
        alive: u16,
    },
    /// Another member has refused it.
    #[error("{message}")]
    Elsewhere {
        /// Why, for programs.
        refusal: Refusal,
        /// Why, for people.
        message: String,
    },
    /// The bytes of a row from another member are malformed.
    #[error("the row received is not well formed")]
    Malformed,
}

/// Why something was refused, as one member tells another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Refusal {
    /// Anything else.
    Other = 0,
    /// The shard has not recovered yet.
    NotReady = 1,
    /// No space is left, on the device or for the index.
    Full = 2,
    /// The device is behind.
    Busy = 3,
    /// There is no such table any more.
    UnknownTable = 4,
    /// It is larger than a write may be.
    TooLarge = 5,
    /// A row cannot be read.
    Damaged = 6,
    /// The device failed earlier.
    Poisoned = 7,
}

impl Refusal {
    /// All of them, by code.
    pub const ALL: [Self; 8] =
        [Self::Other, Self::NotReady, Self::Full, Self::Busy, Self::UnknownTable, Self::TooLarge, Self::Damaged, Self::Poisoned];

    /// The refusal of a code; an unknown one, of a later version, is `Other`.
    #[must_use]
    pub fn from_code(code: u8) -> Self {
        Self::ALL.get(usize::from(code)).copied().unwrap_or(Self::Other)
    }
}

impl ShardError {
    /// The refusal that a client is told.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::NotReady => Refusal::NotReady,
            Self::Full { .. } | Self::IndexFull { .. } => Refusal::Full,
            Self::Busy => Refusal::Busy,
            Self::UnknownTable => Refusal::UnknownTable,
            Self::TooLarge { .. } => Refusal::TooLarge,
            Self::Read(_) => Refusal::Damaged,
            Self::Poisoned => Refusal::Poisoned,
            Self::Elsewhere { refusal, .. } => *refusal,
            Self::NotPrimary | Self::OutcomeUnknown | Self::NoAnswer | Self::Unavailable { .. } | Self::Malformed => Refusal::Other,
        }
    }
}

impl From<Stop> for ShardError {
    /// Anything but a miss or a lock, which are no failures.
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::NotReady => Self::NotReady,
            Stop::UnknownTable => Self::UnknownTable,
            Stop::NotPrimary => Self::NotPrimary,
            Stop::Miss | Stop::Locked => Self::Busy,
            Stop::Damaged { .. } => Self::Read(stop),
        }
    }
}

impl ShardError {
    /// A failed write.
    pub(crate) fn of_write(error: &WriteError) -> Self {
        match error {
            WriteError::NotReady | WriteError::ShuttingDown => Self::NotReady,
            WriteError::UnknownTable { .. } => Self::UnknownTable,
            WriteError::Miss(_) | WriteError::Busy => Self::Busy,
            WriteError::Full { space } => Self::Full { space: *space },
            WriteError::IndexFull { index_bytes } => Self::IndexFull { index_bytes: *index_bytes },
            WriteError::TooLarge { bytes, bytes_max } => Self::TooLarge { bytes: *bytes, bytes_max: *bytes_max },
            WriteError::KeyTooLong { bytes } => Self::TooLarge { bytes: *bytes, bytes_max: usize::from(u16::MAX) },
            WriteError::Poisoned { .. } => Self::Poisoned,
        }
    }
}
