//! Replies to commands about users, and what those of this project send that are clients themselves.

use super::command::Quotas;
use super::fields::field;
use super::privilege::{Privilege, Scope};
use crate::ResultCode;
use crate::wire::{Kind, Proto, WireError};

/// What ends a list.
const LIST_END: ResultCode = ResultCode(50);

/// A list that is longer is cut into messages of about so many bytes.
const MESSAGE_BYTES: usize = 64 << 10;

/// A user as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserShown<'a> {
    /// Its name.
    pub name: &'a str,
    /// The roles that it has.
    pub roles: Vec<&'a str>,
}

/// A role as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleShown<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it may do.
    pub privileges: Vec<Privilege>,
    /// Where its users may log in from; empty for anywhere.
    pub whitelist: Vec<&'a str>,
    /// How many operations a second its users may do.
    pub quotas: Quotas,
}

/// Appends a reply that is nothing but a result.
pub fn write_result(out: &mut Vec<u8>, result: ResultCode) {
    let proto = Proto::begin(out, Kind::Security);
    Part::begin(out).end(out, result);
    proto.end(out);
}

/// Appends a client's log-in: its name, and what it makes of the password.
pub fn write_login(out: &mut Vec<u8>, user: &str, credential: &str) {
    const LOGIN: u8 = 20;
    let proto = Proto::begin(out, Kind::Security);
    let mut part = Part::begin(out);
    out[part.start + 2] = LOGIN;
    part.field(out, field::USER, user.as_bytes());
    part.field(out, field::CREDENTIAL, credential.as_bytes());
    part.end(out, ResultCode::OK);
    proto.end(out);
}

/// The result that the body of a reply tells.
///
/// # Errors
/// The body is too short to have one.
pub fn read_result(body: &[u8]) -> Result<ResultCode, WireError> {
    body.get(1).copied().map(ResultCode).ok_or(WireError::Truncated("the reply to a command about users"))
}

/// Appends the reply to a log-in: the session, and how many seconds it lasts.
pub fn write_session(out: &mut Vec<u8>, token: &[u8], seconds: u32) {
    let proto = Proto::begin(out, Kind::Security);
    let mut part = Part::begin(out);
    part.field(out, field::SESSION_TOKEN, token);
    part.field(out, field::SESSION_TTL, &seconds.to_be_bytes());
    part.end(out, ResultCode::OK);
    proto.end(out);
}

/// Appends a list of users.
pub fn write_users<'a>(out: &mut Vec<u8>, users: impl Iterator<Item = UserShown<'a>>) {
    write_list(out, users, |part, out, user| {
        part.field(out, field::USER, user.name.as_bytes());
        let roles = counted(user.roles.iter(), |data, role| short_text(data, role));
        part.field(out, field::ROLES, &roles);
    });
}

/// Appends a list of roles.
pub fn write_roles<'a>(out: &mut Vec<u8>, roles: impl Iterator<Item = RoleShown<'a>>) {
    write_list(out, roles, |part, out, role| {
        part.field(out, field::ROLE, role.name.as_bytes());
        let privileges = counted(role.privileges.iter(), |data, privilege| {
            data.push(privilege.kind as u8);
            if privilege.kind.has_scope() {
                let (namespace, set) = match &privilege.scope {
                    Scope::Everything => ("", ""),
                    Scope::Namespace(namespace) => (namespace.as_str(), ""),
                    Scope::Set(namespace, set) => (namespace.as_str(), set.as_str()),
                };
                short_text(data, namespace);
                short_text(data, set);
            }
        });
        part.field(out, field::PRIVILEGES, &privileges);
        if !role.whitelist.is_empty() {
            part.field(out, field::WHITELIST, role.whitelist.join(",").as_bytes());
        }
        for (number, quota) in [(field::READ_QUOTA, role.quotas.read), (field::WRITE_QUOTA, role.quotas.write)] {
            part.field(out, number, &quota.to_be_bytes());
        }
    });
}

fn write_list<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, write: impl Fn(&mut Part, &mut Vec<u8>, T)) {
    let mut start = out.len();
    let mut proto = Proto::begin(out, Kind::Security);
    for item in items {
        if out.len() - start > MESSAGE_BYTES {
            proto.end(out);
            start = out.len();
            proto = Proto::begin(out, Kind::Security);
        }
        let mut part = Part::begin(out);
        write(&mut part, out, item);
        part.end(out, ResultCode::OK);
    }
    Part::begin(out).end(out, LIST_END);
    proto.end(out);
}

/// Items with their number before them, which is one byte.
fn counted<T>(items: impl ExactSizeIterator<Item = T>, write: impl Fn(&mut Vec<u8>, T)) -> Vec<u8> {
    let count = items.len().min(usize::from(u8::MAX));
    let mut data = vec![count as u8];
    items.take(count).for_each(|item| write(&mut data, item));
    data
}

/// A text with its length before it, which is one byte: what is longer is cut.
fn short_text(data: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(usize::from(u8::MAX));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    data.push(end as u8);
    data.extend_from_slice(&text.as_bytes()[..end]);
}

/// A header and its fields, in the making.
struct Part {
    start: usize,
    fields: u8,
}

impl Part {
    fn begin(out: &mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; super::command::HEADER_BYTES]);
        Self { start, fields: 0 }
    }

    fn field(&mut self, out: &mut Vec<u8>, number: u8, data: &[u8]) {
        out.extend_from_slice(&(data.len() as u32 + 1).to_be_bytes());
        out.push(number);
        out.extend_from_slice(data);
        self.fields += 1;
    }

    fn end(self, out: &mut [u8], result: ResultCode) {
        (out[self.start + 1], out[self.start + 3]) = (result.0, self.fields);
    }
}
