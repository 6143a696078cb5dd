//! What a request is answered.

/// The text of a reply, and what it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) body: String,
}

pub(crate) const OK: &str = "200 OK";
pub(crate) const BAD_REQUEST: &str = "400 Bad Request";
pub(crate) const UNAUTHORIZED: &str = "401 Unauthorized";
pub(crate) const FORBIDDEN: &str = "403 Forbidden";
pub(crate) const NOT_FOUND: &str = "404 Not Found";
pub(crate) const NOT_ALLOWED: &str = "405 Method Not Allowed";
pub(crate) const CONFLICT: &str = "409 Conflict";
pub(crate) const TOO_LONG: &str = "413 Content Too Large";
pub(crate) const TOO_MANY_REQUESTS: &str = "429 Too Many Requests";
pub(crate) const UNAVAILABLE: &str = "503 Service Unavailable";

impl Reply {
    pub(crate) fn text(status: &'static str, text: impl Into<String>) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: text.into() + "\n" }
    }

    pub(crate) fn json(value: &serde_json::Value) -> Self {
        Self { status: OK, kind: "application/json", body: value.to_string() + "\n" }
    }
}
