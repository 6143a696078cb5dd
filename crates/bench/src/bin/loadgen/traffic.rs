//! Which request comes next, and whether a reply is the right one.

use crate::failure::Failure;
use crate::options::{Options, Workload};
use base::Rng;
use bench::requests::Template;
use bench::rows::{KeyNumber, RowShape};
use cql::wire::{Frame, Opcode, Response, ResultResponse, StreamId};
use load::cql::client::{ClientError, PreparedStatement};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A request that waits for its reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) key: KeyNumber,
    pub(crate) kind: Kind,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Read => "the read",
            Self::Write => "the write",
        }
    }
}

/// How much of a reply is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Its kind and length.
    Borders,
    /// All of it.
    Content,
}

/// The requests of a run.
pub(crate) struct Traffic {
    read: Template,
    write: Template,
    shape: RowShape,
    workload: Workload,
    keys: u64,
    rng: Rng,
    issued: u64,
    issued_max: u64,
    deadline: Instant,
    timestamp_us: i64,
    /// Length of the body of a checked reply to a read.
    row_body_bytes: Option<usize>,
    check: Check,
}

impl Traffic {
    pub(crate) fn new(
        options: &Options,
        shape: RowShape,
        select: &PreparedStatement,
        insert: &PreparedStatement,
        deadline: Instant,
    ) -> Result<Self, Failure> {
        let version = options.version();
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            read: Template::read(version, select)?,
            write: Template::write(version, insert, &shape)?,
            shape,
            workload: options.workload,
            keys: options.keys,
            rng: Rng::new(options.seed),
            issued: 0,
            issued_max: if options.workload == Workload::Load { options.keys } else { options.requests },
            deadline,
            timestamp_us: i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX - (1 << 40)),
            row_body_bytes: None,
            check: if options.verify { Check::Content } else { Check::Borders },
        })
    }

    /// Appends the next request, or `None` when the run is over.
    #[inline]
    pub(crate) fn append_next(&mut self, out: &mut Vec<u8>, stream: StreamId) -> Option<Sent> {
        if self.issued >= self.issued_max {
            return None;
        }
        let (kind, key) = match self.workload {
            Workload::Load => (Kind::Write, self.issued),
            Workload::Reads => (Kind::Read, self.rng.below(self.keys)),
            Workload::Writes => (Kind::Write, self.rng.below(self.keys)),
            Workload::Mixed => {
                let draw = self.rng.below(2 * self.keys);
                (if draw & 1 == 0 { Kind::Read } else { Kind::Write }, draw >> 1)
            }
        };
        self.issued += 1;
        let template = match kind {
            Kind::Read => &self.read,
            Kind::Write => &self.write,
        };
        let key = KeyNumber(key);
        template.append(out, stream, key, self.timestamp_us);
        // Each write is newer than all before it.
        self.timestamp_us += 1;
        Some(Sent { key, kind })
    }

    /// To be called now and then: a run does not last longer than it may.
    pub(crate) fn look_at_clock(&mut self, now: Instant) {
        if now >= self.deadline {
            self.issued_max = self.issued;
        }
    }

    /// How many requests have been sent.
    pub(crate) fn issued(&self) -> u64 {
        self.issued
    }

    /// Whether all requests that there will be have been sent.
    pub(crate) fn is_over(&self) -> bool {
        self.issued >= self.issued_max
    }

    /// Checks a reply.
    #[inline]
    pub(crate) fn check(&mut self, sent: Sent, frame: &Frame<'_>, check: Check) -> Result<(), Failure> {
        let body = frame.body;
        let is_result = frame.header.opcode_byte == Opcode::Result as u8;
        let right = is_result
            && match sent.kind {
                Kind::Write => body == [0, 0, 0, 1],
                Kind::Read => {
                    body.get(..4) == Some(&[0, 0, 0, 2])
                        && self.row_body_bytes == Some(body.len())
                        && self.check == Check::Borders
                        && check == Check::Borders
                }
            };
        if right { Ok(()) } else { self.check_content(sent, frame) }
    }

    #[cold]
    fn check_content(&mut self, sent: Sent, frame: &Frame<'_>) -> Result<(), Failure> {
        let wrong = |what| Failure::WrongReply { request: sent.kind.name(), key: sent.key.0, what };
        let (_, response) = Response::decode(frame)?;
        match (sent.kind, response) {
            (_, Response::Error(error)) => Err(ClientError::refused(&error).into()),
            (Kind::Write, Response::Result(ResultResponse::Void)) => Ok(()),
            (Kind::Read, Response::Result(ResultResponse::Rows(rows))) => {
                if rows.is_empty() {
                    return Err(wrong("there is no such row; load the rows first"));
                }
                if rows.len() > 1 {
                    return Err(wrong("there is more than one row"));
                }
                if !self.shape.matches(sent.key.key(), rows.cells()) {
                    return Err(wrong("the row has other content than was written"));
                }
                if *self.row_body_bytes.get_or_insert(frame.body.len()) != frame.body.len() {
                    return Err(wrong("replies with equal rows have different lengths"));
                }
                Ok(())
            }
            _ => Err(wrong("it is of another kind")),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::Parser;
    use cql::wire::{Direction, FRAME_HEADER_BYTES, FrameFlags, FrameHeader, ProtocolVersion, writer};
    use load::cql::client::ClientError;
    use std::time::Duration;

    fn traffic() -> Traffic {
        let options = Options::parse_from(["loadgen", "--workload", "mixed", "--requests", "1000", "--column-bytes", "100"]);
        let statement = PreparedStatement { id: vec![7; 16], result_metadata_id: Vec::new() };
        Traffic::new(&options, RowShape::new(1, 100), &statement, &statement, Instant::now() + Duration::from_secs(60)).unwrap()
    }

    /// The body of a RESULT with one row for each key.
    fn rows(keys: &[u64]) -> Vec<u8> {
        let mut body = Vec::new();
        // Kind rows, metadata skipped, one column.
        for int in [2, 4, 1, keys.len() as i32] {
            writer::write_int(&mut body, int);
        }
        for key in keys {
            for cell in RowShape::new(1, 100).cells(KeyNumber(*key).key()) {
                writer::write_bytes(&mut body, Some(&cell));
            }
        }
        body
    }

    fn reply(opcode: Opcode, body: &[u8], check: impl FnOnce(&Frame<'_>) -> Result<(), Failure>) -> Result<(), Failure> {
        let header = FrameHeader {
            version: ProtocolVersion::V4,
            direction: Direction::Response,
            flags: FrameFlags::NONE,
            stream: StreamId(0),
            opcode_byte: opcode as u8,
            body_bytes: body.len() as u32,
        };
        check(&Frame { header, body })
    }

    fn read(key: u64) -> Sent {
        Sent { key: KeyNumber(key), kind: Kind::Read }
    }

    #[test]
    fn a_read_is_answered_by_its_own_row_only() {
        let mut traffic = traffic();
        let mut check = |body: &[u8]| reply(Opcode::Result, body, |frame| traffic.check(read(5), frame, Check::Content));
        check(&rows(&[5])).unwrap();
        for wrong in [rows(&[6]), rows(&[]), rows(&[5, 5]), vec![0, 0, 0, 1]] {
            let failure = check(&wrong).unwrap_err();
            assert!(matches!(failure, Failure::WrongReply { key: 5, .. }), "{failure}");
        }
    }

    #[test]
    fn a_reply_of_another_length_is_looked_at_even_when_only_borders_are_checked() {
        let mut traffic = traffic();
        reply(Opcode::Result, &rows(&[5]), |frame| traffic.check(read(5), frame, Check::Content)).unwrap();
        // The same length passes: that is what a check of borders is.
        reply(Opcode::Result, &rows(&[6]), |frame| traffic.check(read(5), frame, Check::Borders)).unwrap();
        reply(Opcode::Result, &rows(&[]), |frame| traffic.check(read(5), frame, Check::Borders)).unwrap_err();
    }

    #[test]
    fn an_error_ends_the_run_with_the_servers_words() {
        let mut body = Vec::new();
        writer::write_int(&mut body, 0x1001);
        writer::write_string(&mut body, "too busy");
        let write = Sent { key: KeyNumber(1), kind: Kind::Write };
        let failure = reply(Opcode::Error, &body, |frame| traffic().check(write, frame, Check::Borders)).unwrap_err();
        assert!(matches!(failure, Failure::Client(ClientError::Refused { code: 0x1001, .. })), "{failure}");
    }

    #[test]
    fn a_run_has_exactly_the_requests_asked_for_and_half_of_them_write() {
        let mut traffic = traffic();
        let mut out = Vec::new();
        let mut kinds = Vec::new();
        while let Some(sent) = traffic.append_next(&mut out, StreamId(0)) {
            assert!(sent.key.0 < 100_000);
            kinds.push(sent.kind);
        }
        let writes = kinds.iter().filter(|kind| **kind == Kind::Write).count();
        assert_eq!(kinds.len(), 1000);
        assert!((400..600).contains(&writes), "{writes}");
        let header = FrameHeader::parse(&out).unwrap().unwrap();
        assert!(out.len() > FRAME_HEADER_BYTES + header.body_bytes as usize);
    }
}
