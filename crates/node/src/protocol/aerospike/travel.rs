//! A client's message as another member can run it: a mark that no request of CQL starts with, then the message's body.
//!
//! A part of a scan needs the scan's message; a part of a batch says all of itself, and travels without one.

/// Where a request of CQL has the length of its keyspace's name, which is shorter.
const MARK: [u8; 2] = u16::to_be_bytes(u16::MAX - 1);

/// Writes a request; without a body for parts of batches.
pub(crate) fn pack(body: &[u8]) -> Box<[u8]> {
    [&MARK, body].concat().into_boxed_slice()
}

/// The body of a request that [`pack`] wrote; `None` for one of CQL.
pub(crate) fn unpack(request: &[u8]) -> Option<&[u8]> {
    request.strip_prefix(&MARK)
}
