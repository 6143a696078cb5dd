//! Rows of the system's tables: values by column name, put in the order of the table's columns.

use crate::value::build;
use model::Table;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A row of a system table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemRow {
    /// A value, in wire bytes, for each of the table's columns, in their order; `None` is null.
    pub values: Vec<Option<Vec<u8>>>,
}

/// Makes the rows of one table.
pub(super) struct RowBuilder<'a> {
    table: &'a Table,
    visit: &'a mut dyn FnMut(SystemRow),
}

/// A column's name and value.
pub(super) type Named<'a> = (&'a str, Option<Vec<u8>>);

impl<'a> RowBuilder<'a> {
    pub(super) fn new(table: &'a Table, visit: &'a mut dyn FnMut(SystemRow)) -> Self {
        Self { table, visit }
    }

    /// A row with these values; columns that are not named are null.
    ///
    /// # Panics
    /// When the table has no such column: that is a mistake here.
    pub(super) fn row(&mut self, named: impl IntoIterator<Item = Named<'a>>) {
        let mut values = vec![None; self.table.columns.len()];
        for (name, value) in named {
            let (position, _) = self.table.column(name).expect("rows name columns of their table");
            values[position] = value;
        }
        (self.visit)(SystemRow { values });
    }
}

pub(crate) fn text(value: impl AsRef<str>) -> Option<Vec<u8>> {
    Some(value.as_ref().as_bytes().to_vec())
}

pub(super) fn int(value: i32) -> Option<Vec<u8>> {
    Some(value.to_be_bytes().to_vec())
}

pub(super) fn bigint(value: i64) -> Option<Vec<u8>> {
    Some(value.to_be_bytes().to_vec())
}

pub(super) fn tinyint(value: i8) -> Option<Vec<u8>> {
    Some(value.to_be_bytes().to_vec())
}

/// Milliseconds since the epoch.
pub(super) fn timestamp(milliseconds: i64) -> Option<Vec<u8>> {
    bigint(milliseconds)
}

pub(super) fn double(value: f64) -> Option<Vec<u8>> {
    Some(value.to_be_bytes().to_vec())
}

pub(crate) fn boolean(value: bool) -> Option<Vec<u8>> {
    Some(vec![u8::from(value)])
}

pub(super) fn uuid(value: u128) -> Option<Vec<u8>> {
    Some(value.to_be_bytes().to_vec())
}

pub(super) fn inet(address: IpAddr) -> Option<Vec<u8>> {
    Some(match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    })
}

/// A list, or a set whose elements are sorted.
pub(super) fn texts<'a>(elements: impl ExactSizeIterator<Item = &'a str>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    build::list(elements.map(str::as_bytes), &mut out);
    Some(out)
}

/// A set of blobs, which are sorted.
pub(super) fn blobs<'a>(elements: impl ExactSizeIterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    build::list(elements, &mut out);
    Some(out)
}

/// A map of one blob by its name, or of none.
pub(super) fn named_blob(name: &str, value: Option<&[u8]>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    build::sorted_map(value.map(|value| (name.as_bytes(), value)).into_iter(), &mut out);
    Some(out)
}

/// A map, sorted by key as a `BTreeMap` is.
pub(super) fn text_map(entries: &BTreeMap<String, String>) -> Option<Vec<u8>> {
    pairs(entries.iter().map(|(key, value)| (key.as_str(), value.as_str())))
}

/// A map from entries by ascending key.
pub(crate) fn pairs<'a>(entries: impl ExactSizeIterator<Item = (&'a str, &'a str)>) -> Option<Vec<u8>> {
    let count = i32::try_from(entries.len()).expect("a map of the schema is smaller than a frame");
    let mut out = count.to_be_bytes().to_vec();
    for (key, value) in entries {
        build::field(Some(key.as_bytes()), &mut out);
        build::field(Some(value.as_bytes()), &mut out);
    }
    Some(out)
}
