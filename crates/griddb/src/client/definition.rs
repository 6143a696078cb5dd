//! PUT_CONTAINER, also as this server's own SQL sends it.

use super::no_options;
use crate::name::ContainerName;
use crate::schema::{ColumnDefinition, Kind, write_columns};
use crate::wire::{OWN_GROUP, PARTITIONING_OPTION, RENAMING_OPTION, put_i16, put_i32, put_string};

/// The arguments of PUT_CONTAINER that makes a container of these columns, the first so many of which make its key.
pub fn put_container(
    (name, kind): (&ContainerName, Kind),
    (columns, key_len): (&[ColumnDefinition], usize),
    is_modifiable: bool,
    out: &mut Vec<u8>,
) {
    no_options(out);
    put_container_body((name, kind), (columns, key_len), is_modifiable, out);
}

/// The same about a partitioned table: with how it is partitioned, as a text; with nothing, to change its columns; or with a change of its data partitions.
pub fn put_partitioned_container(
    (name, kind): (&ContainerName, Kind),
    (columns, key_len): (&[ColumnDefinition], usize),
    partitioning: &str,
    is_modifiable: bool,
    out: &mut Vec<u8>,
) {
    put_own_option(PARTITIONING_OPTION, &[partitioning], out);
    put_container_body((name, kind), (columns, key_len), is_modifiable, out);
}

/// The same of a container of these columns, one of which gets another name.
pub fn rename_column(
    (name, kind): (&ContainerName, Kind),
    (columns, key_len): (&[ColumnDefinition], usize),
    (from, to): (&str, &str),
    out: &mut Vec<u8>,
) {
    put_own_option(RENAMING_OPTION, &[from, to], out);
    put_container_body((name, kind), (columns, key_len), false, out);
}

/// The block of options of a statement that has one of this server's own, of these texts.
fn put_own_option(option: i16, texts: &[&str], out: &mut Vec<u8>) {
    let value = size_of::<i16>() + texts.iter().map(|text| size_of::<i32>() + text.len()).sum::<usize>();
    put_i32(out, (size_of::<i16>() + size_of::<i32>() + value) as i32);
    put_i16(out, OWN_GROUP);
    put_i32(out, value as i32);
    put_i16(out, option);
    texts.iter().for_each(|text| put_string(out, text));
}

fn put_container_body(
    (name, kind): (&ContainerName, Kind),
    (columns, key_len): (&[ColumnDefinition], usize),
    is_modifiable: bool,
    out: &mut Vec<u8>,
) {
    name.write(out);
    out.push(kind as u8);
    out.push(u8::from(is_modifiable));
    write_columns(columns.iter(), key_len, out);
    // Without an affinity; a time series has no properties.
    put_string(out, "");
    if kind == Kind::TimeSeries {
        out.push(0);
    }
}
