//! A request of `tarndb backup` or `tarndb restore`, as it comes over HTTP.

use std::io::Read;

/// A body may have so many bytes: more than the largest row.
const BODY_BYTES_MAX: usize = 64 << 20;

/// What a request is about.
pub(crate) struct Target<'a> {
    pub(crate) path: &'a str,
    query: &'a str,
}

/// Where an answer that is none begins: its status, and why.
pub(crate) type Refusal = (&'static str, String);

pub(crate) const BAD: &str = "400 Bad Request";

impl<'a> Target<'a> {
    /// `None` if the request is about something else.
    pub(crate) fn of(head: &'a str) -> Option<Self> {
        let target = head.strip_prefix("POST ")?.split(' ').next()?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let is_meant = path.starts_with("/backup/") || path.starts_with("/restore/");
        is_meant.then_some(Self { path, query })
    }

    /// A number of the query, if it is there.
    pub(crate) fn optional<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).find_map(|(_, value)| value.parse().ok())
    }

    /// A number of the query.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T, Refusal> {
        self.optional(name).ok_or_else(|| (BAD, format!("`{name}` is missing or no number")))
    }
}

/// A request's body, of which a part may have come with its head.
pub(crate) fn read_body(stream: &mut impl Read, head: &str, read: &[u8]) -> std::io::Result<Vec<u8>> {
    let start = read.windows(4).position(|window| window == b"\r\n\r\n").map_or(read.len(), |at| at + 4);
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let length = fields.find_map(|(name, value)| name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok()));
    let length: usize = length.flatten().unwrap_or(0);
    if length > BODY_BYTES_MAX {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut body = read[start..].to_vec();
    let given = body.len().min(length);
    body.resize(length, 0);
    stream.read_exact(&mut body[given..])?;
    Ok(body)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_what_came_with_the_head_and_what_follows() {
        let read = b"POST /restore/rows HTTP/1.1\r\ncontent-LENGTH: 6\r\n\r\nabc".to_vec();
        let head = String::from_utf8_lossy(&read);
        assert_eq!(read_body(&mut &b"def"[..], &head, &read).unwrap(), b"abcdef");
        assert!(read_body(&mut &b"de"[..], &head, &read).is_err());
        for (length, body) in [("0", &b""[..]), ("none", b""), ("-1", b"")] {
            let read = format!("POST /restore/rows HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
            assert_eq!(read_body(&mut &b"more"[..], &read, read.as_bytes()).unwrap(), body);
        }
        let read = format!("POST /restore/rows HTTP/1.1\r\nContent-Length: {}\r\n\r\n", usize::MAX);
        assert!(read_body(&mut &b""[..], &read, read.as_bytes()).is_err());
    }

    #[test]
    fn targets_are_of_backups_and_restores_alone() {
        let target = Target::of("POST /backup/cut?session=7&number=x HTTP/1.1\r\n").unwrap();
        assert_eq!((target.path, target.number("session"), target.optional::<u32>("core")), ("/backup/cut", Ok(7), None));
        assert_eq!(target.number::<u32>("number").unwrap_err().0, BAD);
        for other in ["", "GET /backup/schema HTTP/1.1", "POST /cluster/drain/1 HTTP/1.1", "POST /backup HTTP/1.1"] {
            assert!(Target::of(other).is_none(), "{other}");
        }
    }
}
