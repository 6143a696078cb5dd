//! EXECUTE of one prepared statement, all but its values encoded once.
//!
//! ```text
//! frame header | id | consistency, flags, number of values | values, each with its length | page size or write timestamp
//!              '------------- prefix, copied -------------'                               '-- the last field ----------'
//! ```
//! Parameters are those of the usual drivers: a page size of 5,000 for what reads, the client's timestamp for what writes, no description
//! of columns in results.

use super::own::Parameter;
use super::statements::Purpose;
use ::cql::wire::{Consistency, Execute, ProtocolVersion, QueryParameters, Request, ResultColumns, Value, ValuesBuffer, WireError};
use std::sync::Arc;

const PAGE_ROWS: u32 = 5_000;
const NULL_BYTES: usize = 4;

/// What all executions of a statement have in common.
#[derive(Clone, Debug)]
pub(super) struct Template {
    prefix: Vec<u8>,
    /// What its markers stand for, in order.
    pub(super) parameters: Arc<[Parameter]>,
    /// The page size as it is sent; of what writes there is none.
    page_size: [u8; size_of::<u32>()],
}

impl Template {
    /// Of a statement that was prepared.
    pub(super) fn new(
        version: ProtocolVersion,
        purpose: Purpose,
        parameters: Arc<[Parameter]>,
        consistency: Consistency,
        id: &[u8],
        result_metadata_id: &[u8],
    ) -> Result<Self, WireError> {
        let values = parameters.len();
        let mut nulls = ValuesBuffer::new();
        (0..values).for_each(|_| nulls.push(Value::Null));
        let mut query = QueryParameters::new(consistency, nulls.as_values(version));
        query.result_columns = ResultColumns::Skipped;
        let reads = matches!(purpose, Purpose::Read | Purpose::Scan);
        let last_bytes = if reads {
            query.page_size = Some(PAGE_ROWS);
            size_of::<u32>()
        } else {
            query.common.timestamp = Some(0);
            size_of::<i64>()
        };
        let mut body = Vec::new();
        Request::Execute(Execute { id, result_metadata_id, parameters: query }).write(&mut body, version)?;
        let last = body.split_off(body.len() - last_bytes);
        body.truncate(body.len() - values * NULL_BYTES);
        // The last four bytes of a timestamp are of no use, and not sent.
        let page_size = *last.last_chunk().expect("both are four bytes or more");
        Ok(Self { prefix: body, parameters, page_size })
    }

    /// Appends what comes before the values.
    #[inline]
    pub(super) fn begin(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.prefix);
    }

    /// Appends what comes after the values of a statement that reads.
    #[inline]
    pub(super) fn end_read(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.page_size);
    }

    /// Appends what comes after the values of a statement that writes.
    #[inline]
    pub(super) fn end_write(&self, out: &mut Vec<u8>, timestamp_us: i64) {
        out.extend_from_slice(&timestamp_us.to_be_bytes());
    }
}

/// Appends a value whose bytes `write` appends.
#[inline]
pub(super) fn value(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; size_of::<i32>()]);
    write(out);
    let length = (out.len() - start - size_of::<i32>()) as i32;
    out[start..start + size_of::<i32>()].copy_from_slice(&length.to_be_bytes());
}
