//! What the engine writes, byte for byte: `docs/internals/log-format.md` has the tables.

pub(crate) mod checkpoint;
pub(crate) mod codec;
pub(crate) mod mark;
pub(crate) mod page;
pub(crate) mod record;
pub(crate) mod segment_header;
pub(crate) mod witness;
