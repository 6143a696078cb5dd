//! One client connection: from received bytes to requests, from plain reply frames to bytes to send. No I/O.
//!
//! The session answers what concerns only the connection (STARTUP, OPTIONS, REGISTER, broken frames) and hands every statement to its
//! [`Server`], and before any the name and password of the client where the server asks for them. A statement's reply may come at once or
//! later; replies may come in any order. A client whose certificate says who it is is not asked for a password: READY answers its STARTUP.
//!
//! Invariant: where clients have to log in, no statement reaches the server before [`Server::certified`] or [`Session::log_in`] has said as whom.

use crate::CqlError;
use crate::clients::{ClientState, ConnectedClient};
use crate::permissions::Rights;
use crate::reply;
use crate::wire::{
    Compression, CompressionWorkspace, Direction, Event, EventKind, Frame, FrameDecoder, FrameEncoder, Opcode, ProtocolVersion, Request,
    StreamId, StringList, StringMap, TABLETS_ROUTING, Tracing, WireError, write_auth_token, write_authenticate, write_supported,
    write_unsupported_version,
};
use std::net::SocketAddr;
use std::sync::Arc;

/// What the session cannot answer itself.
pub trait Server {
    /// The options of SUPPORTED.
    fn supported(&self) -> Vec<(String, Vec<String>)>;

    /// Whether connections may begin.
    ///
    /// # Errors
    /// Why not.
    fn admit(&self) -> Result<(), CqlError>;

    /// A client has sent STARTUP. It is connected as long as this lives.
    fn connected(&mut self, _client: &Arc<ConnectedClient>) {}

    /// As whom a client is served by its certificate; none if it has to log in by its password, or nobody has to.
    ///
    /// # Errors
    /// When it has shown a certificate that logs nobody in, or none where that is the only way.
    fn certified(&mut self, client: &Client) -> Result<Option<Arc<str>>, CqlError>;

    /// The class by which drivers choose how to log in by password; none where nobody has to.
    fn authenticator(&self) -> Option<&'static str>;

    /// Finds out whether the client is who it says. The answer comes later: [`Session::log_in`], or an error.
    ///
    /// # Errors
    /// When it is not even looked at.
    fn authenticate(&mut self, stream: StreamId, address: SocketAddr, credentials: Credentials<'_>) -> Result<(), CqlError>;

    /// A statement (QUERY, PREPARE, EXECUTE or BATCH). Appends the plain reply frame to `out`, or nothing when the reply comes later.
    fn statement(&mut self, client: &mut Client, stream: StreamId, request: Request<'_>, out: &mut Vec<u8>);

    /// As [`Server::statement`], of a client that asks for a trace. The default keeps none, and announces none.
    fn traced_statement(&mut self, client: &mut Client, stream: StreamId, request: Request<'_>, out: &mut Vec<u8>) {
        self.statement(client, stream, request, out);
    }
}

/// What is longer is nobody's name and password; it is not kept while others are being checked.
const CREDENTIALS_BYTES_MAX: usize = 4 << 10;

/// A name and a password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Credentials<'a> {
    /// Who it says it is.
    pub role: &'a str,
    /// What only that one should know.
    pub password: &'a str,
}

impl<'a> Credentials<'a> {
    /// What a client sends to [`crate::roles::AUTHENTICATOR`]: SASL's PLAIN (RFC 4616), as whom it acts, who it is and its password, with a zero byte between.
    fn decode(token: Option<&'a [u8]>) -> Result<Self, CqlError> {
        let malformed = |what: &str| {
            CqlError::BadCredentials(format!("{what}: log in with a name and a password, as PlainTextAuthProvider of drivers does"))
        };
        let token = token.unwrap_or_default();
        if token.len() > CREDENTIALS_BYTES_MAX {
            return Err(malformed("The credentials are too long"));
        }
        let text = std::str::from_utf8(token).map_err(|_| malformed("The credentials are not UTF-8"))?;
        let mut parts = text.rsplitn(3, '\0');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(""), Some(_), Some(_)) => Err(CqlError::BadCredentials("Password must not be empty".to_owned())),
            (Some(_), Some(""), Some(_)) => Err(CqlError::BadCredentials("Authentication ID must not be empty".to_owned())),
            (Some(password), Some(role), Some(_)) => Ok(Self { role, password }),
            _ => Err(malformed("The credentials are not in the form of SASL's PLAIN")),
        }
    }
}

