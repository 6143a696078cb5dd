//! A protocol for tests: lines of text. It is registered as a real one would be, and shows that the seam is enough for it.
//!
//! | line | what it does | reply |
//! |---|---|---|
//! | `PING` | nothing | `PONG` |
//! | `BACKGROUND` | from now on the connection's requests give way to others | `OK` |
//! | `CREATE` | makes the table, by a change of the schema | `OK` |
//! | `REFUSE` | asks for a change that the protocol refuses | `ERROR 7 never` |
//! | `ENSURE KEY VALUE` | makes the table if it is not there, then as `SET` | `OK` |
//! | `SET KEY VALUE` | writes a row, on the core that owns it | `OK` |
//! | `GET KEY` | reads it | the value, or `NONE` |
//! | `COUNT` | counts the rows of every core | the number |

mod tests;

use super::{ClientProtocol, ClientSession, ReplyForm, RequestCoordinator, Server, Verdict};
use crate::cluster::Asker;
use crate::coordination::Started;
use crate::core::Core;
use crate::message::{Message, PartId};
use crate::protocol::{AnyCoordinator, Reply};
use crate::requests::{REQUEST_BYTES, Request, Work};
use crate::schema_changes::{
    ResolvedChange, SchemaAction, SchemaChange, SchemaEnvironment, SchemaFailure, SchemaOutcome, SchemaRequest, SchemaUpdate,
};
use base::{CoreId, SLOT_COUNT, Slot, TableId, Token};
use io::{ConnectionId, Reactor};
use model::operation::{Context, Operation, Part, PartitionKey, Position, RowStore, Step, Stop, Visit, WriteSet};
use model::row::{Content, RowView, RowWriter, Stamp};
use model::{ColumnId, Schema};
use shard::{Access, ShardError};
use std::net::SocketAddr;
use std::sync::Arc;

pub(crate) struct Ping;

/// Bytes of a line that has not ended, and requests that wait.
#[derive(Default)]
pub(crate) struct PingSession {
    line: Vec<u8>,
    in_flight: u32,
    is_background: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PingReply;

/// Counts the rows of each core.
pub(crate) struct Count {
    table: TableId,
    cores: u16,
    is_asked: bool,
}

impl ClientProtocol for Ping {
    type Session = PingSession;
    type Reply = PingReply;
    type Coordinator = Count;

    const FORWARD_MARK: Option<u16> = Some(0xFF00);

    fn run_forwarded<R: Reactor<Message = Message>>(core: &mut Core, reactor: &mut R, asker: Asker, request: &[u8], _: Option<&[u8]>) {
        let mut out = Vec::new();
        serve((core, reactor, crate::cluster::NOBODY), Some(asker), &request[2..], &mut out);
        if !out.is_empty() {
            core.answer_asker(reactor, asker, Ok(out));
        }
    }

    fn start_again<R: Reactor<Message = Message>>(
        core: &mut Core,
        reactor: &mut R,
        connection: ConnectionId,
        body: &[u8],
        outcome: &SchemaOutcome,
        reply: PingReply,
    ) {
        let mut out = Vec::new();
        match outcome {
            Ok(_) => serve((core, reactor, connection), None, body, &mut out),
            Err(_) => reply.write_schema_outcome(outcome, &mut out),
        }
        if !out.is_empty() {
            core.deliver(reactor, connection, &out);
        }
    }
}

impl ClientSession for PingSession {
    type Workspace = ();

    fn open(_: SocketAddr, _: u32) -> Self {
        Self::default()
    }

    fn receive<R: Reactor<Message = Message>>(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        out_bytes_max: usize,
        (): &mut (),
        (core, reactor, connection): Server<'_, R>,
    ) -> Verdict {
        self.line.extend_from_slice(bytes);
        if out_bytes_max == 0 {
            return Verdict::Pause;
        }
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
            if line == b"BACKGROUND\n" {
                self.is_background = true;
                out.extend_from_slice(b"OK\n");
                continue;
            }
            let before = out.len();
            serve((&mut *core, &mut *reactor, connection), None, line.trim_ascii(), out);
            self.in_flight += u32::from(out.len() == before);
        }
        Verdict::Continue
    }

    fn buffered_bytes(&self) -> usize {
        self.line.len()
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn is_background(&self) -> bool {
        self.is_background
    }

    fn outstanding_bytes(&self) -> usize {
        0
    }

    fn takes_requests(&self, unsent_bytes: usize, unsent_bytes_max: usize) -> bool {
        unsent_bytes <= unsent_bytes_max
    }

    fn append_late_reply(&mut self, reply: &[u8], out: &mut Vec<u8>, (): &mut ()) {
        self.in_flight -= 1;
        out.extend_from_slice(reply);
    }

    fn append_piece(&mut self, piece: &[u8], out: &mut Vec<u8>, (): &mut ()) {
        out.extend_from_slice(piece);
    }
}

impl ReplyForm for PingReply {
    fn write_failure(self, error: &ShardError, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("ERROR {error}\n").as_bytes());
    }

    fn write_schema_outcome(self, outcome: &SchemaOutcome, out: &mut Vec<u8>) {
        match outcome {
            Ok(_) => out.extend_from_slice(b"OK\n"),
            Err(SchemaFailure::Rejected { code, message }) => out.extend_from_slice(format!("ERROR {code} {message}\n").as_bytes()),
            Err(failure) => out.extend_from_slice(format!("ERROR {failure}\n").as_bytes()),
        }
    }
}

impl RequestCoordinator for Count {
    type Reply = PingReply;

