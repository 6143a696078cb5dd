//! A client: statements to bytes, bytes to replies, any number in flight.

use crate::connection::Phase;
use crate::machine::{Machine, STEPS_MAX};
use crate::statement::{Bound, Statement};
use cql::wire::{
    Batch, BatchBuffer, BatchStatement, Compression, CompressionWorkspace, Direction, Execute, FRAME_BODY_BYTES_MAX, FrameDecoder,
    FrameEncoder, FrameFlags, Opcode, Prepare, ProtocolVersion, Query, QueryParameters, Request, Response, ResultResponse, StreamId,
    TABLETS_ROUTING_PAYLOAD, Value, ValuesBuffer, write_register, write_startup,
};
use io::ConnectionId;
use std::collections::{BTreeMap, BTreeSet};

/// What the server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Done: void, a keyspace, a change of the schema.
    Done,
    /// Rows, and where the next page begins.
    Rows {
        /// Columns in the order of the statement.
        rows: Vec<Vec<Bound>>,
        /// For the next page.
        paging_state: Option<Vec<u8>>,
    },
    /// The id of a prepared statement.
    Prepared(Vec<u8>),
    /// An error frame.
    Error {
        /// CQL's code.
        code: i32,
        /// Its text.
        message: String,
    },
    /// The server has ended the connection, or the machine is dead.
    Nothing,
}

impl Reply {
    /// The rows of a reply that has some.
    ///
    /// # Panics
    /// When it has none.
    #[track_caller]
    #[must_use]
    pub fn rows(self) -> Vec<Vec<Bound>> {
        match self {
            Self::Rows { rows, .. } => rows,
            other => panic!("rows were expected, not {other:?}"),
        }
    }

    /// Asserts that it is not an error.
    ///
    /// # Panics
    /// When it is one.
    #[track_caller]
    pub fn done(self) {
        assert!(matches!(self, Self::Done), "the statement should have been done: {self:?}");
    }

    /// The code of an error.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        if let Self::Error { code, .. } = self { Some(*code) } else { None }
    }
}

const BOOTSTRAPPING: i32 = 0x1002;
const OVERLOADED: i32 = 0x1001;
/// Who is told to try again later does so, not for ever.
const OVERLOADED_US: u64 = 10_000;
const OVERLOADED_MAX: u32 = 100;

/// A connection as a driver has it.
pub struct Client {
    /// The core, and the connection there.
    pub end: (u16, ConnectionId),
    version: ProtocolVersion,
    compression: Option<Compression>,
    decoder: FrameDecoder,
    encoder: FrameEncoder,
    workspace: CompressionWorkspace,
    streams: BTreeSet<i16>,
    replies: BTreeMap<i16, Reply>,
    /// The stream of the first request, until it is answered.
    starting: Option<i16>,
    /// How many events came.
    pub events: usize,
    /// Where the last reply said that its partition is, to a client that has asked for that.
    pub tablet: Option<Vec<u8>>,
    /// Whether the server has refused STARTUP, as a member does that does not know its cluster yet.
    is_refused: bool,
    /// The last error, with all that its kind tells.
    pub error: Option<String>,
}

impl Client {
    /// Connects to a core and says STARTUP.
    pub fn connect(machine: &mut Machine, core: u16, version: ProtocolVersion, compression: Option<Compression>) -> Self {
        let mut client = Self::begin(machine, core, version, compression);
        let ready = (0..STEPS_MAX).any(|_| {
            let ready = client.is_ready(machine);
            if !ready {
                machine.step();
            }
            ready
        });
        assert!(ready, "the server does not answer STARTUP");
        client
    }

    /// As [`Client::connect`], for who moves the machine: nothing may be sent before [`Client::is_ready`].
    pub fn begin(machine: &mut Machine, core: u16, version: ProtocolVersion, compression: Option<Compression>) -> Self {
        Self::begin_with(machine, core, version, compression, None)
    }

    /// As [`Client::begin`], with an extension of the protocol.
    pub fn begin_with(
        machine: &mut Machine,
        core: u16,
        version: ProtocolVersion,
        compression: Option<Compression>,
        extension: Option<&str>,
    ) -> Self {
        let mut client = Self {
            end: machine.accept(core),
            version,
            compression,
            decoder: FrameDecoder::new(Direction::Response, FRAME_BODY_BYTES_MAX),
            encoder: FrameEncoder::new(Direction::Request),
            workspace: CompressionWorkspace::new(),
            streams: BTreeSet::new(),
            replies: BTreeMap::new(),
            starting: None,
            events: 0,
            tablet: None,
            error: None,
            is_refused: false,
        };
        let options = [("CQL_VERSION", "3.0.0")].into_iter().chain(compression.map(|name| ("COMPRESSION", name.name())));
        let options = options.chain(extension.map(|name| (name, "")));
        client.starting = Some(client.write(machine, Opcode::Startup, |body, _| write_startup(body, options)));
        client
    }

