//! What statements about rows begin with.

use crate::container::{Container, no_options};
use griddb::wire::{AGGREGATES_OPTION, COLUMNS_OPTION, OWN_GROUP, put_i16, put_i32, put_i64};

/// The head without a transaction, before options.
pub(crate) fn head(container: &Container, out: &mut Vec<u8>) {
    put_i64(out, container.id);
    put_i64(out, 0);
    out.extend_from_slice(&[0; 16]);
    put_i32(out, container.version);
    out.extend_from_slice(&[0, 0]);
}

/// The same with options, of which there are none.
pub(crate) fn statement_head(container: &Container, out: &mut Vec<u8>) {
    head(container, out);
    no_options(out);
}

/// The option that tells which columns are looked at: in its group, after the sizes of both.
pub(crate) fn put_columns(columns: u64, out: &mut Vec<u8>) {
    put_i32(out, 16);
    put_i16(out, OWN_GROUP);
    put_i32(out, 10);
    put_i16(out, COLUMNS_OPTION);
    put_i64(out, columns as i64);
}

/// The option that tells what is made of rows in place of them, likewise.
pub(crate) fn put_aggregates(spec: &[u8], out: &mut Vec<u8>) {
    let option_bytes = 6 + spec.len() as i32;
    put_i32(out, 6 + option_bytes);
    put_i16(out, OWN_GROUP);
    put_i32(out, option_bytes);
    put_i16(out, AGGREGATES_OPTION);
    put_i32(out, spec.len() as i32);
    out.extend_from_slice(spec);
}
