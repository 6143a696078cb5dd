//! Requests about records: from a decoded message to work on shards.
//!
//! A record of this core is read and written at once. A request that is the first to write a bin waits until the bin is declared
//! ([`crate::requests::Work::Declaration`]) and is then started again.

use super::{failure, schema_failure};
use crate::coordination::{Started, Ticket};
use crate::core::Core;
use crate::message::{Message, PartId, SchemaAction, SchemaRequest};
use crate::protocol::{AnyCoordinator, Reply};
use crate::requests::{REQUEST_BYTES, Request, Work as Waiting};
use crate::schema_changes::SchemaOutcome;
use aerospike::ResultCode;
use aerospike::exec::{self, Options, Shape, Work};
use aerospike::info::{NodeView, Truncation};
use aerospike::session::{Progress, Server};
use aerospike::wire;
use base::{CoreId, TableId};
use io::{ConnectionId, Reactor};
use model::operation::Operation;
use shard::{Access, Outcome};

/// The size that a record may have.
const RECORD_BYTES_MAX: u32 = 1 << 20;

/// Serves one connection's requests while its bytes are being received.
pub(crate) struct Records<'a, R> {
    pub(crate) core: &'a mut Core,
    pub(crate) reactor: &'a mut R,
    pub(crate) connection: ConnectionId,
}

/// Whether sets and bins that a request needs have been declared for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Declared {
    No,
    Yes,
}

impl<R: Reactor<Message = Message>> Server for Records<'_, R> {
    fn view(&self) -> NodeView<'_> {
        self.core.aerospike_view(self.reactor.now().wall_s())
    }

    fn truncate(&mut self, truncation: &Truncation<'_>, value: &mut Vec<u8>) -> Progress {
        let tables = match self.tables(truncation) {
            Ok(tables) => tables,
            Err(refusal) => {
                value.extend_from_slice(refusal.as_bytes());
                return Progress::Replied;
            }
        };
        if tables.is_empty() {
            value.extend_from_slice(b"ok");
            return Progress::Replied;
        }
        let core = &mut *self.core;
        let request = core.requests.insert(Request::single(self.connection, Reply::AerospikeInfo, REQUEST_BYTES));
        let request = SchemaRequest { origin: core.core, request, action: SchemaAction::Truncate(tables) };
        self.reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
        Progress::Waiting
    }

    #[inline]
    fn message(&mut self, message: &wire::Message<'_>, body: &[u8], out: &mut Vec<u8>) -> Progress {
        self.start(message, body, Declared::No, out)
    }
}

impl<R: Reactor<Message = Message>> Records<'_, R> {
    fn start(&mut self, message: &wire::Message<'_>, body: &[u8], declared: Declared, out: &mut Vec<u8>) -> Progress {
        let start = out.len();
        let shape = Shape::of(message);
        self.run(message, body, shape, declared, out).unwrap_or_else(|code| {
            out.truncate(start);
            shape.write(out, code);
            Progress::Replied
        })
    }

    /// The tables that are to be emptied.
    fn tables(&self, truncation: &Truncation<'_>) -> Result<Vec<TableId>, &'static str> {
        let Truncation { namespace, set } = *truncation;
        if !self.core.config.aerospike.namespaces.iter().any(|known| known.name == namespace) {
            return Err("ERROR:20:no such namespace");
        }
        let schema = &self.core.schema;
        if let Some(set) = set {
            let table = schema.record_set(namespace, set).map_err(|_| "ERROR:4:no such set")?;
            return Ok(table.map(|table| table.id).into_iter().collect());
        }
        let tables = schema.keyspaces.get(namespace).into_iter().flat_map(|keyspace| keyspace.tables.values());
        Ok(tables.filter(|table| table.records.is_some()).map(|table| table.id).collect())
    }

    #[inline]
    fn run(
        &mut self,
        message: &wire::Message<'_>,
        body: &[u8],
        shape: Shape,
        declared: Declared,
        out: &mut Vec<u8>,
    ) -> Result<Progress, ResultCode> {
        let context = self.core.context(self.reactor);
        let core = &mut *self.core;
        let options = Options { namespaces: &core.config.aerospike.namespaces, cores: core.pieces(), record_bytes_max: RECORD_BYTES_MAX };
        let bytes = REQUEST_BYTES + body.len();
        let waits = |work| Request { work, ..Request::single(self.connection, Reply::Aerospike(shape), bytes) };
        match exec::start(&core.schema, message, body, &options)? {
            Work::Record(record) if record.token().slot().core(core.cores) == core.core => {
                // The hot path: this core owns the record.
                let start = out.len();
                match core.shard.run(&context, &record, out) {
                    Outcome::Done => Ok(Progress::Replied),
                    Outcome::Failed(error) => Err(failure(&error)),
                    outcome => {
                        let part = PartId { request: core.requests.insert(waits(Waiting::Single)), part: PartId::WHOLE };
                        let ticket = Ticket { origin: core.core, part }.into();
                        match outcome {
                            Outcome::Unsynced(sequence) => core.shard.hold(ticket, sequence, out.split_off(start)),
                            _ => core.shard.park(ticket, record.to_operation()),
                        }
                        Ok(Progress::Waiting)
                    }
                }
            }
            Work::Record(record) => {
                let (owner, operation): (CoreId, Box<dyn Operation>) = (record.token().slot().core(core.cores), record.to_operation());
                check_waiting(core)?;
                let part = PartId { request: core.requests.insert(waits(Waiting::Single)), part: PartId::WHOLE };
                self.reactor.send(owner, Message::Run { part, access: Access::Primary, operation });
                Ok(Progress::Waiting)
            }
            Work::Coordinate(coordinator) => {
                check_waiting(core)?;
                let coordinator = AnyCoordinator::Aerospike(coordinator);
                Ok(match core.coordinate(self.reactor, self.connection, Reply::Aerospike(shape), coordinator, None, bytes, out) {
                    Started::Replied => Progress::Replied,
                    Started::Waiting => Progress::Waiting,
                })
            }
            // What was declared for a request is never taken away.
            Work::Declare(_) if declared == Declared::Yes => Err(ResultCode::SERVER_ERROR),
            Work::Declare(needs) => {
                check_waiting(core)?;
                let request = core.requests.insert(waits(Waiting::Declaration(body.into())));
                let request = SchemaRequest { origin: core.core, request, action: SchemaAction::Declare(needs) };
                self.reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
                Ok(Progress::Waiting)
            }
        }
    }
}

/// Refuses what would have to wait.
fn check_waiting(core: &Core) -> Result<(), ResultCode> {
    if core.is_full() { Err(ResultCode::DEVICE_OVERLOAD) } else { Ok(()) }
}

impl Core {
    /// Starts a request again for which bins were declared, or tells why they were not.
    pub(crate) fn start_again<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        connection: ConnectionId,
        body: &[u8],
        outcome: &SchemaOutcome,
    ) {
        let Ok(message) = wire::Message::decode(body) else { return };
        let mut out = Vec::new();
        let progress = match outcome {
            Ok(_) => Records { core: self, reactor, connection }.start(&message, body, Declared::Yes, &mut out),
            Err(failure) => {
                Shape::of(&message).write(&mut out, schema_failure(failure));
                Progress::Replied
            }
        };
        match progress {
            Progress::Replied => self.deliver(reactor, connection, &out),
            Progress::Waiting => self.deliver_piece(reactor, connection, &out),
        }
    }
}
