//! What operators and their tools ask a node over HTTP: `docs/reference/operations.md` lists it.
//!
//! | request | answers |
//! |---|---|
//! | `GET /` | the console: see [`crate::console`], which has `/api/v1/` too |
//! | `GET /health` | 200 once the node serves clients, 503 before |
//! | `GET /status` | the node and its cluster, JSON: see [`Status`] |
//! | `GET /metrics` | the same in numbers, in Prometheus's text format or in OpenMetrics |
//! | `POST /backup/…`, `POST /restore/…` | what `tarndb backup` and `tarndb restore` ask: see [`endpoint`] |
//! | `GET /changes/KEYSPACE/TABLE` | the changes of a table with a CDC log, a line each: see [`changes`] |
//! | `POST /sql` | a statement that reads, its rows as JSON: see [`sql`] |
//! | `POST /settings/NAME` | the body is the setting's value from now on: 200, or 400 and why not |
//! | `POST /cluster/drain/N`, `POST /cluster/remove/N?force=1` | 200, or 409 and why not |
//!
//! Where clients have to log in, all but `/health` and the console's page, which has nothing of the node in it, asks for a role's name and password (HTTP's Basic) or, where certificates log clients
//! in, for a certificate; and orders for a superuser's.
//!
//! Where clients can speak TLS, so can operators: the first byte tells. Where clients have to, plaintext gets `/health` alone.
//!
//! A few connections at a time, each with one small request and a deadline: a node's own port, not a web server. Who connects and says nothing is
//! cut for those who come later.

mod admission;
mod audit;
mod changes;
mod changes_format;
mod connections;
mod lasting;
mod orders;
pub(crate) mod own_port;
mod reply;
mod request;
mod served;
mod sql;
mod transport;

pub(crate) use reply::{BAD_REQUEST, FORBIDDEN, NOT_ALLOWED, NOT_FOUND, OK, Reply, TOO_LONG, UNAUTHORIZED, UNAVAILABLE};
pub(crate) use request::Request;

use crate::backup::endpoint;
use crate::backup::request::{Target, read_body};
use crate::console::{self, Asker, Console};
use crate::exit::Failure;
use crate::live_settings::SettingsControl;
use crate::metrics;
use crate::status::{Status, is_removed};
use crate::tls_stream::TlsStream;
use ::node::{AuditConfig, Board, ClientTlsConfig, Order};
use admission::{admit, named_role, refuse_plaintext};
use audit::HttpAudit;
use connections::Conversation;
use lasting::{Node, SLOW_READER};
use orders::{carry_out, order, set};
use request::is_order;
use served::Served;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tls::IdentityKind;
use transport::{OperatorStream, Transport};

const TIMEOUT: Duration = Duration::from_secs(1);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a tool of backups may take to read what was sent, and to send more.
const STREAM_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it may take to read rows: it waits for the place that it writes them to, which may be far away and busy.
const ROWS_TIMEOUT: Duration = Duration::from_secs(120);
/// How long accepting rests when the process has no descriptors left.
const ACCEPT_REST: Duration = Duration::from_millis(20);
/// Statements of the console are parsed on it; what is not touched takes no memory.
const STACK_BYTES: usize = 2 << 20;

/// The HTTP port of a node.
pub(crate) struct Http {
    pub(crate) address: SocketAddr,
    served: Arc<Served>,
}

/// Who is answered, and how.
pub(crate) struct HttpOptions {
    pub(crate) address: SocketAddr,
    pub(crate) connections_max: usize,
    pub(crate) requires_login: bool,
    pub(crate) tls: Option<ClientTlsConfig>,
    /// What of a certificate logs in; none where certificates do not.
    pub(crate) certificate_identity: Option<IdentityKind>,
    /// Until when the certificate for other nodes is valid, which stays as it is while the node runs.
    pub(crate) node_certificate_end: Option<u64>,
    pub(crate) console: Console,
    pub(crate) settings: SettingsControl,
    pub(crate) audit: Option<AuditConfig>,
}

/// A record of TLS that begins a handshake. No request does.
const HANDSHAKE: u8 = 0x16;

