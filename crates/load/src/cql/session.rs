//! One CQL connection without its socket: handshake, requests from templates, replies.
//!
//! ```text
//! open ─► STARTUP ─► READY ────────────────────────► PREPARE of each statement, at once ─► ready ─► EXECUTE …
//!              └──► AUTHENTICATE ─► AUTH_RESPONSE ─► AUTH_SUCCESS ─┘
//! ```

use super::client::{Credentials, error_name};
use super::own::Parameter;
use super::statements::{Purpose, Statement};
use super::template::{Template, value};
use crate::tables::Tables;
use crate::target::{Replies, Request, RowVersion, Session, TargetError, WriteKind};
use crate::values::ValueMaker;
use ::cql::wire::{
    CompressionWorkspace, Consistency, Direction, ErrorKind, ErrorResponse, FRAME_BODY_BYTES_MAX, FrameDecoder, FrameEncoder, FrameFlags,
    Opcode, Prepare, ProtocolVersion, Request as CqlRequest, Response, ResultResponse, StreamId, WireError, write_startup,
};
use std::sync::Arc;

/// Of the values that a row is loaded with.
const FIRST_VERSION: u32 = 0;

/// What all sessions of a target have in common.
#[derive(Debug)]
pub(super) struct SessionSetup {
    pub(super) version: ProtocolVersion,
    pub(super) consistency: Consistency,
    pub(super) credentials: Option<(String, String)>,
    /// What to prepare.
    pub(super) statements: Vec<Statement>,
    pub(super) tables: Tables,
    pub(super) values: Arc<ValueMaker>,
}

impl SessionSetup {
    /// Appends the values of a statement's markers.
    #[inline]
    fn values_of(&self, parameters: &[Parameter], row: &RowVersion<'_>, rows_max: u32, out: &mut Vec<u8>) {
        for parameter in parameters {
            value(out, |out| match *parameter {
                Parameter::Key => out.extend_from_slice(row.key.bytes),
                Parameter::Field(field) => self.values.append(row.key.number, field, row.version, out),
                Parameter::Limit => out.extend_from_slice(&rows_max.to_be_bytes()),
            });
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Starting,
    LoggingIn,
    Preparing { left: usize },
    Ready,
}

/// The session of one connection.
#[derive(Debug)]
pub(super) struct CqlSession {
    setup: Arc<SessionSetup>,
    stage: Stage,
    encoder: FrameEncoder,
    /// One each way: a frame may be encoded while another is being read.
    encoder_workspace: CompressionWorkspace,
    decoder: FrameDecoder,
    decoder_workspace: CompressionWorkspace,
    /// By table.
    templates: Vec<Templates>,
}

/// Of one table.
#[derive(Clone, Debug, Default)]
struct Templates {
    read: Option<Template>,
    scan: Option<Template>,
    write_all: Option<Template>,
    write_field: Vec<Option<Template>>,
    own_update: Option<Template>,
}

impl Templates {
    fn set(&mut self, purpose: Purpose, template: Template) {
        match purpose {
            Purpose::Read => self.read = Some(template),
            Purpose::Scan => self.scan = Some(template),
            Purpose::WriteAll => self.write_all = Some(template),
            Purpose::OwnUpdate => self.own_update = Some(template),
            Purpose::WriteField(field) => {
                let field = field as usize;
                if self.write_field.len() <= field {
                    self.write_field.resize(field + 1, None);
                }
                self.write_field[field] = Some(template);
            }
        }
    }

    /// Of a write of one field, or of all.
    fn write(&self, field: Option<u32>, kind: WriteKind) -> Option<&Template> {
        match (&self.own_update, field) {
            (Some(own), _) if kind == WriteKind::Update => Some(own),
            (_, Some(field)) => self.write_field.get(field as usize)?.as_ref(),
            (_, None) => self.write_all.as_ref(),
        }
    }
}

impl CqlSession {
    pub(super) fn new(setup: Arc<SessionSetup>) -> Self {
        Self {
            templates: vec![Templates::default(); setup.tables.count() as usize],
            setup,
            stage: Stage::Starting,
            encoder: FrameEncoder::new(Direction::Request),
            encoder_workspace: CompressionWorkspace::new(),
            decoder: FrameDecoder::new(Direction::Response, FRAME_BODY_BYTES_MAX),
            decoder_workspace: CompressionWorkspace::new(),
        }
    }
}

/// The sending half, apart from what is being read.
struct Sender<'a> {
    setup: &'a SessionSetup,
    encoder: &'a mut FrameEncoder,
    workspace: &'a mut CompressionWorkspace,
    out: &'a mut Vec<u8>,
}

impl Sender<'_> {
    fn frame(&mut self, stream: u16, opcode: Opcode, write: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>) -> Result<(), WireError> {
        let mark = self.encoder.begin(self.out, self.setup.version, FrameFlags::NONE, StreamId(stream.cast_signed()), opcode);
        write(self.out)?;
        self.encoder.end(self.out, mark, self.workspace)
    }

