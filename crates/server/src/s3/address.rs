//! `s3://BUCKET/PREFIX`: the place of a backup in S3.

use std::fmt;

/// A bucket, and what the keys of objects begin with there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct S3Address {
    pub(crate) bucket: String,
    /// Without slashes at its ends; empty for all of the bucket.
    pub(crate) prefix: String,
}

impl S3Address {
    pub(crate) const SCHEME: &'static str = "s3://";

    /// What follows the scheme. `None` if it names no bucket.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(Self::SCHEME)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_');
        let is_bucket = (3..=63).contains(&bucket.len()) && bucket.bytes().all(is_name);
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let is_prefix = prefix.is_empty() || prefix.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        let is_text = !prefix.chars().any(char::is_control);
        (is_bucket && is_prefix && is_text).then(|| Self { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }

    /// The key of an object of this name.
    pub(crate) fn key(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }

    /// The prefix beside this one that has the last name of another. `None` if either is all of a bucket.
    pub(crate) fn beside(&self, other: &Self) -> Option<Self> {
        let name = other.prefix.rsplit('/').next().filter(|name| !name.is_empty() && !self.prefix.is_empty())?;
        let prefix = self.prefix.rsplit_once('/').map_or_else(|| name.to_owned(), |(folder, _)| format!("{folder}/{name}"));
        Some(Self { bucket: self.bucket.clone(), prefix })
    }

    /// What the keys of all objects here begin with.
    pub(crate) fn folder(&self) -> String {
        self.key("")
    }

    /// An object, for messages.
    pub(crate) fn object(&self, name: &str) -> String {
        format!("{}{}/{}", Self::SCHEME, self.bucket, self.key(name))
    }
}

impl fmt::Display for S3Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", Self::SCHEME, self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(out, "/{}", self.prefix) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_bucket_and_a_prefix() {
        let address = S3Address::parse("s3://backups/orders/monday/").unwrap();
        assert_eq!((address.bucket.as_str(), address.prefix.as_str()), ("backups", "orders/monday"));
        assert_eq!(
            (address.key("000.rows").as_str(), address.to_string().as_str()),
            ("orders/monday/000.rows", "s3://backups/orders/monday")
        );
        for whole in ["s3://backups", "s3://backups/"] {
            let whole = S3Address::parse(whole).unwrap();
            assert_eq!((whole.key("a").as_str(), whole.folder().as_str(), whole.object("a").as_str()), ("a", "", "s3://backups/a"));
        }
        for wrong in [
            "s3://",
            "s3:///prefix",
            "s3://Backups/a",
            "s3://a b/c",
            "s3://ab",
            "backups/a",
            "s3://backups/a//b",
            "s3://backups//a",
            "s3://backups/../b",
            "s3://backups/a\nb",
        ] {
            assert_eq!(S3Address::parse(wrong), None, "{wrong}");
        }
    }
}
