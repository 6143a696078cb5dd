//! A connection that waits for its answers, over any transport: information commands, requests about one record and about many, log-ins.

use crate::transport::Transport;
use ::aerospike::ResultCode;
use ::aerospike::security::{read_result, write_login};
use ::aerospike::wire::{HEADER_BYTES, Header, Kind, Message, Proto, WireError, info3};
use std::collections::BTreeMap;

/// No answer is longer: the protocol's own bound.
const ANSWER_BYTES_MAX: usize = 128 << 20;

/// Why a request got no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The connection is broken.
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    /// What came is not the protocol.
    #[error("the server's bytes make no sense: {0}")]
    Wire(#[from] WireError),
    /// What came is the answer to something else.
    #[error("a request is answered with something else")]
    Unexpected,
    /// The name, or its password.
    #[error("the server does not let {user} in: {code}")]
    Login {
        /// Who wants in.
        user: String,
        /// What it says.
        code: ResultCode,
    },
    /// A request about records.
    #[error("the server refuses {what}: {code}")]
    Refused {
        /// What was asked.
        what: &'static str,
        /// What it says.
        code: ResultCode,
    },
    /// An information command.
    #[error("the server refuses {command}: {answer}")]
    Command {
        /// The command.
        command: String,
        /// The server's words.
        answer: String,
    },
}

/// A connection.
pub struct Client<T> {
    transport: T,
    /// What has arrived; the last answer is its first `taken` bytes.
    received: Vec<u8>,
    taken: usize,
}

impl<T: Transport> Client<T> {
    /// On a connection that is there.
    pub fn new(transport: T) -> Self {
        Self { transport, received: Vec::new(), taken: 0 }
    }

    /// Logs in on this connection. `credential` is what clients make of a password.
    ///
    /// # Errors
    /// When the server does not know the user, or by another password.
    pub fn log_in(&mut self, user: &str, credential: &str) -> Result<(), ClientError> {
        let mut out = Vec::new();
        write_login(&mut out, user, credential);
        match read_result(self.call(&out, Kind::Security)?)? {
            // Nobody has to log in there.
            ResultCode::OK | ResultCode::SECURITY_NOT_ENABLED => Ok(()),
            code => Err(ClientError::Login { user: user.to_owned(), code }),
        }
    }

    /// Asks for values by name; what the server does not know has an empty value or is not there.
    ///
    /// # Errors
    /// When the connection is of no use.
    pub fn info(&mut self, names: &[&str]) -> Result<BTreeMap<String, String>, ClientError> {
        let mut out = Vec::new();
        append_info(&mut out, names);
        let body = self.call(&out, Kind::Info)?;
        Ok(values(body).map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Carries out a command whose answer is `ok`.
    ///
    /// # Errors
    /// When it is another one.
    pub fn command(&mut self, command: &str) -> Result<(), ClientError> {
        let answer = self.info(&[command])?.remove(command).unwrap_or_default();
        if answer.eq_ignore_ascii_case("ok") { Ok(()) } else { Err(ClientError::Command { command: command.to_owned(), answer }) }
    }

    /// Sends a request about a record, and waits until it is carried out.
    ///
    /// # Errors
    /// When the server refuses it; `what` says what it was.
    pub fn request(&mut self, what: &'static str, request: &[u8]) -> Result<(), ClientError> {
        match Message::decode(self.call(request, Kind::Message)?)?.result {
            ResultCode::OK => Ok(()),
            code => Err(ClientError::Refused { what, code }),
        }
    }

    /// Sends a request that is answered by many messages, a scan or a batch; `each` gets all but the last, which tells how it ended.
    ///
    /// # Errors
    /// When the server refuses it, and what `each` says. Nobody knows then what comes next on the connection.
    pub fn many<E: From<ClientError>>(
        &mut self,
        what: &'static str,
        request: &[u8],
        mut each: impl FnMut(&Message<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.send(request)?;
        loop {
            let mut rest = self.body(Kind::Message)?;
            while !rest.is_empty() {
                let (message, after) = Message::read(rest).map_err(ClientError::from)?;
                rest = after;
                if message.attributes.info3 & info3::LAST == 0 {
                    each(&message)?;
                } else if message.result == ResultCode::OK {
                    return Ok(());
                } else {
                    return Err(ClientError::Refused { what, code: message.result }.into());
                }
            }
        }
    }

    /// A request and the body of its answer, which is of the same kind.
    fn call(&mut self, request: &[u8], kind: Kind) -> Result<&[u8], ClientError> {
        self.send(request)?;
        self.body(kind)
    }

    fn send(&mut self, request: &[u8]) -> Result<(), ClientError> {
        Ok(self.transport.send(request)?)
    }

    /// The body of the next message.
    fn body(&mut self, kind: Kind) -> Result<&[u8], ClientError> {
        self.received.drain(..self.taken);
        self.taken = 0;
        while self.taken == 0 {
            match Header::read(&self.received, ANSWER_BYTES_MAX)? {
                Some(header) if header.kind != kind => return Err(ClientError::Unexpected),
                Some(header) if self.received.len() >= HEADER_BYTES + header.body_bytes => self.taken = HEADER_BYTES + header.body_bytes,
                _ => self.transport.receive(&mut self.received)?,
            }
        }
        Ok(&self.received[HEADER_BYTES..self.taken])
    }
}

/// Appends a request for information.
pub(super) fn append_info(out: &mut Vec<u8>, names: &[&str]) {
    let proto = Proto::begin(out, Kind::Info);
    for name in names {
        out.extend_from_slice(name.as_bytes());
        out.push(b'\n');
    }
    proto.end(out);
}

/// The names and values of an answer, as far as they are text.
pub(super) fn values(body: &[u8]) -> impl Iterator<Item = (&str, &str)> {
    let lines = std::str::from_utf8(body).unwrap_or_default().split('\n');
    lines.filter_map(|line| line.split_once('\t'))
}