/// A client's certificate: the authority that has signed it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Certificate {
    /// There is none.
    #[default]
    None,
    /// It does not say whose it is.
    WithoutIdentity,
    /// It is of this identity.
    Of(Arc<str>),
}

/// What statements need to know of the connection, and may change.
#[derive(Clone, Debug)]
pub struct Client {
    /// The connection's protocol version.
    pub version: ProtocolVersion,
    /// As whom it has logged in; none where nobody has to.
    pub role: Option<Arc<str>>,
    /// What that role may do, once it has been looked up: for who checks statements, who also sees whether it is still so.
    pub rights: Option<Arc<Rights>>,
    /// The keyspace that USE chose.
    pub keyspace: Option<String>,
    /// Whether it sees masks in place of masked columns, of a request that another member has sent on: only that one knows for whom.
    pub is_masked: bool,
    /// Where the client is.
    pub address: SocketAddr,
    /// Whether it wants to hear where partitions are: [`TABLETS_ROUTING`].
    pub wants_tablets: bool,
    /// Whether it speaks TLS.
    pub is_encrypted: bool,
    /// What it has shown of itself by TLS, where certificates log in.
    pub certificate: Certificate,
    /// What others see of it, once it has sent STARTUP.
    connected: Option<Arc<ConnectedClient>>,
    /// Requests whose reply has not been given yet.
    pub in_flight: u32,
    /// How large replies that came later have been: decays towards those of late.
    reply_bytes: usize,
}

/// The size that a connection's first late replies are taken to have.
const REPLY_BYTES_FIRST: usize = 256 << 10;

impl Client {
    /// The client of a request that another member has sent on.
    #[must_use]
    pub fn elsewhere(version: ProtocolVersion, keyspace: Option<String>) -> Self {
        let address = (std::net::Ipv4Addr::UNSPECIFIED, 0).into();
        Self {
            version,
            role: None,
            rights: None,
            keyspace,
            is_masked: false,
            address,
            wants_tablets: false,
            is_encrypted: false,
            certificate: Certificate::None,
            connected: None,
            in_flight: 0,
            reply_bytes: REPLY_BYTES_FIRST,
        }
    }

    /// It uses this keyspace from now on.
    pub fn use_keyspace(&mut self, keyspace: &str) {
        self.keyspace = Some(keyspace.to_owned());
        self.show(|state| state.keyspace = Some(keyspace.to_owned()));
    }

    fn show(&self, change: impl FnOnce(&mut ClientState)) {
        if let Some(connected) = &self.connected {
            connected.change(change);
        }
    }

    /// How large the replies that are still to come may be together.
    #[must_use]
    pub fn outstanding_bytes(&self) -> usize {
        (self.in_flight as usize).saturating_mul(self.reply_bytes)
    }

    /// Whether what is to be sent, with the replies that are outstanding, may exceed `bytes_max`. One reply is always possible, unless
    /// nothing is.
    fn has_enough(&self, unsent_bytes: usize, bytes_max: usize) -> bool {
        let holds = unsent_bytes > 0 || self.in_flight > 0 || bytes_max == 0;
        holds && unsent_bytes.saturating_add(self.outstanding_bytes()) >= bytes_max
    }

    /// A reply came later.
    fn note_reply(&mut self, bytes: usize) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.reply_bytes = bytes.max(self.reply_bytes - self.reply_bytes / 16);
    }
}

/// Whether the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a broken connection must be closed"]
pub enum Verdict {
    /// It does.
    Continue,
    /// There is more to serve, but so much to send already that the client should take it first: call again with no bytes once it has.
    Pause,
    /// What was written must still be sent, then it ends.
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    /// The client has been asked who it is.
    Asked,
    /// What it has said is being checked.
    Checking,
    Ready,
}

/// A connection's state.
#[derive(Debug)]
pub struct Session {
    decoder: FrameDecoder,
    outgoing: Outgoing,
    client: Client,
    phase: Phase,
    registered: [bool; 3],
}

/// The sending half.
#[derive(Debug)]
struct Outgoing {
    encoder: FrameEncoder,
    /// Whether frames go out as they are: no compression, no segments.
    plain: bool,
    scratch: Vec<u8>,
}