    /// Whether the server has answered STARTUP, or is gone.
    ///
    /// # Panics
    /// When it has answered with an error.
    pub fn is_ready(&mut self, machine: &mut Machine) -> bool {
        let Some(stream) = self.starting else { return true };
        match self.poll(machine, stream) {
            None => return false,
            Some(Reply::Error { code: BOOTSTRAPPING, .. }) => {
                self.is_refused = true;
                return false;
            }
            // A process with a planned crash may die in background work; no request of a client gets a reply then.
            Some(Reply::Nothing) => {}
            Some(reply) => {
                reply.done();
                self.decoder.startup_agreed(self.version, self.compression).unwrap();
                self.encoder.startup_agreed(self.version, self.compression).unwrap();
            }
        }
        self.starting = None;
        true
    }

    /// Connects to a core in a way that the seed picks.
    pub fn any(machine: &mut Machine, core: u16) -> Self {
        let version = [ProtocolVersion::V3, ProtocolVersion::V4, ProtocolVersion::V5][machine.rng().below(3) as usize];
        let compression = [None, Some(Compression::Lz4), Some(Compression::Snappy)][machine.rng().below(3) as usize];
        let compression = compression.filter(|name| version < ProtocolVersion::V5 || *name == Compression::Lz4);
        Self::connect(machine, core, version, compression)
    }

    /// Asks for events.
    pub fn register(&mut self, machine: &mut Machine) {
        let stream = self.write(machine, Opcode::Register, |body, _| write_register(body, ["SCHEMA_CHANGE"]));
        self.wait(machine, stream).done();
    }

    /// Sends a statement; its reply is waited for by the stream.
    pub fn send(&mut self, machine: &mut Machine, statement: &Statement) -> i16 {
        let values = buffer(&statement.values);
        let version = self.version;
        let mut parameters = QueryParameters::new(statement.consistency, values.as_values(version));
        parameters.page_size = statement.page_size;
        parameters.paging_state = statement.paging_state.as_deref();
        parameters.common.timestamp = statement.timestamp;
        if let Some((kind, statements)) = &statement.batch {
            let mut batch = BatchBuffer::new();
            for one in statements {
                let what = one.id.as_deref().map_or(BatchStatement::Text(&one.text), BatchStatement::Prepared);
                batch.push(what, &buffer(&one.values).as_values(version));
            }
            let common = parameters.common;
            return self.write(machine, Opcode::Batch, |body, version| {
                let statements = batch.as_statements(version);
                Request::Batch(Batch { kind: *kind, statements, consistency: statement.consistency, common }).write(body, version).unwrap();
            });
        }
        match &statement.id {
            Some(id) => self.write(machine, Opcode::Execute, |body, version| {
                Request::Execute(Execute { id, result_metadata_id: &[0; 16], parameters }).write(body, version).unwrap();
            }),
            None => self.write(machine, Opcode::Query, |body, version| {
                Request::Query(Query { text: &statement.text, parameters }).write(body, version).unwrap();
            }),
        }
    }

    /// Sends a statement and waits for its reply.
    pub fn call(&mut self, machine: &mut Machine, statement: &Statement) -> Reply {
        let stream = self.send(machine, statement);
        self.wait(machine, stream)
    }

    /// [`Client::call`] of a text alone.
    pub fn query(&mut self, machine: &mut Machine, text: &str) -> Reply {
        self.call(machine, &Statement::new(text))
    }

    /// Asks for a statement to be prepared; the reply is waited for by the stream.
    pub fn send_prepare(&mut self, machine: &mut Machine, text: &str) -> i16 {
        self.write(machine, Opcode::Prepare, |body, version| {
            Request::Prepare(Prepare { text, keyspace: None }).write(body, version).unwrap();
        })
    }

    /// Prepares, and gives the id.
    pub fn prepare(&mut self, machine: &mut Machine, text: &str) -> Vec<u8> {
        let stream = self.send_prepare(machine, text);
        match self.wait(machine, stream) {
            Reply::Prepared(id) => id,
            other => panic!("{text} cannot be prepared: {other:?}"),
        }
    }

