//! One connection as a client has it before the load starts: STARTUP, schema, PREPARE; one request at a time, over any transport.

use crate::transport::Transport;
use ::cql::session::{BACKGROUND, WORKLOAD};
use ::cql::wire::{
    CompressionWorkspace, Consistency, Direction, ErrorKind, ErrorResponse, FRAME_BODY_BYTES_MAX, Frame, FrameDecoder, FrameEncoder,
    FrameFlags, Opcode, Prepare, ProtocolVersion, Query, QueryParameters, Request, Response, ResultResponse, Rows, StreamId, Values,
    WireError, write_startup,
};

/// The stream of all these requests: none are pipelined.
const STREAM: StreamId = StreamId(0);

/// Why a request got no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection is broken.
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    /// What came is not the protocol.
    #[error("the server's bytes make no sense: {0}")]
    Wire(#[from] WireError),
    /// The server asks who this is, and nobody has told.
    #[error("the server asks for user and password")]
    NoCredentials,
    /// The server said no.
    #[error("the server answers with error {code:#06x} ({kind}): {message}")]
    Refused {
        /// CQL's error code.
        code: i32,
        /// Its name.
        kind: &'static str,
        /// The server's words.
        message: String,
    },
    /// The reply is of a kind that this request does not have.
    #[error("a reply of an unexpected kind (opcode {opcode:#04x})")]
    Unexpected {
        /// Its opcode.
        opcode: u8,
    },
}

impl ClientError {
    /// What an ERROR of the server means.
    #[must_use]
    pub fn refused(error: &ErrorResponse<'_>) -> Self {
        Self::Refused { code: error.kind.code(), kind: error_name(&error.kind), message: error.message.to_owned() }
    }
}

/// A name and its password.
#[derive(Clone, Copy, Debug)]
pub struct Credentials<'a> {
    /// Name.
    pub user: &'a str,
    /// Password.
    pub password: &'a str,
}

impl Credentials<'_> {
    /// What SASL's PLAIN sends of them (RFC 4616): nobody to act for, the name, the password.
    #[must_use]
    pub fn plain_token(&self) -> Vec<u8> {
        [&b""[..], self.user.as_bytes(), self.password.as_bytes()].join(&0)
    }
}

/// A cell of a result: `None` is null.
pub type Cell = Option<Vec<u8>>;

/// What PREPARE gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedStatement {
    /// The id to execute it by.
    pub id: Vec<u8>,
    /// The id of the result's columns (v5, empty before).
    pub result_metadata_id: Vec<u8>,
}

