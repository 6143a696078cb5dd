//! Who is asked for a log: a CQL port, over one connection that is made again when it breaks.

use super::error::FeedError;
use super::link::Link;
use cql::wire::{Consistency, ProtocolVersion, Query, QueryParameters, Request, Response, ResultResponse, Rows, Value, ValuesBuffer};
use load::cql::client::{Client, ClientError};

/// What the feed speaks.
pub(crate) const VERSION: ProtocolVersion = ProtocolVersion::V4;

/// Makes a connection that is logged in.
pub(crate) type Connect<'c> = Box<dyn Fn() -> Result<Client<Link>, ClientError> + 'c>;

/// A CQL port.
pub(crate) struct Source<'c> {
    connect: Connect<'c>,
    client: Option<Client<Link>>,
}

/// A row of a result.
pub(crate) type Cells = Vec<Option<Vec<u8>>>;

/// A cell of text; of null, nothing.
pub(crate) fn text(cell: Option<&Option<Vec<u8>>>) -> String {
    cell.and_then(Option::as_deref).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
}

/// Which part of a result is wanted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Page<'a> {
    /// Rows of a page; all without.
    pub(crate) rows: Option<u32>,
    /// Where the page before ended.
    pub(crate) state: Option<&'a [u8]>,
}

impl<'c> Source<'c> {
    pub(crate) fn new(connect: Connect<'c>) -> Self {
        Self { connect, client: None }
    }

    /// Sends a request, and gives what `read` makes of its reply.
    pub(crate) fn ask<R>(&mut self, request: &Request<'_>, read: impl FnOnce(&Response<'_>) -> Option<R>) -> Result<R, FeedError> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => (self.connect)()?,
        };
        let asked = client.ask(request, read);
        // After anything else but a refusal nobody knows what comes next.
        if matches!(asked, Ok(_) | Err(ClientError::Refused { .. })) {
            self.client = Some(client);
        }
        Ok(asked?)
    }

    /// Sends requests without waiting for each.
    pub(crate) fn do_all(&mut self, requests: &[Request<'_>]) -> Result<(), FeedError> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => (self.connect)()?,
        };
        let done = client.do_all(requests);
        if matches!(done, Ok(()) | Err(ClientError::Refused { .. })) {
            self.client = Some(client);
        }
        Ok(done?)
    }

    /// Rows of a statement, from the primary or a majority: what was acknowledged is seen.
    pub(crate) fn rows<R>(
        &mut self,
        text: &str,
        values: &[&[u8]],
        page: Page<'_>,
        read: impl FnOnce(&Rows<'_>) -> R,
    ) -> Result<R, FeedError> {
        let mut bound = ValuesBuffer::new();
        values.iter().for_each(|value| bound.push(Value::Bytes(value)));
        let mut parameters = QueryParameters::new(Consistency::Quorum, bound.as_values(VERSION));
        parameters.page_size = page.rows;
        parameters.paging_state = page.state;
        self.ask(&Request::Query(Query { text, parameters }), |response| match response {
            Response::Result(ResultResponse::Rows(rows)) => Some(read(rows)),
            _ => None,
        })
    }

    /// All rows of a statement.
    pub(crate) fn all(&mut self, text: &str, values: &[&[u8]]) -> Result<Vec<Cells>, FeedError> {
        let owned = |rows: &Rows<'_>| rows.iter().map(|row| row.map(|cell| cell.map(<[u8]>::to_vec)).collect()).collect();
        self.rows(text, values, Page::default(), owned)
    }

    /// Runs a statement that gives no rows.
    pub(crate) fn run(&mut self, text: &str, values: &[&[u8]]) -> Result<(), FeedError> {
        let mut bound = ValuesBuffer::new();
        values.iter().for_each(|value| bound.push(Value::Bytes(value)));
        let parameters = QueryParameters::new(Consistency::Quorum, bound.as_values(VERSION));
        self.do_all(&[Request::Query(Query { text, parameters })])
    }

    /// The time where it is, in microseconds since 1970.
    pub(super) fn now_us(&mut self) -> Result<i64, FeedError> {
        let now_ms = self.rows("SELECT toUnixTimestamp(now()) FROM system.local", &[], Page::default(), |rows| {
            let cell = rows.iter().next().and_then(|mut row| row.next().flatten());
            cell.and_then(|cell| <[u8; 8]>::try_from(cell).ok()).map(i64::from_be_bytes)
        })?;
        now_ms.and_then(|now_ms| now_ms.checked_mul(1_000)).ok_or(FeedError::Strange("it has no time"))
    }
}