    fn log_in(&mut self) -> Result<Stage, TargetError> {
        let Some((user, password)) = &self.setup.credentials else {
            return Err(TargetError::Credentials { message: "it asks for user and password, and none are given".to_owned() });
        };
        let token = Credentials { user, password }.plain_token();
        let version = self.setup.version;
        self.frame(0, Opcode::AuthResponse, |body| CqlRequest::AuthResponse(Some(&token)).write(body, version)).map_err(wire)?;
        self.encoder.flush(self.out, self.workspace);
        Ok(Stage::LoggingIn)
    }

    fn prepare(&mut self) -> Result<Stage, TargetError> {
        let setup = self.setup;
        for (stream, Statement { text, .. }) in setup.statements.iter().enumerate() {
            let prepare = CqlRequest::Prepare(Prepare { text, keyspace: None });
            self.frame(stream as u16, Opcode::Prepare, |body| prepare.write(body, setup.version)).map_err(wire)?;
        }
        self.encoder.flush(self.out, self.workspace);
        Ok(Stage::Preparing { left: setup.statements.len() })
    }
}

fn wire(error: WireError) -> TargetError {
    TargetError::Protocol { protocol: "cql", what: error.into() }
}

fn handshake_refused(error: &ErrorResponse<'_>, what: &str) -> TargetError {
    let message = error.message.to_owned();
    match error.kind {
        ErrorKind::BadCredentials | ErrorKind::Unauthorized => TargetError::Credentials { message },
        _ => TargetError::Refused { what: what.to_owned(), kind: error_name(&error.kind), message },
    }
}

impl Session for CqlSession {
    fn open(&mut self, out: &mut Vec<u8>) {
        self.stage = Stage::Starting;
        self.encoder = FrameEncoder::new(Direction::Request);
        self.decoder = FrameDecoder::new(Direction::Response, FRAME_BODY_BYTES_MAX);
        let mut sender = Sender { setup: &self.setup, encoder: &mut self.encoder, workspace: &mut self.encoder_workspace, out };
        let options = [("CQL_VERSION", "3.0.0"), ("DRIVER_NAME", "tarndb bench"), ("DRIVER_VERSION", env!("CARGO_PKG_VERSION"))];
        let startup = |body: &mut Vec<u8>| {
            write_startup(body, options);
            Ok(())
        };
        sender.frame(0, Opcode::Startup, startup).expect("STARTUP is shorter than a frame may be");
    }

    fn is_ready(&self) -> bool {
        self.stage == Stage::Ready
    }

