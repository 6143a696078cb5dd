//! Arrays: on the wire the number of elements, then these; in a cell what CQL's lists have, each element after its length.

use super::cell::put_cell;
use super::put_reversed;
use crate::schema::ElementType;
use crate::wire::{Reader, put_var_bytes, put_var_size};
use crate::{ErrorCode, GridError};

/// Appends the cell of an array that was sent.
pub(super) fn to_cell(element: ElementType, sent: &[u8], out: &mut Vec<u8>) -> Result<(), GridError> {
    let invalid = |message: &'static str| GridError::new(ErrorCode::DS_COL_ROWDATA_INVALID, message);
    let mut reader = Reader::new(sent);
    let count = reader.var_size()?;
    if count > reader.rest().len() as u64 {
        return Err(invalid("an array says that it has more elements than there are"));
    }
    out.extend_from_slice(&(count as u32).to_be_bytes());
    for _ in 0..count {
        let value = match element.fixed_bytes() {
            Some(bytes) => reader.take(bytes)?,
            None => reader.var_bytes()?,
        };
        out.extend_from_slice(&(value.len() as u32).to_be_bytes());
        put_cell(element, value, out)?;
    }
    if reader.rest().is_empty() { Ok(()) } else { Err(invalid("an array has more bytes than its elements")) }
}

/// Appends an array as clients get it.
pub(super) fn to_wire(element: ElementType, cell: &[u8], out: &mut Vec<u8>) {
    let mut body = Vec::with_capacity(cell.len());
    let mut rest = cell.get(4..).unwrap_or_default();
    let (mut count, mut values) = (0, Vec::with_capacity(cell.len()));
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let Some((value, after)) = after.split_at_checked(length) else { break };
        rest = after;
        count += 1;
        match element.fixed_bytes() {
            Some(_) => put_reversed(value, &mut values),
            None => put_var_bytes(&mut values, value),
        }
    }
    put_var_size(&mut body, count);
    body.extend_from_slice(&values);
    put_var_bytes(out, &body);
}
