//! A result, whose rows a client fetches in pages.

use crate::client::Refusal;
use crate::container::element_type;
use crate::failures::refusal;
use crate::result::{Column, Outcome, Page, write_reply};
use griddb::ElementType;
use griddb::wire::ReplyHeader;
use sql::{Query, Value, ValueRef};

/// Rows of a page, if the client does not say how many.
const PAGE_ROWS: u64 = 10_000;
/// A page ends after so many bytes.
const PAGE_BYTES: usize = 1 << 20;

/// The rows of a query that is open.
pub(crate) struct OpenRows {
    pub(crate) query: Query,
    columns: Vec<Column>,
    /// A row that was read and not sent.
    ahead: Option<Vec<Value>>,
    /// How many may still be sent.
    left: u64,
}

impl OpenRows {
    /// The rows of a query that has not begun: at most so many, if that is not 0.
    pub(crate) fn new(query: Query, rows_max: u64) -> Self {
        let left = if rows_max > 0 { rows_max } else { u64::MAX };
        Self { query, columns: Vec::new(), ahead: None, left }
    }

    /// Sends the next page; says whether there are more rows.
    pub(crate) fn send(&mut self, reply: ReplyHeader, page_rows: u64, out: &mut Vec<u8>) -> Result<bool, Refusal> {
        let page_rows = if page_rows > 0 { page_rows } else { PAGE_ROWS };
        let mut first = Vec::new();
        if let Some(ahead) = self.ahead.take() {
            first.push(ahead);
        } else if self.columns.is_empty() && self.left > 0 {
            if self.query.step().map_err(refusal)? {
                first.push(self.query.row());
            } else {
                self.left = 0;
            }
        }
        if self.columns.is_empty() {
            self.columns = self
                .query
                .columns()
                .into_iter()
                .enumerate()
                .map(|(at, column)| {
                    let computed = || first.first().and_then(|row| element_of(row[at].as_ref()));
                    Column { label: column.name, element: column.kind.map_or_else(computed, element_type) }
                })
                .collect();
        }
        let columns = self.columns.clone();
        let mut page = Page::new(&columns);
        for row in first {
            page.begin_row();
            for (at, value) in row.iter().enumerate() {
                page.put(at, value.as_ref())?;
            }
            self.left -= 1;
        }
        let mut is_followed = self.left > 0;
        while is_followed && self.left > 0 {
            if !self.query.step().map_err(refusal)? {
                is_followed = false;
                break;
            }
            if page.rows as u64 >= page_rows || page.bytes() >= PAGE_BYTES {
                self.ahead = Some(self.query.row());
                break;
            }
            page.begin_row();
            for at in 0..columns.len() {
                page.put(at, self.query.value(at))?;
            }
            self.left -= 1;
        }
        let is_followed = is_followed && self.left > 0;
        write_reply(reply, &[Outcome::Rows(&page, is_followed)], out);
        Ok(is_followed)
    }
}

/// The type of a column that is computed, by its first value; none if that is null.
fn element_of(value: ValueRef<'_>) -> Option<ElementType> {
    Some(match value {
        ValueRef::Null => return None,
        ValueRef::Integer(_) => ElementType::Long,
        ValueRef::Real(_) => ElementType::Double,
        ValueRef::Text(_) => ElementType::String,
        ValueRef::Blob(_) => ElementType::Blob,
        ValueRef::Time(_) => ElementType::Timestamp,
    })
}
