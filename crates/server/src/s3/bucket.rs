//! A bucket's objects under a prefix, as files of a directory without folders.

use super::address::S3Address;
use super::arguments::S3Arguments;
use super::credentials::CredentialsSource;
use super::endpoint::Endpoint;
use super::error::S3Error;
use super::request::{Ask, Method};
use super::wire::{Patience, Wire, variable};
use super::xml;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::time::Duration;

const REGION: &str = "us-east-1";
const RETRY_LEAST: Duration = Duration::from_secs(1);
/// S3 takes no smaller part but the last one, and none that is larger.
const PART_BYTES: std::ops::RangeInclusive<u64> = 5 << 20..=5 << 30;

/// A page has 1,000 names, and a backup some thousands.
const PAGES_MAX: usize = 1000;

/// When an object is stored.
pub(crate) enum Condition {
    /// There is none of its name.
    New,
    /// The one with this tag is there.
    Replaces(String),
}

/// What is under a prefix of a bucket.
pub(crate) struct Bucket {
    pub(super) wire: Wire,
    pub(super) address: S3Address,
    /// Of all parts alike, where that is asked for.
    pub(super) part_bytes: Option<usize>,
}

impl Bucket {
    /// Nothing is asked of S3 yet.
    pub(crate) fn new(address: &S3Address, arguments: &S3Arguments) -> Result<Self, S3Error> {
        let S3Arguments { s3_endpoint, s3_region, s3_credentials_file, s3_profile, s3_ca, .. } = arguments;
        let named = || variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL"));
        let url = s3_endpoint.clone().or_else(named);
        let named = || variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        let region = s3_region.clone().or_else(named).unwrap_or_else(|| REGION.to_owned());
        let patience = Patience { timeout: arguments.s3_timeout.into(), retry_for: arguments.s3_retry_for.into() };
        for (option, time) in [("--s3-timeout", patience.timeout), ("--s3-retry-for", patience.retry_for)] {
            if time < RETRY_LEAST {
                return Err(S3Error::Option { option, given: format!("{time:?}"), why: "it must be at least 1s" });
            }
        }
        let part_bytes = arguments.s3_part_size.map(|size| size.0);
        if let Some(given) = part_bytes.filter(|bytes| !PART_BYTES.contains(bytes)) {
            return Err(S3Error::Option { option: "--s3-part-size", given: given.to_string(), why: "S3 takes parts of 5MiB to 5GiB" });
        }
        let endpoint = Endpoint::new(url.as_deref(), &region, address, arguments.s3_path_style, arguments.s3_insecure)?;
        let source = CredentialsSource::new(s3_credentials_file.as_deref(), s3_profile.as_deref(), variable)?;
        let wire = Wire::new(endpoint, region, source, s3_ca.as_deref(), patience)?;
        Ok(Self { wire, address: address.clone(), part_bytes: part_bytes.map(|bytes| bytes as usize) })
    }

    /// Whether S3 knows checksums, as far as is known.
    pub(super) fn has_checksums(&self) -> bool {
        !self.wire.is_plain()
    }

    /// Where this is.
    pub(crate) fn address(&self) -> &S3Address {
        &self.address
    }

    pub(super) fn about<'a>(&self, method: Method, verb: &str, name: &str) -> Ask<'a> {
        Ask::new(method, self.address.key(name), format!("{verb} {}", self.address.object(name)))
    }

    fn about_all<'a>(&self, verb: &str) -> Ask<'a> {
        Ask::new(Method::Get, String::new(), format!("{verb} {}", self.address))
    }

    /// The names of all objects, or of some if one of them is not expected. Those of folders that others have made here have slashes in them; the object
    /// with which a console makes the prefix itself has no name, and is left out.
    pub(crate) fn list(&self, is_expected: impl Fn(&str) -> bool) -> Result<Vec<String>, S3Error> {
        let folder = self.address.folder();
        let (mut names, mut next) = (Vec::new(), None::<String>);
        for _ in 0..PAGES_MAX {
            let mut ask = self.about_all("listing").query("list-type", "2").query("prefix", folder.clone()).wanted("ListBucketResult");
            if let Some(token) = next {
                ask = ask.query("continuation-token", token);
            }
            let text = self.wire.ask(&ask)?.text();
            let keys = xml::texts(&text, "Key").into_iter().map(xml::unescape);
            names.extend(keys.filter_map(|key| key.strip_prefix(&folder).filter(|name| !name.is_empty()).map(str::to_owned)));
            if xml::text(&text, "IsTruncated").as_deref() != Some("true") || names.iter().any(|name| !is_expected(name)) {
                return Ok(names);
            }
            let token = xml::text(&text, "NextContinuationToken");
            next = Some(token.ok_or_else(|| self.wire.strange(&ask, "its listing goes on, and does not say where".to_owned()))?);
        }
        Err(self.wire.strange(&self.about_all("listing"), format!("its listing has not ended after {PAGES_MAX} pages")))
    }

