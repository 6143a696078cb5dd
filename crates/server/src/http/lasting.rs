//! Answers that last: feeds of changes, and rows of SQL. They have a thread for as long as they are read, so there are few at a time.

use super::reply::Reply;
use super::request::Request;
use crate::console::{self, Asker, Console};
use ::node::Board;
use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A client that takes nothing for so long is cut.
pub(super) const SLOW_READER: Duration = Duration::from_secs(60);
/// Bytes that go out together.
const CHUNK_BYTES: usize = 32 << 10;
/// The kind of lines of JSON.
pub(super) const LINES: &str = "application/x-ndjson; charset=utf-8";

/// What such an answer needs of its node.
pub(super) struct Node<'a> {
    pub(super) places: &'a Places,
    pub(super) board: &'a Board,
    pub(super) console: &'a Console,
    pub(super) asker: Asker<'a>,
}

/// Answers of a kind that are read at once.
pub(super) struct Places {
    taken: AtomicUsize,
    pub(super) most: usize,
}

impl Places {
    pub(super) fn new(most: usize) -> Self {
        Self { taken: AtomicUsize::new(0), most }
    }

    /// A place among them, if there is one.
    pub(super) fn take(&self) -> Option<Place<'_>> {
        let place = Place(self);
        (self.taken.fetch_add(1, Ordering::AcqRel) < self.most).then_some(place)
    }
}

/// One of them.
pub(super) struct Place<'a>(&'a Places);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Why such an answer ends before its time.
pub(super) enum End<E> {
    /// The client is gone, or too slow.
    Io(std::io::Error),
    /// What it tells of.
    Failed(E),
    /// It does not begin.
    Refused(Reply),
}

impl<E> From<std::io::Error> for End<E> {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// The number of a status.
fn code_of(status: &str) -> Option<u16> {
    status.split(' ').next()?.parse().ok()
}

/// What is sent after the head, which goes out with the first piece: until then an error has a status of its own.
pub(super) struct Body<'a, W> {
    stream: &'a mut W,
    kind: &'static str,
    is_chunked: bool,
    has_begun: bool,
    waiting: Vec<u8>,
    /// Memory for text.
    text: String,
}

impl<'a, W: Write> Body<'a, W> {
    /// The body of the answer to a request.
    pub(super) fn new(stream: &'a mut W, kind: &'static str, request: &Request) -> Self {
        Self { stream, kind, is_chunked: !request.is_http_1_0(), has_begun: false, waiting: Vec::new(), text: String::new() }
    }

    /// Whether the head is out.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Appends what `write` writes.
    pub(super) fn write(&mut self, write: impl FnOnce(&mut String)) -> std::io::Result<()> {
        write(&mut self.text);
        self.waiting.extend_from_slice(self.text.as_bytes());
        self.text.clear();
        self.push(&[])
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    pub(super) fn flush(&mut self) -> std::io::Result<()> {
        if !self.has_begun {
            self.has_begun = true;
            let framing = if self.is_chunked { "Transfer-Encoding: chunked\r\n" } else { "" };
            let (kind, guards) = (self.kind, console::HEADERS);
            write!(self.stream, "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{framing}{guards}Connection: close\r\n\r\n")?;
        }
        if !self.waiting.is_empty() {
            if self.is_chunked {
                write!(self.stream, "{:x}\r\n", self.waiting.len())?;
                self.waiting.extend_from_slice(b"\r\n");
            }
            self.stream.write_all(&self.waiting)?;
            self.waiting.clear();
        }
        self.stream.flush()
    }

    /// Ends it as what has filled it has ended: a failure has a reply of its own, or, once the head is out, `last` tells these words and this
    /// number.
    pub(super) fn finish<E: Display, L: AsRef<[u8]>>(
        &mut self,
        ended: Result<(), End<E>>,
        status: impl Fn(&E) -> &'static str,
        last: impl FnOnce(&str, Option<u16>) -> L,
    ) -> std::io::Result<Option<Reply>> {
        match ended {
            Ok(()) => self.end().map(|()| None),
            Err(End::Io(error)) => Err(error),
            Err(End::Refused(reply)) => Ok(Some(reply)),
            Err(End::Failed(error)) if !self.has_begun => Ok(Some(Reply::text(status(&error), error.to_string()))),
            Err(End::Failed(error)) => {
                self.push(last(&error.to_string(), code_of(status(&error))).as_ref())?;
                self.end().map(|()| None)
            }
        }
    }

    /// Ends it without saying that it is whole, after some last bytes.
    pub(super) fn cut(&mut self, last: &[u8]) -> std::io::Result<()> {
        self.push(last)?;
        self.flush()
    }

    /// Says that it is whole.
    pub(super) fn end(&mut self) -> std::io::Result<()> {
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

    #[test]
    fn lines_go_out_in_chunks_after_one_head() {
        let mut sent = Vec::new();
        let mut body = Body::new(&mut sent, LINES, &Request::of("GET /x HTTP/1.1\r\n\r\n"));
        for _ in 0..2 {
            body.push(b"{}\n").and_then(|()| body.flush()).expect("memory takes all");
        }
        body.end().expect("memory takes all");
        let sent = String::from_utf8_lossy(&sent);
        let (head, rest) = sent.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("chunked"), "{head}");
        assert_eq!(rest, "3\r\n{}\n\r\n3\r\n{}\n\r\n0\r\n\r\n");
        let mut sent = Vec::new();
        let mut body = Body::new(&mut sent, LINES, &Request::of("GET /x HTTP/1.0\r\n\r\n"));
        body.push(b"{}\n").and_then(|()| body.end()).expect("memory takes all");
        assert!(String::from_utf8_lossy(&sent).ends_with("Connection: close\r\n\r\n{}\n"));
    }

    #[test]
    fn places_are_as_many_as_was_said() {
        let places = Places::new(1);
        let place = places.take();
        assert!(place.is_some() && places.take().is_none());
        drop(place);
        assert!(places.take().is_some());
    }
}
