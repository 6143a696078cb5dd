//! Where rows are: the token of a partition, and row keys as bytes that sort like their values; values as entries of indexes have them.
//!
//! Both are what CQL computes for the table, so that CQL finds the rows: the token is the Murmur3 hash of the partition column, a row key has
//! `40` before each value (`20` if it is an empty text), integers as big-endian with the sign bit flipped, texts with `00` as `00 FF` and
//! `00 00` at the end, nanoseconds as bytes after their number from `80` on.

use crate::schema::ElementType;
use crate::wire::copy_reversed;
use crate::{ErrorCode, GridError};
use base::Token;

const EMPTY: u8 = 0x20;
const VALUE: u8 = 0x40;
/// Before an integer of any size that is not negative and has one byte; 1 more for each other byte.
const ONE_BYTE: u8 = 0x80;

/// The longest row key, encoded.
const KEY_BYTES_MAX: usize = 60_000;

const C1: u64 = 0x87C3_7B91_1142_53D5;
const C2: u64 = 0x4CF5_AD43_2745_937F;

/// The token of a partition column: Murmur3 of four bytes, in which CQL takes bytes for numbers with a sign.
#[must_use]
pub fn token_of_partition(partition: u32) -> Token {
    let bytes = partition.to_be_bytes().into_iter().zip([0, 8, 16, 24]);
    let word = bytes.fold(0, |word, (byte, shift)| word ^ i64::from(byte as i8).wrapping_shl(shift) as u64);
    let length = 4_u64;
    let (mut h1, mut h2) = (word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2) ^ length, length);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    Token(finish(h1).wrapping_add(finish(h2)) as i64)
}

fn finish(mut word: u64) -> u64 {
    word ^= word >> 33;
    word = word.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    word ^= word >> 33;
    word = word.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    word ^ (word >> 33)
}

/// The number of a row without a row key, by its encoded key.
pub(crate) fn row_id(key: &[u8]) -> i64 {
    key.get(1..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| i64::from_be_bytes(*bytes) ^ i64::MIN)
}

/// Appends a value of a row key, given as a cell has it.
///
/// # Errors
/// The key is too long by now.
#[inline]
pub fn encode_key(element: ElementType, cell: &[u8], out: &mut Vec<u8>) -> Result<(), GridError> {
    if cell.is_empty() {
        out.push(EMPTY);
        return Ok(());
    }
    out.push(VALUE);
    if element == ElementType::String {
        encode_text(cell, out);
    } else if element == ElementType::NanoTimestamp {
        encode_nanos(cell, out);
    } else {
        let start = out.len();
        out.extend_from_slice(cell);
        out[start] ^= 0x80;
    }
    if out.len() > KEY_BYTES_MAX {
        return Err(GridError::new(ErrorCode::DS_COL_ROWKEY_INVALID, format!("a row key has at most {KEY_BYTES_MAX} bytes")));
    }
    Ok(())
}

/// Appends a value as entries of an index begin with it, given as a cell has it.
pub(crate) fn encode_indexed(element: ElementType, cell: &[u8], out: &mut Vec<u8>) {
    if cell.is_empty() {
        out.push(EMPTY);
        return;
    }
    out.push(VALUE);
    let start = out.len();
    match element {
        ElementType::String => encode_text(cell, out),
        ElementType::NanoTimestamp => encode_nanos(cell, out),
        ElementType::Bool => out.extend_from_slice(cell),
        ElementType::Float | ElementType::Double => {
            // Negative numbers sort the other way round.
            let flip = if cell[0] & 0x80 == 0 { 0 } else { 0xFF };
            out.extend(cell.iter().map(|byte| byte ^ flip));
            out[start] ^= 0x80 & !flip;
        }
        _ => {
            out.extend_from_slice(cell);
            out[start] ^= 0x80;
        }
    }
}

/// What entries of bytes that begin so begin with.
pub(crate) fn encode_indexed_start(bytes: &[u8]) -> Vec<u8> {
    let mut start = vec![VALUE];
    escape(bytes, &mut start);
    start
}

fn encode_nanos(cell: &[u8], out: &mut Vec<u8>) {
    out.push(ONE_BYTE + (cell.len() - 1) as u8);
    out.extend_from_slice(cell);
}

