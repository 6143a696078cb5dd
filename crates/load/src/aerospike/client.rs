//! A blocking connection for what is asked before the load: information commands, and the records that bring sets into being.

use super::{PROTOCOL, wire};
use crate::target::TargetError;
use ::aerospike::ResultCode;
use ::aerospike::wire::{HEADER_BYTES, Header, Kind, Message, Proto};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const CONNECT_S: f64 = 5.0;
const ANSWER_S: f64 = 10.0;
/// No answer of interest is longer.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// A connection.
pub(super) struct Client {
    address: SocketAddr,
    socket: TcpStream,
}

impl Client {
    pub(super) fn connect(address: SocketAddr) -> Result<Self, TargetError> {
        let connect = |source| TargetError::Connect { address, source };
        let socket = TcpStream::connect_timeout(&address, Duration::from_secs_f64(CONNECT_S)).map_err(connect)?;
        socket.set_nodelay(true).map_err(connect)?;
        let answer = Some(Duration::from_secs_f64(ANSWER_S));
        socket.set_read_timeout(answer).and_then(|()| socket.set_write_timeout(answer)).map_err(connect)?;
        Ok(Self { address, socket })
    }

    /// Asks for values by name; what the server does not know has an empty value or is not there.
    pub(super) fn info(&mut self, names: &[&str]) -> Result<BTreeMap<String, String>, TargetError> {
        let mut out = Vec::new();
        append_info(&mut out, names);
        let body = self.call(&out, Kind::Info)?;
        Ok(values(&body).map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Carries out a command whose answer is `ok`.
    pub(super) fn command(&mut self, command: &str) -> Result<(), TargetError> {
        let answer = self.info(&[command])?.remove(command).unwrap_or_default();
        if answer.eq_ignore_ascii_case("ok") {
            return Ok(());
        }
        Err(TargetError::Refused { what: command.to_owned(), kind: "error", message: answer })
    }

    /// Sends a request about a record, that of `what`, and waits until it is carried out.
    pub(super) fn request(&mut self, what: &str, request: &[u8]) -> Result<(), TargetError> {
        let body = self.call(request, Kind::Message)?;
        match Message::decode(&body).map_err(wire)?.result {
            ResultCode::OK => Ok(()),
            code => Err(TargetError::Refused { what: what.to_owned(), kind: code.name(), message: code.to_string() }),
        }
    }

    /// A request and the body of its answer, which is of the same kind.
    fn call(&mut self, request: &[u8], kind: Kind) -> Result<Vec<u8>, TargetError> {
        self.socket.write_all(request).map_err(|error| self.broken(error))?;
        let mut header = [0; HEADER_BYTES];
        self.read(&mut header)?;
        let header = Header::read(&header, ANSWER_BYTES_MAX).map_err(wire)?.expect("all of its bytes are there");
        if header.kind != kind {
            return Err(TargetError::Protocol { protocol: PROTOCOL, what: "a request is answered with something else".into() });
        }
        let mut body = vec![0; header.body_bytes];
        self.read(&mut body)?;
        Ok(body)
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), TargetError> {
        self.socket.read_exact(bytes).map_err(|error| self.broken(error))
    }

    fn broken(&self, source: std::io::Error) -> TargetError {
        let address = self.address;
        match source.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => TargetError::Silent { address, seconds: ANSWER_S },
            _ => TargetError::Broken { address, source },
        }
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
