//! One statement with its values, ready to run.

use super::bindings::Bindings;
use super::keys;
use crate::plan::Prepared;
use crate::wire::{Consistency, ProtocolVersion, StreamId};
use base::{Now, Token};
use model::Table;
use model::operation::Context;
use std::cell::Cell;
use std::sync::Arc;

/// What a request says besides its statement and values.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The connection's protocol version.
    pub version: ProtocolVersion,
    /// The request's stream.
    pub stream: StreamId,
    /// The level it asked for.
    pub consistency: Consistency,
    /// Rows a page; `None` is all.
    pub page_size: Option<u32>,
    /// The default write timestamp that the driver sent.
    pub timestamp: Option<i64>,
    /// Whether the client knows the result's columns.
    pub skip_metadata: bool,
    /// The driver's idea of now, in seconds (v5).
    pub now_s: Option<u32>,
    /// When the request was taken, which is "now" for its functions and expiries however often it runs.
    pub started: Now,
    /// What makes this request's `uuid()` and `now()` different from any other's, however often it runs.
    pub nonce: u64,
    /// Statements about many partitions make a part for each core. In a cluster, where each slot may be served by another member, this
    /// is [`base::SLOT_COUNT`].
    pub cores: u16,
    /// A result without pages may have this many bytes.
    pub result_bytes_max: u32,
}

/// A statement, its values and the request's options. It is itself the operation when one partition is enough.
#[derive(Debug)]
pub struct Execution<'a> {
    /// The statement.
    pub prepared: &'a Arc<Prepared>,
    /// Its values.
    pub bindings: Bindings<'a>,
    /// The request's options.
    pub options: Options,
    /// Where the page before ended.
    pub paging_state: Option<&'a [u8]>,
    /// Its partition's, once [`start`](super::start) has told.
    pub(super) token: Cell<Option<Token>>,
}

impl<'a> Execution<'a> {
    /// A statement whose values are yet to be bound.
    #[inline]
    #[must_use]
    pub fn new(prepared: &'a Arc<Prepared>, options: Options, paging_state: Option<&'a [u8]>) -> Self {
        Self { prepared, bindings: Bindings::default(), options, paging_state, token: Cell::new(None) }
    }

    /// The token of `key`, its partition's.
    #[inline]
    pub(super) fn token_of(&self, table: &Table, key: &[u8]) -> Token {
        let token = self.token.get().unwrap_or_else(|| keys::token(table, key));
        debug_assert_eq!(token, keys::token(table, key), "a statement has one partition, however often it runs");
        token
    }
}

impl Options {
    /// The time an operation goes by: the client's if it sent one.
    #[must_use]
    pub fn now_s(&self, context: &Context) -> u32 {
        self.now_s.unwrap_or_else(|| context.now_s())
    }

    /// The context of a run, with what must not change from one run to the next as it was at first; `item` numbers the statements of a
    /// batch.
    #[must_use]
    pub(super) fn fix(&self, context: &Context, item: usize) -> Context {
        Context { now: self.started, nonce: self.nonce.wrapping_add((item as u64) << 24), ..*context }
    }
}
