//! A client's message as another member can run it: the protocol's mark, then the message's body.
//!
//! A part of a scan needs the scan's message; a part of a batch says all of itself, and travels without one.
//!
//! A message that is started again once something was declared waits with the name of its role.

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

/// A request that is to be started again, behind the name of the role whose rights it has; that of one with all rights is empty.
pub(super) fn with_role(role: &str, body: &[u8]) -> Box<[u8]> {
    [&(role.len() as u32).to_be_bytes(), role.as_bytes(), body].concat().into()
}

/// What [`with_role`] has put together.
pub(super) fn split_role(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (role, body) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    Some((std::str::from_utf8(role).ok()?, body))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_started_again_has_its_role() {
        for role in ["", "app", "röle"] {
            let bytes = with_role(role, b"body");
            assert_eq!(split_role(&bytes), Some((role, &b"body"[..])));
            (0..4 + role.len()).for_each(|end| assert_eq!(split_role(&bytes[..end]), None, "{end}"));
        }
    }
}
