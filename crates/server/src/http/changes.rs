//! `GET /changes/KEYSPACE/TABLE`: a table's changes as lines of JSON, as long as the client reads: `docs/reference/changes.md`.
//!
//! The log is read over the node's own CQL port as the role that has logged in, by the thread of this connection. A line is made when there is room for it: a
//! client that reads slowly holds up its own thread and nothing else, which has one page of the log in memory.

use super::reply::{BAD_REQUEST, CONFLICT, NOT_ALLOWED, Reply, UNAVAILABLE};
use super::request::{Request, percent_decoded};
use crate::console::{self, Console, Login};
use crate::feed::{FeedError, Link, Log, Reader, Since, Source, Step, line, mark, own_address};
use ::node::Board;
use cql::wire::ProtocolVersion;
use load::cql::client::{Client, ClientError, Credentials};
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tls::Session;

const PATH: &str = "/changes/";
/// A client that takes nothing for so long is cut.
pub(super) const SLOW_READER: Duration = Duration::from_secs(60);
/// So long what may pass is tried again.
const RETRY: Duration = Duration::from_secs(60);
/// From one look to the next: after changes, and where there are none.
const POLL: Duration = Duration::from_millis(50);
const POLL_MAX: Duration = Duration::from_secs(1);
const SECONDS_MAX: u64 = 3_600;
/// Bytes of lines that go out together.
const CHUNK_BYTES: usize = 32 << 10;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    keyspace: String,
    table: String,
    since: String,
    follow: bool,
    wait: Duration,
    heartbeat: Duration,
    limit: u64,
}

/// Whether it is a feed that is asked for.
pub(super) fn is_feed(request: &Request) -> bool {
    request.target().0.starts_with(PATH)
}

/// What a feed needs of its node.
pub(super) struct Node<'a> {
    pub(super) feeds: &'a Feeds,
    pub(super) board: &'a Board,
    pub(super) console: &'a Console,
}

/// The feeds that are read now.
pub(super) struct Feeds {
    read: AtomicUsize,
    most: usize,
}

impl Feeds {
    pub(super) fn new(most: usize) -> Self {
        Self { read: AtomicUsize::new(0), most }
    }
}

/// Answers who has logged in, or need not; `None` once a feed has ended.
pub(super) fn answer(
    node: &Node<'_>,
    client: &TcpStream,
    stream: &mut impl Write,
    login: Option<&Login>,
    request: &Request,
) -> std::io::Result<Option<Reply>> {
    let asked = match check(login, request) {
        Ok(asked) => asked,
        Err(refusal) => return Ok(Some(refusal)),
    };
    let Some(_place) = Place::take(node.feeds) else {
        let most = node.feeds.most;
        return Ok(Some(Reply::text(
            UNAVAILABLE,
            format!("{most} feeds are read here already: ask another member, or when one has ended"),
        )));
    };
    let is_old = request.is_http_1_0();
    let mut body = Body { stream, is_chunked: !is_old, has_begun: false, lines: String::new() };
    match feed(node, client, login, &asked, &mut body) {
        Ok(()) => body.end().map(|()| None),
        Err(End::Io(error)) => Err(error),
        Err(End::Feed(error)) if !body.has_begun => Ok(Some(Reply::text(error.status(), error.to_string()))),
        Err(End::Feed(error)) => {
            let code = error.status().split(' ').next().and_then(|code| code.parse::<u16>().ok());
            body.lines.push_str(&format!("{}\n", serde_json::json!({"error": error.to_string(), "code": code})));
            body.end().map(|()| None)
        }
        Err(End::Refused(reply)) => Ok(Some(reply)),
    }
}

/// A place among the feeds that are read at once.
struct Place<'a>(&'a Feeds);

impl<'a> Place<'a> {
    fn take(feeds: &'a Feeds) -> Option<Self> {
        let place = Self(feeds);
        (feeds.read.fetch_add(1, Ordering::AcqRel) < feeds.most).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.read.fetch_sub(1, Ordering::AcqRel);
    }
}