    fn step(&mut self, _: PingReply, results: Vec<Vec<u8>>, out: &mut Vec<u8>) -> Step {
        if self.is_asked {
            let count: u64 = results.iter().map(|result| u64::from_be_bytes(result[..].try_into().unwrap_or_default())).sum();
            out.extend_from_slice(format!("{count}\n").as_bytes());
            return Step::Done;
        }
        self.is_asked = true;
        let first_slot = |core| (0..SLOT_COUNT as u16).map(Slot).find(|slot| slot.core(self.cores) == CoreId(core));
        let parts = (0..self.cores).filter_map(first_slot).map(|slot| Part {
            table: self.table,
            token: slot.first_token(),
            operation: Box::new(CountRows(self.table)),
        });
        Step::Run(parts.collect())
    }

    fn part_failed(&self, _: u16, error: ShardError) -> Result<Vec<u8>, ShardError> {
        Err(error)
    }

    fn is_open(&self) -> bool {
        true
    }
}

struct CountRows(TableId);

impl Operation for CountRows {
    fn run(&self, _: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let mut count = 0u64;
        let from = Position { token: Token(i64::MIN), partition: &[], clustering: &[] };
        store.scan_table(self.0, from, Token(i64::MAX), &mut |_| {
            count += 1;
            Visit::Continue
        })?;
        reply.extend_from_slice(&count.to_be_bytes());
        Ok(())
    }
}

struct Put {
    table: TableId,
    key: Vec<u8>,
    value: Vec<u8>,
}

struct Get {
    table: TableId,
    key: Vec<u8>,
}

/// Keys that start with an even byte are the first core's of two.
fn partition(table: TableId, key: &[u8]) -> PartitionKey<'_> {
    let token = if key.first().is_some_and(|byte| byte % 2 == 0) { Token(i64::MIN + 9) } else { Token(i64::MAX - 9) };
    PartitionKey { table, token, bytes: key }
}

impl Operation for Put {
    fn run(&self, context: &Context, _: &dyn RowStore, writes: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let stamp = Stamp::at(context.timestamp_us);
        let mut row = RowWriter::new(writes.begin(&partition(self.table, &self.key), &[]), stamp, true, None);
        row.value(ColumnId(1), stamp, &self.value);
        row.finish();
        writes.end(None);
        reply.extend_from_slice(b"OK\n");
        Ok(())
    }
}

impl Operation for Get {
    fn run(&self, _: &Context, store: &dyn RowStore, _: &mut WriteSet, reply: &mut Vec<u8>) -> Result<(), Stop> {
        let row = store.get(&partition(self.table, &self.key), &[])?;
        let content = row.and_then(|row| RowView::new(row).cells().next()).map(|cell| cell.content);
        let value = if let Some(Content::Value(value)) = content { value } else { b"NONE" };
        reply.extend_from_slice(value);
        reply.push(b'\n');
        Ok(())
    }
}

/// Makes the table, or refuses to.
enum Change {
    Create,
    Refuse,
}

impl SchemaChange for Change {
    fn resolve(&self, schema: &Arc<Schema>, environment: &mut SchemaEnvironment<'_>) -> Result<ResolvedChange, SchemaFailure> {
        if matches!(self, Self::Refuse) {
            return Err(SchemaFailure::Rejected { code: 7, message: "never".to_owned() });
        }
        let Some(declared) = schema.declare_bins("ping", "lines", &[], (environment.uuid)())? else { return Ok(ResolvedChange::default()) };
        let update = SchemaUpdate { schema: Arc::new(declared.schema), dropped: Vec::new(), truncated: Vec::new(), events: Vec::new() };
        Ok(ResolvedChange { update: Some(update), warnings: Vec::new() })
    }
}

/// Serves a line; without a reply now, there is one later.
fn serve<R: Reactor<Message = Message>>((core, reactor, connection): Server<'_, R>, asker: Option<Asker>, line: &[u8], out: &mut Vec<u8>) {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let request = Request { asker, ..Request::single(connection, Reply::Ping(PingReply), REQUEST_BYTES) };
    let table = core.schema.record_set("ping", "lines").ok().flatten().map(|table| table.id);
    let change = |core: &mut Core, reactor: &mut R, request, change| {
        let request = core.requests.insert(request);
        let request = SchemaRequest { origin: core.core, request, action: SchemaAction::Change(Box::new(change)) };
        reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
    };
    let (key, operation): (&[u8], Box<dyn Operation>) = match (&words[..], table) {
        ([b"PING"], _) => return out.extend_from_slice(b"PONG\n"),
        ([b"CREATE"], _) => return change(core, reactor, request, Change::Create),
        ([b"REFUSE"], _) => return change(core, reactor, request, Change::Refuse),
        ([b"ENSURE", ..], None) => {
            return change(core, reactor, Request { work: Work::Restart(line.into()), ..request }, Change::Create);
        }
        ([b"COUNT"], Some(table)) => {
            let coordinator = AnyCoordinator::Ping(Count { table, cores: core.cores, is_asked: false });
            let started = core.coordinate(reactor, connection, Reply::Ping(PingReply), coordinator, None, 0, out);
            return assert_eq!(started, Started::Waiting);
        }
        ([b"SET" | b"ENSURE", key, value], Some(table)) => (key, Box::new(Put { table, key: key.to_vec(), value: value.to_vec() })),
        ([b"GET", key], Some(table)) => (key, Box::new(Get { table, key: key.to_vec() })),
        _ => return out.extend_from_slice(b"ERROR what?\n"),
    };
    let part = PartId { request: core.requests.insert(request), part: PartId::WHOLE };
    let owner = partition(TableId(0), key).token.slot().core(core.cores);
    reactor.send(owner, Message::Run { part, access: Access::Primary, operation });
}