    /// Uploads under way, by name and id.
    pub(crate) fn uploads(&self) -> Result<Vec<(String, String)>, S3Error> {
        let folder = self.address.folder();
        let (mut found, mut next) = (Vec::new(), None::<(String, String)>);
        for _ in 0..PAGES_MAX {
            let ask = self.about_all("listing uploads of").query("uploads", "").query("prefix", folder.clone());
            let mut ask = ask.wanted("ListMultipartUploadsResult");
            if let Some((key, id)) = next {
                ask = ask.query("key-marker", key).query("upload-id-marker", id);
            }
            let text = self.wire.ask(&ask)?.text();
            for upload in xml::texts(&text, "Upload") {
                let key = xml::text(upload, "Key").and_then(|key| key.strip_prefix(&folder).map(str::to_owned));
                found.extend(key.zip(xml::text(upload, "UploadId")));
            }
            if xml::text(&text, "IsTruncated").as_deref() != Some("true") {
                return Ok(found);
            }
            let marker = xml::text(&text, "NextKeyMarker").zip(xml::text(&text, "NextUploadIdMarker"));
            next = Some(marker.ok_or_else(|| self.wire.strange(&ask, "its listing goes on, and does not say where".to_owned()))?);
        }
        Err(self.wire.strange(&self.about_all("listing uploads of"), format!("its listing has not ended after {PAGES_MAX} pages")))
    }

    /// A small object; `None` if there is none of this name.
    pub(crate) fn get(&self, name: &str) -> Result<Option<Vec<u8>>, S3Error> {
        let mut ask = self.about(Method::Get, "reading", name);
        ask.answer_bytes_max = 256 << 20;
        none_if_missing(self.wire.ask(&ask)).map(|answer| answer.map(|answer| answer.body))
    }

    /// An object's length, and the tag that it has as long as it is the same; `None` if there is none of this name.
    pub(crate) fn length(&self, name: &str) -> Result<Option<(u64, String)>, S3Error> {
        let ask = self.about(Method::Head, "looking at", name);
        let Some(answer) = none_if_missing(self.wire.ask(&ask))? else { return Ok(None) };
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        let length = length.ok_or_else(|| self.wire.strange(&ask, "it does not say how long the object is".to_owned()))?;
        Ok(Some((length, answer.header("etag").unwrap_or_default().to_owned())))
    }

    /// So many bytes of an object that has still this tag.
    pub(super) fn range(&self, name: &str, tag: &str, at: u64, bytes: u64) -> Result<Vec<u8>, S3Error> {
        let range = format!("{at}-{}", at + bytes - 1);
        let mut ask = self.about(Method::Get, "reading", name).header("range", format!("bytes={range}"));
        ask.answer_bytes_max = bytes + 1;
        if !tag.is_empty() {
            ask = ask.header("if-match", tag);
        }
        let answer = self.wire.ask(&ask)?;
        let said = answer.header("content-range").unwrap_or_default();
        let is_meant = answer.status == 206 && said.strip_prefix("bytes ").is_some_and(|said| said.starts_with(&format!("{range}/")));
        if !is_meant || answer.body.len() as u64 != bytes {
            let got = answer.body.len();
            return Err(self
                .wire
                .strange(&ask, format!("it was asked for bytes {range}, and gives {got} as `{said}`, status {}", answer.status)));
        }
        Ok(answer.body)
    }

    /// Stores a small object.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> Result<(), S3Error> {
        self.wire.ask(&self.put_request(name, bytes)).map(drop)
    }

    /// Stores one on a condition, as far as S3 knows those.
    ///
    /// # Errors
    /// [`S3Error::Changed`] when another one is there.
    pub(crate) fn put_if(&self, name: &str, bytes: &[u8], condition: &Condition) -> Result<(), S3Error> {
        let ask = self.put_request(name, bytes);
        let ask = match condition {
            Condition::New => ask.extra("if-none-match", "*"),
            Condition::Replaces(tag) => ask.extra("if-match", tag.clone()),
        };
        match self.wire.ask(&ask) {
            // An attempt whose answer was lost may have stored it.
            Err(error @ S3Error::Changed { .. }) => match self.get(name)? {
                Some(stored) if stored == bytes => Ok(()),
                _ => Err(error),
            },
            outcome => outcome.map(drop),
        }
    }

    fn put_request<'a>(&self, name: &str, bytes: &'a [u8]) -> Ask<'a> {
        self.about(Method::Put, "writing", name).extra("x-amz-checksum-crc32", crc32(bytes)).body(bytes)
    }

    /// Removes an object, if it is there.
    pub(crate) fn delete(&self, name: &str) -> Result<(), S3Error> {
        none_if_missing(self.wire.ask(&self.about(Method::Delete, "removing", name))).map(drop)
    }
}

/// As S3 has it.
pub(super) fn crc32(bytes: &[u8]) -> String {
    STANDARD.encode(base::checksum(bytes).to_be_bytes())
}

fn none_if_missing<T>(outcome: Result<T, S3Error>) -> Result<Option<T>, S3Error> {
    match outcome {
        Err(S3Error::Missing { .. }) => Ok(None),
        outcome => outcome.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_field() {
        // The check value of CRC-32, cbf43926.
        assert_eq!(crc32(b"123456789"), STANDARD.encode([0xcb, 0xf4, 0x39, 0x26]));
    }
}