impl Http {
    /// Listens; the node's health is 503 until it is ready.
    pub(crate) fn start(options: HttpOptions, board: Arc<Board>) -> Result<Self, Failure> {
        let HttpOptions {
            address,
            connections_max,
            requires_login,
            tls,
            certificate_identity,
            node_certificate_end,
            console,
            settings,
            audit,
        } = options;
        let failed = |source| Failure::Http { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let audit = HttpAudit::new(audit);
        let served = Arc::new(Served {
            tls,
            certificate_identity,
            node_certificate_end,
            console,
            settings: Some(settings),
            audit,
            ..Served::new(board, connections_max, requires_login)
        });
        let shared = Arc::clone(&served);
        let accept = move || {
            for stream in listener.incoming() {
                match stream {
                    Ok(stream) => serve(&shared, stream),
                    // No descriptor is left for the one who waits: the oldest gives its own.
                    Err(_) => {
                        shared.connections.cut_oldest();
                        std::thread::sleep(ACCEPT_REST);
                    }
                }
            }
        };
        std::thread::Builder::new().name("tarndb-http".to_owned()).spawn(accept).map_err(failed)?;
        Ok(Self { address, served })
    }

    /// The node serves clients from now on, those of CQL there.
    pub(crate) fn ready(&self, cql: Option<SocketAddr>) {
        self.served.console.set_cql(cql);
        self.served.ready.store(true, Ordering::Release);
    }
}

/// Answers on a thread of its own, so that one who is slow holds up nobody.
fn serve(served: &Arc<Served>, stream: TcpStream) {
    let (shared, connection) = (Arc::clone(served), served.connections.add(stream));
    let own = Arc::clone(&connection);
    let answer = move || {
        // A client that is gone needs no answer.
        let _ = converse(&shared, &own);
        shared.connections.remove(&own);
    };
    if std::thread::Builder::new().name("tarndb-http".to_owned()).stack_size(STACK_BYTES).spawn(answer).is_err() {
        served.connections.remove(&connection);
    }
}

fn converse(served: &Served, connection: &Conversation) -> std::io::Result<()> {
    let stream = &connection.stream;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let deadline = Instant::now() + REQUEST_TIMEOUT;
    let mut first = [0];
    let is_tls = stream.peek(&mut first)? == 1 && first[0] == HANDSHAKE;
    match &served.tls {
        Some(config) if is_tls => {
            let session = tls::Session::with_operator(&config.tls).map_err(std::io::Error::other)?;
            let mut stream = TlsStream::new(stream, session, Some(deadline));
            reply_to(served, connection, &mut stream, deadline)?;
            stream.close()
        }
        _ => reply_to(served, connection, &mut &*stream, deadline),
    }
}

fn reply_to(served: &Served, connection: &Conversation, stream: &mut impl OperatorStream, deadline: Instant) -> std::io::Result<()> {
    let Some(request) = Request::read(stream, deadline)? else { return Ok(()) };
    connection.waits.store(request.method() == "POST", Ordering::Release);
    let address = connection.stream.peer_addr()?;
    let transport = stream.transport(served.certificate_identity);
    // As it is before an order changes what the certificate is worth.
    let role = named_role(served, &transport, &request);
    let reply = reply_of(served, connection, stream, &transport, address.ip(), &request)?;
    served.audit.replied(address, (role, transport.shows_certificate()), &request, reply.as_ref());
    let Some(Reply { status, kind, body }) = reply else { return Ok(()) };
    let length = body.len();
    let asks = if status == UNAUTHORIZED { "WWW-Authenticate: Basic realm=\"TarnDB\", charset=\"UTF-8\"\r\n" } else { "" };
    let guards = console::HEADERS;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{asks}{guards}Connection: close\r\n\r\n{body}"
    )?;
    stream.flush()
}

/// The reply to a request; `None` once a stream has ended.
fn reply_of(
    served: &Served,
    connection: &Conversation,
    stream: &mut impl OperatorStream,
    transport: &Transport,
    address: IpAddr,
    request: &Request,
) -> std::io::Result<Option<Reply>> {
    Ok(match Target::of(request.method(), request.target()) {
        None if changes::is_feed(request) || sql::is_sql(request) => {
            answer_lasting(served, connection, stream, transport, address, request)?
        }
        None => Some(answer(served, transport, address, request)),
        Some(target) => match refuse_backup(served, transport, address, request) {
            Some(refusal) => Some(refusal),
            None => answer_backup(served, connection, stream, transport, &target, request)?,
        },
    })
}

/// Answers a request for changes, or for rows of SQL; `None` once they have ended.
fn answer_lasting(
    served: &Served,
    connection: &Conversation,
    stream: &mut impl OperatorStream,
    transport: &Transport,
    address: IpAddr,
    request: &Request,
) -> std::io::Result<Option<Reply>> {
    if let Some(refusal) = refuse_plaintext(served, transport) {
        return Ok(Some(refusal));
    }
    let login = match admit(served, transport, address, request) {
        Ok(login) => login,
        Err(refusal) => return Ok(Some(refusal)),
    };
    // It is not cut for those who come later, and its client may be slow.
    connection.waits.store(true, Ordering::Release);
    connection.stream.set_write_timeout(Some(SLOW_READER))?;
    stream.end_deadline();
    io_linux::run_after_others();
    let asker = Asker { login: login.as_ref(), address, shows_certificate: transport.shows_certificate() };
    let node = |places| Node { places, board: &served.board, console: &served.console, asker };
    if sql::is_sql(request) {
        sql::answer(&node(&served.statements), &connection.stream, stream, request)
    } else {
        changes::answer(&node(&served.feeds), &connection.stream, stream, request)
    }
}

