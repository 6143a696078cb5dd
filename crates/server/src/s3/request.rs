//! What is asked of S3, before it is signed.

use std::fmt::Write;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    Put,
    Post,
    Delete,
}

impl Method {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Put => "PUT",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    /// Empty for the bucket.
    pub(super) key: String,
    pub(super) query: Vec<(&'static str, String)>,
    /// In lower case.
    pub(super) headers: Vec<(&'static str, String)>,
    /// The same, left out where S3 does not know them.
    pub(super) extras: Vec<(&'static str, String)>,
    /// The element that the answer must be, if any.
    pub(super) wanted: Option<&'static str>,
    pub(super) body: &'a [u8],
    /// More of an answer is not read.
    pub(super) answer_bytes_max: u64,
    /// For messages: what is to be done, to which object.
    pub(super) what: String,
}

/// Answers that are no objects: a page of a listing is the longest.
const ANSWER_BYTES_MAX: u64 = 8 << 20;

impl<'a> Ask<'a> {
    pub(super) fn new(method: Method, key: String, what: String) -> Self {
        Self {
            method,
            key,
            query: Vec::new(),
            headers: Vec::new(),
            extras: Vec::new(),
            wanted: None,
            body: &[],
            answer_bytes_max: ANSWER_BYTES_MAX,
            what,
        }
    }

    pub(super) fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn extra(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.extras.push((name, value.into()));
        self
    }

    pub(super) fn wanted(mut self, element: &'static str) -> Self {
        self.wanted = Some(element);
        self
    }

    pub(super) fn body(mut self, body: &'a [u8]) -> Self {
        self.body = body;
        self
    }

    /// The query as it is sent and signed: sorted, encoded.
    pub(super) fn query_text(&self) -> String {
        let mut pairs: Vec<String> = self.query.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        pairs.sort();
        pairs.join("&")
    }
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// Names of headers are in lower case.
    pub(super) fn new(status: u16, headers: Vec<(String, String)>, body: Vec<u8>) -> Self {
        Self { status, headers, body }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Percent-encoded, all but what RFC 3986 leaves unreserved.
pub(super) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A path with its slashes.
pub(super) fn encode_path(path: &str) -> String {
    path.split('/').map(encode).collect::<Vec<_>>().join("/")
}
