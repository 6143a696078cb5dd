//! One client connection: from received bytes to requests, one at a time and in order; from replies to bytes to send. No I/O.
//!
//! The protocol has no way to tell replies apart, so a request is served only when the one before has been answered; what arrives meanwhile
//! waits, and the connection is paused.

use crate::index::{IndexChange, IndexRefusal};
use crate::info::{NodeView, Truncation, answer, write_value};
use crate::jobs::Abort;
use crate::udf::ModuleChange;
use crate::wire::{HEADER_BYTES, Header, Kind, Message, Proto, WireError, decompress};
use crate::{ResultCode, exec::Shape};
use base::BufferPool;
use std::net::SocketAddr;

/// The size that a connection's first late reply is taken to have.
const REPLY_BYTES_FIRST: usize = 16 << 10;

/// Messages that are longer than this end the connection; those up to here that are longer than is taken are skipped.
const SKIPPED_BYTES_MAX: usize = 128 << 20;

/// So many names are answered of a client that has to log in first.
const INFO_NAMES_MAX: usize = 1_000;

/// What is answered to information commands of a client that has to log in first.
const NOT_AUTHENTICATED: &str = "ERROR:80:not authenticated";

/// What the session cannot answer itself.
pub trait Server {
    /// Whether the client may ask for information: it has logged in, or nobody has to.
    fn is_let_in(&self) -> bool;

    /// A command about users. Appends the whole reply, unless that comes later.
    fn security(&mut self, body: &[u8], out: &mut Vec<u8>) -> Progress;

    /// What information commands tell of.
    fn view(&self) -> NodeView<'_>;

    /// Deletes all records of a set or namespace. Appends the value that is answered, `ok` or an error, unless that comes later.
    fn truncate(&mut self, truncation: &Truncation<'_>, value: &mut Vec<u8>) -> Progress;

    /// Makes or drops an index; answered as [`Server::truncate`] is.
    fn change_index(&mut self, change: &IndexChange, value: &mut Vec<u8>) -> Progress;

    /// Registers a module of functions or takes one away; answered as [`Server::truncate`] is.
    fn change_module(&mut self, change: &ModuleChange, value: &mut Vec<u8>) -> Progress;

    /// Ends jobs, and appends the value that is answered.
    fn abort_jobs(&mut self, abort: Abort, value: &mut Vec<u8>);

    /// Buffers for requests that come in several pieces.
    fn buffers(&mut self) -> &mut BufferPool;

    /// A request about records, and the bytes that it was decoded from. Appends the whole reply, or pieces of it when the rest comes later.
    fn message(&mut self, message: &Message<'_>, body: &[u8], out: &mut Vec<u8>) -> Progress;
}

/// Whether a request has been answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has.
    Replied,
    /// Its reply, or the rest of it, comes later.
    Waiting,
}

/// Whether the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a broken connection must be closed"]
pub enum Verdict {
    /// It does.
    Continue,
    /// There is more to serve, once the request in flight is answered and the client has taken what there is to send: call again with no
    /// bytes then.
    Pause,
    /// What was written must still be sent, then it ends.
    Close,
}

/// How long the request is that begins so.
fn whole_bytes(bytes: &[u8]) -> usize {
    let header = Header::read(bytes, SKIPPED_BYTES_MAX).ok().flatten();
    header.map_or(0, |header| HEADER_BYTES + header.body_bytes)
}

/// A connection's state.
#[derive(Debug)]
pub struct Session {
    address: SocketAddr,
    message_bytes_max: usize,
    /// What has arrived and not been served.
    buffer: Vec<u8>,
    /// How much is still to come of a message that is too long.
    skipped_bytes: usize,
    in_flight: bool,
    /// The command whose value comes later.
    asked: Option<String>,
    /// How large replies that came later have been: decays towards those of late.
    reply_bytes: usize,
}

impl Session {
    /// A new connection whose messages have at most `message_bytes_max`.
    #[must_use]
    pub fn new(address: SocketAddr, message_bytes_max: u32) -> Self {
        Self {
            address,
            message_bytes_max: message_bytes_max as usize,
            buffer: Vec::new(),
            skipped_bytes: 0,
            in_flight: false,
            asked: None,
            reply_bytes: REPLY_BYTES_FIRST,
        }
    }