    fn request(&mut self, stream: u16, request: &Request<'_>, out: &mut Vec<u8>) {
        let Self { setup, encoder, encoder_workspace, templates, .. } = self;
        let mark = encoder.begin(out, setup.version, FrameFlags::NONE, StreamId(stream.cast_signed()), Opcode::Execute);
        let prepared = "the statements of the mix were prepared before the session was ready";
        match *request {
            Request::Read { key } => {
                let template = templates[key.table.index()].read.as_ref().expect(prepared);
                template.begin(out);
                setup.values_of(&template.parameters, &RowVersion { key, version: FIRST_VERSION }, 1, out);
                template.end_read(out);
            }
            Request::Scan { key, rows } => {
                let template = templates[key.table.index()].scan.as_ref().expect(prepared);
                template.begin(out);
                setup.values_of(&template.parameters, &RowVersion { key, version: FIRST_VERSION }, rows, out);
                template.end_read(out);
            }
            Request::Write { row, field, kind, timestamp_us } => {
                let template = templates[row.key.table.index()].write(field, kind).expect(prepared);
                template.begin(out);
                setup.values_of(&template.parameters, &row, 1, out);
                template.end_write(out, timestamp_us);
            }
        }
        encoder.end(out, mark, encoder_workspace).expect("a plan's rows were checked to fit into a frame");
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        self.encoder.flush(out, &mut self.encoder_workspace);
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>, replies: &mut dyn Replies) -> Result<(), TargetError> {
        let Self { setup, stage, encoder, encoder_workspace, decoder, decoder_workspace, templates } = self;
        let mut frames = decoder.feed(bytes, decoder_workspace);
        loop {
            let Some(frame) = frames.next_frame().map_err(wire)? else { return Ok(()) };
            let stream = frame.header.stream.0.cast_unsigned();
            let (_, response) = Response::decode(&frame).map_err(wire)?;
            if *stage == Stage::Ready {
                match response {
                    Response::Result(ResultResponse::Void) => replies.written(stream),
                    Response::Result(ResultResponse::Rows(rows)) => {
                        let columns = rows.metadata.column_count as usize;
                        replies.rows(stream, rows.len(), &mut rows.cells().take(columns));
                    }
                    Response::Error(error) => {
                        replies.refused(stream, error_name(&error.kind), error.message);
                        if matches!(error.kind, ErrorKind::Unprepared { .. }) {
                            // The server has forgotten the statements: a new connection prepares them again.
                            return Err(handshake_refused(&error, "a prepared statement"));
                        }
                    }
                    Response::Event(_) => {}
                    _ => return Err(unexpected(frame.header.opcode_byte)),
                }
                continue;
            }
            let mut sender = Sender { setup, encoder, workspace: encoder_workspace, out };
            *stage = match (*stage, response) {
                (Stage::Starting, Response::Ready) => {
                    frames.startup_agreed(setup.version, None).map_err(wire)?;
                    sender.encoder.startup_agreed(setup.version, None).map_err(wire)?;
                    sender.prepare()?
                }
                (Stage::Starting, Response::Authenticate(_)) => {
                    frames.startup_agreed(setup.version, None).map_err(wire)?;
                    sender.encoder.startup_agreed(setup.version, None).map_err(wire)?;
                    sender.log_in()?
                }
                (Stage::LoggingIn, Response::AuthSuccess(_)) => sender.prepare()?,
                (Stage::Preparing { left }, Response::Result(ResultResponse::Prepared(prepared))) => {
                    let Some(Statement { table, purpose, parameters, .. }) = setup.statements.get(usize::from(stream)) else {
                        return Err(unexpected(frame.header.opcode_byte));
                    };
                    let (id, parameters) = (prepared.id, Arc::clone(parameters));
                    let template = Template::new(setup.version, *purpose, parameters, setup.consistency, id, prepared.result_metadata_id);
                    templates[table.index()].set(*purpose, template.map_err(wire)?);
                    if left == 1 { Stage::Ready } else { Stage::Preparing { left: left - 1 } }
                }
                (Stage::Preparing { .. }, Response::Error(error)) => {
                    let text = setup.statements.get(usize::from(stream)).map_or("a statement", |statement| statement.text.as_str());
                    return Err(handshake_refused(&error, text));
                }
                (_, Response::Error(error)) => return Err(handshake_refused(&error, "the connection")),
                (stage, Response::Event(_)) => stage,
                _ => return Err(unexpected(frame.header.opcode_byte)),
            };
        }
    }
}

fn unexpected(opcode: u8) -> TargetError {
    wire(WireError::UnexpectedOpcode { opcode })
}
