//! The node that is asked: its HTTP port, with or without TLS, and the login that it may want.

use super::error::OperateError;
use crate::cli::NodeArguments;
use crate::login_file::read_login;
use crate::tls_files::read_trust;
use crate::tls_stream::TlsStream;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;
use tls::{Session, Trust};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Longer than a node waits for its cluster.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// Longer than a node waits for rows to be stored.
const ROWS_TIMEOUT: Duration = Duration::from_secs(35);
const HEAD_BYTES_MAX: usize = 8 << 10;
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// Which node is asked, and by whom.
pub(crate) struct Asked {
    /// HOST:PORT.
    pub(super) address: String,
    /// Whose certificates are trusted, if it is spoken to by TLS.
    pub(super) trust: Option<Trust>,
    /// A header with its end of line, or nothing.
    pub(super) authorization: String,
}

impl Asked {
    /// For messages.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.trust.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The node that `--http` names.
    pub(crate) fn new(arguments: &NodeArguments) -> Result<Self, OperateError> {
        Self::at(arguments, &arguments.http)
    }

    /// One of several nodes.
    pub(crate) fn at(arguments: &NodeArguments, http: &str) -> Result<Self, OperateError> {
        let authorization = match &arguments.login_file {
            None => String::new(),
            Some(path) => {
                let refused = |why: String| OperateError::LoginFile { path: path.clone(), why };
                let (role, password) = read_login(path).map_err(refused)?;
                format!("Authorization: Basic {}\r\n", STANDARD.encode(format!("{role}:{password}")))
            }
        };
        let (address, is_tls) = match http.strip_prefix("https://") {
            Some(address) => (address, true),
            None => (http.strip_prefix("http://").unwrap_or(http), false),
        };
        let trust = if is_tls { Some(trust(arguments)?) } else { None };
        Ok(Self { address: address.trim_end_matches('/').to_owned(), trust, authorization })
    }

    /// Posts a body; the answer's body.
    pub(crate) fn send(&self, target: &str, body: &[u8]) -> Result<Vec<u8>, OperateError> {
        let mut answer = Vec::new();
        let read = self.post(target, body, &mut |stream| stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).map(drop));
        read.map_err(|source| OperateError::Unreachable { http: self.url(), source })?;
        let end =
            answer.windows(4).position(|window| window == b"\r\n\r\n").ok_or_else(|| self.strange("it does not speak HTTP".to_owned()))?;
        let text = || String::from_utf8_lossy(&answer[end + 4..]).trim_end().to_owned();
        self.accept(&String::from_utf8_lossy(&answer[..end]), &text)?;
        Ok(answer.split_off(end + 4))
    }

    /// Posts a body, and gives the answer's to `take` as it comes; `patience` is how long nothing may come. What the node refuses is its words, whatever the status, but those of log-ins.
    pub(crate) fn ask_patiently(
        &self,
        target: &str,
        body: &[u8],
        patience: Duration,
        take: &mut dyn FnMut(&mut dyn Read) -> std::io::Result<()>,
    ) -> Result<(), OperateError> {
        let mut refused = Ok(());
        let read = self.post_patiently(target, body, patience, &mut |stream| {
            let head = read_head(stream)?;
            if head.split(' ').nth(1) == Some("200") {
                return take(stream);
            }
            let mut text = Vec::new();
            stream.take(ANSWER_BYTES_MAX).read_to_end(&mut text)?;
            let text = String::from_utf8_lossy(&text).trim_end().to_owned();
            refused = match head.split(' ').nth(1) {
                Some("400" | "403" | "408" | "409" | "413" | "507") => Err(OperateError::Refused { text }),
                _ => self.accept(&head, &|| text.clone()),
            };
            Ok(())
        });
        read.map_err(|source| OperateError::Unreachable { http: self.url(), source })?;
        refused
    }

    /// Posts, and gives the answer's body to `take` as it comes.
    pub(crate) fn stream(&self, target: &str, take: &mut dyn FnMut(&mut dyn Read)) -> Result<(), OperateError> {
        let mut refused = Ok(());
        let read = self.post(target, &[], &mut |stream| {
            let head = read_head(stream)?;
            if head.split(' ').nth(1) == Some("200") {
                take(stream);
                return Ok(());
            }
            let mut text = Vec::new();
            stream.take(ANSWER_BYTES_MAX).read_to_end(&mut text)?;
            refused = self.accept(&head, &|| String::from_utf8_lossy(&text).trim_end().to_owned());
            Ok(())
        });
        read.map_err(|source| OperateError::Unreachable { http: self.url(), source })?;
        refused
    }

    /// Whether the head of an answer says that it is done.
    fn accept(&self, head: &str, text: &dyn Fn() -> String) -> Result<(), OperateError> {
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        match code.ok_or_else(|| self.strange("it does not speak HTTP".to_owned()))? {
            200 => Ok(()),
            401 | 403 | 429 => Err(OperateError::Login { http: self.url(), text: text() }),
            404 => Err(self.strange("it does not know what it is asked for".to_owned())),
            426 => Err(OperateError::Plaintext { http: self.url() }),
            503 => Err(OperateError::Unavailable { text: text() }),
            _ => Err(OperateError::Refused { text: text() }),
        }
    }

    fn post(&self, target: &str, body: &[u8], take: &mut dyn FnMut(&mut dyn Read) -> std::io::Result<()>) -> std::io::Result<()> {
        self.post_patiently(target, body, ROWS_TIMEOUT, take)
    }

    fn post_patiently(
        &self,
        target: &str,
        body: &[u8],
        patience: Duration,
        take: &mut dyn FnMut(&mut dyn Read) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let stream = connect(&self.address)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(ROWS_TIMEOUT))?;
        let Self { address, trust, authorization } = self;
        let length = body.len();
        let mut request =
            format!("POST {target} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {length}\r\n{authorization}\r\n").into_bytes();
        request.extend_from_slice(body);
        let say = |stream: &mut dyn Write| stream.write_all(&request).and_then(|()| stream.flush());
        match trust {
            None => {
                let mut plain = &stream;
                say(&mut plain)?;
                take(&mut plain)
            }
            Some(trust) => {
                let mut stream = TlsStream::new(&stream, session(trust, address)?, None);
                say(&mut stream)?;
                take(&mut stream)
            }
        }
    }

    /// What is at a path.
    pub(crate) fn get(&self, path: &str) -> Result<String, OperateError> {
        match ask(self, "GET", path)? {
            (200, body) => Ok(body),
            (403, body) => Err(OperateError::Refused { text: body.trim_end().to_owned() }),
            (code, _) => Err(self.strange(format!("it answers {code}"))),
        }
    }

    /// What answers is no node of this version.
    pub(crate) fn strange(&self, why: String) -> OperateError {
        OperateError::Strange { http: self.url(), why }
    }
}

