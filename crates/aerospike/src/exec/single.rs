//! A request on one record, as an operation whose reply is the whole reply.

use super::elsewhere::Elsewhere;
use super::read::RENEWAL_PERCENT;
use super::request::{Limits, Request, Role, is_write};
use super::sets::current;
use crate::expression::Filter;
use crate::wire::{Attributes, Fields, Kind, Message, Operations, Proto, TransactionFields, info3};
use base::{TableId, Token};
use model::operation::{Context, Operation, RowStore, Stop, WriteSet};
use model::record_set::{DIGEST_BYTES, token};
use model::{Keyspace, Table};
use std::sync::Arc;

/// A request on one record: runs on the core that owns its token, and appends the whole reply.
#[derive(Clone, Debug)]
pub struct RecordRequest<'a> {
    pub(super) table: &'a Arc<Table>,
    pub(super) what: What<'a>,
    pub(super) body: &'a [u8],
    pub(super) digest: [u8; DIGEST_BYTES],
    pub(super) limits: Limits,
    /// In whose sets the record is looked for that is named by its digest alone.
    pub(super) elsewhere: Option<&'a Arc<Keyspace>>,
}

/// What it says, besides what record it is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct What<'a> {
    attributes: Attributes,
    key: Option<&'a [u8]>,
    filter: Option<&'a [u8]>,
    operations: Operations<'a>,
    transaction: TransactionFields,
}

impl<'a> What<'a> {
    pub(super) fn of(message: &Message<'a>) -> Self {
        let Message { attributes, fields, operations, .. } = message;
        let Fields { key, filter, transaction, .. } = *fields;
        Self { attributes: *attributes, key, filter, operations: *operations, transaction }
    }
}

impl RecordRequest<'_> {
    /// Where the record is.
    #[must_use]
    pub fn token(&self) -> Token {
        token(&self.digest)
    }

    /// The set that it is in.
    #[must_use]
    pub fn table(&self) -> TableId {
        self.table.id
    }

    /// Whether it changes the record.
    #[must_use]
    pub fn is_write(&self) -> bool {
        is_write(&self.what.attributes)
    }

    /// Whether any replica that is in sync may answer it, and so one that lags.
    #[must_use]
    pub fn reads_any_replica(&self) -> bool {
        let Attributes { info3, ttl, .. } = self.what.attributes;
        let renews = RENEWAL_PERCENT.contains(&ttl);
        info3 & info3::READ_RELAXED != 0 && !renews && !self.is_write() && self.limits.role == Role::Plain
    }

    /// The memory that [`RecordRequest::to_operation`] takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.body.len()
    }

    /// A copy that owns its bytes, to be sent to another core or kept while a row is read.
    #[must_use]
    pub fn to_operation(&self) -> Box<dyn Operation> {
        Box::new(OwnedRequest {
            table: Arc::clone(self.table),
            body: self.body.into(),
            digest: self.digest,
            limits: self.limits,
            elsewhere: self.elsewhere.cloned(),
        })
    }
}

impl Operation for RecordRequest<'_> {
    #[inline]
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        run(self.table, &self.what, &self.digest, self.limits, self.elsewhere.map(|keyspace| &**keyspace), context, store, writes, reply)
    }
}

#[allow(clippy::too_many_arguments, reason = "what an operation is given, and the parts of a request")]
fn run(
    table: &Table,
    what: &What<'_>,
    digest: &[u8; DIGEST_BYTES],
    limits: Limits,
    elsewhere: Option<&Keyspace>,
    context: &Context,
    store: &dyn RowStore,
    writes: &mut WriteSet,
    reply: &mut Vec<u8>,
) -> Result<(), Stop> {
    let (table, set) = current(store, table)?;
    let What { attributes, key, filter, operations, transaction } = *what;
    let filter = filter.map(Filter::parse);
    let filter = filter.as_ref();
    let elsewhere = elsewhere.map(|keyspace| Elsewhere { keyspace, only: None });
    let (index, selection) = (0, None);
    let request = Request { table, set, digest, attributes, key, filter, operations, limits, index, transaction, selection, elsewhere };
    let start = reply.len();
    let proto = Proto::begin(reply, Kind::Message);
    let outcome = request.run(context, store, writes, reply);
    match outcome {
        Ok(()) => proto.end(reply),
        Err(_) => reply.truncate(start),
    }
    outcome
}

/// A [`RecordRequest`] that owns what it needs.
struct OwnedRequest {
    table: Arc<Table>,
    body: Box<[u8]>,
    digest: [u8; DIGEST_BYTES],
    limits: Limits,
    elsewhere: Option<Arc<Keyspace>>,
}

impl Operation for OwnedRequest {
    fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let message = Message::decode(&self.body).expect("the same bytes were decoded before");
        run(&self.table, &What::of(&message), &self.digest, self.limits, self.elsewhere.as_deref(), context, store, writes, reply)
    }
}