    /// Where the client is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Requests whose reply has not been given yet: one at most.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        u32::from(self.in_flight)
    }

    /// How large the reply that is still to come may be.
    #[must_use]
    pub fn outstanding_bytes(&self) -> usize {
        if self.in_flight { self.reply_bytes } else { 0 }
    }

    /// Bytes of memory the session holds for what has arrived and is not served.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Whether [`Session::receive`] would serve another request.
    #[must_use]
    pub fn takes_requests(&self, unsent_bytes: usize, unsent_bytes_max: usize) -> bool {
        !self.in_flight && unsent_bytes_max > 0 && (unsent_bytes == 0 || unsent_bytes < unsent_bytes_max)
    }

    /// Takes received bytes, serves the requests in them and appends to `out` what is to be sent; serves no further request while one is in
    /// flight, or once `out` has more than `out_bytes_max` bytes. With 0 it serves none.
    pub fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>, out_bytes_max: usize, server: &mut impl Server) -> Verdict {
        let mut kept = std::mem::take(&mut self.buffer);
        let received = if kept.is_empty() {
            bytes
        } else {
            kept.extend_from_slice(bytes);
            &kept
        };
        let (served, verdict) = self.serve(received, out, out_bytes_max, server);
        if served < received.len() && verdict != Verdict::Close {
            if kept.is_empty() {
                let rest = &bytes[served..];
                kept = server.buffers().begin_message(rest, whole_bytes(rest));
            } else {
                kept.drain(..served);
            }
            self.buffer = kept;
        } else if kept.capacity() > 0 {
            server.buffers().end_message(kept);
        }
        verdict
    }

    /// Serves whole messages; says how many bytes they had.
    fn serve(&mut self, received: &[u8], out: &mut Vec<u8>, out_bytes_max: usize, server: &mut impl Server) -> (usize, Verdict) {
        let mut served = 0;
        loop {
            if self.skipped_bytes > 0 {
                let skipped = self.skipped_bytes.min(received.len() - served);
                (served, self.skipped_bytes) = (served + skipped, self.skipped_bytes - skipped);
                if self.skipped_bytes > 0 {
                    return (served, Verdict::Continue);
                }
                refuse_unread(out, ResultCode::RECORD_TOO_BIG);
            }
            let rest = &received[served..];
            let header = match Header::read(rest, SKIPPED_BYTES_MAX) {
                Ok(Some(header)) => header,
                Ok(None) => return (served, Verdict::Continue),
                Err(error) => {
                    answer_broken(&error, out);
                    return (served, Verdict::Close);
                }
            };
            if !self.takes_requests(out.len(), out_bytes_max) {
                return (served, Verdict::Pause);
            }
            if header.body_bytes > self.message_bytes_max {
                served += HEADER_BYTES;
                self.skipped_bytes = header.body_bytes;
                continue;
            }
            let Some(body) = rest[HEADER_BYTES..].get(..header.body_bytes) else { return (served, Verdict::Continue) };
            served += HEADER_BYTES + body.len();
            match header.kind {
                Kind::Message => self.message(body, out, server),
                Kind::Compressed => {
                    let mut plain = Vec::new();
                    match decompress(body, self.message_bytes_max, &mut plain) {
                        Ok(()) => self.message(&plain, out, server),
                        Err(error) => {
                            answer_broken(&error, out);
                            return (served, Verdict::Close);
                        }
                    }
                }
                Kind::Info => self.info(body, out, server),
                Kind::Security => self.in_flight = server.security(body, out) == Progress::Waiting,
            }
        }
    }

    fn message(&mut self, body: &[u8], out: &mut Vec<u8>, server: &mut impl Server) {
        match Message::decode(body) {
            Ok(message) => self.in_flight = server.message(&message, body, out) == Progress::Waiting,
            Err(_) => refuse_unread(out, ResultCode::PARAMETER),
        }
    }

    fn info(&mut self, body: &[u8], out: &mut Vec<u8>, server: &mut impl Server) {
        let names = String::from_utf8_lossy(body);
        if !server.is_let_in() {
            let proto = Proto::begin(out, Kind::Info);
            names
                .split('\n')
                .filter(|name| !name.is_empty())
                .take(INFO_NAMES_MAX)
                .for_each(|name| write_value(out, name, NOT_AUTHENTICATED));
            return proto.end(out);
        }
        let Some(change) = Change::of_request(&names) else {
            let proto = Proto::begin(out, Kind::Info);
            answer(&names, &server.view(), out);
            return proto.end(out);
        };
        let (name, mut value) = (names.trim_end_matches('\n'), Vec::new());
        let progress = match change {
            Change::Truncation(truncation) => server.truncate(&truncation, &mut value),
            Change::Index(change) => server.change_index(&change, &mut value),
            Change::Module(change) => server.change_module(&change, &mut value),
            Change::Abort(abort) => {
                server.abort_jobs(abort, &mut value);
                Progress::Replied
            }
            Change::Refused(refusal) => {
                value.extend_from_slice(refusal.as_bytes());
                Progress::Replied
            }
        };
        if progress == Progress::Waiting {
            self.in_flight = true;
            self.asked = Some(name.to_owned());
            return;
        }
        let proto = Proto::begin(out, Kind::Info);
        write_value(out, name, &String::from_utf8_lossy(&value));
        proto.end(out);
    }

    /// Appends the rest of a reply that came later: whole messages, or the value of a command.
    pub fn append_late_reply(&mut self, reply: &[u8], out: &mut Vec<u8>) {
        self.in_flight = false;
        self.reply_bytes = reply.len().max(self.reply_bytes - self.reply_bytes / 16);
        match self.asked.take() {
            None => out.extend_from_slice(reply),
            Some(name) => {
                let proto = Proto::begin(out, Kind::Info);
                write_value(out, &name, &String::from_utf8_lossy(reply));
                proto.end(out);
            }
        }
    }
}

