//! A client's message as another member can run it: the protocol's mark, then the message's body.
//!
//! A part of a scan needs the scan's message; a part of a batch says all of itself, and travels without one.

/// The first bytes of a request: where one of CQL has the length of its keyspace's name, which is shorter.
pub(super) const MARK: u16 = u16::MAX - 1;

/// Writes a request; without a body for parts of batches.
pub(super) fn pack(body: &[u8]) -> Box<[u8]> {
    [&MARK.to_be_bytes(), body].concat().into_boxed_slice()
}

/// The body of a request that [`pack`] wrote; `None` for one of another protocol.
pub(super) fn unpack(request: &[u8]) -> Option<&[u8]> {
    request.strip_prefix(&MARK.to_be_bytes())
}
