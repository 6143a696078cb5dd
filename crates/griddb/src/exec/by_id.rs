//! UPDATE_ROW_BY_ID, DELETE_ROW_BY_ID: rows that a query has locked, by the numbers that it has given them.

use super::head::{Head, Uuid};
use super::request::{Request, WRITE};
use super::rows;
use crate::failure::Failure;
use crate::row::{RowReader, SentRow};
use crate::transaction::Overlay;
use crate::wire::{Reader, statement};
use crate::{ErrorCode, GridError};
use model::operation::{Context, WriteSet};

/// An update or a deletion of a locked row.
pub(super) struct ById<'a> {
    pub(super) head: Head<'a>,
    number: u64,
    /// What the row will be; none if it is deleted.
    row: Option<SentRow<'a>>,
}

impl<'a> ById<'a> {
    pub(super) const STATEMENTS: [i32; 2] = [statement::UPDATE_ROW_BY_ID, statement::DELETE_ROW_BY_ID];

    pub(super) fn read(number: i32, request: &Request<'a>, id: i64, mut reader: Reader<'a>) -> Result<Self, GridError> {
        let head = Head::read(request, id, &mut reader, Uuid::Own, WRITE)?;
        let row_number = reader.i64()? as u64;
        let row = if number == statement::UPDATE_ROW_BY_ID {
            let mut rows = RowReader::new(&head.container.definition.columns, 1, &mut reader)?;
            Some(rows.next_row()?.ok_or(GridError::malformed("a row is missing"))?)
        } else {
            None
        };
        if head.transaction.is_none() {
            return Err(not_locked());
        }
        Ok(Self { head, number: row_number, row })
    }

    pub(super) fn run(&self, context: &Context, overlay: &Overlay<'_>, changes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Failure> {
        let container = self.head.container;
        let ordinal = self.number.checked_sub(1).ok_or_else(not_locked)?;
        let key = overlay.locked_key(ordinal)?.ok_or_else(not_locked)?;
        let exists = rows::exists(container, key, overlay)?;
        match &self.row {
            _ if !exists => {}
            Some(row) => {
                let mut sent_key = Vec::new();
                rows::key_of_row(container, row, &mut Vec::new(), &mut sent_key)?;
                if container.definition.key_len > 0 && sent_key != key {
                    return Err(GridError::new(ErrorCode::DS_COL_ROWKEY_INVALID, "the row key of a row cannot be changed").into());
                }
                rows::stage(container, row, key, context, changes)?;
            }
            None => rows::stage_deletion(container, key, context, changes),
        }
        out.push(u8::from(exists));
        Ok(())
    }
}

fn not_locked() -> GridError {
    GridError::new(ErrorCode::DS_DS_STATEMENT_FAILED, "the transaction has not locked a row of this number")
}
