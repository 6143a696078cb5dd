//! Statements for which a trace was asked: what is noted of a request before it runs, and where its reply says so.

use super::audited;
use super::statements::Statements;
use crate::message::Message;
use crate::traces::TracedRequest;
use base::Now;
use cql::Trace;
use cql::session::{Client, Server};
use cql::wire::{self, CommonParameters, Consistency, StreamId};
use io::Reactor;
use std::sync::Arc;

impl<R: Reactor<Message = Message>> Statements<'_, R> {
    /// Serves a statement and notes what happens to it.
    #[cold]
    pub(super) fn serve_traced(&mut self, client: &mut Client, stream: StreamId, request: wire::Request<'_>, out: &mut Vec<u8>) {
        let Some(traces) = self.core.config.board.as_ref().map(|board| Arc::clone(board.traces())) else {
            return self.statement(client, stream, request, out);
        };
        let trace = self.trace_of(client, &request);
        let text = trace.parameters.iter().find(|(name, _)| name == "query").map(|(_, text)| text.clone());
        let traced = TracedRequest::begin(&traces, self.core.core, trace);
        if let Some(text) = text {
            let verb = if matches!(request, wire::Request::Execute(_)) { "Executing prepared" } else { "Parsing" };
            traced.note(self.reactor.clock_us(), format!("{verb} {text}"));
        }
        self.core.requests.traced = Some(Box::new(traced));
        let start = out.len();
        self.statement(client, stream, request, out);
        // A request that waits has taken it.
        if let Some(traced) = self.core.requests.traced.take() {
            let clock_us = self.reactor.clock_us();
            traced.note(clock_us, format!("Core {} has answered at once", self.core.core.0));
            traced.end(clock_us, out, start);
        }
    }

    /// Notes what happens to the request, if it has a trace.
    #[inline]
    pub(super) fn trace(&self, activity: impl FnOnce() -> String) {
        self.core.trace_start(self.reactor, activity);
    }

    fn trace_of(&mut self, client: &Client, request: &wire::Request<'_>) -> Trace {
        let began = Now { monotonic_us: self.reactor.clock_us(), wall_us: self.reactor.now().wall_us };
        let nonce = self.core.context(self.reactor).nonce;
        let mut parameters = Vec::new();
        let mut add = |name: &str, value: String| parameters.push((name.to_owned(), value));
        let levels = |consistency: Consistency, common: &CommonParameters<'_>| {
            let serial = common.serial_consistency.unwrap_or(Consistency::Serial);
            [("consistency_level", consistency.to_string()), ("serial_consistency_level", serial.to_string())]
        };
        let what = match request {
            wire::Request::Query(query) => {
                add("query", audited::without_passwords(query.text));
                levels(query.parameters.consistency, &query.parameters.common).into_iter().for_each(|(name, value)| add(name, value));
                query.parameters.page_size.into_iter().for_each(|size| add("page_size", size.to_string()));
                "Execute CQL3 query"
            }
            wire::Request::Execute(execute) => {
                if let Some(prepared) = self.core.protocols.cql.statements.prepared(execute.id, &self.core.schema) {
                    add("query", audited::without_passwords(&prepared.text));
                }
                levels(execute.parameters.consistency, &execute.parameters.common).into_iter().for_each(|(name, value)| add(name, value));
                execute.parameters.page_size.into_iter().for_each(|size| add("page_size", size.to_string()));
                "Execute CQL3 prepared query"
            }
            wire::Request::Batch(batch) => {
                levels(batch.consistency, &batch.common).into_iter().for_each(|(name, value)| add(name, value));
                "Execute batch of CQL3 queries"
            }
            wire::Request::Prepare(prepare) => {
                add("query", audited::without_passwords(prepare.text));
                "Preparing CQL3 query"
            }
            _ => "Execute CQL3 query",
        };
        Trace::new((began, nonce), client.address.ip(), what, parameters)
    }
}
