//! Checks a value that is to be kept, and writes it in its shortest form.

use std::cmp::Ordering;

use super::reader::{Head, Malformed, Reader, flags};
use super::{compare, write};

/// How many lists and maps may be in each other.
pub const DEPTH_MAX: usize = 128;

/// Appends the next value of a reader as it is stored: the shortest form of everything in it, no markers, nothing but the order left of
/// the flags. `depth` is how many lists and maps it is in.
///
/// # Errors
/// What is no value, is nested too deeply, has a marker in it, has nil as a key, or says that it is ordered and is not.
pub fn store(reader: &mut Reader<'_>, out: &mut Vec<u8>, depth: usize) -> Result<(), Malformed> {
    match reader.head()? {
        Head::Nil => out.push(write::NIL),
        Head::Bool(value) => write::bool(out, value),
        Head::Integer(number) => write::integer(out, number),
        Head::Unsigned(number) => write::unsigned(out, number),
        Head::Double(number) => write::double(out, number),
        Head::Raw(bytes) => write::raw(out, bytes),
        Head::List(count) => store_list(reader, count, out, inner(depth)?)?,
        Head::Map(count) => store_map(reader, count, out, inner(depth)?)?,
        Head::Extension(..) => return Err(Malformed),
    }
    Ok(())
}

fn inner(depth: usize) -> Result<usize, Malformed> {
    if depth < DEPTH_MAX { Ok(depth + 1) } else { Err(Malformed) }
}

fn store_list(reader: &mut Reader<'_>, mut count: usize, out: &mut Vec<u8>, depth: usize) -> Result<(), Malformed> {
    let flags = reader.list_flags(&mut count)? & flags::ORDERED;
    write::list(out, count, flags);
    let mut before = None;
    for _ in 0..count {
        let start = out.len();
        store(reader, out, depth)?;
        if flags != 0 {
            check_order(out, before, start, |ordering| ordering.is_le())?;
            before = Some((start, out.len()));
        }
    }
    Ok(())
}

fn store_map(reader: &mut Reader<'_>, mut count: usize, out: &mut Vec<u8>, depth: usize) -> Result<(), Malformed> {
    let flags = match reader.map_flags(&mut count)? & (flags::ORDERED | flags::VALUE_ORDERED) {
        flags::VALUE_ORDERED => return Err(Malformed),
        flags => flags,
    };
    write::map(out, count, flags);
    let mut before = None;
    for _ in 0..count {
        let start = out.len();
        store(reader, out, depth)?;
        if out[start] == write::NIL {
            return Err(Malformed);
        }
        if flags != 0 {
            check_order(out, before, start, |ordering| ordering.is_lt())?;
            before = Some((start, out.len()));
        }
        store(reader, out, depth)?;
    }
    Ok(())
}

/// The value from `start` on must stand in the right order to the one before it.
fn check_order(out: &[u8], before: Option<(usize, usize)>, start: usize, right: impl Fn(Ordering) -> bool) -> Result<(), Malformed> {
    match before {
        Some((from, to)) if !right(compare(&out[from..to], &out[start..])) => Err(Malformed),
        _ => Ok(()),
    }
}
