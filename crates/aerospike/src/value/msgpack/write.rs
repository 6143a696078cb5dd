//! Appends values to bytes, in the shortest form there is.

use super::reader::flags;
use crate::value::ParticleType;

/// The value that is none.
pub const NIL: u8 = 0xc0;

/// Appends a number.
pub fn integer(out: &mut Vec<u8>, number: i64) {
    match number {
        0.. => unsigned(out, number as u64),
        -32..=-1 => out.push(number as i8 as u8),
        -0x80..=-33 => out.extend_from_slice(&[0xd0, number as i8 as u8]),
        -0x8000..=-0x81 => wide(out, 0xd1, &(number as i16).to_be_bytes()),
        -0x8000_0000..=-0x8001 => wide(out, 0xd2, &(number as i32).to_be_bytes()),
        _ => wide(out, 0xd3, &number.to_be_bytes()),
    }
}

/// Appends a number that is not negative.
pub fn unsigned(out: &mut Vec<u8>, number: u64) {
    match number {
        0..=0x7f => out.push(number as u8),
        0x80..=0xff => out.extend_from_slice(&[0xcc, number as u8]),
        0x100..=0xffff => wide(out, 0xcd, &(number as u16).to_be_bytes()),
        0x1_0000..=0xffff_ffff => wide(out, 0xce, &(number as u32).to_be_bytes()),
        _ => wide(out, 0xcf, &number.to_be_bytes()),
    }
}

/// Appends a floating-point number.
pub fn double(out: &mut Vec<u8>, number: f64) {
    wide(out, 0xcb, &number.to_be_bytes());
}

/// Appends a truth value.
pub fn bool(out: &mut Vec<u8>, value: bool) {
    out.push(if value { 0xc3 } else { 0xc2 });
}

/// Appends a raw of a type: a string, a blob, a GeoJSON text.
pub fn typed(out: &mut Vec<u8>, kind: ParticleType, bytes: &[u8]) {
    raw_head(out, bytes.len() + 1);
    out.push(kind as u8);
    out.extend_from_slice(bytes);
}

/// Appends a raw whose type is its first byte.
pub fn raw(out: &mut Vec<u8>, bytes: &[u8]) {
    raw_head(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn raw_head(out: &mut Vec<u8>, length: usize) {
    match length {
        0..=0x1f => out.push(0xa0 | length as u8),
        0x20..=0xff => out.extend_from_slice(&[0xd9, length as u8]),
        0x100..=0xffff => wide(out, 0xda, &(length as u16).to_be_bytes()),
        _ => wide(out, 0xdb, &(length as u32).to_be_bytes()),
    }
}

/// Begins a list of as many elements as follow; the flags, if not zero, are not counted in `count`.
pub fn list(out: &mut Vec<u8>, count: usize, flags: u8) {
    match count + usize::from(flags != 0) {
        all @ 0..=0x0f => out.push(0x90 | all as u8),
        all @ 0x10..=0xffff => wide(out, 0xdc, &(all as u16).to_be_bytes()),
        all => wide(out, 0xdd, &(all as u32).to_be_bytes()),
    }
    if flags != 0 {
        out.extend_from_slice(&[0xc7, 0, flags]);
    }
}

/// Begins a map of as many pairs as follow; the flags, if not zero, are not counted in `count`.
pub fn map(out: &mut Vec<u8>, count: usize, flags: u8) {
    match count + usize::from(flags != 0) {
        all @ 0..=0x0f => out.push(0x80 | all as u8),
        all @ 0x10..=0xffff => wide(out, 0xde, &(all as u16).to_be_bytes()),
        all => wide(out, 0xdf, &(all as u32).to_be_bytes()),
    }
    if flags != 0 {
        out.extend_from_slice(&[0xc7, 0, flags, NIL]);
    }
}

/// Appends infinity, which is above all values.
pub fn infinity(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0xd4, flags::MARKER, 1]);
}

/// Appends the wildcard, which is equal to all values.
pub fn wildcard(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0xd4, flags::MARKER, 0]);
}

fn wide(out: &mut Vec<u8>, head: u8, bytes: &[u8]) {
    out.push(head);
    out.extend_from_slice(bytes);
}