/// A command that changes something.
enum Change<'a> {
    Truncation(Truncation<'a>),
    Index(IndexChange),
    Module(ModuleChange),
    Abort(Abort),
    /// What is answered to one that cannot be.
    Refused(String),
}

impl<'a> Change<'a> {
    /// Reads a request; `None` if it changes nothing.
    fn of_request(names: &'a str) -> Option<Self> {
        if let Some(truncation) = Truncation::of_request(names) {
            return Some(truncation.map_or_else(|refusal| Self::Refused(refusal.to_owned()), Self::Truncation));
        }
        if let Some(change) = ModuleChange::of_request(names) {
            return Some(change.map_or_else(Self::Refused, Self::Module));
        }
        if let Some(abort) = Abort::of_request(names) {
            return Some(abort.map_or_else(Self::Refused, Self::Abort));
        }
        let refused = |IndexRefusal { code, message }| Self::Refused(format!("ERROR:{}:{message}", code.0));
        IndexChange::of_request(names).map(|change| change.map_or_else(refused, Self::Index))
    }
}

/// Tells a client that speaks something else, or too much, before it is cut off.
fn answer_broken(error: &WireError, out: &mut Vec<u8>) {
    if !matches!(error, WireError::Version(_) | WireError::Kind(_)) {
        refuse_unread(out, ResultCode::PARAMETER);
    }
}

/// Refuses what was not read. It may have been a batch, whose client waits until it is told that this is the last message; others do not mind.
fn refuse_unread(out: &mut Vec<u8>, code: ResultCode) {
    Shape::Many.write(out, code);
}

#[cfg(test)]
mod tests;
