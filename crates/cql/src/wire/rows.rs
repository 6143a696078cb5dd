//! RESULT of kind rows: metadata, then a count, then the cells of all rows as `[bytes]`.
//!
//! The executor appends cells straight to the send buffer between [`begin_rows`] and [`end_rows`].

use super::metadata::{Described, ReceivedMetadata, count};
use super::writer::write_int;
use super::{Reader, ResultMetadata, RowsDescription, WireError};

/// The kind of a RESULT that has rows.
pub(super) const RESULT_ROWS: i32 = 2;

/// Where the number of rows is to be written.
#[derive(Debug)]
#[must_use = "rows have no count before end_rows"]
pub struct RowsMark {
    position: usize,
}

/// Appends all of a RESULT of rows up to the first cell.
pub fn begin_rows(out: &mut Vec<u8>, metadata: &ResultMetadata, description: RowsDescription<'_>, paging_state: Option<&[u8]>) -> RowsMark {
    write_int(out, RESULT_ROWS);
    metadata.write_for_rows(out, description, paging_state);
    let position = out.len();
    write_int(out, 0);
    RowsMark { position }
}

/// Fills in the number of rows whose cells were appended since `mark`.
pub fn end_rows(out: &mut [u8], mark: RowsMark, row_count: u32) {
    if let Some(field) = out.get_mut(mark.position..mark.position + 4) {
        field.copy_from_slice(&row_count.to_be_bytes());
    }
}

/// Rows that were received, every cell's length checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows<'a> {
    /// Description of the columns.
    pub metadata: ReceivedMetadata<'a>,
    row_count: u32,
    bytes: &'a [u8],
}

impl<'a> Rows<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let metadata = ReceivedMetadata::read(reader, Described::Rows)?;
        let row_count = count(reader)?;
        if metadata.column_count == 0 && row_count > 0 {
            // Otherwise a few bytes could promise billions of empty rows.
            return Err(WireError::RowsWithoutColumns { rows: row_count });
        }
        let start = *reader;
        for _ in 0..u64::from(row_count) * u64::from(metadata.column_count) {
            reader.bytes()?;
        }
        Ok(Self { metadata, row_count, bytes: reader.since(&start) })
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.row_count as usize
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.row_count == 0
    }

    /// The cells of all rows, row by row; `None` is null.
    #[must_use]
    pub fn cells(&self) -> Cells<'a> {
        Cells { reader: Reader::new(self.bytes) }
    }

    /// The rows, each as an iterator over its cells.
    pub fn iter(&self) -> impl Iterator<Item = std::iter::Take<Cells<'a>>> + use<'a> {
        let columns = self.metadata.column_count as usize;
        let mut cells = self.cells();
        (0..self.row_count).map(move |_| {
            let row = cells.clone().take(columns);
            cells.by_ref().take(columns).for_each(drop);
            row
        })
    }
}

/// Cells one after another.
#[derive(Clone, Debug)]
pub struct Cells<'a> {
    reader: Reader<'a>,
}

impl<'a> Iterator for Cells<'a> {
    type Item = Option<&'a [u8]>;

    #[inline]
    fn next(&mut self) -> Option<Option<&'a [u8]>> {
        self.reader.bytes().ok()
    }
}