/// Why a request of `tarndb backup` or `tarndb restore` is not served, if it is not.
fn refuse_backup(served: &Served, transport: &Transport, address: IpAddr, request: &Request) -> Option<Reply> {
    if let Some(refusal) = refuse_plaintext(served, transport) {
        return Some(refusal);
    }
    if let Err(refusal) = admit(served, transport, address, request) {
        return Some(refusal);
    }
    if request.header("origin").is_some() {
        return Some(Reply::text(FORBIDDEN, "orders do not come from web pages"));
    }
    let is_ready = served.ready.load(Ordering::Acquire);
    (!is_ready).then(|| Reply::text(UNAVAILABLE, "starting"))
}

/// Answers such a request; `None` once a stream has ended.
fn answer_backup(
    served: &Served,
    connection: &Conversation,
    stream: &mut impl OperatorStream,
    transport: &Transport,
    target: &Target<'_>,
    request: &Request,
) -> std::io::Result<Option<Reply>> {
    connection.stream.set_read_timeout(Some(STREAM_TIMEOUT))?;
    connection.stream.set_write_timeout(Some(STREAM_TIMEOUT))?;
    stream.end_deadline();
    io_linux::run_after_others();
    let body = read_body(stream, request.header("content-length"), request.body_begun())?;
    let from = connection.stream.peer_addr()?.ip();
    // For others who want a backup meanwhile.
    let asker = match named_role(served, transport, request).filter(|_| served.logins.is_some()) {
        Some(role) => format!("by role {role} from {from}"),
        None => format!("from {from}"),
    };
    let answer = match target.path {
        "/backup/rows" => match endpoint::take_stream(&served.streams, target) {
            Ok(rows) => {
                connection.stream.set_write_timeout(Some(ROWS_TIMEOUT))?;
                return endpoint::send(&served.board, &rows, stream).map(|()| None);
            }
            Err(refusal) => Err(refusal),
        },
        _ => endpoint::answer(&served.board, &served.streams, target, &body, asker),
    };
    Ok(Some(match answer {
        Ok(body) => Reply { status: OK, kind: "application/octet-stream", body: String::from_utf8_lossy(&body).into_owned() },
        Err((status, text)) => Reply::text(status, text),
    }))
}

fn answer(served: &Served, transport: &Transport, address: IpAddr, request: &Request) -> Reply {
    let (method, (path, query)) = (request.method(), request.target());
    let ready = served.ready.load(Ordering::Acquire);
    if let Some(refusal) = refuse_plaintext(served, transport).filter(|_| path != "/health") {
        return refusal;
    }
    if request.is_too_long {
        return Reply::text(TOO_LONG, "the body is longer than 64 KiB, or says no length");
    }
    if let ("GET", Some(page)) = (method, console::page(path)) {
        return page;
    }
    let login = if path == "/health" { Ok(None) } else { admit(served, transport, address, request) };
    let login = match login {
        Ok(login) => login,
        Err(refusal) => return refusal,
    };
    match (method, path) {
        ("GET", "/health") if !ready => Reply::text(UNAVAILABLE, "starting"),
        ("GET", "/health") if is_removed(&served.board.report()) => Reply::text(UNAVAILABLE, "removed"),
        ("GET", "/health") => Reply::text(OK, "ok"),
        ("GET", "/status") => match serde_json::to_string_pretty(&Status::new(served.board.report(), ready)) {
            Ok(body) => Reply { status: OK, kind: "application/json", body: body + "\n" },
            Err(error) => Reply::text("500 Internal Server Error", error.to_string()),
        },
        ("GET", "/metrics") => {
            let (kind, body) = metrics::answer(&served.board, &served.certificates(), request.header("accept"));
            Reply { status: OK, kind, body }
        }
        (_, path) if path.starts_with(console::API) => {
            let asker = Asker { login: login.as_ref(), address, shows_certificate: transport.shows_certificate() };
            served.console.answer(&served.board, ready, asker, request)
        }
        // Browsers name where a page comes from: pages have nothing to order.
        ("POST", path) if is_order(path) && request.header("origin").is_some() => {
            Reply::text(FORBIDDEN, "orders do not come from web pages")
        }
        ("POST", path) if path.starts_with("/settings/") => set(served.settings.as_ref(), &path["/settings/".len()..], &request.body),
        ("POST", path) if path.starts_with("/cluster/") => match order(path, query) {
            Some(order) => carry_out_beside_others(served, order),
            None => Reply::text(NOT_FOUND, "orders are POST /cluster/drain/NODE and POST /cluster/remove/NODE[?force=1]"),
        },
        (_, "/health" | "/status" | "/metrics") => Reply::text(NOT_ALLOWED, "this is to be read with GET"),
        (_, path) if is_order(path) => Reply::text(NOT_ALLOWED, "this is an order: POST"),
        _ => Reply::text(NOT_FOUND, "not found"),
    }
}

/// Carries out an order, unless too many wait already.
fn carry_out_beside_others(served: &Served, order: Order) -> Reply {
    let reply = if served.orders.fetch_add(1, Ordering::AcqRel) < served.connections.orders_max() {
        carry_out(&served.board, order)
    } else {
        Reply::text(UNAVAILABLE, "too many orders wait already")
    };
    served.orders.fetch_sub(1, Ordering::AcqRel);
    reply
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