    /// All rows, page by page.
    pub fn pages(&mut self, machine: &mut Machine, statement: &Statement, page_size: u32) -> Vec<Vec<Bound>> {
        let (mut all, mut state, mut refused) = (Vec::new(), None, 0);
        loop {
            match self.call(machine, &statement.clone().page(page_size, state.clone())) {
                // What was left to be done at the start may be all that a core has room for.
                Reply::Error { code: OVERLOADED, .. } if refused < OVERLOADED_MAX => {
                    refused += 1;
                    machine.sleep(OVERLOADED_US);
                }
                Reply::Rows { rows, paging_state } => {
                    all.extend(rows);
                    match paging_state {
                        Some(next) => state = Some(next),
                        None => return all,
                    }
                }
                other => panic!("a page was expected, not {other:?}"),
            }
        }
    }

    /// Waits for the reply of a stream.
    pub fn wait(&mut self, machine: &mut Machine, stream: i16) -> Reply {
        for _ in 0..STEPS_MAX {
            self.receive(machine);
            if let Some(reply) = self.replies.remove(&stream) {
                return reply;
            }
            if self.is_over(machine) {
                return Reply::Nothing;
            }
            machine.step();
        }
        panic!("no reply to stream {stream} within {STEPS_MAX} steps: {}", machine.describe());
    }

    /// The reply of a stream, if it is there.
    pub fn poll(&mut self, machine: &mut Machine, stream: i16) -> Option<Reply> {
        self.receive(machine);
        let over = self.is_over(machine);
        self.replies.remove(&stream).or(over.then_some(Reply::Nothing))
    }

    /// Whether the server has ended the connection, or has not let it begin.
    pub fn is_over(&self, machine: &mut Machine) -> bool {
        self.is_refused || machine.is_dead() || machine.connection(self.end).is_none_or(|connection| connection.phase == Phase::Gone)
    }

    fn write(&mut self, machine: &mut Machine, opcode: Opcode, body: impl FnOnce(&mut Vec<u8>, ProtocolVersion)) -> i16 {
        let stream = (0..i16::MAX).find(|stream| !self.streams.contains(stream)).unwrap();
        self.streams.insert(stream);
        let mut out = Vec::new();
        let mark = self.encoder.begin(&mut out, self.version, FrameFlags::NONE, StreamId(stream), opcode);
        body(&mut out, self.version);
        self.encoder.end(&mut out, mark, &mut self.workspace).unwrap();
        self.encoder.flush(&mut out, &mut self.workspace);
        if let Some(connection) = machine.connection(self.end) {
            connection.to_core.extend(out);
        }
        stream
    }

    /// Reads whatever has come.
    fn receive(&mut self, machine: &mut Machine) {
        let Some(connection) = machine.connection(self.end) else { return };
        if connection.to_client.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut connection.to_client);
        let mut frames = self.decoder.feed(&bytes, &mut self.workspace);
        while let Some(frame) = frames.next_frame().unwrap() {
            let stream = frame.header.stream.0;
            let (envelope, response) = Response::decode(&frame).unwrap();
            let tablet = envelope.custom_payload.iter().find(|(key, _)| *key == TABLETS_ROUTING_PAYLOAD);
            self.tablet = tablet.and_then(|(_, value)| value.map(<[u8]>::to_vec));
            let reply = match response {
                Response::Error(error) => {
                    self.error = Some(format!("{:?}", error.kind));
                    Reply::Error { code: error.kind.code(), message: error.message.to_owned() }
                }
                Response::Result(ResultResponse::Rows(rows)) => Reply::Rows {
                    rows: rows.iter().map(|row| row.map(|cell| cell.map(<[u8]>::to_vec)).collect()).collect(),
                    paging_state: rows.metadata.paging_state.map(<[u8]>::to_vec),
                },
                Response::Result(ResultResponse::Prepared(prepared)) => Reply::Prepared(prepared.id.to_vec()),
                Response::Event(_) => {
                    self.events += 1;
                    continue;
                }
                _ => Reply::Done,
            };
            assert!(self.streams.remove(&stream), "a reply to stream {stream}, on which nothing was asked: {reply:?}");
            self.replies.insert(stream, reply);
        }
    }
}

fn buffer(values: &[Bound]) -> ValuesBuffer {
    let mut buffer = ValuesBuffer::new();
    for value in values {
        buffer.push(value.as_deref().map_or(Value::Null, Value::Bytes));
    }
    buffer
}
