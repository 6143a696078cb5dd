//! A request on one record, wherever it came from: what it says, and its run on the shard that owns the record.

use super::elsewhere::Elsewhere;
use super::failure::Failure;
use crate::ResultCode;
use crate::expression::{Filter, Subject};
use crate::index;
use crate::record::{BinSource, Known, Record};
use crate::wire::{Attributes, MessageWriter, Operations, TransactionFields, info2};
use base::TableId;
use model::Table;
use model::operation::{Context, PartitionKey, RowStore, Stop, WriteSet};
use model::record_set::{DIGEST_BYTES, RecordSet, set_name, token};

/// What to do with one record of a set that exists.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) table: &'a Table,
    pub(super) set: &'a RecordSet,
    pub(super) digest: &'a [u8; DIGEST_BYTES],
    pub(super) attributes: Attributes,
    /// The key as the wire has it.
    pub(super) key: Option<&'a [u8]>,
    /// What the record has to meet.
    pub(super) filter: Option<&'a Result<Filter<'a>, ResultCode>>,
    pub(super) operations: Operations<'a>,
    pub(super) limits: Limits,
    /// The record's index in its batch.
    pub(super) index: u32,
    pub(super) transaction: TransactionFields,
    /// Of a job in the background.
    pub(super) selection: Option<&'a Selection>,
    /// Where else the record is looked for.
    pub(super) elsewhere: Option<Elsewhere<'a>>,
}

/// What a job in the background wants of records, which are looked at again where they are written: they are there, and have what its query asks for.
pub(super) struct Selection {
    pub(super) filter: Option<index::Filter>,
}

/// What the server decides about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) default_ttl_s: u32,
    pub(super) record_bytes_max: u32,
    pub(super) role: Role,
}

/// What a request has to do with transactions over several records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing.
    Plain,
    /// It belongs to one; monitors are in this table.
    Member(TableId),
    /// It is about a monitor, or what one locks.
    Monitor,
}

/// Whether a request with these attributes writes.
pub(super) fn is_write(attributes: &Attributes) -> bool {
    attributes.info2 & (info2::WRITE | info2::DELETE) != 0
}

impl<'a> Request<'a> {
    /// Where the record is.
    pub(super) fn partition(&self) -> PartitionKey<'a> {
        PartitionKey { table: self.table.id, token: token(self.digest), bytes: self.digest }
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.attributes.info2 & flag != 0
    }

    /// What expressions are about: these bins, and what is known of a record that is there.
    pub(super) fn subject<'s>(&'s self, context: &Context, record: Option<&Record<'s>>, bins: &'s dyn BinSource) -> Subject<'s> {
        let set = set_name(&self.table.name);
        match record {
            Some(record) => Subject::of_record(record, bins, set, self.digest, context),
            None => Subject { bins, set, key: None, digest: self.digest, stamp: None, row_bytes: 0, now_us: context.timestamp_us },
        }
    }

    /// Refuses a record that does not meet the filter.
    pub(super) fn check_filter(&self, context: &Context, record: &Record<'_>) -> Result<(), ResultCode> {
        if let Some(Selection { filter: Some(filter) }) = self.selection
            && !filter.is_met(record, self.set, &mut 0)
        {
            return Err(ResultCode::FILTERED_OUT);
        }
        let Some(filter) = self.filter else { return Ok(()) };
        let filter = filter.as_ref().map_err(|code| *code)?;
        let accepts = filter.accepts(&self.subject(context, Some(record), &Known(record, self.set)));
        if accepts { Ok(()) } else { Err(ResultCode::FILTERED_OUT) }
    }

    /// Runs it and appends one message.
    pub(super) fn run(&self, context: &Context, store: &dyn RowStore, writes: &mut WriteSet, out: &mut Vec<u8>) -> Result<(), Stop> {
        if self.limits.role != Role::Plain {
            return self.run_in_role(context, store, writes, out);
        }
        let start = out.len();
        let mut reply = MessageWriter::begin(out);
        reply.number = self.index;
        let outcome = if is_write(&self.attributes) {
            self.write(context, store, writes, &mut reply, out)
        } else {
            self.read(context, store, writes, &mut reply, out)
        };
        if let (Err(Failure::Code(ResultCode::NOT_FOUND)), Some(elsewhere)) = (&outcome, self.elsewhere) {
            out.truncate(start);
            if let Some((table, set)) = elsewhere.find(&self.partition(), context, store)? {
                return Request { table, set, elsewhere: None, ..*self }.run(context, store, writes, out);
            }
            write_failure(self.index, ResultCode::NOT_FOUND, out);
            return Ok(());
        }
        self.end_reply(outcome.map(|()| ResultCode::OK), reply, start, out)
    }

    /// Ends the message that begins at `start`, or has in its place the one that says no. Nothing is left of it if the request stops.
    pub(super) fn end_reply(
        &self,
        outcome: Result<ResultCode, Failure>,
        reply: MessageWriter,
        start: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        match outcome {
            Ok(code) => reply.end(out, code),
            Err(Failure::Stop(stop)) => {
                out.truncate(start);
                return Err(stop);
            }
            Err(Failure::Code(code)) => {
                out.truncate(start);
                write_failure(self.index, code, out);
            }
        }
        Ok(())
    }
}

/// Appends the message that says no about one record.
pub(super) fn write_failure(index: u32, code: ResultCode, out: &mut Vec<u8>) {
    let mut reply = MessageWriter::begin(out);
    reply.number = index;
    reply.end(out, code);
}
