//! Writing what a client reads.

/// Appends two bytes.
pub fn put_i16(out: &mut Vec<u8>, value: i16) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends four bytes.
pub fn put_i32(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends eight bytes.
pub fn put_i64(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a text after its length in four bytes.
pub fn put_string(out: &mut Vec<u8>, text: &str) {
    put_i32(out, text.len() as i32);
    out.extend_from_slice(text.as_bytes());
}

/// A size in one byte below 128, else in four, or in eight from 2³⁰ on.
#[inline]
pub fn put_var_size(out: &mut Vec<u8>, size: usize) {
    if size < 1 << 7 {
        out.push((size as u8) << 1 | 1);
    } else if size < 1 << 30 {
        out.extend_from_slice(&((size as u32) << 2).to_le_bytes());
    } else {
        out.extend_from_slice(&((size as u64) << 2 | 2).to_le_bytes());
    }
}

/// Puts a big-endian number at the start of bytes as a little-endian one. What does not fit is left out.
#[inline]
pub fn copy_reversed(number: &[u8], out: &mut [u8]) {
    if let (Ok(number), Some(out)) = (<[u8; 8]>::try_from(number), out.first_chunk_mut()) {
        *out = u64::from_be_bytes(number).to_le_bytes();
    } else if let (Ok(number), Some(out)) = (<[u8; 4]>::try_from(number), out.first_chunk_mut()) {
        *out = u32::from_be_bytes(number).to_le_bytes();
    } else {
        out.iter_mut().zip(number.iter().rev()).for_each(|(out, byte)| *out = *byte);
    }
}

/// Appends bytes after their size.
#[inline]
pub fn put_var_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_var_size(out, bytes.len());
    out.extend_from_slice(bytes);
}
