//! A request as it has come: its head, and what follows that.

use crate::backup::request::Target;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io::Read;
use std::time::Instant;

const HEAD_BYTES_MAX: usize = 8192;
/// Longer than any statement that somebody types.
const BODY_BYTES_MAX: usize = 64 << 10;
/// So much of a longer one is read and forgotten, so that its client hears why it is refused.
const BODY_BYTES_FORGOTTEN: usize = 1 << 20;

/// One request.
#[derive(Debug, Default)]
pub(crate) struct Request {
    head: String,
    pub(crate) body: String,
    /// Of a request whose body is read later: what has come of it.
    body_begun: Vec<u8>,
    /// Its body is longer than any that is read.
    pub(crate) is_too_long: bool,
}

impl Request {
    /// Reads one; `None` if it does not come.
    pub(crate) fn read(stream: &mut impl Read, deadline: Instant) -> std::io::Result<Option<Self>> {
        let mut bytes = vec![0; HEAD_BYTES_MAX];
        let mut length = 0;
        let end = loop {
            if let Some(end) = bytes[..length].windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            let count = stream.read(&mut bytes[length..])?;
            if count == 0 || Instant::now() >= deadline {
                return Ok(None);
            }
            length += count;
        };
        let mut request = Self { head: String::from_utf8_lossy(&bytes[..end]).into_owned(), ..Self::default() };
        if Target::of(request.method(), request.target()).is_some() {
            // It may be large, and is read once it is known who asks.
            request.body_begun = bytes[end..length].to_vec();
            return Ok(Some(request));
        }
        let mut body = bytes[end..length].to_vec();
        let wanted = match request.header("content-length").map(str::parse::<usize>) {
            None => 0,
            Some(Ok(wanted)) if wanted <= BODY_BYTES_MAX => wanted,
            Some(wanted) => {
                request.is_too_long = true;
                wanted.unwrap_or(0).min(BODY_BYTES_FORGOTTEN)
            }
        };
        let mut arrived = body.len();
        while arrived < wanted {
            let count = stream.read(&mut bytes)?;
            if count == 0 || Instant::now() >= deadline {
                return Ok(None);
            }
            arrived += count;
            if !request.is_too_long {
                body.extend_from_slice(&bytes[..count]);
            }
        }
        body.truncate(if request.is_too_long { 0 } else { wanted });
        request.body = String::from_utf8_lossy(&body).into_owned();
        Ok(Some(request))
    }

    /// One without a body.
    #[cfg(test)]
    pub(crate) fn of(head: &str) -> Self {
        Self { head: head.to_owned(), ..Self::default() }
    }

    /// What has come of a body that is read later.
    pub(crate) fn body_begun(&self) -> &[u8] {
        &self.body_begun
    }

    pub(crate) fn method(&self) -> &str {
        self.first_line().next().unwrap_or("")
    }

    /// Whether its client knows no chunks.
    pub(crate) fn is_http_1_0(&self) -> bool {
        self.first_line().nth(2) == Some("HTTP/1.0")
    }

    /// What is asked for: a path, and what stands behind its question mark.
    pub(crate) fn target(&self) -> (&str, &str) {
        let target = self.first_line().nth(1).unwrap_or("");
        target.split_once('?').unwrap_or((target, ""))
    }

    /// The value of a header; `name` in small letters.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        headers.find_map(|(found, value)| found.eq_ignore_ascii_case(name).then_some(value.trim()))
    }

    /// As whom it logs in: role and password.
    pub(crate) fn login(&self) -> Option<(String, String)> {
        self.header("authorization").and_then(credentials)
    }

    /// The value that the query has for a name, decoded.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = self.target().1.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(found, _)| *found == name).map(|(_, value)| percent_decoded(value))
    }

    fn first_line(&self) -> std::str::Split<'_, char> {
        self.head.lines().next().unwrap_or("").split(' ')
    }
}

/// Whether what has this path changes something.
pub(super) fn is_order(path: &str) -> bool {
    path.starts_with("/cluster/") || path.starts_with("/settings/")
}

/// The name and password of a header, by the scheme Basic (RFC 7617).
fn credentials(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (role, password) = text.split_once(':')?;
    Some((role.to_owned(), password.to_owned()))
}

/// Takes `%41` and `+` back to what they stand for (the URL standard's form encoding).
pub(super) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        rest = if hex.is_some() { &after[2..] } else { after };
        bytes.push(hex.unwrap_or(if *first == b'+' { b' ' } else { *first }));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn read(bytes: &str) -> std::io::Result<Option<Request>> {
        Request::read(&mut bytes.as_bytes(), Instant::now() + Duration::from_secs(60))
    }

    #[test]
    fn a_body_is_as_long_as_the_head_says() {
        let request = read("POST /a?b=c HTTP/1.1\r\nCONTENT-length: 3\r\n\r\nabcdef").unwrap().unwrap();
        assert_eq!((request.method(), request.target(), &*request.body), ("POST", ("/a", "b=c"), "abc"));
        assert!(read("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab").unwrap().is_none());
        assert!(read("GET / HTTP/1.1\r\n").unwrap().is_none());
        for (length, body) in [("-1", ""), ("x", ""), ("99999999999999999999999", ""), ("65537", &*"x".repeat(65537))] {
            let request = read(&format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}")).unwrap().unwrap();
            assert!(request.is_too_long && request.body.is_empty(), "{length}");
        }
    }

    #[test]
    fn parameters_are_decoded() {
        let request = Request::of("GET /x?keyspace=a+b&table=%3Cscript%3E%&z HTTP/1.1\r\n\r\n");
        assert_eq!(request.parameter("keyspace").unwrap(), "a b");
        assert_eq!(request.parameter("table").unwrap(), "<script>%");
        assert_eq!(request.parameter("z"), None);
    }
}