fn check(login: Option<&Login>, request: &Request) -> Result<Asked, Reply> {
    if let Some(refusal) = console::refuse_domain(login, request) {
        return Err(refusal);
    }
    if request.method() != "GET" {
        return Err(Reply::text(NOT_ALLOWED, "this is to be read with GET"));
    }
    let bad = |text: String| Reply::text(BAD_REQUEST, text);
    let names: Vec<String> = request.target().0[PATH.len()..].split('/').map(percent_decoded).collect();
    let [keyspace, table] = <[String; 2]>::try_from(names).map_err(|_| bad("name a table: /changes/KEYSPACE/TABLE".to_owned()))?;
    const KNOWN: [&str; 5] = ["since", "follow", "wait", "heartbeat", "limit"];
    let given = request.target().1.split('&').filter(|pair| !pair.is_empty());
    if let Some(unknown) = given.map(|pair| pair.split('=').next().unwrap_or(pair)).find(|name| !KNOWN.contains(name)) {
        return Err(bad(format!("there is no parameter `{unknown}`: there are {}", KNOWN.join(", "))));
    }
    let number = |name: &str, default: u64, least: u64, most: u64| match request.parameter(name) {
        None => Ok(default),
        Some(text) => match text.parse::<u64>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(bad(format!("`{name}` is to be a number from {least} to {most}"))),
        },
    };
    Ok(Asked {
        keyspace,
        table,
        since: request.parameter("since").unwrap_or_else(|| "oldest".to_owned()),
        follow: number("follow", 0, 0, 1)? == 1,
        wait: Duration::from_secs(number("wait", 0, 0, SECONDS_MAX)?),
        heartbeat: Duration::from_secs(number("heartbeat", 10, 1, SECONDS_MAX)?),
        limit: number("limit", u64::MAX, 1, u64::MAX)?,
    })
}

/// Why a feed ends before its time.
enum End {
    /// The client is gone, or too slow.
    Io(std::io::Error),
    /// The log.
    Feed(FeedError),
    /// It does not begin.
    Refused(Reply),
}

impl From<std::io::Error> for End {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<FeedError> for End {
    fn from(error: FeedError) -> Self {
        Self::Feed(error)
    }
}

/// A connection to the node's own CQL port.
fn connect(node: &Node<'_>, login: Option<&Login>) -> Result<Client<Link>, ClientError> {
    let starting = || std::io::Error::new(std::io::ErrorKind::NotConnected, "this node is starting");
    let cql = node.console.cql().ok_or_else(starting)?;
    let session = node.console.tls().map(|config| Session::to_itself(&config.tls)).transpose().map_err(std::io::Error::other)?;
    let credentials = login.map(|login| Credentials { user: &login.role, password: &login.password });
    Client::start_as(Link::connect(own_address(cql), session.flatten())?, ProtocolVersion::V4, credentials)
}

/// Tells changes until there is nothing more to tell.
fn feed(node: &Node<'_>, client: &TcpStream, login: Option<&Login>, asked: &Asked, body: &mut Body<'_, impl Write>) -> Result<(), End> {
    let Asked { keyspace, table, .. } = asked;
    if node.console.cql().is_none() {
        return Err(End::Refused(Reply::text(UNAVAILABLE, "starting")));
    }
    if node.console.tls().is_some_and(|config| matches!(Session::to_itself(&config.tls), Ok(None))) {
        let text = "there are no feeds where clients need certificates (setting `tls_client_ca`): the node has none to show itself";
        return Err(End::Refused(Reply::text(CONFLICT, text)));
    }
    let since: Since = asked.since.parse()?;
    let log = || Log::of(&node.board.schema(), keyspace, table);
    let mut reader = Reader::new(Source::new(Box::new(|| connect(node, login))), log()?, since)?;
    let (began, mut said, mut told) = (Instant::now(), Instant::now(), 0u64);
    let (mut pause, mut failing) = (POLL, None::<Instant>);
    let end = |reader: &Reader<'_>| mark(&reader.mark(), reader.complete_until_us(), reader.log().is_enabled);
    loop {
        let step = reader.step(asked.limit - told);
        if step.is_ok() {
            failing = None;
        }
        match step {
            Ok(Step::Changes(changes)) => {
                said = if changes.is_empty() { said } else { Instant::now() };
                for change in changes {
                    body.line(&line(reader.log(), &change))?;
                    told += 1;
                }
                if told == asked.limit {
                    return body.line(&end(&reader)).map_err(End::Io);
                }
                pause = POLL;
                body.flush()?;
                continue;
            }
            Ok(Step::CaughtUp) => {
                reader.set_log(log()?)?;
                if !asked.follow && (told > 0 || began.elapsed() >= asked.wait) {
                    return body.line(&end(&reader)).map_err(End::Io);
                }
                if is_gone(client) {
                    return Ok(());
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(POLL_MAX);
            }
            Ok(Step::Looking) => {}
            Err(error) if error.may_pass() && failing.get_or_insert_with(Instant::now).elapsed() < RETRY => std::thread::sleep(POLL_MAX),
            Err(error) => return Err(error.into()),
        }
        if (asked.follow || body.has_begun) && said.elapsed() >= asked.heartbeat {
            body.line(&end(&reader))?;
            body.flush()?;
            said = Instant::now();
        }
    }
}

/// Whether the client has ended the connection.
fn is_gone(client: &TcpStream) -> bool {
    let _ = client.set_nonblocking(true);
    let is_gone = matches!(client.peek(&mut [0]), Ok(0));
    let _ = client.set_nonblocking(false);
    is_gone
}

/// What is sent after the head, which goes out with the first line: until then an error has a status of its own.
struct Body<'a, W> {
    stream: &'a mut W,
    is_chunked: bool,
    has_begun: bool,
    lines: String,
}

impl<W: Write> Body<'_, W> {
    fn line(&mut self, line: &str) -> std::io::Result<()> {
        self.lines.push_str(line);
        if self.lines.len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if !self.has_begun {
            self.has_begun = true;
            let framing = if self.is_chunked { "Transfer-Encoding: chunked\r\n" } else { "" };
            let guards = console::HEADERS;
            write!(
                self.stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson; charset=utf-8\r\n{framing}{guards}Connection: close\r\n\r\n"
            )?;
        }
        if !self.lines.is_empty() {
            let piece =
                if self.is_chunked { format!("{:x}\r\n{}\r\n", self.lines.len(), self.lines) } else { std::mem::take(&mut self.lines) };
            self.lines.clear();
            self.stream.write_all(piece.as_bytes())?;
        }
        self.stream.flush()
    }

