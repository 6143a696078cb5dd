//! A protocol for tests: lines of text. It is registered as a real one would be, and shows that the seam is enough for it.
//!
//! | line | what it does | reply |
//! |---|---|---|
//! | `PING` | nothing | `PONG` |
//! | `CREATE` | makes the table, by a change of the schema | `OK` |
//! | `REFUSE` | asks for a change that the protocol refuses | `ERROR 7 never` |
//! | `ENSURE KEY VALUE` | makes the table if it is not there, then as `SET` | `OK` |
//! | `SET KEY VALUE` | writes a row, on the core that owns it | `OK` |
//! | `GET KEY` | reads it | the value, or `NONE` |
//! | `COUNT` | counts the rows of every core | the number |

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
        _: usize,
        (): &mut (),
        (core, reactor, connection): Server<'_, R>,
    ) -> Verdict {
        self.line.extend_from_slice(bytes);
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
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

mod tests {
    use super::*;
    use crate::core::CoreParts;
    use crate::{AerospikeConfig, MetadataBlobs, NodeConfig, Protocol, SharedStatements};
    use base::Rng;
    use cql::exec::BatchLimits;
    use engine::{Config, Engine};
    use io::{DiskCompletion, DiskRequest, DiskTag, Handler, ListenerId, Now};
    use shard::{Durability, Shard};
    use sim_disk::{Disk, Stable};
    use std::collections::{BTreeMap, BTreeSet, VecDeque};
    use std::net::Ipv4Addr;
    use std::sync::OnceLock;

    const CLIENT: ConnectionId = ConnectionId { index: 0, generation: 0 };

    /// A reactor whose connections are buffers.
    struct Machine {
        core: CoreId,
        now: Now,
        output: Vec<u8>,
        disk: Disk,
        blobs: Vec<DiskTag>,
        sent: VecDeque<(CoreId, Message)>,
    }

    impl Reactor for Machine {
        type Message = Message;

        fn now(&self) -> Now {
            self.now
        }

        fn clock_us(&self) -> u64 {
            self.now.monotonic_us
        }

        fn slept_us(&self) -> u64 {
            0
        }

        fn core(&self) -> CoreId {
            self.core
        }

        fn cores(&self) -> u16 {
            2
        }

        fn output(&mut self, _: ConnectionId) -> Option<&mut Vec<u8>> {
            Some(&mut self.output)
        }

        fn put_output(&mut self, _: ConnectionId, output: Vec<u8>) {
            self.output = output;
        }

        fn unsent_bytes(&self, _: ConnectionId) -> usize {
            self.output.len()
        }

        fn set_reading(&mut self, _: ConnectionId, _: bool) {}

        fn close(&mut self, _: ConnectionId) {}

        fn abort(&mut self, _: ConnectionId) {}

        fn connect(&mut self, _: SocketAddr, _: Option<(CoreId, u16)>) -> ConnectionId {
            crate::cluster::NOBODY
        }

        fn submit(&mut self, tag: DiskTag, request: DiskRequest) {
            match request {
                DiskRequest::ReplaceBlob { .. } => self.blobs.push(tag),
                request => self.disk.submit(tag, request),
            }
        }

        fn send(&mut self, to: CoreId, message: Message) {
            self.sent.push_back((to, message));
        }

        fn entropy(&mut self, bytes: &mut [u8]) {
            bytes.fill(7);
        }

        fn stop(&mut self) {}
    }

    /// A node of two cores, with one client at the first.
    struct Node {
        cores: Vec<(Core, Machine)>,
        dice: Rng,
    }

    impl Node {
        fn start() -> Self {
            let now = Now { monotonic_us: 1, wall_us: 1_700_000_000_000_000 };
            let config = Arc::new(NodeConfig {
                role_uses: Arc::default(),
                live: Arc::new(BatchLimits::default().into()),
                requires_login: false,
                certificates: None,
                first_superuser: None,
                checks_permissions: false,
                client_tls: None,
                audit: None,
                cluster_name: "ping".to_owned(),
                data_center: "here".to_owned(),
                rack: "rack".to_owned(),
                host_id: 1,
                protocols: vec![Protocol::Ping],
                aerospike: AerospikeConfig::default(),
                cluster: None,
                board: None,
                listening: OnceLock::new(),
                started_s: 0,
                frame_body_bytes_max: 1 << 20,
                unsent_bytes_max: 1 << 20,
                requests_bytes_max: 8 << 20,
            });
            let statements = Arc::new(SharedStatements::new(1 << 20));
            let core = |core: u16| {
                let engine_config = Config { segment_bytes: 64 << 10, ..Config::new(7, core.into(), 0, 4 << 20, 4 << 20) };
                let stable = Stable::new(engine_config.stable_bytes(3));
                let engine = Engine::open(engine_config, Box::new(stable), &BTreeMap::new(), now);
                let parts = CoreParts {
                    core: CoreId(core),
                    cores: 2,
                    config: Arc::clone(&config),
                    schema: Arc::new(Schema::empty()),
                    shard: Shard::new(engine.expect("an empty disk"), Durability::Memory, BTreeSet::new(), BTreeMap::new(), core.into()),
                    statements: Arc::clone(&statements),
                    replication: None,
                    metadata: MetadataBlobs::default(),
                    on_ready: None,
                };
                let machine =
                    Machine { core: CoreId(core), now, output: Vec::new(), disk: Disk::new(), blobs: Vec::new(), sent: VecDeque::new() };
                (Core::new(parts), machine)
            };
            let mut node = Self { cores: vec![core(0), core(1)], dice: Rng::new(1) };
            node.settle();
            let (core, machine) = &mut node.cores[0];
            core.accepted(machine, CLIENT, ListenerId(0), (Ipv4Addr::LOCALHOST, 1).into());
            node
        }

        /// Lets disks and messages come to rest.
        fn settle(&mut self) {
            for _ in 0..200 {
                let mut sent = Vec::new();
                for (core, machine) in &mut self.cores {
                    machine.now.monotonic_us += 1_000;
                    machine.now.wall_us += 1_000;
                    for tag in std::mem::take(&mut machine.blobs) {
                        core.completed(machine, DiskCompletion { tag, result: Ok(()), buffer: None });
                    }
                    while let Some(completion) = machine.disk.step(&mut self.dice) {
                        core.completed(machine, completion);
                    }
                    core.turn(machine);
                    sent.extend(machine.sent.drain(..).map(|(to, message)| (machine.core, to, message)));
                }
                for (from, to, message) in sent {
                    let (core, machine) = &mut self.cores[usize::from(to.0)];
                    core.message(machine, from, message);
                }
            }
        }

        fn send(&mut self, bytes: &str) {
            let (core, machine) = &mut self.cores[0];
            core.received(machine, CLIENT, bytes.as_bytes());
        }

        fn taken(&mut self) -> String {
            String::from_utf8(std::mem::take(&mut self.cores[0].1.output)).unwrap_or_default()
        }

        /// What a client has got for a line when nothing happens any more.
        fn ask(&mut self, line: &str) -> String {
            self.send(&format!("{line}\n"));
            self.settle();
            self.taken()
        }
    }

    #[test]
    fn a_protocol_that_is_only_registered_is_served() {
        let mut node = Node::start();
        node.send("PING\nPI");
        assert_eq!(node.taken(), "PONG\n", "what needs no shard is answered while it is received");
        assert_eq!(node.ask("NG"), "PONG\n");
        assert_eq!(node.ask("SET a 1"), "ERROR what?\n", "there is no table");
        assert_eq!(node.ask("REFUSE"), "ERROR 7 never\n");
        assert_eq!(node.ask("CREATE"), "OK\n");
        // One key of each core.
        assert_eq!(node.ask("SET a 1\nSET b 2"), "OK\nOK\n");
        assert_eq!([node.ask("GET a"), node.ask("GET b"), node.ask("GET c")], ["1\n", "2\n", "NONE\n"]);
        assert_eq!(node.ask("COUNT"), "2\n");
    }

    #[test]
    fn its_request_waits_for_the_schema_and_starts_again() {
        let mut node = Node::start();
        assert_eq!(node.ask("ENSURE a 5"), "OK\n");
        assert_eq!(node.ask("GET a"), "5\n");
    }

    #[test]
    fn its_mark_names_it_when_a_request_travels() {
        let mut node = Node::start();
        assert_eq!(node.ask("ENSURE a 5"), "OK\n");
        let (core, machine) = &mut node.cores[1];
        let asker = Asker::Core { core: CoreId(0), id: 3 };
        core.run_forwarded_request(machine, asker, b"\xFF\x00GET a", None);
        core.run_forwarded_request(machine, asker, b"\xFF\x00PING", None);
        let mut answers = Vec::new();
        for _ in 0..3 {
            for (to, message) in std::mem::take(&mut machine.sent) {
                match message {
                    Message::Forwarded { id, outcome } => answers.push((to, id, outcome.unwrap_or_default())),
                    message => core.message(machine, CoreId(1), message),
                }
            }
            core.turn(machine);
        }
        answers.sort_by_key(|(.., reply)| reply.clone());
        assert_eq!(answers, [(CoreId(0), 3, b"5\n".to_vec()), (CoreId(0), 3, b"PONG\n".to_vec())]);
    }
}