/// The head of an answer, with its end.
fn read_head(stream: &mut dyn Read) -> std::io::Result<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_BYTES_MAX {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn trust(arguments: &NodeArguments) -> Result<Trust, OperateError> {
    let path = arguments.http_ca.as_ref().ok_or(OperateError::NoAuthority)?;
    Ok(read_trust(("http-ca", path), arguments.http_certificate.as_ref().map(|path| ("http-certificate", &**path)))?)
}

/// One request; the answer's code and body.
pub(super) fn ask(http: &Asked, method: &str, target: &str) -> Result<(u16, String), OperateError> {
    let answer = exchange(http, method, target).map_err(|source| OperateError::Unreachable { http: http.url(), source })?;
    let strange = |why: &str| http.strange(why.to_owned());
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| strange("it does not speak HTTP"))?;
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(|| strange("it does not speak HTTP"))?;
    match code {
        401 | 429 => Err(OperateError::Login { http: http.url(), text: body.trim_end().to_owned() }),
        426 => Err(OperateError::Plaintext { http: http.url() }),
        _ => Ok((code, body.to_owned())),
    }
}

fn exchange(http: &Asked, method: &str, target: &str) -> std::io::Result<String> {
    let mut stream = connect(&http.address)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    // Version 1.0: the body ends with the connection and is not chunked.
    // In one piece: a server that answers at once and closes must not have left anything unread.
    let Asked { address, trust, authorization } = http;
    let request = format!("{method} {target} HTTP/1.0\r\nHost: {address}\r\n{authorization}\r\n");
    let mut answer = Vec::new();
    match trust {
        None => talk(&mut stream, &request, &mut answer)?,
        Some(trust) => talk(&mut TlsStream::new(&stream, session(trust, address)?, None), &request, &mut answer)?,
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// To the first of a name's addresses that answers.
fn connect(address: &str) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn session(trust: &Trust, address: &str) -> std::io::Result<Session> {
    let name = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_start_matches('[').trim_end_matches(']');
    Session::to_server(trust, name).map_err(std::io::Error::other)
}

/// Says something and hears the answer to its end.
fn talk(stream: &mut (impl Read + Write), request: &str, answer: &mut Vec<u8>) -> std::io::Result<()> {
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    stream.take(ANSWER_BYTES_MAX).read_to_end(answer)?;
    Ok(())
}
