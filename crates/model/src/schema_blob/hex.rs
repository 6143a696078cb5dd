//! UUIDs and versions as the document has them.

pub(super) fn hex(value: u128) -> String {
    format!("{value:032x}")
}

pub(super) fn from_hex(text: &str) -> Option<u128> {
    (text.len() == 32).then(|| u128::from_str_radix(text, 16).ok())?
}
