//! The node's own CQL port, as the role that asks has logged in there.

use super::error::TablesError;
use crate::feed::Link;
use cql::wire::{Consistency, ProtocolVersion, Query, QueryParameters, Request, Response, ResultResponse, Rows, Value, ValuesBuffer};
use load::cql::client::{Client, ClientError};
use std::sync::{Mutex, PoisonError};

/// What is spoken.
const VERSION: ProtocolVersion = ProtocolVersion::V4;
/// Rows of a page; it ends before if it gets longer than 1 MiB.
const PAGE_ROWS: u32 = 5_000;

/// A connection, which the scans of a statement share.
pub(super) struct Port(Mutex<Client<Link>>);

impl Port {
    pub(super) fn new(client: Client<Link>) -> Self {
        Self(Mutex::new(client))
    }

    /// A page of rows, from the primary or a majority: what was acknowledged is seen.
    pub(super) fn page<R>(
        &self,
        text: &str,
        values: &[Vec<u8>],
        after: Option<&[u8]>,
        read: impl FnOnce(&Rows<'_>) -> R,
    ) -> Result<R, TablesError> {
        let mut bound = ValuesBuffer::new();
        values.iter().for_each(|value| bound.push(Value::Bytes(value)));
        let parameters = QueryParameters {
            page_size: Some(PAGE_ROWS),
            paging_state: after,
            ..QueryParameters::new(Consistency::Quorum, bound.as_values(VERSION))
        };
        let mut client = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = client.ask(&Request::Query(Query { text, parameters }), |response| match response {
            Response::Result(ResultResponse::Rows(rows)) => Some(read(rows)),
            _ => None,
        });
        asked.map_err(|error| match error {
            ClientError::Refused { code: INVALID, message, .. } => TablesError::Changed { message },
            error => TablesError::Client(error),
        })
    }
}

/// An invalid statement: the table or a column of it is not what it was when the statement began.
const INVALID: i32 = 0x2200;
