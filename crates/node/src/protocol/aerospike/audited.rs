//! What the audit log tells of Aerospike: the kind of each request, its namespace and set. Keys and bins are data, and not told.

use crate::audit::{Category, Event, Failure, Operation, RequestTag};
use aerospike::ResultCode;
use aerospike::security::Command;
use aerospike::wire::{self, HEADER_BYTES, Kind, MESSAGE_HEADER_BYTES, info1, info2};

/// A connection has one request at a time.
pub(super) const TAG: RequestTag = RequestTag(0);

/// Where a message has its result code.
const RESULT_OFFSET: usize = 5;

/// As lines name it.
pub(super) const PROTOCOL: &str = "aerospike";

/// Where a reply to a command about users has its result.
const SECURITY_RESULT_OFFSET: usize = HEADER_BYTES + 1;

pub(super) fn event(message: &wire::Message<'_>) -> Event {
    let (flags, fields) = (message.attributes, &message.fields);
    let (category, kind) = match () {
        () if fields.batch.is_some() => (if writes(message) { Category::Dml } else { Category::Query }, "BATCH"),
        () if fields.udf.is_asked() => (Category::Dml, "EXECUTE"),
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
    if reply.starts_with(b"ERROR") || reply.starts_with(b"error=") {
        let why = String::from_utf8_lossy(reply).into_owned();
        let is_refused = reply.starts_with(b"ERROR:81:") || reply.starts_with(b"ERROR:80:");
        return Some(if is_refused { Failure::Unauthorized(why) } else { Failure::Other(why) });
    }
    if reply.get(1) == Some(&Kind::Security.number()) {
        let code = ResultCode(*reply.get(SECURITY_RESULT_OFFSET)?);
        return (code != ResultCode::OK).then(|| failure_of_code(code));
    }
    let is_message = reply.get(HEADER_BYTES) == Some(&(MESSAGE_HEADER_BYTES as u8));
    let code = ResultCode(*reply.get(HEADER_BYTES + RESULT_OFFSET).filter(|_| is_message)?);
    (![ResultCode::OK, ResultCode::NOT_FOUND].contains(&code)).then(|| failure_of_code(code))
}

/// What came of a condition or of a look for what is not there: of no fault of client or server.
const OUTCOMES: [ResultCode; 5] =
    [ResultCode::OK, ResultCode::NOT_FOUND, ResultCode::GENERATION, ResultCode::KEY_EXISTS, ResultCode::FILTERED_OUT];

/// The number of the error that a reply tells of, if it is one.
#[inline]
pub(super) fn error_of(reply: &[u8]) -> Option<i32> {
    let is_message = reply.get(HEADER_BYTES) == Some(&(MESSAGE_HEADER_BYTES as u8));
    let is_security = reply.get(1) == Some(&Kind::Security.number());
    let offset = if is_security { SECURITY_RESULT_OFFSET } else { HEADER_BYTES + RESULT_OFFSET };
    let code = ResultCode(*reply.get(offset).filter(|_| is_security || is_message)?);
    (!OUTCOMES.contains(&code)).then_some(i32::from(code.0))
}

/// What a result code tells the audit log.
pub(super) fn failure_of_code(code: ResultCode) -> Failure {
    match code {
        ResultCode::NOT_AUTHENTICATED | ResultCode::ROLE_VIOLATION | ResultCode::INVALID_CREDENTIAL => {
            Failure::Unauthorized(code.to_string())
        }
        _ => Failure::Other(code.to_string()),
    }
}

/// A command about users. Its passwords are not told.
pub(super) fn event_of_command(command: &Command) -> Event {
    let object = command.subject().map(Into::into);
    Event { category: Category::Dcl, kind: command.name(), keyspace: None, object, operation: Operation::None }
}