impl Session {
    /// A new connection whose frames have bodies of at most `body_bytes_max`.
    #[must_use]
    pub fn new(address: SocketAddr, body_bytes_max: u32) -> Self {
        Self {
            decoder: FrameDecoder::new(Direction::Request, body_bytes_max),
            outgoing: Outgoing { encoder: FrameEncoder::new(Direction::Response), plain: true, scratch: Vec::new() },
            client: Client { address, ..Client::elsewhere(ProtocolVersion::HIGHEST, None) },
            phase: Phase::New,
            registered: [false; 3],
        }
    }

    /// What statements know of the connection.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// As [`Session::client`], to change it.
    pub fn client_mut(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Bytes of memory the session holds for what has arrived only in part.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.decoder.buffered_bytes()
    }

    /// Takes received bytes, serves the requests in them and appends to `out` what is to be sent; serves no further request once that has
    /// more than `out_bytes_max` bytes, or the replies that are still to come may have. With 0 it serves none.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        out_bytes_max: usize,
        workspaces: &mut Workspaces,
        server: &mut impl Server,
    ) -> Verdict {
        let Self { decoder, outgoing, client, phase, registered } = self;
        let mut frames = decoder.feed(bytes, &mut workspaces.incoming);
        let mut verdict = Verdict::Continue;
        loop {
            if client.has_enough(out.len(), out_bytes_max) {
                verdict = Verdict::Pause;
                break;
            }
            let frame = match frames.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(error) => {
                    answer_broken(outgoing, client, &error, out, &mut workspaces.outgoing);
                    verdict = Verdict::Close;
                    break;
                }
            };
            client.version = frame.header.version;
            let stream = frame.header.stream;
            if *phase == Phase::Ready {
                outgoing.write(out, &mut workspaces.outgoing, |out| ready_request(&frame, client, registered, server, out));
                continue;
            }
            if *phase != Phase::New {
                outgoing.write(out, &mut workspaces.outgoing, |out| unknown_request(&frame, client, phase, server, out));
                continue;
            }
            match new_request(&frame, client, server, out) {
                Handshake::Answered => {}
                Handshake::Start { compression, wants_tablets, connected, role } => {
                    let version = client.version;
                    client.wants_tablets = wants_tablets;
                    // The answer itself still goes out in the old form.
                    if let Err(error) = frames.startup_agreed(version, compression) {
                        reply::write_error(out, version, stream, &CqlError::Protocol(error.to_string()));
                        verdict = Verdict::Close;
                        break;
                    }
                    server.connected(&connected);
                    client.connected = Some(connected);
                    let class = if role.is_some() { None } else { server.authenticator() };
                    *phase = match class {
                        None => {
                            client.show(|state| (state.is_ready, state.role) = (true, role.clone()));
                            client.role = role;
                            reply::write_frame(out, version, stream, Opcode::Ready, |_| {});
                            Phase::Ready
                        }
                        Some(class) => {
                            reply::write_frame(out, version, stream, Opcode::Authenticate, |body| write_authenticate(body, class));
                            Phase::Asked
                        }
                    };
                    let agreed = outgoing.encoder.startup_agreed(version, compression);
                    debug_assert!(agreed.is_ok(), "the decoder agreed to the same");
                    outgoing.plain = compression.is_none() && version < ProtocolVersion::V5;
                }
            }
        }
        outgoing.flush(out, &mut workspaces.outgoing);
        verdict
    }

    /// What came of [`Server::authenticate`]: from now on the client is this role, or may try again. The reply is given by
    /// [`Session::append_late_reply`], like that of a statement.
    pub fn log_in(&mut self, stream: StreamId, outcome: Result<Arc<str>, CqlError>, reply: &mut Vec<u8>) {
        let version = self.client.version;
        match outcome {
            Ok(role) => {
                self.client.show(|state| (state.is_ready, state.role) = (true, Some(Arc::clone(&role))));
                (self.phase, self.client.role, self.client.rights) = (Phase::Ready, Some(role), None);
                reply::write_frame(reply, version, stream, Opcode::AuthSuccess, |body| write_auth_token(body, None));
            }
            Err(error) => {
                self.phase = Phase::Asked;
                reply::write_error(reply, version, stream, &error);
            }
        }
    }

    /// Whether [`Session::receive`] would serve another request.
    #[must_use]
    pub fn takes_requests(&self, unsent_bytes: usize, unsent_bytes_max: usize) -> bool {
        !self.client.has_enough(unsent_bytes, unsent_bytes_max)
    }

    /// Appends the plain reply frame of a request that was not answered at once; an empty one ends a request that has had its reply.
    pub fn append_late_reply(&mut self, frame: &[u8], out: &mut Vec<u8>, workspaces: &mut Workspaces) {
        self.client.note_reply(frame.len());
        if !frame.is_empty() {
            self.append_reply(frame, out, workspaces);
        }
    }

    /// Appends a plain frame, as the connection wants it.
    pub fn append_reply(&mut self, frame: &[u8], out: &mut Vec<u8>, workspaces: &mut Workspaces) {
        if self.outgoing.plain {
            out.extend_from_slice(frame);
        } else {
            self.outgoing.encoder.append(out, frame, &mut workspaces.outgoing);
            self.outgoing.flush(out, &mut workspaces.outgoing);
        }
    }

    /// Appends an event if the client asked for its kind.
    pub fn append_event(&mut self, event: &Event<'_>, out: &mut Vec<u8>, workspaces: &mut Workspaces) {
        if self.phase != Phase::Ready || !self.registered[kind_index(event.kind())] {
            return;
        }
        let version = self.client.version;
        let mut frame = Vec::new();
        reply::write_frame(&mut frame, version, StreamId::EVENT, Opcode::Event, |body| event.write(body, version));
        self.append_reply(&frame, out, workspaces);
    }

    /// Whether the client asked for events.
    #[must_use]
    pub fn is_registered(&self) -> bool {
        self.registered.contains(&true)
    }
}

