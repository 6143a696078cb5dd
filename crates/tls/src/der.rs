//! The little of DER (X.690) that is read here.

pub(crate) const SEQUENCE: u8 = 0x30;

/// The content of the value of this tag (DER) that `bytes` begin with, and what follows it.
pub(crate) fn take(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let [found, length, rest @ ..] = bytes else { return None };
    if *found != tag {
        return None;
    }
    // A length below 128 is one byte; else the byte says how many bytes the length has.
    let (length, rest) = match length {
        0..=0x7F => (usize::from(*length), rest),
        0x81 => (usize::from(*rest.first()?), &rest[1..]),
        0x82 => (usize::from(u16::from_be_bytes(*rest.first_chunk()?)), &rest[2..]),
        0x83 => {
            let [a, b, c] = *rest.first_chunk()?;
            (u32::from_be_bytes([0, a, b, c]) as usize, &rest[3..])
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}