/// The protocol's name for an error, as reports count it.
#[must_use]
pub fn error_name(kind: &ErrorKind<'_>) -> &'static str {
    match kind {
        ErrorKind::Server => "server error",
        ErrorKind::Protocol => "protocol error",
        ErrorKind::BadCredentials => "bad credentials",
        ErrorKind::Unavailable { .. } => "unavailable",
        ErrorKind::Overloaded => "overloaded",
        ErrorKind::IsBootstrapping => "is bootstrapping",
        ErrorKind::Truncate => "truncate error",
        ErrorKind::WriteTimeout { .. } => "write timeout",
        ErrorKind::ReadTimeout { .. } => "read timeout",
        ErrorKind::ReadFailure { .. } => "read failure",
        ErrorKind::FunctionFailure { .. } => "function failure",
        ErrorKind::WriteFailure { .. } => "write failure",
        ErrorKind::CdcWriteFailure => "CDC write failure",
        ErrorKind::CasWriteUnknown { .. } => "CAS write unknown",
        ErrorKind::Syntax => "syntax error",
        ErrorKind::Unauthorized => "unauthorized",
        ErrorKind::Invalid => "invalid",
        ErrorKind::Config => "config error",
        ErrorKind::AlreadyExists { .. } => "already exists",
        ErrorKind::Unprepared { .. } => "unprepared",
        ErrorKind::Other { .. } => "other error",
    }
}

/// A connection that is set up.
pub struct Client<T> {
    transport: T,
    version: ProtocolVersion,
    codec: Codec,
    queued: Queued,
}

/// Requests that are encoded and not sent yet.
#[derive(Default)]
struct Queued {
    bytes: Vec<u8>,
    count: usize,
}

/// The protocol's state of a connection.
pub struct Codec {
    /// From bytes to replies.
    pub decoder: FrameDecoder,
    /// From requests to bytes.
    pub encoder: FrameEncoder,
    /// Their memory.
    pub workspace: CompressionWorkspace,
}

impl<T: Transport> Client<T> {
    /// Says STARTUP, without compression.
    ///
    /// # Errors
    /// When the server does not answer READY.
    pub fn start(transport: T, version: ProtocolVersion) -> Result<Self, ClientError> {
        Self::start_as(transport, version, None)
    }

    /// As [`Client::start`], with credentials for a server that asks for them.
    ///
    /// # Errors
    /// When the server does not let the client in; [`ClientError::NoCredentials`] when it asks for credentials and there are none.
    pub fn start_as(transport: T, version: ProtocolVersion, credentials: Option<Credentials<'_>>) -> Result<Self, ClientError> {
        Self::start_with(transport, version, credentials, &[])
    }

    /// As [`Client::start_as`], and tells a server that knows it that others go first.
    ///
    /// # Errors
    /// As [`Client::start_as`].
    pub fn start_in_background(transport: T, version: ProtocolVersion, credentials: Option<Credentials<'_>>) -> Result<Self, ClientError> {
        Self::start_with(transport, version, credentials, &[(WORKLOAD, BACKGROUND)])
    }

    fn start_with(
        transport: T,
        version: ProtocolVersion,
        credentials: Option<Credentials<'_>>,
        options: &[(&str, &str)],
    ) -> Result<Self, ClientError> {
        let codec = Codec {
            decoder: FrameDecoder::new(Direction::Response, FRAME_BODY_BYTES_MAX),
            encoder: FrameEncoder::new(Direction::Request),
            workspace: CompressionWorkspace::new(),
        };
        let mut client = Self { transport, version, codec, queued: Queued::default() };
        let asks = client.call(
            Opcode::Startup,
            |body| {
                write_startup(body, [("CQL_VERSION", "3.0.0")].into_iter().chain(options.iter().copied()));
                Ok(())
            },
            |_, response| match response {
                Response::Ready => Some(false),
                Response::Authenticate(_) => Some(true),
                _ => None,
            },
        )?;
        client.codec.decoder.startup_agreed(version, None)?;
        client.codec.encoder.startup_agreed(version, None)?;
        if asks {
            let token = credentials.ok_or(ClientError::NoCredentials)?.plain_token();
            client.call(
                Opcode::AuthResponse,
                |body| Request::AuthResponse(Some(&token)).write(body, version),
                |_, response| matches!(response, Response::AuthSuccess(_)).then_some(()),
            )?;
        }
        Ok(client)
    }

    /// The options of SUPPORTED: name and values.
    ///
    /// # Errors
    /// When the connection is of no use.
    pub fn options(&mut self) -> Result<Vec<(String, Vec<String>)>, ClientError> {
        let owned = |response: &Response<'_>| {
            let Response::Supported(options) = response else { return None };
            Some(options.iter().map(|(name, values)| (name.to_owned(), values.iter().map(str::to_owned).collect())).collect())
        };
        self.call(Opcode::Options, |_| Ok(()), |_, response| owned(response))
    }

    /// Runs a statement that has no markers and gives its first page of rows.
    ///
    /// # Errors
    /// When the server refuses it.
    pub fn rows(&mut self, text: &str) -> Result<Vec<Vec<Cell>>, ClientError> {
        let version = self.version;
        let parameters = QueryParameters::new(Consistency::LocalOne, Values::none(version));
        let owned = |response: &Response<'_>| {
            let Response::Result(ResultResponse::Rows(rows)) = response else { return None };
            Some(rows.iter().map(|row| row.map(|cell| cell.map(<[u8]>::to_vec)).collect()).collect())
        };
        self.call(Opcode::Query, |body| Request::Query(Query { text, parameters }).write(body, version), |_, response| owned(response))
    }

    /// Runs a statement that has no markers, and gives what `read` makes of its first rows: so many, or fewer.
    ///
    /// # Errors
    /// When the server refuses it.
    pub fn first_rows<R>(&mut self, text: &str, rows_max: u32, read: impl FnOnce(&Rows<'_>) -> R) -> Result<R, ClientError> {
        let version = self.version;
        let parameters =
            QueryParameters { page_size: Some(rows_max), ..QueryParameters::new(Consistency::LocalOne, Values::none(version)) };
        let read = |response: &Response<'_>| {
            let Response::Result(ResultResponse::Rows(rows)) = response else { return None };
            Some(read(rows))
        };
        self.call(Opcode::Query, |body| Request::Query(Query { text, parameters }).write(body, version), |_, response| read(response))
    }

    /// Runs a statement that has no markers and whose result nobody wants.
    ///
    /// # Errors
    /// When the server refuses it.
    pub fn query(&mut self, text: &str) -> Result<(), ClientError> {
        let version = self.version;
        let parameters = QueryParameters::new(Consistency::LocalOne, Values::none(version));
        self.call(
            Opcode::Query,
            |body| Request::Query(Query { text, parameters }).write(body, version),
            |_, response| if matches!(response, Response::Result(_)) { Some(()) } else { None },
        )
    }

    /// Sends a request, and gives what `read` makes of its reply; `read` says `None` to a reply of a wrong kind.
    ///
    /// # Errors
    /// When the server refuses it.
    pub fn ask<R>(&mut self, request: &Request<'_>, read: impl FnOnce(&Response<'_>) -> Option<R>) -> Result<R, ClientError> {
        let version = self.version;
        self.call(request.opcode(), |body| request.write(body, version), |_, response| read(response))
    }

    /// Sends requests without waiting for the reply of each, and drops what they give.
    ///
    /// # Errors
    /// When the server refuses any, what it says of one of them; all the others have their replies by then.
    ///
    /// # Panics
    /// For more than 32,767 requests: a connection has no more streams.
    pub fn do_all(&mut self, requests: &[Request<'_>]) -> Result<(), ClientError> {
        requests.iter().try_for_each(|request| self.queue(request).map(drop))?;
        self.run_queued()
    }

    /// Adds a request to those that [`Client::run_queued`] sends, and gives how many bytes they are by now.
    ///
    /// # Errors
    /// When the request cannot be encoded.
    ///
    /// # Panics
    /// For more than 32,767 requests: a connection has no more streams.
    pub fn queue(&mut self, request: &Request<'_>) -> Result<usize, ClientError> {
        let Codec { encoder, workspace, .. } = &mut self.codec;
        let Queued { bytes, count } = &mut self.queued;
        let stream = StreamId(i16::try_from(*count).expect("a connection has a stream for each"));
        let mark = encoder.begin(bytes, self.version, FrameFlags::NONE, stream, request.opcode());
        request.write(bytes, self.version)?;
        encoder.end(bytes, mark, workspace)?;
        *count += 1;
        Ok(bytes.len())
    }

    /// How many requests are queued.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queued.count
    }

    /// Sends what is queued without waiting for the reply of each, and drops what they give.
    ///
    /// # Errors
    /// When the server refuses any, what it says of one of them; all the others have their replies by then.
    pub fn run_queued(&mut self) -> Result<(), ClientError> {
        let Codec { decoder, encoder, workspace } = &mut self.codec;
        let Queued { bytes, count } = &mut self.queued;
        encoder.flush(bytes, workspace);
        self.transport.send(bytes)?;
        bytes.clear();
        let (mut received, mut left, mut refused) = (Vec::new(), std::mem::take(count), Ok(()));
        while left > 0 {
            received.clear();
            self.transport.receive(&mut received)?;
            let mut frames = decoder.feed(&received, workspace);
            while let Some(frame) = frames.next_frame()? {
                left = left.saturating_sub(1);
                if let (_, Response::Error(error)) = Response::decode(&frame)? {
                    refused = Err(ClientError::refused(&error));
                }
            }
        }
        refused
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// When the server refuses it.
    pub fn prepare(&mut self, text: &str) -> Result<PreparedStatement, ClientError> {
        let version = self.version;
        self.call(
            Opcode::Prepare,
            |body| Request::Prepare(Prepare { text, keyspace: None }).write(body, version),
            |_, response| match response {
                Response::Result(ResultResponse::Prepared(prepared)) => {
                    Some(PreparedStatement { id: prepared.id.to_vec(), result_metadata_id: prepared.result_metadata_id.to_vec() })
                }
                _ => None,
            },
        )
    }

    /// One request and its reply; `read` says `None` to a reply of a wrong kind.
    fn call<R>(
        &mut self,
        opcode: Opcode,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>,
        read: impl FnOnce(&Frame<'_>, &Response<'_>) -> Option<R>,
    ) -> Result<R, ClientError> {
        let Codec { decoder, encoder, workspace } = &mut self.codec;
        let mut out = Vec::new();
        let mark = encoder.begin(&mut out, self.version, FrameFlags::NONE, STREAM, opcode);
        write(&mut out)?;
        encoder.end(&mut out, mark, workspace)?;
        encoder.flush(&mut out, workspace);
        self.transport.send(&out)?;
        let mut received = Vec::new();
        loop {
            received.clear();
            self.transport.receive(&mut received)?;
            let mut frames = decoder.feed(&received, workspace);
            let Some(frame) = frames.next_frame()? else { continue };
            let (_, response) = Response::decode(&frame)?;
            if let Response::Error(error) = &response {
                return Err(ClientError::refused(error));
            }
            return read(&frame, &response).ok_or(ClientError::Unexpected { opcode: frame.header.opcode_byte });
        }
    }

    /// The transport and the protocol's state, to go on without waiting for each reply.
    pub fn into_parts(self) -> (T, Codec) {
        (self.transport, self.codec)
    }
}