    /// Says that it is whole.
    fn end(&mut self) -> std::io::Result<()> {
        self.flush()?;
        if self.is_chunked {
            self.stream.write_all(b"0\r\n\r\n")?;
        }
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::FORBIDDEN;

    fn check_of(target: &str) -> Result<Asked, Reply> {
        check(None, &Request::of(&format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")))
    }

    #[test]
    fn what_is_asked_for_is_checked() {
        let asked = check_of("/changes/k/a%2Fb?since=now&follow=1&heartbeat=2&limit=3&wait=4").expect("it is right");
        let expected = Asked {
            keyspace: "k".to_owned(),
            table: "a/b".to_owned(),
            since: "now".to_owned(),
            follow: true,
            wait: Duration::from_secs(4),
            heartbeat: Duration::from_secs(2),
            limit: 3,
        };
        assert_eq!(asked, expected);
        for wrong in [
            "/changes/",
            "/changes/k",
            "/changes/k/t/x",
            "/changes/k/t?folow=1",
            "/changes/k/t?follow=yes",
            "/changes/k/t?limit=0",
            "/changes/k/t?heartbeat=0",
            "/changes/k/t?wait=-1",
            "/changes/k/t?wait=99999",
        ] {
            assert_eq!(check_of(wrong).err().map(|reply| reply.status), Some(BAD_REQUEST), "{wrong}");
        }
        let foreign = Request::of("GET /changes/k/t HTTP/1.1\r\nHost: evil.example\r\n\r\n");
        assert_eq!(check(None, &foreign).err().map(|reply| reply.status), Some(FORBIDDEN));
    }

    #[test]
    fn lines_go_out_in_chunks_after_one_head() {
        let mut sent = Vec::new();
        let mut body = Body { stream: &mut sent, is_chunked: true, has_begun: false, lines: String::new() };
        for _ in 0..2 {
            body.line("{}\n").and_then(|()| body.flush()).expect("memory takes all");
        }
        body.end().expect("memory takes all");
        let sent = String::from_utf8_lossy(&sent);
        let (head, rest) = sent.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("chunked"), "{head}");
        assert_eq!(rest, "3\r\n{}\n\r\n3\r\n{}\n\r\n0\r\n\r\n");
    }
}
