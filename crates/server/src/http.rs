//! What operators and their tools ask a node over HTTP: `docs/reference/operations.md` lists it.
//!
//! | request | answers |
//! |---|---|
//! | `GET /health` | 200 once the node serves clients, 503 before |
//! | `GET /status` | the node and its cluster, JSON: see [`Status`] |
//! | `GET /metrics` | the same in numbers, in Prometheus's text format |
//! | `POST /backup/…`, `POST /restore/…` | what `tarndb backup` and `tarndb restore` ask: see [`endpoint`] |
//! | `POST /cluster/drain/N`, `POST /cluster/remove/N?force=1` | 200, or 409 and why not |
//!
//! Where clients have to log in, all but `/health` asks for a role's name and password (HTTP's Basic), and orders for a superuser's.
//!
//! Where clients can speak TLS, so can operators: the first byte tells. Where clients have to, plaintext gets `/health` alone.
//!
//! A few connections at a time, each with one small request and a deadline: a node's own port, not a web server. Who connects and says nothing is
//! cut for those who come later.

use crate::backup::endpoint;
use crate::backup::request::{Target, read_body};
use crate::backup::streams::Streams;
use crate::exit::Failure;
use crate::metrics;
use crate::operator_logins::{OperatorLogins, OperatorRefusal, OperatorRights};
use crate::status::{Status, is_removed};
use crate::tls_stream::TlsStream;
use ::node::{Answer, Board, ClientTlsConfig, Order};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(1);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a tool of backups may take to read what was sent, and to send more.
const STREAM_TIMEOUT: Duration = Duration::from_secs(30);
const REQUEST_BYTES_MAX: usize = 8192;
/// How long accepting rests when the process has no descriptors left.
const ACCEPT_REST: Duration = Duration::from_millis(20);
const STACK_BYTES: usize = 256 << 10;
/// Longer than the cluster may take to decide.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(13);

/// The HTTP port of a node.
pub(crate) struct Http {
    pub(crate) address: SocketAddr,
    served: Arc<Served>,
}

struct Served {
    ready: AtomicBool,
    connections: Connections,
    orders: AtomicUsize,
    board: Arc<Board>,
    /// None where nobody has to log in.
    logins: Option<OperatorLogins>,
    tls: Option<ClientTlsConfig>,
    streams: Streams,
}

/// Who is answered, and how.
pub(crate) struct HttpOptions {
    pub(crate) address: SocketAddr,
    pub(crate) connections_max: usize,
    pub(crate) requires_login: bool,
    pub(crate) tls: Option<ClientTlsConfig>,
}

/// A record of TLS that begins a handshake. No request does.
const HANDSHAKE: u8 = 0x16;

/// Connections that are being served, the oldest first. When there are too many the oldest is cut that does not wait for an order: who asks
/// now is answered, whoever has been connected and silent for longer.
struct Connections {
    most: usize,
    served: Mutex<VecDeque<Arc<Conversation>>>,
}

