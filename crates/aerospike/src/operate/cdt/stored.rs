//! Values that a client sent, as containers store them.

use crate::ResultCode;
use crate::value::msgpack::{self, List, write};
use std::borrow::Cow;

/// The most nils that are put in front of a place behind a list's end.
const PADDING_MAX: usize = 1 << 20;

/// A value that a client sent, as it is stored so many containers deep.
pub(super) fn stored(bytes: &[u8], depth: usize) -> Result<Vec<u8>, ResultCode> {
    let mut out = Vec::with_capacity(bytes.len());
    msgpack::store(&mut msgpack::Reader::new(bytes), &mut out, depth)?;
    Ok(out)
}

/// A key that a client sent, as it is stored; nil is none.
pub(super) fn stored_key(bytes: &[u8], depth: usize) -> Result<Vec<u8>, ResultCode> {
    let key = stored(bytes, depth)?;
    if key == [write::NIL] { Err(ResultCode::PARAMETER) } else { Ok(key) }
}

/// Puts nils behind a list's end until a place is the next.
pub(super) fn pad(list: &mut List<'_>, place: usize) -> Result<(), ResultCode> {
    let missing = place.saturating_sub(list.items.len());
    if missing > PADDING_MAX {
        return Err(ResultCode::RECORD_TOO_BIG);
    }
    list.items.extend(std::iter::repeat_n(Cow::Borrowed(&[write::NIL][..]), missing));
    Ok(())
}
