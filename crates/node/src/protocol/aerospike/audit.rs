//! What the audit log tells of Aerospike: the kind of each request, its namespace and set. Keys and bins are data, and not told.

use super::records::{Declared, Records};
use crate::audit::{Category, Event, Failure, Operation, RequestTag, Source};
use crate::message::Message;
use aerospike::ResultCode;
use aerospike::info::Truncation;
use aerospike::session::Progress;
use aerospike::wire::{self, HEADER_BYTES, MESSAGE_HEADER_BYTES, info1, info2};
use io::Reactor;

/// A connection has one request at a time.
pub(super) const TAG: RequestTag = RequestTag(0);

/// As lines name it.
const PROTOCOL: &str = "aerospike";

/// Where a message has its result code.
const RESULT_OFFSET: usize = 5;

impl<R: Reactor<Message = Message>> Records<'_, R> {
    /// Serves a request about records, and has the audit log tell of it.
    #[inline(never)]
    pub(super) fn start_audited(&mut self, message: &wire::Message<'_>, body: &[u8], out: &mut Vec<u8>) -> Progress {
        let start = out.len();
        let progress = self.start(message, body, Declared::No, out);
        self.audit(event(message), progress, failure_of(&out[start..]));
        progress
    }

    /// Deletes a set's records, and has the audit log tell of it.
    pub(super) fn truncate_audited(&mut self, truncation: &Truncation<'_>, value: &mut Vec<u8>) -> Progress {
        let start = value.len();
        let progress = self.start_truncation(truncation, value);
        let event = Event {
            category: Category::Ddl,
            kind: "TRUNCATE",
            keyspace: Some(truncation.namespace.into()),
            object: truncation.set.map(Into::into),
            operation: Operation::None,
        };
        self.audit(event, progress, failure_of(&value[start..]));
        progress
    }

    fn audit(&mut self, event: Event, progress: Progress, failure: Option<Failure>) {
        let Some(address) = self.client else { return };
        let source = Source { protocol: PROTOCOL, address, role: None, wall_us: self.reactor.now().wall_us };
        let Some(audit) = &mut self.core.audit else { return };
        match progress {
            Progress::Replied => audit.ended(&source, &[event], failure.as_ref()),
            Progress::Waiting => audit.waits(self.connection, TAG, source, vec![event]),
        }
    }
}

fn event(message: &wire::Message<'_>) -> Event {
    let (flags, fields) = (message.attributes, &message.fields);
    let (category, kind) = match () {
        () if fields.batch.is_some() => (if writes(message) { Category::Dml } else { Category::Query }, "BATCH"),
        () if flags.info2 & info2::DELETE != 0 => (Category::Dml, "DELETE"),
        () if flags.info2 & info2::WRITE != 0 && flags.info1 & info1::READ != 0 => (Category::Dml, "OPERATE"),
        () if flags.info2 & info2::WRITE != 0 => (Category::Dml, "WRITE"),
        () if fields.digest.is_none() && fields.key.is_none() => (Category::Query, "SCAN"),
        () => (Category::Query, "READ"),
    };
    let name = |name: Option<&[u8]>| name.map(|name| String::from_utf8_lossy(name).into());
    Event { category, kind, keyspace: name(fields.namespace), object: name(fields.set), operation: Operation::None }
}

fn writes(message: &wire::Message<'_>) -> bool {
    message.attributes.info2 & (info2::WRITE | info2::DELETE) != 0
}

/// Why a request failed, if its reply says so: a message, or the value of a command. That there is no record is no failure.
pub(super) fn failure_of(reply: &[u8]) -> Option<Failure> {
    if reply.starts_with(b"ERROR") {
        return Some(Failure::Other(String::from_utf8_lossy(reply).into_owned()));
    }
    let is_message = reply.get(HEADER_BYTES) == Some(&(MESSAGE_HEADER_BYTES as u8));
    let code = ResultCode(*reply.get(HEADER_BYTES + RESULT_OFFSET).filter(|_| is_message)?);
    (![ResultCode::OK, ResultCode::NOT_FOUND].contains(&code)).then(|| Failure::Other(code.to_string()))
}
