//! What statements about rows begin with.

use crate::container::{Container, no_options};
use griddb::wire::{AGGREGATES_OPTION, COLUMNS_OPTION, FIGURES_OPTION, OWN_GROUP, put_i16, put_i32, put_i64};

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

/// The option that tells which columns are looked at; with the one that asks how rows were found, if `asks_figures`.
pub(crate) fn put_columns(columns: u64, asks_figures: bool, out: &mut Vec<u8>) {
    put_group(size_of::<i16>() + size_of::<u64>(), asks_figures, out, |out| {
        put_i16(out, COLUMNS_OPTION);
        put_i64(out, columns as i64);
    });
}

/// The option that tells what is made of rows in place of them, likewise.
pub(crate) fn put_aggregates(spec: &[u8], asks_figures: bool, out: &mut Vec<u8>) {
    put_group(size_of::<i16>() + size_of::<i32>() + spec.len(), asks_figures, out, |out| {
        put_i16(out, AGGREGATES_OPTION);
        put_i32(out, spec.len() as i32);
        out.extend_from_slice(spec);
    });
}

/// An option in its group, after the sizes of both. A member that does not know the one that asks for figures skips what follows it, so that it is the last.
fn put_group(option_bytes: usize, asks_figures: bool, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let figures_bytes = if asks_figures { size_of::<i16>() + 1 } else { 0 };
    let bytes = (option_bytes + figures_bytes) as i32;
    put_i32(out, 6 + bytes);
    put_i16(out, OWN_GROUP);
    put_i32(out, bytes);
    write(out);
    if asks_figures {
        put_i16(out, FIGURES_OPTION);
        out.push(1);
    }
}