fn decode_nanos<'a>(rest: &'a [u8], input: &mut &'a [u8], out: &mut Vec<u8>) {
    let Some((header, rest)) = rest.split_first() else { return };
    let Some((value, rest)) = header.checked_sub(ONE_BYTE).and_then(|more| rest.split_at_checked(usize::from(more) + 1)) else { return };
    *input = rest;
    out.extend_from_slice(value);
}

fn encode_text(text: &[u8], out: &mut Vec<u8>) {
    escape(text, out);
    out.extend_from_slice(&[0, 0]);
}

fn escape(text: &[u8], out: &mut Vec<u8>) {
    for (number, part) in text.split(|byte| *byte == 0).enumerate() {
        if number > 0 {
            out.extend_from_slice(&[0, 0xFF]);
        }
        out.extend_from_slice(part);
    }
}

/// Takes a value off the front of a row key and appends it to `out` as a cell has it. Nothing of a key that was not made here.
#[inline]
pub fn decode_key(element: ElementType, input: &mut &[u8], out: &mut Vec<u8>) {
    let Some((marker, rest)) = input.split_first() else { return };
    *input = rest;
    if *marker != VALUE {
        return;
    }
    if element == ElementType::NanoTimestamp {
        return decode_nanos(rest, input, out);
    }
    if let Some(bytes) = element.fixed_bytes() {
        let Some((value, rest)) = rest.split_at_checked(bytes) else { return };
        *input = rest;
        let start = out.len();
        out.extend_from_slice(value);
        out[start] ^= 0x80;
        return;
    }
    let mut rest = rest;
    loop {
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        out.extend_from_slice(&rest[..end]);
        let is_escaped = rest.get(end + 1) == Some(&0xFF);
        rest = rest.get(end + 2..).unwrap_or_default();
        if !is_escaped {
            break;
        }
        out.push(0);
    }
    *input = rest;
}

/// Takes a number of these many bytes off the front of a row key, and puts it as it is on the wire. Leaves zeros of a key that was not made here.
#[inline]
pub(crate) fn decode_key_number(input: &mut &[u8], wire: &mut [u8]) {
    let Some((marker, rest)) = input.split_first() else { return };
    *input = rest;
    let Some((value, rest)) = rest.split_at_checked(wire.len()).filter(|_| *marker == VALUE) else { return };
    *input = rest;
    copy_reversed(value, wire);
    if let Some(highest) = wire.last_mut() {
        *highest ^= 0x80;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_cql() {
        let tokens = [
            (0, -3_485_513_579_396_041_028),
            (1, -4_069_959_284_402_364_209),
            (2, -3_248_873_570_005_575_792),
            (3, 9_010_454_139_840_013_625),
            (5, -7_509_452_495_886_106_294),
            (128, -9_081_975_895_656_599_623),
            (200, 1_543_354_510_515_183_773),
            (255, -8_423_851_636_648_339_959),
            (16_777_215, 123_573_637_386_978_882),
            (2_147_483_647, -765_994_672_030_311_617),
            (2_147_483_653, -6_837_071_889_569_584_988),
        ];
        for (partition, token) in tokens {
            assert_eq!(token_of_partition(partition), Token(token));
        }
    }

    #[test]
    fn keys_come_back_and_sort_like_their_values() {
        let mut last = Vec::new();
        for value in [i32::MIN, -256, -1, 0, 1, 255, i32::MAX] {
            let mut key = Vec::new();
            encode_key(ElementType::Integer, &value.to_be_bytes(), &mut key).expect("it is short");
            assert!(key > last);
            let (mut input, mut cell) = (&key[..], Vec::new());
            decode_key(ElementType::Integer, &mut input, &mut cell);
            assert_eq!((cell, input), (value.to_be_bytes().to_vec(), &[][..]));
            last = key;
        }
        let mut last = Vec::new();
        for text in ["", "\0", "\0a", "a", "a\0", "a\0b", "aa", "b"] {
            let mut key = Vec::new();
            encode_key(ElementType::String, text.as_bytes(), &mut key).expect("it is short");
            assert!(key > last, "{text:?}");
            let (mut input, mut cell) = (&key[..], Vec::new());
            decode_key(ElementType::String, &mut input, &mut cell);
            assert_eq!((cell, input), (text.as_bytes().to_vec(), &[][..]));
            last = key;
        }
    }
}