/// Buffers for decompression and compression, shared by a core's sessions.
#[derive(Debug, Default)]
pub struct Workspaces {
    incoming: CompressionWorkspace,
    outgoing: CompressionWorkspace,
}

impl Workspaces {
    /// Empty buffers.
    #[must_use]
    pub fn new() -> Self {
        Self { incoming: CompressionWorkspace::new(), outgoing: CompressionWorkspace::new() }
    }

    /// Gives back the memory that large frames took.
    pub fn trim(&mut self) {
        self.incoming.trim();
        self.outgoing.trim();
    }
}

impl Outgoing {
    #[inline]
    fn write(&mut self, out: &mut Vec<u8>, workspace: &mut CompressionWorkspace, write: impl FnOnce(&mut Vec<u8>)) {
        if self.plain {
            return write(out);
        }
        self.scratch.clear();
        write(&mut self.scratch);
        if !self.scratch.is_empty() {
            self.encoder.append(out, &self.scratch, workspace);
        }
        self.scratch.shrink_to(1 << 16);
    }

    #[inline]
    fn flush(&mut self, out: &mut Vec<u8>, workspace: &mut CompressionWorkspace) {
        if !self.plain {
            self.encoder.flush(out, workspace);
        }
    }
}

/// What a request before READY leads to.
enum Handshake {
    Answered,
    Start { compression: Option<Compression>, wants_tablets: bool, connected: Arc<ConnectedClient>, role: Option<Arc<str>> },
}

fn new_request(frame: &Frame<'_>, client: &Client, server: &mut impl Server, out: &mut Vec<u8>) -> Handshake {
    let (version, stream) = (frame.header.version, frame.header.stream);
    let outcome = match Request::decode(frame) {
        Ok((_, Request::Options)) => {
            write_options(version, stream, server, out);
            return Handshake::Answered;
        }
        Ok((_, Request::Startup(options))) => server.admit().and_then(|()| startup(&options, client, server)),
        Ok((_, other)) => Err(CqlError::Protocol(format!("Unexpected message {}, expecting STARTUP or OPTIONS", other.opcode().name()))),
        Err(error) => Err(CqlError::Protocol(error.to_string())),
    };
    match outcome {
        Ok(handshake) => handshake,
        Err(error) => {
            reply::write_error(out, version, stream, &error);
            Handshake::Answered
        }
    }
}

fn startup(options: &StringMap<'_>, client: &Client, server: &mut impl Server) -> Result<Handshake, CqlError> {
    let Some(cql_version) = options.get("CQL_VERSION") else {
        return Err(CqlError::Protocol("Missing value CQL_VERSION in STARTUP message".to_owned()));
    };
    let major = cql_version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_none_or(|major| major < 3) {
        return Err(CqlError::Protocol(format!(
            "CQL version {cql_version} is not supported by the binary protocol (supported version are >= 3.0.0)"
        )));
    }
    let compression = match options.get("COMPRESSION") {
        None | Some("") => None,
        Some(name) => {
            let known = Compression::from_name(name);
            Some(known.ok_or_else(|| CqlError::Protocol(format!("Unknown compression algorithm: {name}")))?)
        }
    };
    let role = server.certified(client)?;
    let connected = Arc::new(ConnectedClient::new(client.address, client.version, client.is_encrypted, options.iter()));
    Ok(Handshake::Start { compression, wants_tablets: options.get(TABLETS_ROUTING).is_some(), connected, role })
}

