//! Streams: many requests at a time on one connection.

/// What pairs a response with its request; negative ones are the server's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub i16);

impl StreamId {
    /// The stream of events.
    pub const EVENT: Self = Self(-1);
}
