//! What can be wrong with received bytes.

/// A message that is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The first byte is no version that is spoken here.
    #[error("protocol version {0} is not spoken here; 2 is")]
    Version(u8),
    /// The second byte names no type of message.
    #[error("there is no type {0} of message")]
    Kind(u8),
    /// The header says more than is taken.
    #[error("the message has {bytes} bytes where {bytes_max} are the most")]
    TooLong {
        /// What the header says.
        bytes: u64,
        /// The limit.
        bytes_max: usize,
    },
    /// A length goes past the end.
    #[error("the message ends within {0}")]
    Truncated(&'static str),
    /// A part that has to have one length has another.
    #[error("{what} has {bytes} bytes")]
    Length {
        /// Which part.
        what: &'static str,
        /// Its length.
        bytes: usize,
    },
    /// Bytes are left after what the header counts.
    #[error("{0} bytes follow the last operation")]
    Trailing(usize),
    /// A compressed message is damaged, or has another length than it says.
    #[error("the compressed message cannot be read")]
    Compression,
    /// A batch starts with a repetition.
    #[error("the first record of a batch repeats none")]
    Repetition,
}