fn write_options(version: ProtocolVersion, stream: StreamId, server: &impl Server, out: &mut Vec<u8>) {
    let supported = server.supported();
    reply::write_frame(out, version, stream, Opcode::Supported, |body| {
        write_supported(
            body,
            supported.iter().map(|(name, values)| (name.as_str(), values.iter().map(String::as_str).collect::<Vec<_>>())),
        );
    });
}

/// A request of a client that has to log in first.
fn unknown_request(frame: &Frame<'_>, client: &mut Client, phase: &mut Phase, server: &mut impl Server, out: &mut Vec<u8>) {
    let (version, stream) = (frame.header.version, frame.header.stream);
    let outcome = match (Request::decode(frame), &*phase) {
        (Ok((_, Request::Options)), _) => return write_options(version, stream, server, out),
        (Ok((_, Request::AuthResponse(token))), Phase::Asked) => {
            Credentials::decode(token).and_then(|credentials| server.authenticate(stream, client.address, credentials)).map(|()| {
                client.in_flight += 1;
                *phase = Phase::Checking;
            })
        }
        (Ok((_, other)), Phase::Asked) => {
            Err(CqlError::Protocol(format!("Unexpected message {}, expecting AUTH_RESPONSE", other.opcode().name())))
        }
        (Ok((_, other)), _) => {
            Err(CqlError::Protocol(format!("Unexpected message {} before AUTH_RESPONSE has been answered", other.opcode().name())))
        }
        (Err(error), _) => Err(CqlError::Protocol(error.to_string())),
    };
    if let Err(error) = outcome {
        reply::write_error(out, version, stream, &error);
    }
}

#[inline]
fn ready_request(frame: &Frame<'_>, client: &mut Client, registered: &mut [bool; 3], server: &mut impl Server, out: &mut Vec<u8>) {
    let (version, stream) = (frame.header.version, frame.header.stream);
    match Request::decode(frame) {
        Ok((envelope, request @ (Request::Execute(_) | Request::Query(_) | Request::Batch(_) | Request::Prepare(_)))) => {
            if let Some(connected) = &client.connected {
                connected.count_request();
            }
            match envelope.tracing {
                Tracing::Off => server.statement(client, stream, request, out),
                Tracing::Requested => server.traced_statement(client, stream, request, out),
            }
        }
        Ok((_, Request::Options)) => write_options(version, stream, server, out),
        Ok((_, Request::Register(kinds))) => match register(&kinds, registered) {
            Ok(()) => reply::write_frame(out, version, stream, Opcode::Ready, |_| {}),
            Err(error) => reply::write_error(out, version, stream, &error),
        },
        Ok((_, other)) => {
            let error = CqlError::Protocol(format!("Unexpected message {} on a connection that is ready", other.opcode().name()));
            reply::write_error(out, version, stream, &error);
        }
        Err(error) => reply::write_error(out, version, stream, &CqlError::Protocol(error.to_string())),
    }
}

fn register(kinds: &StringList<'_>, registered: &mut [bool; 3]) -> Result<(), CqlError> {
    for name in kinds.iter() {
        let kind = EventKind::from_name(name).map_err(|_| CqlError::Protocol(format!("Invalid value '{name}' for Type")))?;
        registered[kind_index(kind)] = true;
    }
    Ok(())
}

fn kind_index(kind: EventKind) -> usize {
    match kind {
        EventKind::TopologyChange => 0,
        EventKind::StatusChange => 1,
        EventKind::SchemaChange => 2,
    }
}

/// Says what was wrong with the byte stream, in a form that the client can read.
fn answer_broken(outgoing: &mut Outgoing, client: &Client, error: &WireError, out: &mut Vec<u8>, workspace: &mut CompressionWorkspace) {
    let stream = error.stream();
    outgoing.write(out, workspace, |out| match error {
        WireError::UnsupportedVersion { version, .. } => write_unsupported_version(out, *version, stream),
        _ => reply::write_error(out, client.version, stream, &CqlError::Protocol(error.to_string())),
    });
}
