//! Appends the protocol's notations (section 3) to a body.
//!
//! Lengths that do not fit their field: a `[string]` is cut at a character's border to 65,535 bytes (names are bounded by the schema, so this
//! concerns error messages and warnings only); longer fields cannot leave, because [`super::end_frame`] refuses the frame.

use std::net::{IpAddr, SocketAddr};

use super::{Consistency, Value};

/// Appends a `[byte]`.
pub fn write_byte(out: &mut Vec<u8>, byte: u8) {
    out.push(byte);
}

/// Appends a `[short]`.
pub fn write_short(out: &mut Vec<u8>, short: u16) {
    out.extend_from_slice(&short.to_be_bytes());
}

/// Appends an `[int]`.
pub fn write_int(out: &mut Vec<u8>, int: i32) {
    out.extend_from_slice(&int.to_be_bytes());
}

/// Appends a `[long]`.
pub fn write_long(out: &mut Vec<u8>, long: i64) {
    out.extend_from_slice(&long.to_be_bytes());
}

/// Appends a `[string]`.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(usize::from(u16::MAX));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    write_short(out, end as u16);
    out.extend_from_slice(text.as_bytes().get(..end).unwrap_or_default());
}

/// Appends a `[long string]`.
pub fn write_long_string(out: &mut Vec<u8>, text: &str) {
    write_int(out, length_field(text.len()));
    out.extend_from_slice(text.as_bytes());
}

/// Appends a `[bytes]`.
#[inline]
pub fn write_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            write_int(out, length_field(bytes.len()));
            out.extend_from_slice(bytes);
        }
        None => write_int(out, -1),
    }
}

/// Appends a `[value]`.
#[inline]
pub fn write_value(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Bytes(bytes) => write_bytes(out, Some(bytes)),
        Value::Null => write_int(out, -1),
        Value::Unset => write_int(out, -2),
    }
}

/// Appends a `[short bytes]`; only ids of statements and metadata are written so, all 16 bytes long.
///
/// # Panics
/// If `bytes` is longer than 65,535.
pub fn write_short_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_short(out, u16::try_from(bytes.len()).expect("ids are 16 bytes long"));
    out.extend_from_slice(bytes);
}

/// Appends a `[consistency]`.
pub fn write_consistency(out: &mut Vec<u8>, consistency: Consistency) {
    write_short(out, consistency.code());
}

/// Appends an `[inetaddr]`.
pub fn write_inet_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            out.push(4);
            out.extend_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            out.push(16);
            out.extend_from_slice(&address.octets());
        }
    }
}

/// Appends an `[inet]`.
pub fn write_inet(out: &mut Vec<u8>, address: SocketAddr) {
    write_inet_address(out, address.ip());
    write_int(out, i32::from(address.port()));
}

/// Appends a `[string list]`; what exceeds 65,535 strings is left out.
pub fn write_string_list<'a>(out: &mut Vec<u8>, strings: impl IntoIterator<Item = &'a str>) {
    counted(out, strings, write_string);
}

/// Appends a `[string map]`; what exceeds 65,535 entries is left out.
pub fn write_string_map<'a>(out: &mut Vec<u8>, entries: impl IntoIterator<Item = (&'a str, &'a str)>) {
    counted(out, entries, |out, (key, value)| {
        write_string(out, key);
        write_string(out, value);
    });
}

/// Appends a `[string multimap]`; what exceeds 65,535 entries is left out.
pub fn write_string_multimap<'a, V>(out: &mut Vec<u8>, entries: impl IntoIterator<Item = (&'a str, V)>)
where
    V: IntoIterator<Item = &'a str>,
{
    counted(out, entries, |out, (key, values)| {
        write_string(out, key);
        write_string_list(out, values);
    });
}

/// Appends a `[bytes map]`; what exceeds 65,535 entries is left out.
pub fn write_bytes_map<'a>(out: &mut Vec<u8>, entries: impl IntoIterator<Item = (&'a str, Option<&'a [u8]>)>) {
    counted(out, entries, |out, (key, value)| {
        write_string(out, key);
        write_bytes(out, value);
    });
}

/// Appends a `[short]` count and then the items, the count filled in afterwards.
fn counted<T>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Vec<u8>, T)) {
    let position = out.len();
    write_short(out, 0);
    let mut count: u16 = 0;
    for item in items.into_iter().take(usize::from(u16::MAX)) {
        write(out, item);
        count += 1;
    }
    if let Some(field) = out.get_mut(position..position + 2) {
        field.copy_from_slice(&count.to_be_bytes());
    }
}

/// A frame with a field longer than this is never sent: see this file's head.
fn length_field(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}
