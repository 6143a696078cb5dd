//! The head of a reply that waits.

use cql::wire::{ProtocolVersion, StreamId};
use cql::{Asked, CqlError, reply};

/// What a reply frame starts with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyHeader {
    /// The connection's version.
    pub(crate) version: ProtocolVersion,
    /// The request's stream.
    pub(crate) stream: StreamId,
    /// What timeouts and failures tell of the request.
    pub(crate) asked: Asked,
}

impl ReplyHeader {
    pub(crate) fn new(version: ProtocolVersion, stream: StreamId) -> Self {
        Self { version, stream, asked: Asked::default() }
    }

    pub(crate) fn asking(self, asked: Asked) -> Self {
        Self { asked, ..self }
    }

    pub(crate) fn write_error(self, error: &CqlError, out: &mut Vec<u8>) {
        reply::write_error(out, self.version, self.stream, error);
    }
}
