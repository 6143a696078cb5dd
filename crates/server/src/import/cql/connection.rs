//! A connection to one side, with the statements of the table that is worked on.

use crate::endpoint::Endpoint;
use crate::feed::{Link, VERSION};
use cql::wire::{Consistency, Execute, QueryParameters, Request, Response, ResultResponse, Rows, ValuesBuffer};
use load::cql::client::{Client, ClientError, PreparedStatement};

/// Requests that are sent at once, and their bytes: so much a client may lose sight of.
const REQUESTS_MAX: usize = 1_024;
const BYTES_MAX: usize = 1 << 20;

/// A connection that is made again when it has failed.
pub(super) struct Connection<'e> {
    endpoint: &'e Endpoint,
    /// Which of the endpoint's addresses is asked first.
    number: usize,
    open: Option<Open>,
}

/// One that is open.
pub(super) struct Open {
    client: Client<Link>,
    texts: Vec<String>,
    statements: Vec<PreparedStatement>,
}

impl<'e> Connection<'e> {
    pub(super) fn new(endpoint: &'e Endpoint, number: usize) -> Self {
        Self { endpoint, number, open: None }
    }

    /// Does something with these statements prepared. After a failure nobody knows what comes next: the connection is left.
    pub(super) fn with<R, E>(
        &mut self,
        texts: &[String],
        failed: fn(ClientError) -> E,
        work: impl FnOnce(&mut Open) -> Result<R, E>,
    ) -> Result<R, E> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => Open { client: self.endpoint.connect(self.number).map_err(failed)?, texts: Vec::new(), statements: Vec::new() },
        };
        if open.texts != texts {
            open.statements = texts.iter().map(|text| open.client.prepare(text)).collect::<Result<_, _>>().map_err(failed)?;
            open.texts = texts.to_vec();
        }
        let done = work(&mut open)?;
        self.open = Some(open);
        Ok(done)
    }
}

impl Open {
    /// A page of the first statement's rows; `read` gets them.
    pub(super) fn page<R>(
        &mut self,
        values: &ValuesBuffer,
        consistency: Consistency,
        (rows, state): (u32, Option<&[u8]>),
        read: impl FnOnce(&Rows<'_>) -> R,
    ) -> Result<R, ClientError> {
        let PreparedStatement { id, result_metadata_id } = &self.statements[0];
        let mut parameters = QueryParameters::new(consistency, values.as_values(VERSION));
        (parameters.page_size, parameters.paging_state) = (Some(rows), state);
        let request = Request::Execute(Execute { id, result_metadata_id, parameters });
        self.client.ask(&request, |response| match response {
            Response::Result(ResultResponse::Rows(rows)) => Some(read(rows)),
            _ => None,
        })
    }

    /// Adds a statement to those that are sent at once, and sends them when they are many.
    pub(super) fn write(&mut self, statement: usize, values: &ValuesBuffer) -> Result<(), ClientError> {
        let PreparedStatement { id, result_metadata_id } = &self.statements[statement];
        let parameters = QueryParameters::new(Consistency::Quorum, values.as_values(VERSION));
        let bytes = self.client.queue(&Request::Execute(Execute { id, result_metadata_id, parameters }))?;
        if bytes >= BYTES_MAX || self.client.queued() >= REQUESTS_MAX { self.finish() } else { Ok(()) }
    }

    /// Sends what is left, and waits until all is answered.
    pub(super) fn finish(&mut self) -> Result<(), ClientError> {
        if self.client.queued() == 0 { Ok(()) } else { self.client.run_queued() }
    }
}
