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
pub(crate) const CONFLICT: &str = "409 Conflict";
pub(crate) const UNAVAILABLE: &str = "503 Service Unavailable";

impl<'a> Target<'a> {
    /// `None` if the request is about something else.
    pub(crate) fn of(method: &str, (path, query): (&'a str, &'a str)) -> Option<Self> {
        let is_meant = method == "POST" && (path.starts_with("/backup/") || path.starts_with("/restore/"));
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
pub(crate) fn read_body(stream: &mut impl Read, length: Option<&str>, begun: &[u8]) -> std::io::Result<Vec<u8>> {
    let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    if length > BODY_BYTES_MAX {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut body = begun.to_vec();
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
        assert_eq!(read_body(&mut &b"def"[..], Some("6"), b"abc").unwrap(), b"abcdef");
        assert!(read_body(&mut &b"de"[..], Some("6"), b"abc").is_err());
        for length in [Some("0"), Some("none"), Some("-1"), None] {
            assert!(read_body(&mut &b"more"[..], length, b"").unwrap().is_empty());
        }
        assert!(read_body(&mut &b""[..], Some(&usize::MAX.to_string()), b"").is_err());
    }

    #[test]
    fn targets_are_of_backups_and_restores_alone() {
        let target = Target::of("POST", ("/backup/cut", "session=7&number=x")).unwrap();
        assert_eq!((target.path, target.number("session"), target.optional::<u32>("core")), ("/backup/cut", Ok(7), None));
        assert_eq!(target.number::<u32>("number").unwrap_err().0, BAD);
        for (method, path) in [("GET", "/backup/schema"), ("POST", "/cluster/drain/1"), ("POST", "/backup"), ("", "")] {
            assert!(Target::of(method, (path, "")).is_none(), "{path}");
        }
    }
}
