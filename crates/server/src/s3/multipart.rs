//! Uploads in parts: begun, sent, completed or aborted.

use super::bucket::{Bucket, crc32};
use super::error::S3Error;
use super::request::Method;
use super::xml;

/// S3 takes no more of an object.
pub(super) const PARTS_MAX: usize = 10_000;

/// A part that S3 has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// As S3 names it.
    tag: String,
    crc32: String,
}

impl Bucket {
    /// Begins an upload; its id.
    pub(super) fn begin_upload(&self, name: &str) -> Result<String, S3Error> {
        let ask = self.about(Method::Post, "beginning to write", name).query("uploads", "").extra("x-amz-checksum-algorithm", "CRC32");
        let ask = ask.wanted("InitiateMultipartUploadResult");
        let id = xml::text(&self.wire.ask(&ask)?.text(), "UploadId").filter(|id| !id.is_empty());
        id.ok_or_else(|| self.wire.strange(&ask, "it names no upload".to_owned()))
    }

    /// Sends a part; the first one has number 1. One of the same number replaces it.
    pub(super) fn send_part(&self, name: &str, id: &str, number: usize, bytes: &[u8]) -> Result<Part, S3Error> {
        if number > PARTS_MAX {
            return Err(S3Error::TooLong { object: self.address.object(name), parts: PARTS_MAX });
        }
        let crc32 = crc32(bytes);
        let ask = self.about(Method::Put, &format!("writing part {number} of"), name).query("partNumber", number.to_string());
        let ask = ask.query("uploadId", id).extra("x-amz-checksum-crc32", crc32.clone()).body(bytes);
        let answer = self.wire.ask(&ask)?;
        let tag = answer.header("etag").filter(|tag| !tag.is_empty());
        let tag = tag.ok_or_else(|| self.wire.strange(&ask, "it does not say what it has stored".to_owned()))?;
        Ok(Part { tag: tag.to_owned(), crc32 })
    }

    /// Makes an object of parts.
    pub(super) fn complete_upload(&self, name: &str, id: &str, parts: &[Part], bytes: u64) -> Result<(), S3Error> {
        let mut body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">".to_owned();
        for (index, part) in parts.iter().enumerate() {
            let (number, tag) = (index + 1, xml::escape(&part.tag));
            body += &format!("<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag>");
            if self.has_checksums() {
                body += &format!("<ChecksumCRC32>{}</ChecksumCRC32>", part.crc32);
            }
            body += "</Part>";
        }
        body += "</CompleteMultipartUpload>";
        let ask = self.about(Method::Post, "completing", name).query("uploadId", id).wanted("CompleteMultipartUploadResult");
        match self.wire.ask(&ask.body(body.as_bytes())) {
            // An attempt whose answer was lost may have completed it.
            Err(error @ S3Error::Refused { status: 404, .. }) => match self.length(name)? {
                Some((length, _)) if length == bytes => Ok(()),
                _ => Err(error),
            },
            outcome => outcome.map(drop),
        }
    }

    /// Ends an upload and removes its parts; one that is gone is no fault.
    pub(crate) fn abort_upload(&self, name: &str, id: &str) -> Result<(), S3Error> {
        let ask = self.about(Method::Delete, "ending the upload of", name).query("uploadId", id);
        match self.wire.ask(&ask) {
            Err(S3Error::Missing { .. } | S3Error::Refused { status: 404, .. }) => Ok(()),
            outcome => outcome.map(drop),
        }
    }
}
