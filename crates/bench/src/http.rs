//! One HTTP request for what servers say of themselves.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Tests have servers of their own, on a machine that may be slow.
const TIMEOUT: Duration = Duration::from_millis(if cfg!(test) { 60_000 } else { 800 });
const BODY_BYTES_MAX: u64 = 16 << 20;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its first line.
    pub(crate) status: String,
    /// What was asked for, if `is_ok`.
    pub(crate) body: String,
}

impl Answer {
    /// Whether it is 200.
    pub(crate) fn is_ok(&self) -> bool {
        self.status.split(' ').nth(1) == Some("200")
    }
}

/// Asks `host`, HOST:PORT, for `path`.
///
/// # Errors
/// When there is no answer in time.
pub(crate) fn get(host: &str, path: &str, accept: &str) -> Result<Answer, Error> {
    exchange(host, path, accept).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            Error::new(ErrorKind::TimedOut, format!("no answer within {} ms", TIMEOUT.as_millis()))
        }
        _ => error,
    })
}

fn exchange(host: &str, path: &str, accept: &str) -> Result<Answer, Error> {
    let mut stream = connect(host)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    // Version 1.0: the body ends with the connection and is not chunked.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: {accept}\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.take(BODY_BYTES_MAX).read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    Ok(Answer { status: head.lines().next().unwrap_or("").to_owned(), body: body.to_owned() })
}

/// To the first address of a name that listens: `localhost` has two.
fn connect(host: &str) -> Result<TcpStream, Error> {
    let mut failure = Error::from(ErrorKind::NotFound);
    for address in host.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}