impl Http {
    /// Listens; the node's health is 503 until it is ready.
    pub(crate) fn start(options: HttpOptions, board: Arc<Board>) -> Result<Self, Failure> {
        let HttpOptions { address, connections_max, requires_login, tls } = options;
        let failed = |source| Failure::Http { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let served = Arc::new(Served { tls, ..Served::new(board, connections_max, requires_login) });
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

    /// The node serves clients from now on.
    pub(crate) fn ready(&self) {
        self.served.ready.store(true, Ordering::Release);
    }
}

impl Served {
    fn new(board: Arc<Board>, connections_max: usize, requires_login: bool) -> Self {
        let connections = Connections { most: connections_max.max(1), served: Mutex::default() };
        let logins = requires_login.then(|| OperatorLogins::new(Arc::clone(&board)));
        Self {
            ready: AtomicBool::new(false),
            connections,
            orders: AtomicUsize::new(0),
            board,
            logins,
            tls: None,
            streams: Streams::default(),
        }
    }
}

/// A connection that is being served.
struct Conversation {
    stream: TcpStream,
    /// Whether it waits for an order.
    waits: AtomicBool,
}

impl Connections {
    /// Orders that are carried out at once; more are refused. Half of the connections, so that questions are answered beside them.
    fn orders_max(&self) -> usize {
        self.most.div_ceil(2)
    }

    /// Takes one in, and cuts the oldest if there are too many.
    fn add(&self, stream: TcpStream) -> Arc<Conversation> {
        let connection = Arc::new(Conversation { stream, waits: AtomicBool::new(false) });
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.push_back(Arc::clone(&connection));
        if served.len() > self.most {
            cut(&mut served);
        }
        connection
    }

    fn remove(&self, connection: &Arc<Conversation>) {
        self.served.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| !Arc::ptr_eq(other, connection));
    }

    fn cut_oldest(&self) {
        cut(&mut self.served.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Ends the oldest connection that does not wait for an order: its thread sees the end of its stream.
fn cut(served: &mut VecDeque<Arc<Conversation>>) {
    if let Some(index) = served.iter().position(|connection| !connection.waits.load(Ordering::Acquire))
        && let Some(oldest) = served.remove(index)
    {
        // It may have ended by itself.
        let _ = oldest.stream.shutdown(Shutdown::Both);
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
            reply_to(served, connection, &mut stream, Transport::Tls, deadline)?;
            stream.close()
        }
        _ => reply_to(served, connection, &mut &*stream, Transport::Plain, deadline),
    }
}

/// What a request has come over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transport {
    Plain,
    Tls,
}

/// A connection of an operator.
trait OperatorStream: Read + Write {
    /// From now on only the socket's own timeouts count.
    fn end_deadline(&mut self) {}
}

impl OperatorStream for &TcpStream {}

impl OperatorStream for TlsStream<'_> {
    fn end_deadline(&mut self) {
        Self::end_deadline(self);
    }
}

fn reply_to(
    served: &Served,
    connection: &Conversation,
    stream: &mut impl OperatorStream,
    transport: Transport,
    deadline: Instant,
) -> std::io::Result<()> {
    let Some(read) = read_head(stream, deadline)? else { return Ok(()) };
    let head = String::from_utf8_lossy(&read);
    connection.waits.store(head.starts_with("POST "), Ordering::Release);
    let address = connection.stream.peer_addr()?.ip();
    let reply = match Target::of(&head) {
        None => answer(served, transport, address, &head),
        Some(target) => match refuse_backup(served, transport, address, &head) {
            Some(refusal) => refusal,
            None => {
                connection.stream.set_read_timeout(Some(STREAM_TIMEOUT))?;
                connection.stream.set_write_timeout(Some(STREAM_TIMEOUT))?;
                stream.end_deadline();
                let body = read_body(stream, &head, &read)?;
                let asker = asker(served, address, &head);
                let answer = match target.path {
                    "/backup/rows" => match endpoint::take_stream(&served.streams, &target) {
                        Ok(rows) => return endpoint::send(&served.board, &rows, stream),
                        Err(refusal) => Err(refusal),
                    },
                    _ => endpoint::answer(&served.board, &served.streams, &target, &body, asker),
                };
                match answer {
                    Ok(body) => Reply { status: OK, kind: "application/octet-stream", body: String::from_utf8_lossy(&body).into_owned() },
                    Err((status, text)) => Reply::text(status, text),
                }
            }
        },
    };
    let Reply { status, kind, body } = reply;
    let length = body.len();
    let asks = if status == UNAUTHORIZED { "WWW-Authenticate: Basic realm=\"TarnDB\", charset=\"UTF-8\"\r\n" } else { "" };
    write!(stream, "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{asks}Connection: close\r\n\r\n{body}")?;
    stream.flush()
}

/// Who asks for a backup, for others who want one meanwhile.
fn asker(served: &Served, address: IpAddr, head: &str) -> String {
    match credentials(head).filter(|_| served.logins.is_some()) {
        Some((role, _)) => format!("by role {role} from {address}"),
        None => format!("from {address}"),
    }
}

/// Why such a request is not served, if it is not.
fn refuse_backup(served: &Served, transport: Transport, address: IpAddr, head: &str) -> Option<Reply> {
    if transport == Transport::Plain && served.tls.as_ref().is_some_and(|tls| tls.is_required) {
        return Some(Reply::text("426 Upgrade Required", "this port is to be spoken to by TLS: https:// (setting `tls`)"));
    }
    if let Err(refusal) = admit(served, address, "POST", head) {
        return Some(refusal);
    }
    if head.lines().any(|line| line.len() >= 7 && line.as_bytes()[..7].eq_ignore_ascii_case(b"origin:")) {
        return Some(Reply::text("403 Forbidden", "orders do not come from web pages"));
    }
    let is_ready = served.ready.load(Ordering::Acquire);
    (!is_ready).then(|| Reply::text("503 Service Unavailable", "starting"))
}

/// A request up to its empty line; `None` if it does not come.
fn read_head(stream: &mut impl Read, deadline: Instant) -> std::io::Result<Option<Vec<u8>>> {
    let mut request = vec![0; REQUEST_BYTES_MAX];
    let mut length = 0;
    while !request[..length].windows(4).any(|window| window == b"\r\n\r\n") {
        let count = stream.read(&mut request[length..])?;
        if count == 0 || Instant::now() >= deadline {
            return Ok(None);
        }
        length += count;
    }
    request.truncate(length);
    Ok(Some(request))
}

#[derive(Debug, PartialEq, Eq)]
struct Reply {
    status: &'static str,
    kind: &'static str,
    body: String,
}

const OK: &str = "200 OK";
const UNAUTHORIZED: &str = "401 Unauthorized";
const CONFLICT: &str = "409 Conflict";

impl Reply {
    fn text(status: &'static str, text: impl Into<String>) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: text.into() + "\n" }
    }
}

fn answer(served: &Served, transport: Transport, address: IpAddr, head: &str) -> Reply {
    let mut words = head.lines().next().unwrap_or("").split(' ');
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let ready = served.ready.load(Ordering::Acquire);
    if path != "/health" && transport == Transport::Plain && served.tls.as_ref().is_some_and(|tls| tls.is_required) {
        return Reply::text("426 Upgrade Required", "this port is to be spoken to by TLS: https:// (setting `tls`)");
    }
    if path != "/health"
        && let Err(refusal) = admit(served, address, method, head)
    {
        return refusal;
    }
    match (method, path) {
        ("GET", "/health") if !ready => Reply::text("503 Service Unavailable", "starting"),
        ("GET", "/health") if is_removed(&served.board.report()) => Reply::text("503 Service Unavailable", "removed"),
        ("GET", "/health") => Reply::text(OK, "ok"),
        ("GET", "/status") => match serde_json::to_string_pretty(&Status::new(served.board.report(), ready)) {
            Ok(body) => Reply { status: OK, kind: "application/json", body: body + "\n" },
            Err(error) => Reply::text("500 Internal Server Error", error.to_string()),
        },
        ("GET", "/metrics") => {
            let body = metrics::text(&served.board.report(), &served.board.schema(), served.board.backup().figures());
            Reply { status: OK, kind: "text/plain; version=0.0.4; charset=utf-8", body }
        }
        ("POST", path) if path.starts_with("/cluster/") => {
            // Browsers name where a page comes from: pages have nothing to order.
            if head.lines().any(|line| line.len() >= 7 && line.as_bytes()[..7].eq_ignore_ascii_case(b"origin:")) {
                return Reply::text("403 Forbidden", "orders do not come from web pages");
            }
            match order(path, query) {
                Some(order) => {
                    let reply = if served.orders.fetch_add(1, Ordering::AcqRel) < served.connections.orders_max() {
                        carry_out(&served.board, order)
                    } else {
                        Reply::text("503 Service Unavailable", "too many orders wait already")
                    };
                    served.orders.fetch_sub(1, Ordering::AcqRel);
                    reply
                }
                None => Reply::text("404 Not Found", "orders are POST /cluster/drain/NODE and POST /cluster/remove/NODE[?force=1]"),
            }
        }
        (_, "/health" | "/status" | "/metrics") => Reply::text("405 Method Not Allowed", "this is to be read with GET"),
        (_, path) if path.starts_with("/cluster/") => Reply::text("405 Method Not Allowed", "this is an order: POST"),
        _ => Reply::text("404 Not Found", "not found"),
    }
}

/// Lets in whoever logs in, where that is asked for.
fn admit(served: &Served, address: IpAddr, method: &str, head: &str) -> Result<(), Reply> {
    let Some(logins) = &served.logins else { return Ok(()) };
    let Some((role, password)) = credentials(head) else {
        return Err(Reply::text(UNAUTHORIZED, "log in as a role, by name and password: tarndb has --login-file for it"));
    };
    match logins.log_in(address, &role, &password) {
        Ok(OperatorRights::Reads) if method != "GET" => Err(Reply::text("403 Forbidden", "orders are for superusers")),
        Ok(_) => Ok(()),
        Err(refusal @ OperatorRefusal::TooManyFailures(_)) => Err(Reply::text("429 Too Many Requests", refusal.to_string())),
        Err(refusal) => Err(Reply::text(UNAUTHORIZED, refusal.to_string())),
    }
}

/// The name and password of a request, by the scheme Basic (RFC 7617).
fn credentials(head: &str) -> Option<(String, String)> {
    let mut headers = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let value = headers.find_map(|(name, value)| name.eq_ignore_ascii_case("authorization").then_some(value.trim()))?;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (role, password) = text.split_once(':')?;
    Some((role.to_owned(), password.to_owned()))
}

fn order(path: &str, query: &str) -> Option<Order> {
    let (what, node) = path.strip_prefix("/cluster/")?.split_once('/')?;
    let node = node.parse().ok()?;
    match (what, query) {
        ("drain", "") => Some(Order::Drain { node }),
        ("remove", "" | "force=0") => Some(Order::Remove { node, force: false }),
        ("remove", "force=1") => Some(Order::Remove { node, force: true }),
        _ => None,
    }
}

fn carry_out(board: &Board, order: Order) -> Reply {
    if !board.report().clustered {
        return Reply::text(CONFLICT, "this node is by itself: clustering is on with --node-port or --join");
    }
    let Some(answers) = board.order(order) else {
        return Reply::text("503 Service Unavailable", "too many orders wait already");
    };
    match answers.recv_timeout(ANSWER_TIMEOUT) {
        Ok(Answer::Done(text)) => Reply::text(OK, text),
        Ok(Answer::Refused(text)) => Reply::text(CONFLICT, text),
        Ok(Answer::Unknown) | Err(_) => Reply::text(
            "504 Gateway Timeout",
            "the cluster has not decided in time; it may still: look at the status, then ask again, which does no harm",
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn served(clustered: bool) -> Served {
        let served = Served::new(Arc::new(Board::new(clustered)), 4, false);
        served.ready.store(true, Ordering::Release);
        served
    }

    fn status(served: &Served, head: &str) -> &'static str {
        ask(served, head).status
    }

    fn ask(served: &Served, head: &str) -> Reply {
        answer(served, Transport::Plain, [127, 0, 0, 1].into(), head)
    }

    #[test]
    fn without_a_login_there_is_nothing_but_health() {
        let board = Arc::new(Board::new(true));
        let hash = bcrypt::hash_with_salt("pass:word", 4, [1; 16]).unwrap().to_string();
        let mut schema = cql::roles::with_first_superuser(&model::Schema::empty(), &hash).unwrap();
        let reader = model::Role { can_login: true, password_hash: Some(hash), ..model::Role::default() };
        schema.roles.insert("reader".to_owned(), Arc::new(reader));
        board.set_schema(&Arc::new(schema));
        let served = Served::new(board, 4, true);
        served.ready.store(true, Ordering::Release);
        let with = |request: &str, login: &str| format!("{request} HTTP/1.1\r\nAUTHORIZATION: basic {}\r\n\r\n", STANDARD.encode(login));
        for request in ["GET /status", "GET /metrics", "GET /none", "POST /cluster/drain/1", "POST /cluster/remove/1?force=1"] {
            assert_eq!(status(&served, &format!("{request} HTTP/1.1\r\n\r\n")), UNAUTHORIZED);
            assert_eq!(status(&served, &with(request, "cassandra:cassandra")), UNAUTHORIZED);
        }
        assert_eq!(status(&served, "GET /health HTTP/1.1\r\n\r\n"), OK);
        for role in ["reader", "cassandra"] {
            assert_eq!(status(&served, &with("GET /metrics", &format!("{role}:pass:word"))), OK);
        }
        assert_eq!(status(&served, &with("POST /cluster/drain/x", "reader:pass:word")), "403 Forbidden");
        assert_eq!(status(&served, &with("POST /cluster/drain/x", "cassandra:pass:word")), "404 Not Found");
        for header in ["Authorization: Basic", "Authorization: Basic %%%", "Authorization: Bearer x", "Authorization: Basic eA=="] {
            assert_eq!(status(&served, &format!("GET /status HTTP/1.1\r\n{header}\r\n\r\n")), UNAUTHORIZED, "{header}");
        }
    }

    #[test]
    fn requests_get_what_they_ask_for() {
        let served = served(false);
        assert_eq!(ask(&served, "GET /health HTTP/1.1\r\n\r\n"), Reply::text(OK, "ok"));
        served.ready.store(false, Ordering::Release);
        assert_eq!(status(&served, "GET /health HTTP/1.1\r\n\r\n"), "503 Service Unavailable");
        assert_eq!(status(&served, "GET /metrics HTTP/1.1\r\n\r\n"), OK);
        assert!(ask(&served, "GET /status HTTP/1.1\r\n\r\n").body.contains("\"clustered\": false"));
        for unknown in ["", "GET", "GET / HTTP/1.1", "GET /healthy HTTP/1.1", "\u{fffd}\u{fffd}"] {
            assert_eq!(status(&served, unknown), "404 Not Found", "{unknown}");
        }
        assert_eq!(status(&served, "POST /status HTTP/1.1"), "405 Method Not Allowed");
        assert_eq!(status(&served, "GET /cluster/drain/1 HTTP/1.1"), "405 Method Not Allowed");
    }

    #[test]
    fn a_node_by_itself_takes_no_orders() {
        let reply = ask(&served(false), "POST /cluster/drain/1 HTTP/1.1\r\n\r\n");
        assert_eq!(reply.status, CONFLICT);
        assert!(reply.body.contains("--node-port"), "{}", reply.body);
    }

    #[test]
    fn web_pages_give_no_orders() {
        let reply = ask(&served(true), "POST /cluster/drain/1 HTTP/1.1\r\nHost: x\r\nORIGIN: http://evil\r\n\r\n");
        assert_eq!(reply.status, "403 Forbidden");
    }

    #[test]
    fn orders_are_read_exactly() {
        assert_eq!(order("/cluster/drain/3", ""), Some(Order::Drain { node: 3 }));
        assert_eq!(order("/cluster/remove/3", ""), Some(Order::Remove { node: 3, force: false }));
        assert_eq!(order("/cluster/remove/3", "force=1"), Some(Order::Remove { node: 3, force: true }));
        for (path, query) in [
            ("/cluster/drain/x", ""),
            ("/cluster/drain/", ""),
            ("/cluster/drain/3/4", ""),
            ("/cluster/drain/-1", ""),
            ("/cluster/drain/99999999999", ""),
        ] {
            assert_eq!(order(path, query), None, "{path}");
        }
        assert_eq!(order("/cluster/remove/3", "force=yes"), None);
        assert_eq!(order("/cluster/drain/3", "force=1"), None);
        assert_eq!(order("/cluster/stop/3", ""), None);
    }
}
