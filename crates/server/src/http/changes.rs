//! `GET /changes/KEYSPACE/TABLE`: a table's changes as lines of JSON or a file of Avro, as long as the client reads: `docs/reference/changes.md`.
//!
//! The log is read over the node's own CQL port as the role that has logged in, by the thread of this connection. A line is made when there is room for it: a
//! client that reads slowly holds up its own thread and nothing else, which has one page of the log in memory.

use super::changes_format::{Format, Told};
use super::lasting::{self, Body, Node};
use super::own_port;
use super::reply::{BAD_REQUEST, NOT_ALLOWED, Reply, UNAVAILABLE};
use super::request::{Request, percent_decoded};
use crate::console::{self, Login};
use crate::feed::avro::Codec;
use crate::feed::{FeedError, Log, Reader, Since, Source, Step};
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

const PATH: &str = "/changes/";
/// So long what may pass is tried again.
const RETRY: Duration = Duration::from_secs(60);
/// From one look to the next: after changes, and where there are none.
const POLL: Duration = Duration::from_millis(50);
const POLL_MAX: Duration = Duration::from_secs(1);
const SECONDS_MAX: u64 = 3_600;

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
    format: Format,
}

/// Whether it is a feed that is asked for.
pub(super) fn is_feed(request: &Request) -> bool {
    request.target().0.starts_with(PATH)
}

/// Answers who has logged in, or need not; `None` once a feed has ended.
pub(super) fn answer(node: &Node<'_>, client: &TcpStream, stream: &mut impl Write, request: &Request) -> std::io::Result<Option<Reply>> {
    let asked = match check(node.asker.login, request) {
        Ok(asked) => asked,
        Err(refusal) => return Ok(Some(refusal)),
    };
    let Some(place) = node.places.take() else {
        let text = format!("{} feeds are read here already: ask another member, or when one has ended", node.places.most);
        return Ok(Some(Reply::text(UNAVAILABLE, text)));
    };
    let mut told = Told::new(asked.format);
    let mut body = Body::new(stream, told.kind(), request);
    let ended = feed(node, client, &asked, &mut told, &mut body);
    // Whoever has the end of an answer may ask again.
    drop(place);
    body.finish(ended, FeedError::status, |error, code| told.failure(error, code))
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
    const KNOWN: [&str; 7] = ["since", "follow", "wait", "heartbeat", "limit", "format", "codec"];
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
    let codec = request.parameter("codec");
    let format = match (request.parameter("format").as_deref(), &codec) {
        (None | Some("json"), None) => Format::Json,
        (None | Some("json"), Some(_)) => return Err(bad("`codec` is of files of Avro: say format=avro, too".to_owned())),
        (Some("avro"), None) => Format::Avro(Codec::default()),
        (Some("avro"), Some(name)) => Format::Avro(Codec::named(name).ok_or_else(|| bad("`codec` is to be null or deflate".to_owned()))?),
        (Some(_), _) => return Err(bad("`format` is to be json or avro".to_owned())),
    };
    Ok(Asked {
        keyspace,
        table,
        since: request.parameter("since").unwrap_or_else(|| "oldest".to_owned()),
        follow: number("follow", 0, 0, 1)? == 1,
        wait: Duration::from_secs(number("wait", 0, 0, SECONDS_MAX)?),
        heartbeat: Duration::from_secs(number("heartbeat", 10, 1, SECONDS_MAX)?),
        limit: number("limit", u64::MAX, 1, u64::MAX)?,
        format,
    })
}

type End = lasting::End<FeedError>;

impl From<FeedError> for End {
    fn from(error: FeedError) -> Self {
        Self::Failed(error)
    }
}

/// Tells changes until there is nothing more to tell.
fn feed(node: &Node<'_>, client: &TcpStream, asked: &Asked, told: &mut Told, body: &mut Body<'_, impl Write>) -> Result<(), End> {
    let Asked { keyspace, table, .. } = asked;
    if let Some(refusal) = own_port::refuse(node.console, node.asker, "there are no feeds") {
        return Err(End::Refused(refusal));
    }
    let since: Since = asked.since.parse()?;
    let schema = node.board.schema();
    let log = Log::of(&schema, keyspace, table)?;
    told.begin(&schema, &log)?;
    let mut reader =
        Reader::new(Source::new(Box::new(|| own_port::connect_in_background(node.console, node.board, node.asker))), log, since)?;
    let (began, mut said, mut count) = (Instant::now(), Instant::now(), 0u64);
    let (mut pause, mut failing) = (POLL, None::<Instant>);
    loop {
        let before = told.end(&reader);
        let step = reader.step(asked.limit - count);
        if step.is_ok() {
            failing = None;
            let schema = node.board.schema();
            reader.set_log(Log::of(&schema, keyspace, table)?)?;
            if !told.fits(&schema, reader.log())? {
                return told.mark(&before, body);
            }
        }
        match step {
            Ok(Step::Changes(changes)) => {
                said = if changes.is_empty() { said } else { Instant::now() };
                count += changes.len() as u64;
                for change in &changes {
                    told.change(reader.log(), change, body)?;
                }
                if count == asked.limit {
                    return told.mark(&told.end(&reader), body);
                }
                pause = POLL;
                told.flush(body)?;
                continue;
            }
            Ok(Step::CaughtUp) => {
                if !asked.follow && (count > 0 || began.elapsed() >= asked.wait) {
                    return told.mark(&told.end(&reader), body);
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
        if (asked.follow || body.has_begun()) && said.elapsed() >= asked.heartbeat {
            told.mark(&told.end(&reader), body)?;
            told.flush(body)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::FORBIDDEN;

    fn check_of(target: &str) -> Result<Asked, Reply> {
        check(None, &Request::of(&format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")))
    }

    #[test]
    fn what_is_asked_for_is_checked() {
        let asked = check_of("/changes/k/a%2Fb?since=now&follow=1&heartbeat=2&limit=3&wait=4&format=avro").expect("it is right");
        let expected = Asked {
            keyspace: "k".to_owned(),
            table: "a/b".to_owned(),
            since: "now".to_owned(),
            follow: true,
            wait: Duration::from_secs(4),
            heartbeat: Duration::from_secs(2),
            limit: 3,
            format: Format::Avro(Codec::Null),
        };
        assert_eq!(asked, expected);
        let deflated = check_of("/changes/k/t?format=avro&codec=deflate").expect("it is right");
        assert_eq!(deflated.format, Format::Avro(Codec::Deflate));
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
            "/changes/k/t?format=xml",
            "/changes/k/t?codec=deflate",
            "/changes/k/t?format=json&codec=null",
            "/changes/k/t?format=avro&codec=snappy",
        ] {
            assert_eq!(check_of(wrong).err().map(|reply| reply.status), Some(BAD_REQUEST), "{wrong}");
        }
        let foreign = Request::of("GET /changes/k/t HTTP/1.1\r\nHost: evil.example\r\n\r\n");
        assert_eq!(check(None, &foreign).err().map(|reply| reply.status), Some(FORBIDDEN));
    }
}
