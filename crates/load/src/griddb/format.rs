//! The dataset's rows as the protocol has them.
//!
//! | column | type |
//! |---|---|
//! | `id`, the row key | LONG for keys that are numbers, else STRING |
//! | `field0`, `field1`, … | STRING for printable values, else BLOB |

use crate::values::ValueMaker;
use crate::workload::{Keys, Rows, Values};
use ::griddb::ElementType;
use ::griddb::row::RowsWriter;
use ::griddb::schema::ColumnDefinition;
use ::griddb::wire::put_var_bytes;
use std::fmt::Write;

const KEY: &str = "id";

/// How rows look.
#[derive(Debug)]
pub(super) struct RowFormat {
    /// The row key first.
    pub(super) columns: Vec<ColumnDefinition>,
    values: ValueMaker,
}

impl RowFormat {
    pub(super) fn new(rows: &Rows) -> Self {
        let column = |name: String, element| ColumnDefinition { name, element, is_array: false, is_not_null: true };
        let key = if rows.keys == Keys::Number { ElementType::Long } else { ElementType::String };
        let value = if rows.values == Values::Text { ElementType::String } else { ElementType::Blob };
        let fields = (0..rows.fields).map(|field| column(format!("field{field}"), value));
        Self { columns: std::iter::once(column(KEY.to_owned(), key)).chain(fields).collect(), values: ValueMaker::new(rows) }
    }

    /// The type of keys.
    pub(super) fn key(&self) -> ElementType {
        self.columns[0].element
    }

    /// How many fields a row has.
    fn fields(&self) -> u32 {
        self.columns.len() as u32 - 1
    }

    /// Appends a key as a row has it: numbers the other way round than a dataset.
    pub(super) fn append_key(&self, key: &[u8], out: &mut Vec<u8>) {
        if self.key() == ElementType::Long { out.extend(key.iter().rev()) } else { out.extend_from_slice(key) }
    }

    /// Appends a key, made by [`RowFormat::append_key`], as requests have it.
    pub(super) fn write_key(&self, key: &[u8], out: &mut Vec<u8>) {
        if self.key() == ElementType::Long { out.extend_from_slice(key) } else { put_var_bytes(out, key) }
    }

    /// Appends a row of one version. With `kept` only a field has that version; the others are as they were.
    pub(super) fn write_row(&self, rows: &mut RowsWriter, key: &[u8], version: Version, kept: Option<Kept<'_>>) {
        rows.begin();
        rows.put(&self.columns[0], Some(key));
        for field in 0..self.fields() {
            match kept {
                Some(Kept { field: written, values }) if written != field => {
                    rows.put(&self.columns[field as usize + 1], values.get(field as usize).copied().flatten());
                }
                _ => {
                    let bytes = self.values.bytes(version.row, field, version.version);
                    rows.put_made(bytes, |out| self.values.append(version.row, field, version.version, out));
                }
            }
        }
    }

    /// A query for the rows from a key on.
    pub(super) fn write_query(&self, key: &[u8], text: &mut String) {
        text.clear();
        text.push_str("SELECT * WHERE ");
        text.push_str(KEY);
        text.push_str(" >= ");
        if let (ElementType::Long, Some(number)) = (self.key(), key.first_chunk()) {
            // Writing to a text cannot fail.
            let _ = write!(text, "{}", i64::from_le_bytes(*number));
        } else {
            // Keys are letters and digits.
            text.push('\'');
            text.push_str(&String::from_utf8_lossy(key));
            text.push('\'');
        }
    }
}

/// Which values a row gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    /// The row's number.
    pub(super) row: u64,
    pub(super) version: u32,
}

/// What a row keeps whose one field is written.
#[derive(Clone, Copy)]
pub(super) struct Kept<'a> {
    /// The one that is.
    pub(super) field: u32,
    /// Of all fields.
    pub(super) values: &'a [Option<&'a [u8]>],
}
